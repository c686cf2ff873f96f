import { orderPage, payoutsPage } from '../accounts/dashboard-pages.ts'
import type { Context } from '../context.ts'
import type { BoughtLabelStatus, CancelReason, DisputeReason } from '../enums.ts'
import { type NewMail, oneLine, quote } from '../mail/mail.ts'
import { euros, type Paragraph, textFor } from '../mail/text.ts'
import type { SetupState } from '../money/payout-setup.ts'
import type { RefundBearer } from '../money/posting.ts'
import type { Address } from '../text/address.ts'
import { timestamp } from '../time/timestamp.ts'
import type { Dispute } from './dispute.ts'
import { grossOf } from './money.ts'
import type { Order, RowTransition } from './order.ts'

/**
 * The e-mails to buyers and sellers about their orders. Plain text. Names and codes are on one line, and longer texts are
 * quoted: a further line would read as the marketplace's own.
 */

/** The buyer and the seller of a slice. */
export type Parties = {
  buyer: { name: string; email: string }
  seller: { shopName: string; email: string }
}

/**
 * The buyer in an e-mail to the seller: by name, if that was not erased.
 *
 * @param unnamed `the buyer` inside a sentence
 */
export const nameOf = ({ name }: Pick<Parties['buyer'], 'name'>, unnamed = 'The buyer'): string =>
  oneLine(name) || unnamed

/** Reads the names and e-mail addresses of a slice's parties. */
export async function partiesOf({ db }: Context, sliceId: number): Promise<Parties> {
  const [row] = await db<{ name: string; buyer: string; shopName: string; seller: string }[]>`
    select
      c.buyer_name as name,
      c.buyer_email as buyer,
      a.shop_name as "shopName",
      a.email as seller
    from slices s
    join checkouts c on c.id = s.checkout_id
    join accounts a on a.id = s.account_id
    where s.id = ${sliceId}
  `
  const { name, buyer, shopName, seller } = row!
  return { buyer: { name, email: buyer }, seller: { shopName, email: seller } }
}

/** An order row, as the lists of these e-mails show it. */
export type SoldRow = {
  id: number
  quantity: number
  priceCents: number
  itemName: string | null
  /** Tells the item apart from others with its name, such as `Base 58 · NM · EN`. */
  itemDetails?: string
}

/** To the seller, about all rows of a new slice. */
export function soldEmail(
  ctx: Pick<Context, 'config'>,
  { buyer, seller }: Parties,
  rows: SoldRow[],
): NewMail {
  return {
    to: seller.email,
    subject: `Sold: ${rows.length === 1 ? titleOf(rows[0]!) : `${rows.length} listings`}`,
    text: textFor(seller.shopName, [
      `${nameOf(buyer)} has bought from you:`,
      rows.map(lineOf).join('\n'),
      `Please ship the order soon and mark it as shipped: ${orderPage(ctx, rows[0]!.id)}`,
    ]),
  }
}

/** Writes e-mails about an order row. Their subjects end with its title, and those to the seller link to its page. */
const writerTo = (ctx: Pick<Context, 'config'>, order: Order, { buyer, seller }: Parties) => ({
  toBuyer: (subject: string, ...paragraphs: Paragraph[]): NewMail => ({
    to: buyer.email,
    subject: `${subject}: ${titleOf(order)}`,
    text: textFor(buyer.name, paragraphs),
  }),
  toSeller: (subject: string, ...paragraphs: Paragraph[]): NewMail => ({
    to: seller.email,
    subject: `${subject}: ${titleOf(order)}`,
    text: textFor(seller.shopName, [...paragraphs, linkTo(ctx, order.id)]),
  }),
})

/** To the buyer, about one shipped row. */
export function shippedEmail(
  ctx: Pick<Context, 'config'>,
  order: Order,
  parties: Parties,
): NewMail {
  return writerTo(ctx, order, parties).toBuyer(
    'On its way',
    `${parties.seller.shopName} has shipped ${itemOf(order)}.`,
    trackingOf(order),
  )
}

/** To the buyer, about the tracking code of rows that were shipped before it was known. */
export const trackingCodeEmail = ({ buyer, seller }: Parties, rows: Order[]): NewMail => ({
  to: buyer.email,
  subject: `Tracking code: ${rows.length === 1 ? titleOf(rows[0]!) : `${rows.length} items`}`,
  text: textFor(buyer.name, [
    `${seller.shopName} has shipped these items:`,
    rows.map((row) => `- ${itemOf(row)}`).join('\n'),
    trackingOf(rows[0]!),
  ]),
})

const trackingOf = ({ tracking: { code, url } }: Order) =>
  code && `Tracking code: ${oneLine(code)}${url ? `\n${url}` : ''}`

/** A transition that was applied to an order row. */
export type Happening = {
  /** The row after the transition. */
  order: Order
  parties: Parties
  /** The part of the price that the transition refunded. */
  refundCents: number
  /** The shipping that it refunded: that of a slice whose last row it cancelled. */
  shippingCents: number
  /** The debt that it left to the seller: the seller was paid for the row before. */
  deductedCents: number
  /** Whether it added the units to the stock: never to that of a removed listing. */
  isRestocked: boolean
}

/** The e-mails that follow a transition of an order row. */
export function emailsAbout(
  ctx: Pick<Context, 'config'>,
  transition: RowTransition,
  { order, parties, refundCents, shippingCents, deductedCents, isRestocked }: Happening,
): NewMail[] {
  const { buyer, seller } = parties
  const { toBuyer, toSeller } = writerTo(ctx, order, parties)
  const item = itemOf(order)
  const refund = refundOf({ refundCents, shippingCents })
  const refundByYou = [
    refundOf({ refundCents, shippingCents }, nameOf(buyer)),
    deductedCents > 0 && `${euros(deductedCents)} is deducted from your payouts of other orders.`,
    isRestocked && 'The units are in your stock again.',
  ]
    .filter(Boolean)
    .join(' ')
  switch (transition) {
    case 'cancel':
      return [
        toBuyer(
          'Cancelled',
          `Your order of ${item} from ${seller.shopName} was cancelled.`,
          refund,
        ),
        toSeller('Cancelled', `${nameOf(buyer)}’s order of ${item} was cancelled.`, refundByYou),
      ]
    case 'cancelAsSeller':
      return [
        toBuyer(
          'Cancelled',
          `${seller.shopName} has cancelled your order of ${item}${CANCELLED_BECAUSE[order.cancelReason ?? 'other']}.`,
          refund,
        ),
      ]
    case 'resolveForBuyer':
      return [
        toBuyer('Resolved', `Your dispute about ${item} was resolved in your favour.`, refund),
        toSeller(
          'Resolved',
          `The dispute about ${item} was resolved in the buyer’s favour.`,
          refundByYou,
        ),
      ]
    case 'resolveForSeller':
      return [
        toBuyer('Resolved', `Your dispute about ${item} was resolved in the seller’s favour.`),
        toSeller('Resolved', `The dispute about ${item} was resolved in your favour.`),
      ]
    case 'receive':
      return [receivedEmail(parties, [{ ...order, itemName: order.item.name }])]
    case 'dispute':
      return []
  }
}

/** About the overdue rows of a slice, which the system cancelled together: to both sides. */
export function overdueEmails(
  ctx: Pick<Context, 'config'>,
  { buyer, seller }: Parties,
  rows: SoldRow[],
  {
    refundCents,
    shippingCents,
    restockedRows,
  }: Pick<Happening, 'refundCents' | 'shippingCents'> & { restockedRows: number },
): NewMail[] {
  const subject = `Cancelled: ${rows.length === 1 ? titleOf(rows[0]!) : `${rows.length} items`}`
  const lines = rows.map(lineOf).join('\n')
  const [items, because] =
    rows.length === 1
      ? ['This item', 'was cancelled, because it was not shipped in time:']
      : ['These items', 'were cancelled, because they were not shipped in time:']
  const stock =
    restockedRows > 0 &&
    `The units are in your stock again${restockedRows < rows.length ? ', except those of removed listings' : ''}.`
  return [
    {
      to: buyer.email,
      subject,
      text: textFor(buyer.name, [
        `${items} from ${seller.shopName} ${because}`,
        lines,
        refundOf({ refundCents, shippingCents }),
      ]),
    },
    {
      to: seller.email,
      subject,
      text: textFor(seller.shopName, [
        `${items} of ${nameOf(buyer, 'the buyer')}’s order ${because}`,
        lines,
        [refundOf({ refundCents, shippingCents }, nameOf(buyer)), stock].filter(Boolean).join(' '),
        linkTo(ctx, rows[0]!.id),
      ]),
    },
  ]
}

/** The refunds of price and shipping, in sentences. Partial refunds can have used up the price before. */
function refundOf(
  { refundCents, shippingCents }: Pick<Happening, 'refundCents' | 'shippingCents'>,
  reader = 'You',
): string {
  const price =
    refundCents > 0
      ? `${reader} will be refunded ${euros(refundCents)}.`
      : 'The price is already refunded.'
  return shippingCents > 0
    ? `${price} The shipping of ${euros(shippingCents)} is refunded as well.`
    : price
}

const DISPUTE_REASON: Record<DisputeReason, string> = {
  not_received: 'the item was not received',
  not_as_described: 'the item is not as described',
  damaged: 'the item is damaged',
  other: 'another problem',
}

/** To the seller, about a new dispute. */
export function disputeOpenedEmails(
  ctx: Pick<Context, 'config'>,
  { order, parties }: Pick<Happening, 'order' | 'parties'>,
  { reason, message, answerBy }: Pick<Dispute, 'reason' | 'message' | 'answerBy'>,
): NewMail[] {
  const { toSeller } = writerTo(ctx, order, parties)
  return [
    toSeller(
      'Disputed',
      `${nameOf(parties.buyer)} has reported a problem with ${itemOf(order)}: ${DISPUTE_REASON[reason]}.`,
      message && quote(message),
      `Please answer by ${dateAndTime(answerBy)}. After that we may decide without your answer. If we have not sent your payout for this order yet, it is on hold until the decision.`,
    ),
  ]
}

/** About the seller's answer: to the buyer, and to the seller as a confirmation. */
export function disputeAnsweredEmails(
  ctx: Pick<Context, 'config'>,
  { order, parties }: Pick<Happening, 'order' | 'parties'>,
  { message, photoUrls }: { message: string; photoUrls: string[] },
): NewMail[] {
  const { buyer, seller } = parties
  const { toBuyer, toSeller } = writerTo(ctx, order, parties)
  const { length } = photoUrls
  const photos =
    length > 0 && `We have also received ${length === 1 ? 'a photo' : `${length} photos`}.`
  return [
    toBuyer(
      'Answer to your dispute',
      `${seller.shopName} has answered your dispute about ${itemOf(order)}:`,
      quote(message),
      photos,
      'We will now decide, and e-mail you the result.',
    ),
    toSeller(
      'Your answer',
      buyer.email === ''
        ? `We have received your answer to the dispute about ${itemOf(order)}. The buyer’s data was erased, so the buyer gets no e-mail:`
        : `We have sent your answer to the dispute about ${itemOf(order)} to ${nameOf(buyer, 'the buyer')}:`,
      quote(message),
      photos,
      'We will now decide, and e-mail you the result.',
    ),
  ]
}

/** To both sides, about a dispute that ended with a partial refund. */
export function disputeResolvedEmails(
  ctx: Pick<Context, 'config'>,
  { order, parties, refundCents }: Happening,
): NewMail[] {
  const { toBuyer, toSeller } = writerTo(ctx, order, parties)
  return [
    toBuyer(
      'Resolved',
      `Your dispute about ${itemOf(order)} was resolved with a partial refund.`,
      `You will be refunded ${euros(refundCents)}.`,
    ),
    toSeller(
      'Resolved',
      `The dispute about ${itemOf(order)} was resolved with a partial refund.`,
      `${nameOf(parties.buyer)} will be refunded ${euros(refundCents)}. The amount is deducted from your payouts.`,
    ),
  ]
}

/** A slice whose pending rows will be cancelled. */
export type Announced = {
  orderId: number
  rows: number
  cancelAt: Date
  buyerName: string
  shopName: string
  email: string
  setup: SetupState
}

/** The subject about a payout setup that isn't verified, and a sentence that a link follows. */
const UNVERIFIED = {
  missing: {
    subject: 'Your payout setup is missing',
    next: 'You need a verified payout setup to ship and to be paid',
  },
  submitted: {
    subject: 'Your bank account is being checked',
    next: 'You can ship and be paid as soon as we have verified your bank account',
  },
  rejected: {
    subject: 'Your bank account was rejected',
    next: 'You need a verified bank account to ship and to be paid. Please enter it again',
  },
}

/** To the seller, three days before the system cancels. */
export const cancelAnnouncedEmail = (
  ctx: Pick<Context, 'config'>,
  { orderId, rows, cancelAt, buyerName, shopName, email, setup }: Announced,
): NewMail => ({
  to: email,
  subject: `${setup === 'verified' ? 'Please ship' : UNVERIFIED[setup].subject}: order ${orderId}`,
  text: textFor(shopName, [
    `${nameOf({ name: buyerName })} is waiting for ${rows === 1 ? 'an item' : `${rows} items`} that you have not shipped: ${orderPage(ctx, orderId)}`,
    setup === 'verified'
      ? 'Please ship the order and mark it as shipped.'
      : `${UNVERIFIED[setup].next}: ${payoutsPage(ctx)}`,
    `Otherwise the order is cancelled and refunded automatically on ${dateAndTime(cancelAt)}.`,
  ]),
})

/** A seller whose orders wait for the payout setup. */
export type SetupReminder = {
  shopName: string
  email: string
  setup: keyof typeof UNVERIFIED
  slices: number
}

export const setupReminderEmail = (
  ctx: Pick<Context, 'config'>,
  { shopName, email, setup, slices }: SetupReminder,
): NewMail => ({
  to: email,
  subject: UNVERIFIED[setup].subject,
  text: textFor(shopName, [
    `${slices === 1 ? 'An order is' : `${slices} orders are`} waiting to be shipped. ${UNVERIFIED[setup].next}: ${payoutsPage(ctx)}`,
  ]),
})

/** To the seller, about a label whose parcel is not marked as shipped. */
export const labelUnusedEmail = (
  ctx: Pick<Context, 'config'>,
  {
    orderId,
    buyerName,
    shopName,
    email,
  }: { orderId: number; buyerName: string; shopName: string; email: string },
): NewMail => ({
  to: email,
  subject: `Have you shipped order ${orderId}?`,
  text: textFor(shopName, [
    `You bought a label for the order of ${nameOf({ name: buyerName }, 'a buyer')} more than three days ago, but the order is not marked as shipped.`,
    `If the parcel is on its way, mark it as shipped: ${orderPage(ctx, orderId)}`,
  ]),
})

type WithheldLabel = { orderId: number; status: BoughtLabelStatus; isVoid: boolean }

/** To the seller, about a label that the carrier withholds or cancels, or is to cancel, only some time after the purchase. */
export function labelWithheldEmail(
  ctx: Pick<Context, 'config'>,
  { seller }: Pick<Parties, 'seller'>,
  label: WithheldLabel & { message: string | null },
): NewMail {
  const { subject, news } = newsOf(label)
  return {
    to: seller.email,
    subject,
    text: textFor(seller.shopName, [news, label.message, linkTo(ctx, label.orderId)]),
  }
}

function newsOf({ orderId, status, isVoid }: WithheldLabel): { subject: string; news: string } {
  if (isVoid) {
    return {
      subject: `The label of order ${orderId} was cancelled`,
      news: `Don’t use the label that you bought for order ${orderId}.`,
    }
  }
  if (status === 'processing') {
    return {
      subject: `Don’t use the label of order ${orderId} yet`,
      news: `Don’t use the label that you bought for order ${orderId} before the carrier has decided on a cancellation. The page of the order then shows that the label is ready again, or that it was cancelled.`,
    }
  }
  return {
    subject: `The carrier withholds the label of order ${orderId}`,
    news: `You bought a label for order ${orderId}, but we could not get its PDF.`,
  }
}

/** To the buyer, about all rows of a checkout. */
export function confirmationEmail(
  buyer: Parties['buyer'],
  shops: {
    shopName: string
    shippingName: string
    shippingCents: number
    rows: SoldRow[]
  }[],
  address: Address | null,
): NewMail {
  const totalCents = shops.reduce(
    (sum, { shippingCents, rows }) =>
      sum + shippingCents + rows.reduce((cents, row) => cents + grossOf(row), 0),
    0,
  )
  return {
    to: buyer.email,
    subject: `Order confirmed: ${euros(totalCents)}`,
    text: textFor(buyer.name, [
      'Thank you for your order.',
      ...shops.map(({ shopName, shippingName, shippingCents, rows }) =>
        [
          `From ${shopName}:`,
          ...rows.map(lineOf),
          `- ${oneLine(shippingName)}, ${euros(shippingCents)}`,
        ].join('\n'),
      ),
      `Total: ${euros(totalCents)}. We will e-mail you when your order ships.`,
      address && `We deliver to this address. Contact us if it is wrong:\n${addressLines(address)}`,
    ]),
  }
}

function addressLines(address: Address): string {
  const { full_name, street, house_number, house_number_suffix, zip, city, country } = address
  const lines = [
    [full_name],
    [street, house_number, house_number_suffix ?? ''],
    [zip, city],
    [country.toUpperCase()],
  ]
  return lines.map((parts) => `  ${parts.map(oneLine).join(' ').trimEnd()}`).join('\n')
}

/** To the buyer, about received rows of a slice. */
export const receivedEmail = (
  { buyer, seller }: { buyer: Parties['buyer']; seller: { shopName: string } },
  rows: SoldRow[],
): NewMail => ({
  to: buyer.email,
  subject: `Received: ${rows.length === 1 ? titleOf(rows[0]!) : `${rows.length} items`}`,
  text: textFor(buyer.name, [
    `These items from ${seller.shopName} count as received:`,
    rows.map(lineOf).join('\n'),
    'If something is wrong with them, contact us.',
  ]),
})

/** Ends a sentence about a cancellation by the seller. */
const CANCELLED_BECAUSE: Record<CancelReason, string> = {
  out_of_stock: ', because it is out of stock',
  buyer_asked: ', as you asked',
  other: '',
}

/** About a partial refund: to the buyer, and to the seller who bears it. */
export function refundEmails(
  ctx: Pick<Context, 'config'>,
  { order, parties }: Pick<Happening, 'order' | 'parties'>,
  { amountCents, reason, borneBy }: { amountCents: number; reason: string; borneBy: RefundBearer },
): NewMail[] {
  const { toBuyer, toSeller } = writerTo(ctx, order, parties)
  const item = itemOf(order)
  const subject = `Refund of ${euros(amountCents)}`
  const emails = [
    toBuyer(
      subject,
      `You will be refunded ${euros(amountCents)} for ${item} from ${parties.seller.shopName}.`,
      `Reason: ${reason}`,
    ),
  ]
  if (borneBy === 'seller') {
    emails.push(
      toSeller(
        subject,
        `${nameOf(parties.buyer)} will be refunded ${euros(amountCents)} for ${item}. The amount is deducted from your payouts.`,
        `Reason: ${reason}`,
      ),
    )
  }
  return emails
}

const lineOf = (row: SoldRow) => {
  const line = `- ${titleOf(row)}, ${euros(grossOf(row))} (order ${row.id})`
  return row.itemDetails ? `${line}\n  ${row.itemDetails}` : line
}

const titleOf = (
  sold: Pick<Order, 'quantity'> & (Pick<Order, 'item'> | Pick<SoldRow, 'itemName'>),
) => {
  const name = ('item' in sold ? sold.item.name : sold.itemName) ?? 'an item'
  return sold.quantity === 1 ? name : `${sold.quantity} × ${name}`
}

const itemOf = (order: Order) => `${titleOf(order)} (order ${order.id})`

const linkTo = (ctx: Pick<Context, 'config'>, orderId: number) =>
  `The page of the order: ${orderPage(ctx, orderId)}`

/** `2026-03-06 09:30 UTC`: an e-mail has no time zone of its reader. */
const dateAndTime = (moment: Date) => `${timestamp(moment).slice(0, 16).replace('T', ' ')} UTC`

import { eurosFromCents } from '../cents.ts'
import type { Context } from '../context.ts'
import type { CancelReason } from '../enums.ts'
import type { NewMail } from '../mail/mail.ts'
import { grossOf } from './money.ts'
import type { Order, Transition } from './order.ts'

/** The e-mails to buyers and sellers about their orders. Plain text. */

/** The buyer and the seller of a slice. */
export type Parties = {
  buyer: { name: string; email: string }
  seller: { shopName: string; email: string }
}

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

type Sold = Pick<Order, 'id' | 'quantity' | 'priceCents' | 'item'>

/** To the seller, about all rows of a new slice. */
export function soldEmail(
  { buyer, seller }: Parties,
  rows: { id: number; quantity: number; priceCents: number; itemName: string | null }[],
): NewMail {
  return {
    to: seller.email,
    subject: `Sold: ${rows.length === 1 ? titleOf(rows[0]!) : `${rows.length} listings`}`,
    text: textFor(seller.shopName, [
      `${buyer.name} has bought from you:`,
      rows.map((row) => `- ${titleOf(row)}, ${euros(grossOf(row))} (order ${row.id})`).join('\n'),
      'Please ship the order soon and mark it as shipped.',
    ]),
  }
}

/** To the buyer, about one shipped row. */
function shippedEmail({ buyer, seller }: Parties, order: Order): NewMail {
  const { code, url } = order.tracking
  return {
    to: buyer.email,
    subject: `On its way: ${titleOf(order)}`,
    text: textFor(buyer.name, [
      `${seller.shopName} has shipped ${titleOf(order)} (order ${order.id}).`,
      code && `Tracking code: ${code}${url ? `\n${url}` : ''}`,
    ]),
  }
}

/**
 * The e-mails that follow a transition of an order row.
 *
 * @param refundCents the part of the price that the transition refunds
 */
export function emailsAbout(
  transition: Transition,
  order: Order,
  parties: Parties,
  refundCents = 0,
): NewMail[] {
  const { buyer, seller } = parties
  const item = `${titleOf(order)} (order ${order.id})`
  const toBuyer = (subject: string, ...paragraphs: string[]): NewMail => ({
    to: buyer.email,
    subject: `${subject}: ${titleOf(order)}`,
    text: textFor(buyer.name, paragraphs),
  })
  const toSeller = (subject: string, ...paragraphs: string[]): NewMail => ({
    to: seller.email,
    subject: `${subject}: ${titleOf(order)}`,
    text: textFor(seller.shopName, paragraphs),
  })
  const refund = `You will be refunded ${euros(refundCents)}.`
  const buyerRefunded = `${buyer.name} will be refunded.`
  switch (transition) {
    case 'ship':
      return [shippedEmail(parties, order)]
    case 'cancel':
      return [
        toBuyer(
          'Cancelled',
          `Your order of ${item} from ${seller.shopName} was cancelled.`,
          refund,
        ),
        toSeller('Cancelled', `${buyer.name}’s order of ${item} was cancelled.`, buyerRefunded),
      ]
    case 'cancelAsSeller':
      return [
        toBuyer(
          'Cancelled',
          `${seller.shopName} has cancelled your order of ${item}${CANCEL_REASONS[order.cancelReason ?? 'other']}.`,
          refund,
        ),
      ]
    case 'dispute':
      return [
        toSeller(
          'Disputed',
          `${buyer.name} has reported a problem with ${item}.`,
          'We are looking into it and will e-mail you when it is resolved.',
        ),
      ]
    case 'resolveForBuyer':
      return [
        toBuyer('Resolved', `Your dispute about ${item} was resolved in your favour.`, refund),
        toSeller(
          'Resolved',
          `The dispute about ${item} was resolved in the buyer’s favour.`,
          buyerRefunded,
        ),
      ]
    case 'resolveForSeller':
      return [
        toBuyer('Resolved', `Your dispute about ${item} was resolved in the seller’s favour.`),
        toSeller('Resolved', `The dispute about ${item} was resolved in your favour.`),
      ]
    case 'receive':
      return []
  }
}

/** Ends a sentence about a cancellation by the seller. */
const CANCEL_REASONS: Record<CancelReason, string> = {
  out_of_stock: ', because it is out of stock',
  buyer_asked: ', as you asked',
  other: '',
}

/** About a partial refund: to the buyer, and to the seller who bears it. */
export function refundEmails(
  order: Order,
  { buyer, seller }: Parties,
  { amountCents, reason, borneBy }: { amountCents: number; reason: string; borneBy: string },
): NewMail[] {
  const item = `${titleOf(order)} (order ${order.id})`
  const subject = `Refund of ${euros(amountCents)}: ${titleOf(order)}`
  return [
    {
      to: buyer.email,
      subject,
      text: textFor(buyer.name, [
        `You will be refunded ${euros(amountCents)} for ${item} from ${seller.shopName}.`,
        `Reason: ${reason}`,
      ]),
    },
    ...(borneBy === 'seller'
      ? [
          {
            to: seller.email,
            subject,
            text: textFor(seller.shopName, [
              `${buyer.name} will be refunded ${euros(amountCents)} for ${item}. The amount is deducted from your payout.`,
              `Reason: ${reason}`,
            ]),
          },
        ]
      : []),
  ]
}

const titleOf = (
  sold: Pick<Sold, 'quantity'> & ({ item: Sold['item'] } | { itemName: string | null }),
) => {
  const name = ('item' in sold ? sold.item.name : sold.itemName) ?? 'an item'
  return sold.quantity === 1 ? name : `${sold.quantity} × ${name}`
}

const euros = (cents: number) => `${eurosFromCents(cents).toFixed(2)} EUR`

const textFor = (reader: string, paragraphs: (string | null | undefined | '')[]) =>
  [`Hello ${reader},`, ...paragraphs.filter(Boolean)].join('\n\n')

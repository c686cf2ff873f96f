import type { Context } from '../context.ts'
import type { NewMail } from '../mail/mail.ts'
import { eurosFromCents } from '../money.ts'
import { grossOf } from './money.ts'
import type { Order, Transition } from './order.ts'

/** What buyers and sellers are written when something happens to what they bought or sold. Plain text, one reader. */

/** Who a slice is between. */
export type Parties = {
  buyer: { name: string; email: string }
  seller: { shopName: string; email: string }
}

/** The two sides of a slice. */
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

/** To a seller, about everything in a slice that was just bought. */
export function soldLetter(
  { buyer, seller }: Parties,
  rows: { id: number; quantity: number; priceCents: number; itemName: string | null }[],
): NewMail {
  return {
    to: seller.email,
    subject: `Sold: ${rows.length === 1 ? titleOf(rows[0]!) : `${rows.length} listings`}`,
    text: letter(seller.shopName, [
      `${buyer.name} has bought from you:`,
      rows.map((row) => `- ${titleOf(row)}, ${euros(grossOf(row))} (order ${row.id})`).join('\n'),
      'Please ship it soon and mark it as shipped.',
    ]),
  }
}

/** To the buyer, about one row that was shipped. */
function shippedLetter({ buyer, seller }: Parties, order: Order): NewMail {
  const { code, url } = order.tracking
  return {
    to: buyer.email,
    subject: `On its way: ${titleOf(order)}`,
    text: letter(buyer.name, [
      `${seller.shopName} has shipped ${titleOf(order)} (order ${order.id}).`,
      code && `Tracking code: ${code}${url ? `\n${url}` : ''}`,
    ]),
  }
}

/** Who is told what when this has happened to a row. */
export function lettersAbout(transition: Transition, order: Order, parties: Parties): NewMail[] {
  const { buyer, seller } = parties
  const what = `${titleOf(order)} (order ${order.id})`
  const toBuyer = (subject: string, ...text: string[]): NewMail => ({
    to: buyer.email,
    subject: `${subject}: ${titleOf(order)}`,
    text: letter(buyer.name, text),
  })
  const toSeller = (subject: string, ...text: string[]): NewMail => ({
    to: seller.email,
    subject: `${subject}: ${titleOf(order)}`,
    text: letter(seller.shopName, text),
  })
  const refund = `${euros(grossOf(order))} will be refunded.`
  switch (transition) {
    case 'ship':
      return [shippedLetter(parties, order)]
    case 'cancel':
      return [
        toBuyer(
          'Cancelled',
          `Your order of ${what} from ${seller.shopName} was cancelled.`,
          refund,
        ),
        toSeller(
          'Cancelled',
          `The order of ${what} by ${buyer.name} was cancelled.`,
          'The buyer is refunded.',
        ),
      ]
    case 'dispute':
      return [
        toSeller(
          'Disputed',
          `${buyer.name} says that something is wrong with ${what}.`,
          'We look into it and will write to you.',
        ),
      ]
    case 'resolveForBuyer':
      return [
        toBuyer('Resolved', `Your dispute about ${what} was resolved in your favour.`, refund),
        toSeller(
          'Resolved',
          `The dispute about ${what} was resolved in the buyer’s favour.`,
          'The buyer is refunded.',
        ),
      ]
    case 'resolveForSeller':
      return [
        toBuyer('Resolved', `Your dispute about ${what} was resolved in the seller’s favour.`),
        toSeller('Resolved', `The dispute about ${what} was resolved in your favour.`),
      ]
    case 'receive':
      return []
  }
}

const titleOf = (
  sold: Pick<Sold, 'quantity'> & ({ item: Sold['item'] } | { itemName: string | null }),
) => {
  const name = ('item' in sold ? sold.item.name : sold.itemName) ?? 'an item'
  return sold.quantity === 1 ? name : `${sold.quantity} × ${name}`
}

const euros = (cents: number) => `${eurosFromCents(cents).toFixed(2)} EUR`

const letter = (reader: string, paragraphs: (string | null | undefined | '')[]) =>
  [`Hello ${reader},`, ...paragraphs.filter(Boolean)].join('\n\n')

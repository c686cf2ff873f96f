import type { Fulfilment } from '../enums.ts'

/** What an order row comes to, in whole cents. */
export type RowMoney = { priceCents: number; quantity: number; commissionCents: number }

/**
 * What the marketplace keeps of a row: the gross at a rate in hundredths of a percent, half a cent going up. Whole
 * numbers all the way: below 2^53 up to gross amounts of nine billion euros.
 */
export const commissionOf = (grossCents: number, rate: number) =>
  Math.floor((grossCents * rate + 5_000) / 10_000)

export const grossOf = ({ priceCents, quantity }: Pick<RowMoney, 'priceCents' | 'quantity'>) =>
  priceCents * quantity

/** What the seller gets for a row: the article alone, never shipping. */
export const netOf = (row: RowMoney) => grossOf(row) - row.commissionCents

/** Who gets what the buyer paid for shipping: who ships. */
export const paidTo = (fulfilment: Fulfilment) =>
  fulfilment === 'self_ship' ? 'seller' : 'platform'

/** What a slice comes to, over all of its rows; a cancelled one's refund shows on the row (§2.8). */
export function totalsOf(
  rows: RowMoney[],
  { shippingCents, fulfilment }: { shippingCents: number; fulfilment: Fulfilment },
) {
  const sellerShareCents = paidTo(fulfilment) === 'seller' ? shippingCents : 0
  return {
    merchandiseCents: rows.reduce((sum, row) => sum + grossOf(row), 0),
    shippingCents,
    sellerShareCents,
    sellerNetCents: rows.reduce((sum, row) => sum + netOf(row), 0) + sellerShareCents,
  }
}

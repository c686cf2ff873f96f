import type { Fulfilment } from '../enums.ts'

/** The amounts of an order row, in whole cents. */
export type RowMoney = { priceCents: number; quantity: number; commissionCents: number }

/**
 * The marketplace's commission, rounded half up. Integer arithmetic, exact below 2^53: up to nine billion euros.
 *
 * @param rate in hundredths of a percent
 */
export const commissionOf = (grossCents: number, rate: number) =>
  Math.floor((grossCents * rate + 5_000) / 10_000)

/** The price of all units of a row, in cents. */
export const grossOf = ({ priceCents, quantity }: Pick<RowMoney, 'priceCents' | 'quantity'>) =>
  priceCents * quantity

/** The seller's share of a row, without shipping. */
export const netOf = (row: RowMoney) => grossOf(row) - row.commissionCents

/** The side that ships receives the shipping price. */
export const paidTo = (fulfilment: Fulfilment) =>
  fulfilment === 'self_ship' ? 'seller' : 'platform'

/** The totals of a slice over all rows, cancelled ones included: a refund is shown on its row (§2.8). */
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

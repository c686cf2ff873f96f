import type { PayoutRecord } from './api.ts'

type Line = Pick<PayoutRecord['lines'][number], 'shipping' | 'refunds'>

/** The title of a payout's line that is about no order row. */
export function titleWithoutOrder({ shipping, refunds }: Line): string {
  if (shipping > 0) return 'Shipping'
  // The debt after refunds of another order, or the part of this order that another payout has paid.
  return refunds < 0 ? 'Deducted from another payout' : 'Deduction for another payout'
}

import type { Context } from '../context.ts'
import { needsTrackingCode } from '../orders/ship-order.ts'
import { hasOpenPurchase } from '../orders/transitions.ts'
import type { LabeledSlice } from './labeled-slice.ts'
import type { ShippingContext } from './purchase.ts'

/** The actions that a slice offers its seller: those that would succeed now. Each verb checks its own rules again. */
export type SliceActions = {
  /** Mark the pending rows as shipped. */
  ship: { needsTrackingCode: boolean } | null
  /** Buy the platform label, or read it again. */
  label: boolean
  /** Rows that the seller can cancel. */
  cancel: number[]
  /** The seller could ship if the payout setup were verified. */
  needsPayoutSetup: boolean
}

/** The possible actions of a slice of this account. */
export async function actionsFor(
  ctx: Context & Pick<ShippingContext, 'carrier'>,
  { payoutVerified }: { payoutVerified: boolean },
  slice: LabeledSlice,
): Promise<SliceActions> {
  const { orders, shipping, label } = slice
  const pending = orders.filter(({ status }) => status === 'pending').map(({ id }) => id)
  const isCancellable =
    pending.length > 0 &&
    (label === null || label.isVoid) &&
    !(await hasOpenPurchase(ctx, slice.id))
  return {
    ship:
      pending.length > 0 && payoutVerified
        ? { needsTrackingCode: needsTrackingCode(shipping) }
        : null,
    label:
      payoutVerified &&
      shipping.fulfilment === 'platform' &&
      (label !== null || (ctx.carrier !== undefined && needsLabel(slice))),
    cancel: isCancellable ? pending : [],
    needsPayoutSetup: pending.length > 0 && !payoutVerified,
  }
}

/**
 * Whether a label can be bought and is of use. A seller may print it after marking the order as shipped. Once the buyer
 * has received or disputed a row, the parcel has left without one: `buyLabel` would still sell it for the other rows.
 */
function needsLabel({ orders, buyer }: LabeledSlice): boolean {
  const has = (wanted: string) => orders.some(({ status }) => status === wanted)
  return (
    buyer.address !== null &&
    (has('pending') || (has('shipped') && !has('received') && !has('disputed')))
  )
}

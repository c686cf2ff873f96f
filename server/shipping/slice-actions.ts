import { needsTrackingCode } from '../orders/ship-order.ts'
import type { LabeledSlice } from './labeled-slice.ts'

/** The actions that a slice offers its seller. Each verb checks its own rules again. */
export type SliceActions = {
  /** Null if no row is pending. */
  ship: { needsTrackingCode: boolean } | null
  /** Buy the platform label, or read it again. */
  label: boolean
  /** Rows that the seller can cancel. */
  cancel: number[]
}

export function actionsFor({ orders, shipping, buyer, label }: LabeledSlice): SliceActions {
  const pending = orders.filter(({ status }) => status === 'pending').map(({ id }) => id)
  const isInParcel = orders.some(({ status }) => status === 'pending' || status === 'shipped')
  return {
    ship: pending.length > 0 ? { needsTrackingCode: needsTrackingCode(shipping) } : null,
    label:
      shipping.fulfilment === 'platform' &&
      (label !== null || (isInParcel && buyer.address !== null)),
    cancel: label === null ? pending : [],
  }
}

/** A payout is `held` while it is due and something prevents it; the database stores the other states. */
export const PAYOUT_STATES = ['due', 'sent', 'paid', 'failed', 'held'] as const
export type PayoutState = (typeof PAYOUT_STATES)[number]

/** The transfer of a seller's earnings from one slice. */
export type Payout = {
  id: number
  accountId: number
  sliceKey: string
  amountCents: number
  state: PayoutState
  /** Why it is held or failed. */
  reason: string | null
  /** Held until the operator releases it or marks it as paid. */
  isToCheck: boolean
  /** Appears on the bank statement. */
  reference: string
  createdAt: Date
  sentAt: Date | null
  paidAt: Date | null
  /** gross − commission − refunds + shipping of all lines is the amount. */
  lines: PayoutLine[]
  deductions: PayoutDeduction[]
}

/** The part of a payout that a run deducted for the refunds of another slice. */
export type PayoutDeduction = {
  sliceKey: string
  /** The rows whose refunds caused it. */
  orderIds: number[]
  cents: number
}

/** The part of a payout from one order row; without one, shipping or the deduction of an earlier refund. */
export type PayoutLine = {
  orderId: number | null
  grossCents: number
  commissionCents: number
  /** Refunds that the seller bears, and what another payout of the slice paid; negative for what was deducted already. */
  refundsCents: number
  shippingCents: number
}

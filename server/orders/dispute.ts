import type { Context } from '../context.ts'
import type { DisputeReason } from '../enums.ts'

export const DISPUTE_STATES = ['open', 'answered', 'resolved'] as const
/** `open` disputes wait for the seller's answer, `answered` ones for the operator's decision. */
export type DisputeState = (typeof DISPUTE_STATES)[number]

export const RESOLUTIONS = ['seller', 'buyer'] as const
/** The side in whose favour a dispute was resolved. */
export type Resolution = (typeof RESOLUTIONS)[number]

/** A buyer's report of a problem with an order row. A row has at most one that is not resolved. */
export type Dispute = {
  id: number
  orderId: number
  sliceKey: string
  accountId: number
  itemName: string | null
  state: DisputeState
  reason: DisputeReason
  /** The buyer's text. */
  message: string | null
  openedAt: Date
  /** Deadline of the seller's answer. A later answer is accepted until the dispute is resolved. */
  answerBy: Date
  answer: string | null
  /** Links, which the service never fetches. */
  photoUrls: string[]
  answeredAt: Date | null
  resolution: Resolution | null
  /** The refund that the resolution made. */
  refundCents: number | null
  resolvedAt: Date | null
}

/** Records the end of a row's dispute, if it has one. The caller holds the lock of the slice. */
export const endDispute = (
  { db, now }: Context,
  orderId: number,
  { resolution, refundCents }: { resolution: Resolution; refundCents: number },
) => db`
  update disputes
  set resolution = ${resolution}, refund_cents = ${refundCents}, resolved_at = ${now()}
  where order_id = ${orderId} and resolved_at is null
`

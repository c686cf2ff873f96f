import type { Context } from '../context.ts'
import type { DisputeReason, DisputeState } from '../enums.ts'
import { eraseMails } from '../mail/outbox.ts'

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

/**
 * Records the end of a row's dispute, if it has one. An answer that was given after the buyer's data was erased is needed
 * until then, and is erased with its e-mail. The caller holds the lock of the slice.
 */
export async function endDispute(
  { db, now }: Context,
  orderId: number,
  { resolution, refundCents }: { resolution: Resolution; refundCents: number },
): Promise<void> {
  const [dispute] = await db<{ id: number; hasAnswer: boolean; erasedSlice: number | null }[]>`
    update disputes
    set resolution = ${resolution}, refund_cents = ${refundCents}, resolved_at = ${now()}
    where order_id = ${orderId} and resolved_at is null
    returning
      id,
      answered_at is not null as "hasAnswer",
      (
        select s.id
        from orders o
        join slices s on s.id = o.slice_id
        join checkouts c on c.id = s.checkout_id
        where o.id = order_id and c.erased_at is not null
      ) as "erasedSlice"
  `
  if (!dispute?.hasAnswer || dispute.erasedSlice === null) return
  await db`update disputes set answer = '', photo_urls = '{}' where id = ${dispute.id}`
  await eraseMails({ db }, db`slice_id = ${dispute.erasedSlice}`)
}

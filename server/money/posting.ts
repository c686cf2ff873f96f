import type { PostingKind } from '../enums.ts'

/**
 * The ledger's vocabulary. A posting is one fact about money: its entries change several ledger accounts and sum to
 * zero. A positive amount is money that the account received, so `buyers` is minus everything that buyers paid.
 */

/** The side that pays for a partial refund: the seller's earnings or the marketplace's commission. */
export const REFUND_BEARERS = ['seller', 'platform'] as const
export type RefundBearer = (typeof REFUND_BEARERS)[number]

/** One entry of a posting. */
export type Entry = {
  id: number
  kind: PostingKind
  sliceKey: string
  /** null if the posting is about the whole slice. */
  orderId: number | null
  /** `buyers`, `seller:{id}`, `commission`, `shipping`, `refunds` or `payouts`. */
  account: string
  amountCents: number
  createdAt: Date
}

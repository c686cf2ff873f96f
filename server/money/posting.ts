/**
 * The ledger's vocabulary. A posting is one fact about money: its entries add to several ledger accounts, and sum to
 * zero. A positive amount is money that the account received: `buyers` is negative by everything that buyers paid.
 */

export const POSTING_KINDS = [
  'sale',
  'shipping',
  'refund',
  'cancellation',
  'shipping_refund',
] as const
export type PostingKind = (typeof POSTING_KINDS)[number]

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

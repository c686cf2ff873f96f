import { notFound } from '../errors.ts'

/** A buyer's opinion about a slice. */
export type Review = {
  id: number
  orderId: number
  sliceKey: string
  accountId: number
  stars: number
  text: string | null
  reply: string | null
  repliedAt: Date | null
  createdAt: Date
  updatedAt: Date
  /** Removed by the operator: not shown, and not part of the rating. */
  removedBecause: string | null
  removedAt: Date | null
  /** Nothing can be addressed to the buyer any more. */
  isBuyerErased: boolean
}

export const reviewNotFound = () => notFound('There is no such review.')

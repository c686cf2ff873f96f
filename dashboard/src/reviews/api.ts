import type { OwnReview as Review, ReviewList } from '../../../server/http/dashboard/reviews.ts'
import type { Data } from '../api.ts'
import { get, post } from '../client.ts'
import { readAfter } from '../query-client.ts'

export type { Review }

export const listReviews = (query: Record<string, string>) => get<ReviewList>('reviews', { query })

/** `former` is the reply that the text replaces; without it, the text replaces any. */
export type Reply = { text: string; former?: string | null }

export const reply = (id: number, input: Reply) =>
  readAfter(post<Data<Review>>(`reviews/${id}/reply`, input), ['reviews'])

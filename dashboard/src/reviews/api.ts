import type { OwnReview as Review, ReviewList } from '../../../server/http/dashboard/reviews.ts'
import type { Data } from '../api.ts'
import { get, post } from '../client.ts'

export type { Review }

export const listReviews = (query: Record<string, string>) => get<ReviewList>('reviews', { query })

export const reply = async (id: number, text: string) =>
  (await post<Data<Review>>(`reviews/${id}/reply`, { text })).data

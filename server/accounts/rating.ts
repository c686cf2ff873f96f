import type { Context } from '../context.ts'

/** The largest number of reviews that the column holds. */
const MAX_REVIEWS = 2_147_483_647

/**
 * Computes the published rating and number of reviews of an account: the mean of its own reviews and of the imported
 * ones, which the operator entered, to one decimal. Without own reviews the entered figures are published as they are.
 *
 * @param change difference to the sum of the stars and to the number of own reviews
 */
export async function publishRating(
  { db, signal }: Context,
  accountId: number,
  change: { stars: number; reviews: number } = { stars: 0, reviews: 0 },
): Promise<void> {
  const stars = db`review_stars + ${change.stars}::int`
  const count = db`review_count + ${change.reviews}::int`
  // Computes all from the row itself. A query in `from` that locks the row would lock its newest version, while the update
  // starts from an older one: it could wait for a transaction that waits for this lock.
  await db`
    update accounts
    set
      review_stars = ${stars},
      review_count = ${count},
      rating = case
        when ${count} = 0 then imported_rating
        else round(
          (coalesce(imported_rating * imported_reviews, 0) + ${stars})
          / (case when imported_rating is null then 0 else imported_reviews::bigint end + ${count}),
          1
        )
      end,
      reviews = least(imported_reviews::bigint + ${count}, ${MAX_REVIEWS}::bigint)
    where id = ${accountId}
  `
  await signal('keys', accountId)
}

/** The rating that is shown for these published figures; null without reviews. */
export const shownRating = (rating: number | null, reviews: number): number | null =>
  reviews > 0 ? rating : null

/**
 * A rating with one decimal. Rounds the two decimals that are stored, like the database: 4.05 becomes 4.1, while `toFixed`
 * would round the nearest binary number, which is smaller.
 */
export const ratingText = (rating: number): string =>
  (Math.round(Math.round(rating * 100) / 10) / 10).toFixed(1)

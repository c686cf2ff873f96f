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
  await db`
    update accounts a
    set
      review_stars = own.stars,
      review_count = own.count,
      rating = case
        when own.count = 0 then a.imported_rating
        else round(
          (coalesce(a.imported_rating, 0) * own.imported + own.stars) / (own.imported + own.count),
          1
        )
      end,
      reviews = least(a.imported_reviews::bigint + own.count, ${MAX_REVIEWS}::bigint)
    from (
      select
        id,
        review_stars + ${change.stars}::int as stars,
        review_count + ${change.reviews}::int as count,
        case when imported_rating is null then 0 else imported_reviews::bigint end as imported
      from accounts
      where id = ${accountId}
      for no key update
    ) own
    where a.id = own.id
  `
  await signal('keys', accountId)
}

import { publishRating } from '../accounts/rating.ts'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { type Page, readNewestPage } from '../database/paging.ts'
import type { Db } from '../database/sql.ts'
import { conflict } from '../errors.ts'
import { sendMail } from '../mail/outbox.ts'
import { partiesOf } from '../orders/emails.ts'
import { lockSlice } from '../orders/locks.ts'
import { getOrder, getSliceId } from '../orders/orders.ts'
import { buyerErased, requireUnerasedBuyer } from '../orders/slice.ts'
import { DAYS } from '../time/units.ts'
import { newReviewEmail } from './emails.ts'
import { type Review, reviewNotFound } from './review.ts'

const CHANGEABLE_MS = 30 * DAYS

/**
 * Adds the buyer's review of the slice that an order row belongs to. A slice gets one review, even if that is removed.
 * The seller gets an e-mail.
 *
 * @throws not_found, conflict unless the row was received, if the slice has a review, and for a text of a buyer whose
 *   data was erased
 */
export const addReview = (
  ctx: Context,
  orderId: number,
  { stars, text }: { stars: number; text: string | null },
): Promise<Review> =>
  inTransaction(ctx, async (tx) => {
    const sliceId = await getSliceId(tx, orderId)
    await lockSlice(tx, sliceId)
    const { status, accountId } = await getOrder(tx, orderId)
    if (status !== 'received') {
      throw conflict(`The order is ${status}; a review requires it to be received.`)
    }
    if (text !== null) await requireUnerasedBuyer(tx, sliceId)
    const now = tx.now()
    const [inserted] = await tx.db<{ id: number }[]>`
      insert into reviews (slice_id, order_id, account_id, stars, text, created_at, updated_at)
      values (${sliceId}, ${orderId}, ${accountId}, ${stars}, ${text}, ${now}, ${now})
      on conflict on constraint reviews_one_per_slice do nothing
      returning id
    `
    if (!inserted) throw conflict('The buyer has already reviewed this slice.')
    await publishRating(tx, accountId, { stars, reviews: 1 })
    const email = newReviewEmail(tx, await partiesOf(tx, sliceId), { orderId, stars, text })
    await sendMail(tx, email, { sliceId })
    return (await readReviews(tx.db, [inserted.id]))[0]!
  })

/**
 * Changes a review within 30 days. The seller's reply stays.
 *
 * @throws not_found without a review that is shown, conflict after 30 days, and for a text of a buyer whose data was
 *   erased
 */
export const changeReview = (
  ctx: Context,
  orderId: number,
  changes: { stars?: number | undefined; text?: string | null | undefined },
): Promise<Review> =>
  inTransaction(ctx, async (tx) => {
    const review = await lockReview(tx, orderId)
    if (tx.now().getTime() > review.createdAt.getTime() + CHANGEABLE_MS) {
      throw conflict('The review is older than 30 days, so it can no longer be changed.')
    }
    const { stars = review.stars, text = review.text } = changes
    if (text !== review.text && text !== null) {
      await requireUnerasedBuyer(tx, await getSliceId(tx, orderId))
    }
    await tx.db`
      update reviews
      set stars = ${stars}, text = ${text}, updated_at = ${tx.now()}
      where id = ${review.id}
    `
    await publishRating(tx, review.accountId, { stars: stars - review.stars, reviews: 0 })
    return (await readReviews(tx.db, [review.id]))[0]!
  })

/**
 * Removes a review for the operator: it is no longer shown or counted. If the buyer's data was erased, the review loses
 * its text and reply, which were kept for the public.
 *
 * @throws not_found without a review that is shown
 */
export const removeReview = (ctx: Context, orderId: number, reason: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const review = await lockReview(tx, orderId)
    await tx.db`
      update reviews
      set
        removed_because = ${reason},
        removed_at = ${tx.now()}
        ${review.isBuyerErased ? tx.db`, text = null, reply = null, replied_at = null` : tx.db``}
      where id = ${review.id}
    `
    await publishRating(tx, review.accountId, { stars: -review.stars, reviews: -1 })
  })

/**
 * The seller's public reply to a review; a further one replaces it.
 *
 * @param wanted.former the reply that this one replaces; any, if it is undefined
 * @throws not_found unless it is the account's and shown, conflict if the buyer's data was erased: a reply addresses the
 *   buyer; conflict if the current reply is neither `former` nor this one
 */
export const replyToReview = (
  ctx: Context,
  accountId: number,
  id: number,
  { text, former }: { text: string; former?: string | null | undefined },
): Promise<Review> =>
  inTransaction(ctx, async (tx) => {
    const [found] = await tx.db<{ sliceId: number }[]>`
      select slice_id as "sliceId" from reviews where id = ${id} and account_id = ${accountId}
    `
    if (!found) throw reviewNotFound()
    await lockSlice(tx, found.sliceId)
    const { removedAt, isBuyerErased, reply } = await getReview(tx, id)
    if (removedAt) throw reviewNotFound()
    if (isBuyerErased) throw buyerErased()
    if (former !== undefined && reply !== former && reply !== text) {
      throw conflict('Another reply was saved meanwhile. Reply again to replace it.')
    }
    await tx.db`update reviews set reply = ${text}, replied_at = ${tx.now()} where id = ${id}`
    return (await readReviews(tx.db, [id]))[0]!
  })

/** Checks that a review exists. @throws not_found unless it is the account's and shown */
export async function requireReview({ db }: Context, accountId: number, id: number): Promise<void> {
  const [found] = await db`
    select 1 from reviews where id = ${id} and account_id = ${accountId} and removed_at is null
  `
  if (!found) throw reviewNotFound()
}

export type ReviewFilters = {
  accountId?: number | undefined
  orderId?: number | undefined
  stars?: number | undefined
  /** Leaves out removed reviews. */
  isShown?: boolean
}

/** One page of reviews, newest first, and the total. */
export const listReviews = (
  ctx: Context,
  { accountId, orderId, stars, isShown = false }: ReviewFilters,
  page: Page,
): Promise<{ rows: Review[]; total: number }> =>
  readNewestPage(
    ctx,
    page,
    (db) => db`
      select id
      from reviews
      where
        true
        ${accountId === undefined ? db`` : db`and account_id = ${accountId}`}
        ${
          orderId === undefined
            ? db``
            : db`and slice_id = (select slice_id from orders where id = ${orderId})`
        }
        ${stars === undefined ? db`` : db`and stars = ${stars}`}
        ${isShown ? db`and removed_at is null` : db``}
    `,
    readReviews,
    // The number of the reviews of an account that are shown is kept with its rating.
    isShown && accountId !== undefined && (orderId ?? stars) === undefined
      ? (db) => db`select review_count as total from accounts where id = ${accountId}`
      : undefined,
  )

/** Reads a review, also one that was removed. @throws not_found */
export async function getReview({ db }: Context, id: number): Promise<Review> {
  const [review] = await readReviews(db, [id])
  if (!review) throw reviewNotFound()
  return review
}

/** The review of the slice that an order row belongs to, also one that was removed; undefined without one. */
export const reviewOfOrder = async (ctx: Context, orderId: number): Promise<Review | undefined> =>
  (await listReviews(ctx, { orderId }, { perPage: 1, offset: 0 })).rows[0]

/** The latest reviews of a shop that were not removed, for its public page. */
export async function latestReviews(
  { db }: Context,
  accountId: number,
  limit: number,
): Promise<Review[]> {
  const rows = await db<{ id: number }[]>`
    select id
    from reviews
    where account_id = ${accountId} and removed_at is null
    order by id desc
    limit ${limit}
  `
  return readReviews(
    db,
    rows.map(({ id }) => id),
  )
}

/** Locks the slice of an order row, and returns its review. @throws not_found */
async function lockReview(tx: Context, orderId: number): Promise<Review> {
  const sliceId = await getSliceId(tx, orderId)
  await lockSlice(tx, sliceId)
  const [found] = await tx.db<{ id: number }[]>`
    select id from reviews where slice_id = ${sliceId} and removed_at is null
  `
  if (!found) throw reviewNotFound()
  return (await readReviews(tx.db, [found.id]))[0]!
}

/** The reviews with these ids, in the same order. */
async function readReviews(db: Db, ids: number[]): Promise<Review[]> {
  if (ids.length === 0) return []
  return db<Review[]>`
    select
      r.id,
      r.order_id as "orderId",
      s.slice_key as "sliceKey",
      r.account_id as "accountId",
      r.stars,
      r.text,
      r.reply,
      r.replied_at as "repliedAt",
      r.created_at as "createdAt",
      r.updated_at as "updatedAt",
      r.removed_because as "removedBecause",
      r.removed_at as "removedAt",
      c.erased_at is not null as "isBuyerErased"
    from reviews r
    join slices s on s.id = r.slice_id
    join checkouts c on c.id = s.checkout_id
    where r.id = any(${ids}::bigint[])
    order by array_position(${ids}::bigint[], r.id)
  `
}

import { createHmac } from 'node:crypto'
import type { Context } from '../context.ts'
import { deriveKey } from '../crypto/derived-key.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Fragment } from '../database/sql.ts'
import { notFound } from '../errors.ts'
import { addNotice } from '../notices/notices.ts'
import { claimStillHeld, waitingAccounts } from '../queue/claim.ts'
import { failInterrupted, INTERRUPTED } from '../queue/interrupted.ts'
import type { FastTurn } from '../queue/turns.ts'
import { delayAfter, MAX_ATTEMPTS, type Photo, POSTPONED_MS } from './photo.ts'

/** A photo claimed by this process; `attempts` is the fencing token (queue/README.md). */
export type ClaimedPhoto = {
  id: number
  listingId: number
  accountId: number
  url: string
  attempts: number
  createdAt: Date
  listingIsRemoved: boolean
}

/** Lease of a claim: longer than a download (20 s) and two uploads to a bucket (45 s each). */
const LEASE_SECONDS = 120

const LISTING_DELETED = 'The listing was deleted.'

/** Claims the photo that has been due longest of the next seller whose turn it is (queue/README.md). */
export const claimPhoto = (
  ctx: Context,
  { after, excluded }: Pick<FastTurn, 'after' | 'excluded'> = { after: 0, excluded: [] },
): Promise<ClaimedPhoto | undefined> =>
  leasePhoto(ctx, waitingAccounts(ctx.db, 'photos', after, ctx.db`status = 'waiting'`), excluded)

/** Claims a photo of the first of these sellers that has one. */
export const claimPhotoOf = async (
  ctx: Context,
  sellers: number[],
): Promise<ClaimedPhoto | undefined> =>
  sellers.length === 0
    ? undefined
    : leasePhoto(ctx, ctx.db`waiting as (select unnest(${sellers}::bigint[]) as account_id)`)

/** @param waiting sellers in the order of their turns, as `waiting` */
async function leasePhoto(
  ctx: Context,
  waiting: Fragment,
  excluded: number[] = [],
): Promise<ClaimedPhoto | undefined> {
  const [photo] = await ctx.db<ClaimedPhoto[]>`
    with recursive ${waiting}
    update photos
    set
      attempts = attempts + 1,
      error = case when leased_until is null then error else ${INTERRUPTED} end,
      leased_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    from listings
    where
      photos.id = (
        select due.id
        from waiting
        -- Another claim may have locked the seller's first photo, or all of them.
        cross join lateral (
          select id
          from photos
          where
            photos.account_id = waiting.account_id
            and status = 'waiting'
            and next_attempt_at <= ${ctx.now()}
            and attempts < ${MAX_ATTEMPTS}
            and (leased_until is null or leased_until < clock_timestamp())
          order by next_attempt_at, id
          limit 1
          for update skip locked
        ) due
        where waiting.account_id <> all(${excluded}::bigint[])
        limit 1
      )
      and listings.id = photos.listing_id
    returning
      photos.id,
      listing_id as "listingId",
      photos.account_id as "accountId",
      url,
      attempts,
      photos.created_at as "createdAt",
      listings.status = 'removed' as "listingIsRemoved"
  `
  return photo
}

/**
 * Fails the photos whose last permitted attempt was interrupted, with notices for their sellers. Reads every photo that is
 * due.
 */
export const failInterruptedPhotos = (ctx: Context): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const ids = await failInterrupted(tx, 'photos', MAX_ATTEMPTS)
    if (ids.length === 0) return
    const photos = await tx.db<{ accountId: number; listingId: number }[]>`
      select photos.account_id as "accountId", listing_id as "listingId"
      from photos
      join listings on listings.id = listing_id
      where photos.id = any(${ids}::bigint[]) and listings.status <> 'removed'
      -- Two processes that notify the same sellers lock the notices in the same order.
      order by photos.account_id, photos.id
    `
    for (const { accountId, listingId } of photos) {
      const facts = { listing_id: listingId, reason: INTERRUPTED }
      await addNotice(tx, accountId, 'photo_failed', 0, facts)
    }
  })

/**
 * The unguessable base name of the files of an attempt. An attempt that was postponed or released has the same name when
 * it is made again, so it replaces the files that it may have stored. Attempts that can run at the same time have
 * different names, so that none writes or deletes the files of another. The name depends on the time of creation, because
 * a restored database issues ids again.
 */
export const photoName = (
  { config }: Context,
  { id, url, createdAt }: Pick<ClaimedPhoto, 'id' | 'url' | 'createdAt'>,
  attempt: number,
): string =>
  createHmac('sha256', deriveKey('photo names', config))
    .update(`${id} ${attempt} ${createdAt.toISOString()} ${url}`)
    .digest()
    .toString('base64url', 0, 16)

/**
 * Attaches a stored photo to its listing and updates the listing's `updated_at`, so that syncing clients see it.
 *
 * @returns false when the listing was deleted or the claim was lost: the photo's files are unused
 */
export function attachPhoto(ctx: Context, photo: ClaimedPhoto, name: string): Promise<boolean> {
  return inTransaction(ctx, async (ctx) => {
    const { db } = ctx
    const [listing] = await db<{ status: string }[]>`
      select status from listings where id = ${photo.listingId} for update
    `
    if (listing?.status === 'removed') {
      await fail(ctx, photo, LISTING_DELETED)
      return false
    }
    const { count } = await db`
      update photos
      set status = 'stored', name = ${name}, error = null, next_attempt_at = null, leased_until = null
      where ${claimStillHeld(db, photo)}
    `
    if (count === 0) return false
    await db`
      update listings
      set
        photos = (
          select array_agg(name order by position)
          from photos
          where listing_id = ${photo.listingId} and status = 'stored'
        ),
        updated_at = greatest(updated_at, ${ctx.now()})
      where id = ${photo.listingId}
    `
    await ctx.signal('offers')
    return true
  })
}

/** Schedules the next attempt; after the last one the photo has failed. */
export function retryPhoto(ctx: Context, photo: ClaimedPhoto, error: string): Promise<void> {
  const delay = delayAfter(photo.attempts)
  return delay === undefined
    ? failPhoto(ctx, photo, error)
    : schedule(ctx, photo, error, { delay, counted: 1 })
}

/**
 * Schedules another attempt without counting this one: an outage of our own storage, however long, must not cost the
 * seller the photo.
 */
export const postponePhoto = (ctx: Context, photo: ClaimedPhoto, error: string): Promise<void> =>
  schedule(ctx, photo, error, { delay: POSTPONED_MS, counted: 0 })

async function schedule(
  { db, now }: Context,
  photo: ClaimedPhoto,
  error: string,
  { delay, counted }: { delay: number; counted: 0 | 1 },
): Promise<void> {
  await db`
    update photos
    set
      attempts = attempts - ${1 - counted}::int,
      error = ${error},
      next_attempt_at = ${new Date(now().getTime() + delay)},
      leased_until = null
    where ${claimStillHeld(db, photo)}
  `
}

/** Records that the photo has failed permanently, with a notice for the seller unless its listing was deleted. */
export function failPhoto(ctx: Context, photo: ClaimedPhoto, reason: string): Promise<void> {
  return inTransaction(ctx, async (tx) => {
    const { listingId, accountId } = photo
    // Locked, so that a deletion waits: closing an account deletes its notices after its listings.
    const [listing] = await tx.db`
      select from listings where id = ${listingId} and status <> 'removed' for share
    `
    if (!(await fail(tx, photo, reason)) || !listing) return
    await addNotice(tx, accountId, 'photo_failed', 0, { listing_id: listingId, reason })
  })
}

async function fail({ db }: Context, photo: ClaimedPhoto, reason: string): Promise<boolean> {
  const { count } = await db`
    update photos
    set status = 'failed', error = ${reason}, next_attempt_at = null, leased_until = null
    where ${claimStillHeld(db, photo)}
  `
  return count > 0
}

/** Records that the photo has failed because its listing was deleted. */
export async function failForDeletedListing(ctx: Context, photo: ClaimedPhoto): Promise<void> {
  await fail(ctx, photo, LISTING_DELETED)
}

/** The photos of a listing, deleted or not, in the order of its `photo_urls`. @throws not_found */
export async function listPhotos({ db }: Context, listingId: number): Promise<Photo[]> {
  const [listing] = await db`select 1 from listings where id = ${listingId}`
  if (!listing) throw notFound('There is no such listing.')
  return db<Photo[]>`
    select url, status, attempts, next_attempt_at as "nextAttemptAt", error, name
    from photos
    where listing_id = ${listingId}
    order by position
  `
}

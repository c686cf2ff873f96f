import { randomBytes } from 'node:crypto'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import { notFound } from '../errors.ts'
import { failInterrupted, INTERRUPTED } from '../queue/interrupted.ts'
import { delayAfter, MAX_ATTEMPTS, type Photo } from './photo.ts'

/**
 * A photo that this process is at. `attempts` tells whose it is: each claim has a number of its own, so that one who
 * was taken for dead can't write over the next.
 */
export type ClaimedPhoto = {
  id: number
  listingId: number
  accountId: number
  url: string
  attempts: number
  listingIsRemoved: boolean
}

/** How long a process that claimed a photo is believed to be alive; several times of what a try can take. */
const LEASE_SECONDS = 120

const LISTING_DELETED = 'The listing was deleted.'

/**
 * Takes the photo that has waited longest, if one is due: its address is to be tried now, by this process alone. A
 * try that ended with its process counts; a photo that this has happened to three times is given up.
 *
 * @param passOver accounts whose photos have to wait, though they may be due
 */
export async function claimPhoto(
  ctx: Context,
  passOver: number[] = [],
): Promise<ClaimedPhoto | undefined> {
  await failInterrupted(ctx.db, 'photos', MAX_ATTEMPTS)
  const [photo] = await ctx.db<ClaimedPhoto[]>`
    update photos
    set
      attempts = attempts + 1,
      error = case when leased_until is null then error else ${INTERRUPTED} end,
      leased_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    from listings
    where
      photos.id = (
        select due.id
        from photos due
        join listings of_whom on of_whom.id = due.listing_id
        where
          due.status = 'waiting'
          and due.next_attempt_at <= ${ctx.now()}
          and (due.leased_until is null or due.leased_until < clock_timestamp())
          and of_whom.account_id <> all(${passOver}::bigint[])
        order by due.next_attempt_at, due.id
        limit 1
        for update of due skip locked
      )
      and listings.id = photos.listing_id
    returning
      photos.id,
      listing_id as "listingId",
      listings.account_id as "accountId",
      url,
      attempts,
      listings.status = 'removed' as "listingIsRemoved"
  `
  return photo
}

/** A name for a photo's files: 22 characters that nobody can guess. */
export const newPhotoName = () => randomBytes(16).toString('base64url')

/**
 * Attaches the stored photo to its listing, which counts as a change of it: who syncs sees it. Nothing is attached
 * to a listing that was deleted meanwhile.
 *
 * @returns whether it was attached; when not, its files are of no use
 */
export function attachPhoto(ctx: Context, photo: ClaimedPhoto, name: string): Promise<boolean> {
  return inTransaction(ctx, async (ctx) => {
    const { db } = ctx
    const [listing] = await db<{ status: string }[]>`
      select status from listings where id = ${photo.listingId} for update
    `
    if (listing?.status === 'removed') {
      await failPhoto(ctx, photo, LISTING_DELETED)
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
    return true
  })
}

/** Plans the next try, if there is one. */
export async function retryPhoto(ctx: Context, photo: ClaimedPhoto, error: string): Promise<void> {
  const delay = delayAfter(photo.attempts)
  if (delay === undefined) return failPhoto(ctx, photo, error)
  await ctx.db`
    update photos
    set
      error = ${error},
      next_attempt_at = ${new Date(ctx.now().getTime() + delay)},
      leased_until = null
    where ${claimStillHeld(ctx.db, photo)}
  `
}

/** Gives it up: another try would end the same. */
export async function failPhoto(
  { db }: Context,
  photo: ClaimedPhoto,
  error: string,
): Promise<void> {
  await db`
    update photos
    set status = 'failed', error = ${error}, next_attempt_at = null, leased_until = null
    where ${claimStillHeld(db, photo)}
  `
}

/** Gives up a photo whose listing is gone. */
export const failDeleted = (ctx: Context, photo: ClaimedPhoto) =>
  failPhoto(ctx, photo, LISTING_DELETED)

/** Leaves it to the next who looks, as if it had never been tried: this process is about to end. */
export async function releasePhoto({ db }: Context, photo: ClaimedPhoto): Promise<void> {
  await db`
    update photos set attempts = attempts - 1, leased_until = null where ${claimStillHeld(db, photo)}
  `
}

const claimStillHeld = (db: Db, { id, attempts }: ClaimedPhoto) => db`
  id = ${id} and attempts = ${attempts} and status = 'waiting' and leased_until is not null
`

/**
 * What has become of each of a listing's `photo_urls`, in their order. A deleted listing still tells.
 *
 * @throws not_found without such a listing
 */
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

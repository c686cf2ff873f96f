import type { Context } from '../context.ts'
import type { FileStore } from '../files/file-store.ts'
import type { Metrics } from '../metrics.ts'
import type { Network } from '../outbound/network.ts'
import { releaseClaim } from '../queue/claim.ts'
import { orAborted } from '../time/or-aborted.ts'
import { PhotoError, photoFile, photoPath, thumbnailFile } from './photo.ts'
import {
  attachPhoto,
  type ClaimedPhoto,
  failForDeletedListing,
  failPhoto,
  photoName,
  postponePhoto,
  retryPhoto,
} from './photos.ts'
import type { Picture } from './picture.ts'

export type PhotoContext = Context & { files: FileStore; network: Network; metrics: Metrics }

/**
 * Makes one attempt at a photo (§4.9): fetch the file, re-encode the picture, store it, attach it to the listing. A
 * failure is recorded on the photo and does not affect the listing.
 *
 * @param signal aborted when the process is about to end: an unfinished photo is released
 * @returns false if the seller's server did not send a picture
 */
export async function takePhoto(
  ctx: PhotoContext,
  photo: ClaimedPhoto,
  signal: AbortSignal,
): Promise<boolean> {
  if (photo.listingIsRemoved) {
    await failForDeletedListing(ctx, photo)
    return true
  }
  try {
    const picture = await fetchPicture(ctx, photo.url, signal)
    const name = await store(ctx, photo, picture, signal)
    if (name === undefined) return true
    if (await attachPhoto(ctx, photo, name)) ctx.metrics.countPhotoAttempt('stored')
    else await discard(ctx, [photoFile(name), thumbnailFile(name)], signal)
    return true
  } catch (error) {
    if (signal.aborted) {
      await releaseClaim(ctx, 'photos', photo)
      return true
    }
    if (!(error instanceof PhotoError)) throw error
    const { isPermanent, message, cause } = error
    logFailure(ctx, photo, message, cause)
    await (isPermanent ? failPhoto : retryPhoto)(ctx, photo, message)
    ctx.metrics.countPhotoAttempt('failed')
    return false
  }
}

/** Loads undici and sharp with the first photo: together they would add a quarter of a second to every start. */
async function fetchPicture(ctx: PhotoContext, url: string, signal: AbortSignal): Promise<Picture> {
  const [{ fetchPhoto }, { pictureFrom }] = await Promise.all([
    import('./fetch-photo.ts'),
    import('./picture.ts'),
  ])
  const bytes = await fetchPhoto(url, {
    network: ctx.network,
    allowPrivate: ctx.config.webhookAllowPrivate,
    userAgent: `Cardstall (+${ctx.config.publicUrl})`,
    signal,
  })
  const picture = await pictureFrom(bytes)
  signal.throwIfAborted()
  return picture
}

/**
 * Stores the picture, or postpones the photo.
 *
 * @returns the name of its files; undefined if it is postponed
 * @throws the reason of the signal, also if a directory on a network file system hangs, which can't be cancelled
 */
async function store(
  ctx: PhotoContext,
  claimed: ClaimedPhoto,
  { photo, thumbnail }: Picture,
  signal: AbortSignal,
): Promise<string | undefined> {
  const name = photoName(ctx, claimed, claimed.attempts)
  const stored: string[] = []
  try {
    for (const [file, bytes] of [
      [photoFile(name), photo],
      [thumbnailFile(name), thumbnail],
    ] as const) {
      await orAborted(ctx.files.put(photoPath(file), bytes, 'image/jpeg', signal), signal)
      stored.push(file)
    }
    return name
  } catch (error) {
    signal.throwIfAborted()
    logFailure(ctx, claimed, NOT_STORED, error)
    await postponePhoto(ctx, claimed, NOT_STORED)
    ctx.metrics.countPhotoAttempt('failed')
    ctx.metrics.countFileNotStored('photo')
    // On a full disk, the photos without a thumbnail would take the rest of it.
    await discard(ctx, stored, signal)
    return undefined
  }
}

const NOT_STORED = 'The picture could not be stored.'

const logFailure = (
  { log }: PhotoContext,
  { id, listingId }: ClaimedPhoto,
  reason: string,
  cause: unknown,
) => log.warn({ photo: id, listing: listingId, reason, err: cause }, 'a photo failed')

/** Best effort: a file that remains is replaced by the next attempt, or deleted with the photo (delete-photos.ts). */
async function discard(
  { files, log }: PhotoContext,
  unused: string[],
  signal: AbortSignal,
): Promise<void> {
  for (const file of unused) {
    await orAborted(files.delete(photoPath(file)), signal).catch((error) => {
      log.warn({ err: error, file }, 'cannot delete an unused file')
    })
  }
}

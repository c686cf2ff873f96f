import type { Context } from '../context.ts'
import type { FileStore } from '../files/file-store.ts'
import type { Metrics } from '../metrics.ts'
import type { Network } from '../outbound/network.ts'
import { PhotoError, photoFile, photoPath, thumbnailFile } from './photo.ts'
import {
  attachPhoto,
  type ClaimedPhoto,
  failForDeletedListing,
  failPhoto,
  newPhotoName,
  releasePhoto,
  retryPhoto,
} from './photos.ts'
import type { Picture } from './picture.ts'

export type PhotoContext = Context & { files: FileStore; network: Network; metrics: Metrics }

/**
 * Makes one attempt at a photo (§4.9): fetch the file, re-encode the picture, store it, attach it to the listing. A
 * failure is recorded on the photo and does not affect the listing.
 *
 * @param signal aborted when the process is about to end: an unfinished photo is released
 */
export async function takePhoto(
  ctx: PhotoContext,
  photo: ClaimedPhoto,
  signal: AbortSignal,
): Promise<void> {
  if (photo.listingIsRemoved) return failForDeletedListing(ctx, photo)
  try {
    const picture = await fetchPicture(ctx, photo.url, signal)
    const name = await store(ctx, picture)
    if (await attachPhoto(ctx, photo, name)) ctx.metrics.countPhotoAttempt('stored')
    else await discard(ctx, name)
  } catch (error) {
    if (signal.aborted) return releasePhoto(ctx, photo)
    if (!(error instanceof PhotoError)) throw error
    const { isPermanent, message, cause } = error
    ctx.log.warn(
      { photo: photo.id, listing: photo.listingId, reason: message, err: cause },
      'a photo failed',
    )
    await (isPermanent ? failPhoto : retryPhoto)(ctx, photo, message)
    ctx.metrics.countPhotoAttempt('failed')
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

async function store({ files }: PhotoContext, { photo, thumbnail }: Picture): Promise<string> {
  const name = newPhotoName()
  try {
    await files.put(photoPath(photoFile(name)), photo, 'image/jpeg')
    await files.put(photoPath(thumbnailFile(name)), thumbnail, 'image/jpeg')
    return name
  } catch (error) {
    throw new PhotoError('The picture could not be stored.', { isPermanent: false, cause: error })
  }
}

/** Best effort: a file that no listing refers to is harmless. */
async function discard({ files, log }: PhotoContext, name: string): Promise<void> {
  for (const file of [photoFile(name), thumbnailFile(name)]) {
    await files.delete(photoPath(file)).catch((error) => {
      log.warn({ err: error, file }, 'cannot delete an unused file')
    })
  }
}

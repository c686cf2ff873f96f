import type { Context } from '../context.ts'
import type { FileStore } from '../files/file-store.ts'
import type { Metrics } from '../metrics.ts'
import type { Network } from '../outbound/network.ts'
import { PhotoError, photoFile, placeOf, thumbnailFile } from './photo.ts'
import {
  attachPhoto,
  type ClaimedPhoto,
  failDeleted,
  failPhoto,
  newPhotoName,
  releasePhoto,
  retryPhoto,
} from './photos.ts'
import type { Picture } from './picture.ts'

export type PhotoContext = Context & { files: FileStore; network: Network; metrics: Metrics }

/**
 * One try at a photo (§4.9): fetch, make a clean picture of it, store that, attach it to the listing. Whatever fails
 * on the way is noted on the photo; the listing is as good without it.
 *
 * @param signal the process is about to end: what can't be finished at once is given back
 */
export async function takePhoto(
  ctx: PhotoContext,
  photo: ClaimedPhoto,
  signal: AbortSignal,
): Promise<void> {
  if (photo.listingIsRemoved) return failDeleted(ctx, photo)
  try {
    const picture = await fetchPicture(ctx, photo.url, signal)
    const name = await store(ctx, picture)
    if (await attachPhoto(ctx, photo, name)) ctx.metrics.photoAttempted('stored')
    else await discard(ctx, name)
  } catch (error) {
    if (signal.aborted) return releasePhoto(ctx, photo)
    if (!(error instanceof PhotoError)) throw error
    const { final, message, cause } = error
    ctx.log.warn(
      { photo: photo.id, listing: photo.listingId, reason: message, err: cause },
      'a photo failed',
    )
    await (final ? failPhoto : retryPhoto)(ctx, photo, message)
    ctx.metrics.photoAttempted('failed')
  }
}

/** Undici and sharp are loaded with the first photo: together they'd cost every start a quarter of a second. */
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
    await files.put(placeOf(photoFile(name)), photo, 'image/jpeg')
    await files.put(placeOf(thumbnailFile(name)), thumbnail, 'image/jpeg')
    return name
  } catch (error) {
    throw new PhotoError('The picture could not be stored.', { final: false, cause: error })
  }
}

/** Best effort: a file that no listing names is seen by nobody. */
async function discard({ files, log }: PhotoContext, name: string): Promise<void> {
  for (const file of [photoFile(name), thumbnailFile(name)]) {
    await files.delete(placeOf(file)).catch((error) => {
      log.warn({ err: error, file }, 'a file that is not needed could not be deleted')
    })
  }
}

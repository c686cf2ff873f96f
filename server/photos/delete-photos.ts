import type { Context } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import type { FileStore } from '../files/file-store.ts'
import { DAYS } from '../time/units.ts'
import { photoFile, photoPath, thumbnailFile } from './photo.ts'
import { type ClaimedPhoto, photoName } from './photos.ts'

/** Photos that one statement claims. */
const BATCH = 200

/**
 * Deletes the photos of listings that were removed long ago, and their files. A photo whose files can't be deleted is
 * tried again a day later.
 */
export const deletePhotos = (ctx: Context & { files: FileStore }): Promise<void> =>
  inBatches(async (max) => {
    const now = ctx.now()
    // The claim moves `delete_at`, which is its lease: no other run claims the photo for a day.
    const photos = await ctx.db<PhotoToDelete[]>`
      update photos
      set delete_at = ${new Date(now.getTime() + DAYS)}
      where id in (
        select id
        from photos
        where delete_at <= ${now}
        order by delete_at
        limit ${max}
        for update skip locked
      )
      returning id, url, name, attempts, created_at as "createdAt"
    `
    const deleted: number[] = []
    for (const photo of photos) {
      try {
        // Files before rows: after a crash, a later run finds the rows and deletes the files again.
        for (const name of namesOf(ctx, photo)) await deleteFiles(ctx.files, name)
        deleted.push(photo.id)
      } catch (error) {
        ctx.log.warn({ err: error, photo: photo.id }, 'cannot delete a photo; retrying in a day')
      }
    }
    await ctx.db`delete from photos where id = any(${deleted}::bigint[])`
    return photos.length
  }, BATCH)

type PhotoToDelete = Pick<ClaimedPhoto, 'id' | 'url' | 'attempts' | 'createdAt'> & {
  name: string | null
}

/** The names of its files, also of those that a failed attempt may have stored. */
function namesOf(ctx: Context, photo: PhotoToDelete): Set<string> {
  const names = new Set(photo.name === null ? [] : [photo.name])
  for (let attempt = 1; attempt <= photo.attempts; attempt++) {
    names.add(photoName(ctx, photo, attempt))
  }
  return names
}

async function deleteFiles(files: FileStore, name: string): Promise<void> {
  await files.delete(photoPath(photoFile(name)))
  await files.delete(photoPath(thumbnailFile(name)))
}

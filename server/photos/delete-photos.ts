import type { Context } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import type { FileStore } from '../files/file-store.ts'
import { DAYS } from '../time/units.ts'
import { photoFile, photoPath, thumbnailFile } from './photo.ts'

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
    const photos = await ctx.db<{ id: number; name: string | null }[]>`
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
      returning id, name
    `
    const deleted: number[] = []
    for (const { id, name } of photos) {
      try {
        // Files before rows: after a crash, a later run finds the rows and deletes the files again.
        if (name !== null) await deleteFiles(ctx.files, name)
        deleted.push(id)
      } catch (error) {
        ctx.log.warn({ err: error, photo: id }, 'cannot delete a photo; retrying in a day')
      }
    }
    await ctx.db`delete from photos where id = any(${deleted}::bigint[])`
    return photos.length
  }, BATCH)

async function deleteFiles(files: FileStore, name: string): Promise<void> {
  await files.delete(photoPath(photoFile(name)))
  await files.delete(photoPath(thumbnailFile(name)))
}

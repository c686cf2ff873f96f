import type { Context } from '../context.ts'
import type { FileStore } from '../files/file-store.ts'
import { photoFile, photoPath, thumbnailFile } from './photo.ts'

/** Photos that one statement deletes. */
const BATCH = 200

/** Deletes the photos of listings that were removed long ago, with their files. No response has their names. */
export async function deletePhotos(ctx: Context & { files: FileStore }): Promise<void> {
  for (let isMore = true; isMore; ) {
    const photos = await ctx.db<{ id: number; name: string | null }[]>`
      select id, name from photos where delete_at <= ${ctx.now()} order by delete_at limit ${BATCH}
    `
    // Before their rows: after a crash, the next run finds them again.
    for (const { name } of photos) {
      if (name === null) continue
      await ctx.files.delete(photoPath(photoFile(name)))
      await ctx.files.delete(photoPath(thumbnailFile(name)))
    }
    await ctx.db`delete from photos where id = any(${photos.map(({ id }) => id)}::bigint[])`
    isMore = photos.length === BATCH
  }
}

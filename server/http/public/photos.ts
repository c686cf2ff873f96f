import { PHOTO_FILE, photoPath } from '../../photos/photo.ts'
import type { Service } from '../../service.ts'
import type { App } from '../schema.ts'
import { sendFile } from './send-file.ts'

/** Serves photos and thumbnails without a key. The file of a name never changes, so browsers and proxies may cache it. */
export function photoRoutes(app: App, ctx: Service): void {
  app.get<{ Params: { file: string } }>('/photos/:file', async ({ params: { file } }, reply) =>
    sendFile(reply, PHOTO_FILE.test(file) ? await ctx.files.get(photoPath(file)) : undefined, {
      missing: 'There is no such photo.',
      headers: {
        'content-type': 'image/jpeg',
        'cache-control': 'public, max-age=31536000, immutable',
      },
    }),
  )
}

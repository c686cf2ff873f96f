import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import { notFound } from '../../errors.ts'
import { PHOTO_FILE, photoPath } from '../../photos/photo.ts'
import type { Service } from '../../service.ts'

/**
 * Photos and their thumbnails, for everybody who has the address. A name stands for one picture for ever, so that
 * browsers and whatever is before the service may keep it.
 */
export const photoRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get<{ Params: { file: string } }>('/photos/:file', async ({ params: { file } }, reply) => {
      const found = PHOTO_FILE.test(file) ? await ctx.files.get(photoPath(file)) : undefined
      if (!found) throw notFound('There is no such photo.')
      return reply
        .type('image/jpeg')
        .header('content-length', found.length)
        .header('cache-control', 'public, max-age=31536000, immutable')
        .header('x-content-type-options', 'nosniff')
        .send(found.stream)
    })
    done()
  }

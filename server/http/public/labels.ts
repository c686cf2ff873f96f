import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import { notFound } from '../../errors.ts'
import type { Service } from '../../service.ts'
import { LABEL_FILE, labelPath } from '../../shipping/label.ts'
import { requireLink } from '../../shipping/label-link.ts'

/** Label PDFs, for everybody who has a signed link (§4.13). They show an address: nothing on the way may keep them. */
export const labelFileRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get<{ Params: { file: string } }>('/labels/:file', async (request, reply) => {
      const { file } = request.params
      requireLink(ctx, `/labels/${file}`, request.query as Record<string, unknown>)
      const found = LABEL_FILE.test(file) ? await ctx.files.get(labelPath(file)) : undefined
      if (!found) throw notFound('There is no such label.')
      return reply
        .type('application/pdf')
        .header('content-length', found.length)
        .header('content-disposition', 'inline; filename="label.pdf"')
        .header('cache-control', 'no-store')
        .header('x-content-type-options', 'nosniff')
        .send(found.stream)
    })
    done()
  }

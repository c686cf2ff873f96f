import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import type { Service } from '../../../service.ts'
import type { ResponseCache } from '../../response-cache.ts'
import { Data, NotModified } from '../../schema.ts'
import { exampleSeries, SeriesSchema, seriesJson } from '../../shapes/series.ts'

export const seriesRoutes =
  (ctx: Service, cache: ResponseCache): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get(
      '/series',
      {
        config: { scope: 'catalog:read' },
        schema: {
          operationId: 'listSeries',
          summary: 'List all series',
          description:
            'Returns all series, including those without a shortcut. The series with the most sets comes first. Not paginated.',
          tags: ['Catalog'],
          response: { 200: Data(Type.Array(SeriesSchema), 'All series'), 304: NotModified },
          'x-example': {
            data: [exampleSeries, { name: 'Other', shortcut: null, sets_count: 15 }],
          },
        },
      },
      (request, reply) => {
        const catalog = ctx.catalog.current
        const data = catalog.series.map(seriesJson)
        return cache.send(request, reply, catalog, Buffer.from(JSON.stringify({ data })))
      },
    )
    done()
  }

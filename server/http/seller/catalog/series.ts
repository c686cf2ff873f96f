import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import type { Service } from '../../../service.ts'
import type { AnswerCache } from '../../answer-cache.ts'
import { Data, NotModified } from '../../schema.ts'
import { exampleSeries, SeriesSchema, seriesJson } from '../../shapes/series.ts'

export const seriesRoutes =
  (ctx: Service, answers: AnswerCache): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get(
      '/series',
      {
        config: { scope: 'catalog:read' },
        schema: {
          operationId: 'listSeries',
          summary: 'List the series',
          description:
            'All series, those with most sets first. Not paginated. Series without a shortcut are among them.',
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
        return answers.send(request, reply, catalog, Buffer.from(JSON.stringify({ data })))
      },
    )
    done()
  }

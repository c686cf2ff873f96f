import Type from 'typebox'
import type { Catalog } from '../../../catalog/catalog.ts'
import type { Service } from '../../../service.ts'
import type { ResponseCache } from '../../response-cache.ts'
import type { App } from '../../schema.ts'
import { Data, NotModified } from '../../schema.ts'
import { exampleSeries, SeriesSchema, seriesJson } from '../../shapes/series.ts'
import { type CatalogReads, tagged } from './reads.ts'

const seriesBody = (catalog: Catalog) =>
  Buffer.from(JSON.stringify({ data: catalog.series.map(seriesJson) }))

export function seriesRoutes(
  app: App,
  ctx: Service,
  cache: ResponseCache,
  reads: CatalogReads,
): void {
  reads.add({ route: '/v1/series', respond: (catalog) => tagged(seriesBody(catalog)) })

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
      return cache.send(request, reply, catalog, seriesBody(catalog))
    },
  )
}

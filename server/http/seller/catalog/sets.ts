import Type from 'typebox'
import { browseSets } from '../../../catalog/browse.ts'
import { findSet, requireSet } from '../../../catalog/identifiers.ts'
import { entryPage, setResponse } from '../../../catalog/json.ts'
import type { Service } from '../../../service.ts'
import { included } from '../../json.ts'
import { pageExample, pageParameters } from '../../paginate.ts'
import type { ResponseCache } from '../../response-cache.ts'
import type { App } from '../../schema.ts'
import { Data, NotModified, Paginated, Text } from '../../schema.ts'
import { exampleSet, SetSchema } from '../../shapes/set.ts'
import { SetDetailSchema } from '../../shapes/set-detail.ts'
import { catalogPage } from './catalog-page.ts'
import {
  includeParameter,
  languageParameter,
  regionParameter,
  searchParameter,
} from './parameters.ts'
import { type CatalogReads, tagged } from './reads.ts'

const listQuery = Type.Object({
  q: searchParameter('set name'),
  language: languageParameter,
  region: regionParameter,
  series: Type.Optional(
    Text({
      maxLength: 100,
      description: 'Shortcut or name of a series, ignoring case',
      examples: ['swsh'],
    }),
  ),
  ...pageParameters,
})

const recordQuery = Type.Object({
  include: includeParameter('`cards`, `products`'),
  language: languageParameter,
  region: regionParameter,
})

export function setRoutes(app: App, ctx: Service, cache: ResponseCache, reads: CatalogReads): void {
  const list = catalogPage(ctx, cache, {
    path: '/v1/sets',
    browse: browseSets,
    toResponse: (sets, end) => tagged(entryPage(sets, end)),
  })
  reads.add({ route: '/v1/sets', querystring: listQuery, respond: list.respond })
  reads.add({
    route: '/v1/sets/:identifier',
    querystring: recordQuery,
    respond(catalog, identifier, { include, ...narrowing }) {
      const set = findSet(catalog, identifier, narrowing)
      return tagged(setResponse(set, included(include)))
    },
  })

  app.get(
    '/sets',
    {
      config: { scope: 'catalog:read' },
      schema: {
        operationId: 'listSets',
        summary: 'List or search sets',
        description:
          'Newest release first, unknown dates last; with `q`, the best match first. Filters that match nothing give an empty page.',
        tags: ['Catalog'],
        querystring: listQuery,
        response: { 200: Paginated(SetSchema, 'A page of sets'), 304: NotModified },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/v1/sets', [exampleSet]),
      },
    },
    list.handle,
  )

  app.get(
    '/sets/:identifier',
    {
      config: { scope: 'catalog:read' },
      // An unknown identifier gets 404 even if the query is invalid.
      preValidation: (request, _reply, done) => {
        requireSet(ctx.catalog.current, request.params.identifier)
        done()
      },
      schema: {
        operationId: 'getSet',
        summary: 'Read a set',
        description:
          'Finds a set by its canonical id or by its shortcut. `language` and `region` narrow a shortcut that several sets share: the response is 404 if no set is left, and 409 with the remaining candidates if several are left. They are ignored if only one set has the shortcut. A canonical id takes precedence over an equal shortcut of another set, unless `language` or `region` rules its set out and exactly one set with the shortcut is left: `sv3` is Obsidian Flames, `sv3?language=JP` is the Japanese set with the shortcut `sv3`.',
        tags: ['Catalog'],
        params: Type.Object({
          identifier: Type.String({ description: 'Canonical id (`swsh9`) or shortcut (`svi`)' }),
        }),
        querystring: recordQuery,
        response: { 200: Data(SetDetailSchema, 'The set'), 304: NotModified },
        'x-errors': ['ambiguous_identifier', 'validation_error'],
        'x-example': { data: exampleSet },
      },
    },
    (request, reply) => {
      const catalog = ctx.catalog.current
      const { include, ...narrowing } = request.query
      const set = findSet(catalog, request.params.identifier, narrowing)
      return cache.send(request, reply, catalog, setResponse(set, included(include)))
    },
  )
}

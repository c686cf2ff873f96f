import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import { browseSets } from '../../../catalog/browse.ts'
import { findSet, requireSet } from '../../../catalog/identifiers.ts'
import type { Service } from '../../../service.ts'
import type { AnswerCache } from '../../answer-cache.ts'
import { page, setAnswer } from '../../catalog-json.ts'
import { included } from '../../json.ts'
import { pageEnd, pageExample, pageOf, pageParameters } from '../../paginate.ts'
import type { Query } from '../../query.ts'
import { Data, NotModified, Paginated, Text } from '../../schema.ts'
import { exampleSet, SetSchema } from '../../shapes/set.ts'
import { SetDetailSchema } from '../../shapes/set-detail.ts'
import {
  includeParameter,
  languageParameter,
  regionParameter,
  searchParameter,
} from './parameters.ts'

export const setRoutes =
  (ctx: Service, answers: AnswerCache): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    const address = `${ctx.config.publicUrl}/v1/sets`

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
          querystring: Type.Object({
            q: searchParameter('set name'),
            language: languageParameter,
            region: regionParameter,
            series: Type.Optional(
              Text({
                maxLength: 100,
                description: 'Shortcut or name of a series, in any casing',
                examples: ['swsh'],
              }),
            ),
            ...pageParameters,
          }),
          response: { 200: Paginated(SetSchema, 'A page of sets'), 304: NotModified },
          'x-errors': ['validation_error'],
          'x-example': pageExample('/v1/sets', [exampleSet]),
        },
      },
      (request, reply) => {
        const catalog = ctx.catalog.current
        const query = request.query as Query
        const wanted = pageOf(query)
        const found = browseSets(catalog, query)
        const shown = found.slice(wanted.offset, wanted.offset + wanted.perPage)
        return answers.send(
          request,
          reply,
          catalog,
          page(shown, pageEnd(address, query, wanted, shown.length, found.length)),
        )
      },
    )

    app.get(
      '/sets/:identifier',
      {
        config: { scope: 'catalog:read' },
        // An unknown identifier is 404 before anything else is looked at.
        preValidation: (request, _reply, done) => {
          requireSet(ctx.catalog.current, request.params.identifier)
          done()
        },
        schema: {
          operationId: 'getSet',
          summary: 'Read a set',
          description:
            'By canonical id or shortcut. `language` and `region` narrow a shortcut that several sets share: 404 when none of them fits, 409 with the remaining candidates when several do. A shortcut that one set has ignores them. A canonical id wins over an equal shortcut of another set, unless `language` or `region` rules it out and exactly one set with that shortcut fits (`sv3` is Obsidian Flames, `sv3?language=JP` the Japanese set with the shortcut `sv3`).',
          tags: ['Catalog'],
          params: Type.Object({
            identifier: Type.String({ description: 'Canonical id (`swsh9`) or shortcut (`svi`)' }),
          }),
          querystring: Type.Object({
            include: includeParameter('`cards`, `products`'),
            language: languageParameter,
            region: regionParameter,
          }),
          response: { 200: Data(SetDetailSchema, 'The set'), 304: NotModified },
          'x-errors': ['ambiguous_identifier', 'validation_error'],
          'x-example': { data: exampleSet },
        },
      },
      (request, reply) => {
        const catalog = ctx.catalog.current
        const { include, ...narrowing } = request.query
        const set = findSet(catalog, request.params.identifier, narrowing)
        return answers.send(request, reply, catalog, setAnswer(set, included(include)))
      },
    )
    done()
  }

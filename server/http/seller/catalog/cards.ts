import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import { browseCards } from '../../../catalog/browse.ts'
import { findCard, requireCard } from '../../../catalog/identifiers.ts'
import type { Service } from '../../../service.ts'
import type { AnswerCache } from '../../answer-cache.ts'
import { cardAnswer, cardPage } from '../../catalog-json.ts'
import { included } from '../../json.ts'
import { pageEnd, pageExample, pageOf, pageParameters } from '../../paginate.ts'
import type { Query } from '../../query.ts'
import { Data, NotModified, Paginated, Text } from '../../schema.ts'
import { CardSchema, exampleCard } from '../../shapes/card.ts'
import { offersSender } from './offers.ts'
import {
  includeParameter,
  languageParameter,
  regionParameter,
  searchParameter,
} from './parameters.ts'

export const cardRoutes =
  (ctx: Service, answers: AnswerCache): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    const address = `${ctx.config.publicUrl}/v1/cards`
    const sendWithOffers = offersSender(ctx)

    app.get(
      '/cards',
      {
        config: { scope: 'catalog:read' },
        schema: {
          operationId: 'listCards',
          summary: 'List or search cards',
          description:
            'Cards of the newest set first, within a set by number (2 before 10); with `q`, the best match first. `set` answers 404 when it matches no set at all and 409 when it matches several, also after `language` and `region` have narrowed it; an empty page when these leave none. Unknown values of the other filters give an empty page.',
          tags: ['Catalog'],
          querystring: Type.Object({
            q: searchParameter('card name'),
            set: Type.Optional(
              Text({
                maxLength: 100,
                description:
                  'Canonical id or shortcut of a set, chosen as in `GET /sets/{identifier}`; `language` and `region` also filter the result',
                examples: ['swsh9'],
              }),
            ),
            language: languageParameter,
            region: regionParameter,
            rarity: Type.Optional(
              Text({ maxLength: 50, description: 'Exact rarity', examples: ['Rare Holo'] }),
            ),
            ...pageParameters,
          }),
          response: { 200: Paginated(CardSchema, 'A page of cards'), 304: NotModified },
          'x-errors': ['ambiguous_identifier', 'validation_error'],
          'x-example': pageExample('/v1/cards', [exampleCard]),
        },
      },
      (request, reply) => {
        const catalog = ctx.catalog.current
        const query = request.query as Query
        const wanted = pageOf(query)
        const found = browseCards(catalog, query)
        const shown = found.slice(wanted.offset, wanted.offset + wanted.perPage)
        return answers.send(
          request,
          reply,
          catalog,
          cardPage(shown, pageEnd(address, query, wanted, shown.length, found.length)),
        )
      },
    )

    app.get(
      '/cards/:identifier',
      {
        config: { scope: 'catalog:read' },
        // An unknown identifier is 404 before anything else is looked at.
        preValidation: (request, _reply, done) => {
          requireCard(ctx.catalog.current, request.params.identifier)
          done()
        },
        schema: {
          operationId: 'getCard',
          summary: 'Read a card',
          description:
            'By canonical id or friendly id `{shortcut}_{number}`. `language` and `region` narrow a friendly id that several cards share: 404 when none of them fits, 409 with the remaining candidates when several do. A friendly id that one card has ignores them. The whole text is tried as a canonical id first; that card wins over an equal friendly id of another one, unless `language` or `region` rules it out and exactly one card with that friendly id fits. An id may hold characters that need percent-encoding (`ex10-?` is `ex10-%3F`).',
          tags: ['Catalog'],
          params: Type.Object({
            identifier: Type.String({
              description: 'Canonical id (`swsh9-1`) or friendly id (`brs_TG12`)',
            }),
          }),
          querystring: Type.Object({
            include: includeParameter('`listings`'),
            language: languageParameter,
            region: regionParameter,
          }),
          response: { 200: Data(CardSchema, 'The card'), 304: NotModified },
          'x-errors': ['ambiguous_identifier', 'validation_error'],
          'x-example': { data: exampleCard },
        },
      },
      (request, reply) => {
        const catalog = ctx.catalog.current
        const { include, ...narrowing } = request.query
        const card = findCard(catalog, request.params.identifier, narrowing)
        if (included(include).has('listings')) {
          const of = { cardId: card.id, productSlug: null }
          return sendWithOffers(request, reply, of, (listings) => cardAnswer(card, listings))
        }
        return answers.send(request, reply, catalog, cardAnswer(card))
      },
    )
    done()
  }

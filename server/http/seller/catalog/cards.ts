import { hash } from 'node:crypto'
import Type from 'typebox'
import { browseCards } from '../../../catalog/browse.ts'
import { type CardEntry, digestOf, type SetEntry } from '../../../catalog/entries.ts'
import { findCard, requireCard } from '../../../catalog/identifiers.ts'
import { cardPage, cardResponse, pageTail } from '../../../catalog/json.ts'
import type { Service } from '../../../service.ts'
import { quoted } from '../../entity-tag.ts'
import { included } from '../../json.ts'
import { type PageEnd, pageExample, pageParameters } from '../../paginate.ts'
import type { ResponseCache } from '../../response-cache.ts'
import type { App } from '../../schema.ts'
import { Data, NotModified, Paginated, Text } from '../../schema.ts'
import { CardSchema, exampleCard } from '../../shapes/card.ts'
import { catalogPage } from './catalog-page.ts'
import { offersInMemory, offersSender, type ShownItem } from './offers.ts'
import {
  includeParameter,
  languageParameter,
  regionParameter,
  searchParameter,
} from './parameters.ts'
import type { CatalogReads, CatalogResponse } from './reads.ts'

const listQuery = Type.Object({
  q: searchParameter(
    'card name',
    ' When no name has every word, the other words are compared with number, set name and code, and rarity: `charizard 4`, `brs 18`, `base set charizard`.',
  ),
  set: Type.Optional(
    Text({
      maxLength: 100,
      description:
        'Canonical id or shortcut of a set, resolved as in `GET /sets/{identifier}`. `language` and `region` also filter the result',
      examples: ['swsh9'],
    }),
  ),
  language: languageParameter,
  region: regionParameter,
  rarity: Type.Optional(
    Text({ maxLength: 50, description: 'Exact rarity', examples: ['Rare Holo'] }),
  ),
  ...pageParameters,
})

const recordQuery = Type.Object({
  include: includeParameter('`listings`'),
  language: languageParameter,
  region: regionParameter,
})

/**
 * `GET /cards/{identifier}` without listings. Its tag is the digest of its set and the card's place there, because hashing
 * each card would take as long as the rest of the response.
 */
const cardBody = (card: CardEntry): CatalogResponse => ({
  body: cardResponse(card),
  tag: quoted(digestOf(card.set), `-${card.start}`),
  isKept: false,
})

/** `GET /cards/{identifier}?include=listings`. */
const withOffers = (card: CardEntry): ShownItem => ({
  of: { cardId: card.id, productSlug: null },
  identity: `${digestOf(card.set)}\n${card.id}`,
  toJson: (listings) => cardResponse(card, listings),
})

/**
 * A page of cards. Its tag is a hash of what the cards depend on and of the end of the page, because hashing its bytes would
 * take as long as the rest of the response.
 */
function pageResponse(cards: CardEntry[], end: PageEnd, all: CardEntry[]): CatalogResponse {
  const tail = pageTail(end)
  const identity = identityOf(cards, all)
  const tag = quoted(hash('sha256', `${tail}${identity}`, 'base64url'))
  return { body: cardPage(cards, tail), tag, isKept: true }
}

/**
 * Names everything that the cards of a page depend on: the digests of their sets, and their ids. A page of a whole set needs
 * no ids, because its end tells which cards they are.
 */
function identityOf(cards: CardEntry[], all: CardEntry[]): string {
  let identity = ''
  let last: SetEntry | undefined
  for (const { id, set } of cards) {
    if (set !== last) identity += `\n${digestOf(set)}`
    if (all === set.cards) break
    identity += `\n${id}`
    last = set
  }
  return identity
}

export function cardRoutes(
  app: App,
  ctx: Service,
  cache: ResponseCache,
  reads: CatalogReads,
): void {
  const offers = offersInMemory(ctx)
  const sendWithOffers = offersSender(ctx, offers)
  const list = catalogPage(ctx, cache, {
    path: '/v1/cards',
    browse: browseCards,
    toResponse: pageResponse,
  })
  reads.add({ route: '/v1/cards', querystring: listQuery, respond: list.respond })
  reads.add({
    route: '/v1/cards/:identifier',
    querystring: recordQuery,
    respond(catalog, identifier, { include, ...narrowing }) {
      const card = findCard(catalog, identifier, narrowing)
      if (!included(include).has('listings')) return cardBody(card)
      return offers.respond(withOffers(card))
    },
  })

  app.get(
    '/cards',
    {
      config: { scope: 'catalog:read' },
      schema: {
        operationId: 'listCards',
        summary: 'List or search cards',
        description:
          'Returns the cards of the newest set first, then by number (2 before 10): sets with the same release date are mixed. With `q`, the best match comes first. Responds with 404 if `set` matches no set, and with 409 if it matches several sets even after `language` and `region` have narrowed it. If these rule out all matching sets, the page is empty. Unknown values of the other filters also give an empty page.',
        tags: ['Catalog'],
        querystring: listQuery,
        response: { 200: Paginated(CardSchema, 'A page of cards'), 304: NotModified },
        'x-errors': ['ambiguous_identifier', 'validation_error'],
        'x-example': pageExample('/v1/cards', [exampleCard]),
      },
    },
    list.handle,
  )

  app.get(
    '/cards/:identifier',
    {
      config: { scope: 'catalog:read' },
      // An unknown identifier gets 404 even if the query is invalid.
      preValidation: (request, _reply, done) => {
        requireCard(ctx.catalog.current, request.params.identifier)
        done()
      },
      schema: {
        operationId: 'getCard',
        summary: 'Read a card',
        description:
          'Finds a card by its canonical id or by its friendly id `{shortcut}_{number}`. `language` and `region` narrow a friendly id that several cards share: the response is 404 if no card is left, and 409 with the remaining candidates if several are left. They are ignored if only one card has the friendly id. A canonical id takes precedence over an equal friendly id of another card, unless `language` or `region` rules its card out and exactly one card with the friendly id is left. Percent-encode special characters in an id: `ex10-?` is `ex10-%3F`.',
        tags: ['Catalog'],
        params: Type.Object({
          identifier: Type.String({
            description: 'Canonical id (`swsh9-1`) or friendly id (`brs_TG12`)',
          }),
        }),
        querystring: recordQuery,
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
        return sendWithOffers(request, reply, withOffers(card))
      }
      const { body, tag } = cardBody(card)
      return cache.send(request, reply, catalog, body, tag)
    },
  )
}

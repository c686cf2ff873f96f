import Type from 'typebox'
import { browseCards, browseProducts, browseSets } from '../../catalog/browse.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { CardEntry, SetEntry } from '../../catalog/entries.ts'
import { findCard, findProduct } from '../../catalog/identifiers.ts'
import { cardObject, productObject, setObject } from '../../catalog/json.ts'
import { eurosFromCents } from '../../cents.ts'
import { CONDITIONS, LANGUAGES, PRODUCT_CATEGORIES } from '../../enums.ts'
import { validationError } from '../../errors.ts'
import type { Listable } from '../../listings/listing.ts'
import { offersOnMarket } from '../../listings/market.ts'
import { Data, Nullable, OneOf, Text } from '../schema.ts'
import { CardSchema } from '../shapes/card.ts'
import { ProductSchema } from '../shapes/product.ts'
import { offerJson, PublicListingSchema, sellerJson } from '../shapes/public-listing.ts'
import { ONE_OF_BOTH } from '../shapes/read-item.ts'
import { SeriesSchema, seriesJson } from '../shapes/series.ts'
import { setFields } from '../shapes/set.ts'
import { note, PageOf, pageInput, pageOf } from './fields.ts'
import { cutToFit, pageResult } from './result-size.ts'
import { READS, type Tool, tool } from './tool.ts'

const SetLine = Type.Object({ id: Type.String(), name: Type.String(), language: Type.String() })

const setLine = ({ id, name, language }: SetEntry) => ({ id, name, language })

const CardLine = Type.Object({
  id: Type.String(),
  friendly_id: Nullable(Type.String()),
  name: Type.String(),
  number: Type.String(),
  rarity: Nullable(Type.String()),
  set: SetLine,
})

const cardLine = ({ id, friendlyId, name, number, rarity, set }: CardEntry) => ({
  id,
  friendly_id: friendlyId,
  name,
  number,
  rarity,
  set: setLine(set),
})

const setInput = Type.Optional(
  Text({ maxLength: 100, description: 'Set id (swsh9) or shortcut (brs)' }),
)
const languageInput = Type.Optional(OneOf(LANGUAGES, { description: 'Language of the set' }))
const regionInput = Type.Optional(
  Text({ maxLength: 5, description: 'Region of the set, such as int, jp or cn' }),
)
const cardInput = Text({
  maxLength: 100,
  description: 'Card id (swsh9-18) or friendly id (brs_18)',
})

const searchCards = tool({
  name: 'search_cards',
  title: 'Search cards',
  description:
    'Finds Pokemon cards by name, number, set and rarity, best match first, despite typing errors: "charizard 4", "brs 18". Use the id of a result in other tools.',
  scope: 'catalog:read',
  input: {
    q: Type.Optional(Text({ maxLength: 100, description: 'Words to search for' })),
    set: setInput,
    language: languageInput,
    region: regionInput,
    rarity: Type.Optional(Text({ maxLength: 50, description: 'Exact, such as Rare Holo' })),
    ...pageInput,
  },
  output: PageOf(CardLine),
  effect: READS,
  run({ catalog }, { page, per_page, ...filters }) {
    const found = browseCards(catalog.current, filters)
    return pageFrom(found, { page, per_page }, cardLine)
  },
})

const getCard = tool({
  name: 'get_card',
  title: 'Read a card',
  description:
    'Reads a card with its set and images. If a friendly id means several cards, the error lists them.',
  scope: 'catalog:read',
  input: { card: cardInput, language: languageInput, region: regionInput },
  output: Data(CardSchema, 'The card'),
  effect: READS,
  run: ({ catalog }, { card, ...narrowing }) => ({
    data: cardObject(findCard(catalog.current, card, narrowing)),
  }),
})

const ProductLine = Type.Object({
  slug: Type.String(),
  name: Type.String(),
  category: Type.String(),
  set: Type.Unsafe<object | null>({ anyOf: [SetLine, { type: 'null' }] }),
  image_url: Nullable(Type.String()),
  release_date: Nullable(Type.String()),
  url: Type.String(),
})

const searchProducts = tool({
  name: 'search_products',
  title: 'Search sealed products',
  description:
    'Finds sealed products (booster boxes, tins) by name, set or category, best match first. Use the slug of a result in other tools.',
  scope: 'catalog:read',
  input: {
    q: Type.Optional(Text({ maxLength: 100, description: 'Words to search for' })),
    set: setInput,
    category: Type.Optional(OneOf(PRODUCT_CATEGORIES, { description: 'Kind of product' })),
    ...pageInput,
  },
  output: PageOf(ProductLine),
  effect: READS,
  run({ catalog }, { page, per_page, ...filters }) {
    const found = browseProducts(catalog.current, filters)
    return pageFrom(found, { page, per_page }, (product) => ({
      ...productObject(product),
      set: product.set && setLine(product.set),
    }))
  },
})

const MAX_OFFERS = 50
const DEFAULT_OFFERS = 20

const listOffers = tool({
  name: 'list_offers',
  title: 'List offers',
  description:
    'Lists what sellers ask for a card or a sealed product now, cheapest first, in euros. `total` and `lowest_price` are of the offers that match among the 10,000 cheapest.',
  scope: 'catalog:read',
  input: {
    card: Type.Optional(cardInput),
    product: Type.Optional(Text({ maxLength: 150, description: 'Slug; either card or product' })),
    condition: Type.Optional(OneOf(CONDITIONS, { description: 'Cards only' })),
    language: Type.Optional(OneOf(LANGUAGES, { description: 'Language of the offered card' })),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_OFFERS,
        description: `Default ${DEFAULT_OFFERS}`,
      }),
    ),
  },
  output: Type.Object({
    data: Type.Array(PublicListingSchema),
    total: Type.Integer(),
    lowest_price: Nullable(Type.Number()),
    note,
  }),
  effect: READS,
  async run(ctx, { card, product, condition, language, limit = DEFAULT_OFFERS }) {
    const item = itemOf(ctx.catalog.current, card, product)
    const { rows, total, lowestCents } = await offersOnMarket(
      ctx,
      item,
      { condition, language },
      () => ({ limit, offset: 0 }),
    )
    const data = rows.map((offer) => ({
      ...offerJson(offer, ctx.config),
      seller: sellerJson(offer.seller, ctx.config),
    }))
    const lowest_price = lowestCents === null ? null : eurosFromCents(lowestCents)
    return cutToFit(
      data,
      (data) => ({ data, total, lowest_price }),
      'Filter by condition and language to see others.',
    )
  },
})

const listSeries = tool({
  name: 'list_series',
  title: 'List series',
  description: 'Lists all series of sets with the number of their sets, largest first.',
  scope: 'catalog:read',
  input: {},
  output: Type.Object({ data: Type.Array(SeriesSchema), note }),
  effect: READS,
  run: ({ catalog }) =>
    cutToFit(
      catalog.current.series.map(seriesJson),
      (data) => ({ data }),
      'search_sets finds sets of the others.',
    ),
})

const searchSets = tool({
  name: 'search_sets',
  title: 'Search sets',
  description:
    'Finds sets by name, series, language and region: newest first, or best match first.',
  scope: 'catalog:read',
  input: {
    q: Type.Optional(Text({ maxLength: 100, description: 'Words of the name' })),
    series: Type.Optional(
      Text({ maxLength: 100, description: 'Name or shortcut of a series, such as swsh' }),
    ),
    language: languageInput,
    region: regionInput,
    page: pageInput.page,
  },
  output: PageOf(Type.Omit(Type.Object(setFields), ['logo_url', 'symbol_url'])),
  effect: READS,
  run({ catalog }, { page, ...filters }) {
    return pageFrom(browseSets(catalog.current, filters), { page }, (set) => ({
      ...setObject(set),
      logo_url: undefined,
      symbol_url: undefined,
    }))
  },
})

const getProduct = tool({
  name: 'get_product',
  title: 'Read a sealed product',
  description: 'Reads a sealed product with its set.',
  scope: 'catalog:read',
  input: { product: Text({ maxLength: 150, description: 'Slug of the product' }) },
  output: Data(ProductSchema, 'The sealed product'),
  effect: READS,
  run: ({ catalog }, { product }) => ({
    data: productObject(findProduct(catalog.current, product)),
  }),
})

/** @throws validation_error unless exactly one is given, and not_found or ambiguous_identifier */
function itemOf(catalog: Catalog, card: string | undefined, product: string | undefined): Listable {
  if ((card === undefined) === (product === undefined)) throw validationError(ONE_OF_BOTH)
  return card === undefined
    ? { cardId: null, productSlug: findProduct(catalog, product!).slug }
    : { cardId: findCard(catalog, card).id, productSlug: null }
}

function pageFrom<Entry, Line>(
  found: Entry[],
  input: { page?: number | undefined; per_page?: number | undefined },
  toLine: (entry: Entry) => Line,
) {
  const page = pageOf(input)
  const entries = found.slice(page.offset, page.offset + page.perPage)
  return pageResult(entries.map(toLine), found.length, page)
}

/** On both servers. */
export const catalogTools: Tool<unknown>[] = [searchCards, getCard, searchProducts, listOffers]

/** On the public server only. */
export const browsingTools: Tool<unknown>[] = [listSeries, searchSets, getProduct]

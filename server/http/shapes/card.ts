import Type from 'typebox'
import { LANGUAGES, PRODUCT_CATEGORIES, SELLER_TIERS } from '../../enums.ts'
import { SCOPES } from '../../keys/scopes.ts'
import { component, Nullable, OneOf, Text, Timestamp } from '../schema.ts'
import { PublicListing } from './listing.ts'

/** The seller API's records (§2), as published. */

export const Series = component(
  'Series',
  Type.Object(
    {
      name: Type.String(),
      shortcut: Nullable(Type.String(), {
        description: 'Curated code of the series, null when it has none',
      }),
      sets_count: Type.Integer({ description: 'Sets of this series, in all languages' }),
    },
    { description: 'A family of sets.' },
  ),
)

const setFields = {
  id: Type.String({ description: 'Canonical id; always resolves' }),
  shortcut: Nullable(Type.String(), {
    description:
      'Friendly id in lower case, null for sets that have none. Languages and regions can share one.',
  }),
  name: Type.String(),
  series: Type.String({ description: 'Name of the series' }),
  language: OneOf(LANGUAGES, { description: 'Language code' }),
  region: Type.String({ description: 'Region code in lower case' }),
  release_date: Nullable(Type.String({ format: 'date' })),
  total_cards: Nullable(Type.Integer(), { description: 'Including secret rares' }),
  printed_total: Nullable(Type.Integer(), { description: 'The count printed on the cards' }),
  logo_url: Nullable(Type.String()),
  symbol_url: Nullable(Type.String()),
  cards_count: Type.Integer({ description: 'Cards of this set in the catalog' }),
  products_count: Type.Integer({ description: 'Sealed products of this set in the catalog' }),
}

export const CardSet = component(
  'Set',
  Type.Object(setFields, { description: 'A set of cards in one language.' }),
)

export const Card = component(
  'Card',
  Type.Object(
    {
      id: Type.String({ description: 'Canonical id; always resolves' }),
      friendly_id: Nullable(Type.String(), {
        description: '`{shortcut}_{number}`, null when the set has no shortcut',
      }),
      name: Type.String(),
      number: Type.String({ description: 'Collector number; not always digits (TG12)' }),
      rarity: Nullable(Type.String()),
      supertype: Nullable(Type.String(), { description: 'Pokemon, Trainer or Energy' }),
      hp: Nullable(Type.String(), { description: 'As printed' }),
      types: Type.Unsafe<string[] | null>({
        type: ['array', 'null'],
        items: { type: 'string' },
        description: 'null for cards without types, as Trainers',
      }),
      image_small: Nullable(Type.String()),
      image_large: Nullable(Type.String()),
      url: Type.String({ description: 'The card’s public page on the marketplace' }),
      set: CardSet,
      listings: Type.Optional(
        Type.Array(PublicListing, {
          description: 'Every active listing, cheapest first; only with `include=listings`',
        }),
      ),
    },
    { description: 'A card. It has no language of its own: its set has.' },
  ),
)

export const Product = component(
  'SealedProduct',
  Type.Object(
    {
      slug: Type.String(),
      name: Type.String(),
      category: OneOf(PRODUCT_CATEGORIES),
      set: Type.Unsafe<object | null>({
        anyOf: [CardSet, { type: 'null' }],
        description: 'The set it belongs to, if any',
      }),
      image_url: Nullable(Type.String()),
      release_date: Nullable(Type.String({ format: 'date' })),
      url: Type.String({ description: 'The product’s public page on the marketplace' }),
      listings: Type.Optional(
        Type.Array(PublicListing, {
          description: 'Every active listing, cheapest first; only with `include=listings`',
        }),
      ),
    },
    { description: 'A sealed product.' },
  ),
)

export const SetDetail = component(
  'SetDetail',
  Type.Object(
    {
      ...setFields,
      cards: Type.Optional(
        Type.Array(Card, {
          description: 'The set’s cards by number; only with `include=cards`',
        }),
      ),
      products: Type.Optional(
        Type.Array(Product, {
          description: 'The set’s sealed products; only with `include=products`',
        }),
      ),
    },
    { description: 'A set, with its cards and sealed products when asked for.' },
  ),
)

export const Me = component(
  'Account',
  Type.Object(
    {
      id: Type.Integer(),
      shop_name: Type.String(),
      slug: Type.String(),
      seller_tier: OneOf(SELLER_TIERS),
      business: Type.Boolean(),
      scopes: Type.Array(OneOf(SCOPES), { description: 'What this key may do' }),
      key_prefix: Type.String({ description: 'The first characters of the key in use' }),
      last_used_at: Timestamp({ description: 'Written at most once a minute' }),
      rate_limit: Type.Object(
        { read: Type.Integer(), write: Type.Integer() },
        {
          description:
            'Requests in a window of 60 seconds, which begins with each minute of Unix time. GET and HEAD are reads, the rest writes.',
        },
      ),
    },
    { description: 'The account a key belongs to, and the key itself.' },
  ),
)

/** Parameters that several catalog operations share. */
export const languageParameter = Type.Optional(
  Text({
    maxLength: 5,
    description: `Language code of the set, exact: ${LANGUAGES.join(', ')}`,
    examples: ['EN'],
  }),
)
export const regionParameter = Type.Optional(
  Text({
    maxLength: 5,
    description: 'Region code of the set, exact, in lower case',
    examples: ['int'],
  }),
)
export const searchParameter = (what: string) =>
  Type.Optional(
    Text({
      maxLength: 100,
      description: `Search by ${what}: exact name first, then beginnings, words, parts and near spellings. Case, accents and apostrophes make no difference.`,
    }),
  )
export const includeParameter = (values: string) =>
  Type.Optional(
    Text({ description: `Comma-separated, no spaces: ${values}. Other values are ignored.` }),
  )

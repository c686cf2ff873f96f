import Type, { type Static, type TSchema } from 'typebox'
import {
  CONDITIONS,
  GRADES,
  GRADING_COMPANIES,
  LANGUAGES,
  LISTING_STATUSES,
  PRINTINGS,
  SELLER_TIERS,
} from '../../enums.ts'
import { LONGEST_URL } from '../../outbound/public-address.ts'
import { component, FilledText, Nullable, OneOf, publishedRef, Text, Timestamp } from '../schema.ts'
import { bulkRequestExample } from './examples.ts'

/** Listings as published (§2.6) and as requests bring them (§4.9, §4.10). */

const MAX_ITEMS = 100
export const MAX_PHOTOS = 10
const LONGEST_DESCRIPTION = 1_000
const MAX_QUANTITY = 999

const language = OneOf(LANGUAGES, { description: 'Language code of what is sold' })
const currency = OneOf(['EUR'] as const)

const Seller = component(
  'Seller',
  Type.Object(
    {
      name: Type.String(),
      slug: Nullable(Type.String()),
      url: Nullable(Type.String(), { description: 'The shop’s public page on the marketplace' }),
      tier: OneOf(SELLER_TIERS),
      rating: Nullable(Type.Number(), { description: 'null without reviews' }),
      reviews: Type.Integer(),
    },
    { description: 'The shop that sells it.' },
  ),
)

const Graded = Type.Object({
  company: OneOf(GRADING_COMPANIES),
  grade: OneOf(GRADES),
  label: Type.String({ description: 'Company and grade', examples: ['PSA 9.5'] }),
})

const publicFields = {
  id: Type.Integer(),
  price: Type.Number({ description: 'Decimal euros a unit' }),
  currency,
  condition: Nullable(OneOf(CONDITIONS), { description: 'null for sealed products' }),
  language,
  printing: OneOf(PRINTINGS, { description: '`standard` when never set' }),
  graded: Type.Unsafe<{ company: string; grade: string; label: string } | null>({
    anyOf: [Graded, { type: 'null' }],
    description: 'Only with condition G, else null',
  }),
  quantity_available: Type.Integer({
    description: 'Stock less what buyers’ carts hold at this moment; never below 0',
  }),
  description: Nullable(Type.String()),
  photos: Type.Array(Type.String(), {
    description: 'Addresses of thumbnails; photos appear here once they have been fetched',
  }),
  seller: Seller,
}

export const PublicListing = component(
  'PublicListing',
  Type.Object(publicFields, { description: 'An active listing as anyone sees it.' }),
)

const CardListable = Type.Object({
  type: OneOf(['card'] as const),
  id: Type.String({ description: 'Canonical id of the card' }),
  friendly_id: Nullable(Type.String(), { description: 'null when the set has no shortcut' }),
  name: Type.String(),
  number: Type.String(),
  set: Nullable(Type.String(), { description: 'The set’s shortcut' }),
})

const ProductListable = Type.Object({
  type: OneOf(['product'] as const),
  id: Type.String({ description: 'Slug of the sealed product' }),
  name: Type.String(),
})

export const OwnListing = component(
  'Listing',
  Type.Object(
    {
      ...publicFields,
      status: OneOf(LISTING_STATUSES),
      quantity: Type.Integer({ description: 'Raw stock, reservations not subtracted' }),
      listable: Type.Unsafe<object | null>({
        anyOf: [CardListable, ProductListable, { type: 'null' }],
        description: 'What the listing is for',
      }),
      created_at: Timestamp(),
      updated_at: Timestamp({
        description: 'Moves when something about the listing changes, its photos included',
      }),
    },
    { description: 'A listing as its owner sees it.' },
  ),
)

export const price = Type.Number({
  minimum: 0.01,
  maximum: 99_999.99,
  description: 'Decimal euros a unit; more than two decimals are rounded, half a cent up',
  examples: [4.5],
})

const description = Text({ maxLength: LONGEST_DESCRIPTION })

/** What every item brings, whatever it's for. */
export const itemFields = {
  language,
  price,
  quantity: Type.Integer({ minimum: 1, maximum: MAX_QUANTITY }),
  description: Type.Optional(description),
  photo_urls: Type.Optional(
    Type.Array(FilledText({ maxLength: LONGEST_URL }), {
      maxItems: MAX_PHOTOS,
      description:
        'Public http or https addresses of images (JPEG, PNG, WebP, GIF or AVIF, at most 10 MB each), fetched after the answer',
    }),
  ),
}

/** What an item for a card brings beside that. */
export const cardFields = {
  card: FilledText({
    maxLength: 100,
    description: 'Canonical or friendly id of a card; either this or `product`',
    examples: ['swsh9-18'],
  }),
  language_hint: Type.Optional(
    OneOf(LANGUAGES, {
      description:
        'Language code of the set, to pick one card where the friendly id means several; ignored where it means one. Not the listing’s language.',
    }),
  ),
  condition: OneOf(CONDITIONS, { description: 'Required for cards, ignored for products' }),
  printing: Type.Optional(
    OneOf(PRINTINGS, { description: 'For cards; `standard` when it is left out' }),
  ),
}

/** What an item for a graded card brings beside that. */
export const gradedFields = {
  grading_company: OneOf(GRADING_COMPANIES, { description: 'Required when the condition is G' }),
  grading_grade: OneOf(GRADES, { description: 'Required when the condition is G' }),
}

/** What an item for a sealed product brings instead. */
export const productFields = {
  product: FilledText({
    maxLength: 150,
    description: 'Slug of a sealed product; either this or `card`',
    examples: ['brilliant-stars-booster-box'],
  }),
}

/** Fields that may be left out: null counts as left out. */
const OrNull = <S extends TSchema>(schema: S) => Type.Optional(Nullable(schema))

const { card, condition } = cardFields
const { product } = productFields
const { language: itemLanguage, price: itemPrice, quantity } = itemFields
const required = { language: itemLanguage, price: itemPrice, quantity }
const optional = {
  description: OrNull(itemFields.description),
  photo_urls: OrNull(itemFields.photo_urls),
}
const leftOut = Type.Optional(Type.Null())
/** Repeats what `leftOut` says about a key, in the form that linters understand as a schema that excludes another. */
const without = (key: string) => ({
  not: { required: [key], properties: { [key]: { type: 'string' } } },
})

const CardListingItem = component(
  'CardListingItem',
  Type.Object(
    {
      card,
      product: leftOut,
      ...required,
      condition,
      printing: OrNull(cardFields.printing),
      language_hint: OrNull(cardFields.language_hint),
      grading_company: OrNull(gradedFields.grading_company),
      grading_grade: OrNull(gradedFields.grading_grade),
      ...optional,
    },
    { description: 'A new listing for a card.', ...without('product') },
  ),
)

const ProductListingItem = component(
  'ProductListingItem',
  Type.Object(
    { product, card: leftOut, ...required, ...optional },
    { description: 'A new listing for a sealed product.', ...without('card') },
  ),
)

const ListingItem = component(
  'ListingItem',
  Type.Unsafe<object>({
    oneOf: [CardListingItem, ProductListingItem],
    description:
      'A new listing for a card or a sealed product. An optional field that is null counts as left out.',
  }),
)

/**
 * The body of a bulk create. Only the list is checked here, each item on its own later: `x-items` is what they are
 * published as.
 */
export const BulkCreate = Type.Object(
  {
    items: Type.Unsafe<unknown[]>({
      type: 'array',
      minItems: 1,
      maxItems: MAX_ITEMS,
      'x-items': ListingItem,
    }),
  },
  { examples: [bulkRequestExample] },
)

const CreatedListing = Type.Object({
  id: Type.Integer(),
  price: Type.Number({ description: 'Decimal euros, as rounded' }),
  currency,
  quantity: Type.Integer(),
  status: OneOf(['active'] as const),
})

const CardCandidate = Type.Object({
  id: Type.String(),
  name: Type.String(),
  number: Type.String(),
  set: Type.String({ description: 'Name of the set' }),
  language: Type.String(),
  region: Type.String(),
})

const index = Type.Integer({ description: 'Position in the items sent, from 0' })

const CreatedResult = component(
  'ListingCreated',
  Type.Object(
    { status: OneOf(['created'] as const), index, listing: CreatedListing },
    { description: 'The item is listed.' },
  ),
)

const FailedResult = component(
  'ListingFailed',
  Type.Object(
    {
      status: OneOf(['failed'] as const),
      index,
      errors: Type.Record(Type.String(), Type.Array(Type.String()), {
        description: 'Field names to messages',
      }),
      candidates: Type.Optional(
        Type.Array(CardCandidate, {
          description: 'Only when the card’s friendly id means several cards',
        }),
      ),
    },
    { description: 'The item is not listed.' },
  ),
)

export const BulkResult = component(
  'BulkCreateResult',
  Type.Object(
    {
      results: Type.Array(
        Type.Unsafe<Static<typeof CreatedResult> | Static<typeof FailedResult>>({
          oneOf: [CreatedResult, FailedResult],
          discriminator: {
            propertyName: 'status',
            mapping: {
              created: publishedRef(CreatedResult).$ref,
              failed: publishedRef(FailedResult).$ref,
            },
          },
        }),
        { description: 'One for each item, in order' },
      ),
      created: Type.Integer(),
      failed: Type.Integer(),
      warnings: Type.Optional(
        Type.Array(Type.String(), {
          description:
            'Only when the account needs attention: no shipping option is enabled, so nothing can be ordered',
        }),
      ),
    },
    { description: 'What has become of each item.' },
  ),
)

export const ListingPatch = Type.Object(
  {
    price: Type.Optional(price),
    quantity: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_QUANTITY,
        description: 'Stock; 0 makes an active listing sold, more makes a sold one active',
      }),
    ),
    status: Type.Optional(
      OneOf(LISTING_STATUSES, {
        description:
          '`hidden` keeps its stock and is not on sale. Between `active` and `sold` the stock decides: `sold` with stock left becomes `active` again, so send `quantity` 0. A hidden listing stays hidden until `active` is sent: neither a new quantity nor `sold` puts it on sale.',
      }),
    ),
    description: Type.Optional(
      Nullable(description, { description: 'null or an empty text clears it' }),
    ),
  },
  { examples: [{ price: 4.5, quantity: 3 }] },
)

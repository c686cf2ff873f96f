import Type, { type TProperties, type TSchema, type TStringOptions } from 'typebox'
import { eurosFromCents } from '../../cents.ts'
import { CONDITIONS, GRADES, GRADING_COMPANIES, LANGUAGES, PRINTINGS } from '../../enums.ts'
import { MAX_PRICE_CENTS, MAX_QUANTITY } from '../../listings/listing.ts'
import { MAX_URL_LENGTH } from '../../outbound/public-address.ts'
import { component, FilledText, NO_OUTER_BLANKS, Nullable, OneOf, Text } from '../schema.ts'
import { listingLanguage } from './public-listing.ts'

const MAX_PHOTOS = 10

const MAX_DESCRIPTION_LENGTH = 1_000

export const price = Type.Number({
  minimum: 0.01,
  maximum: eurosFromCents(MAX_PRICE_CENTS),
  description:
    'Price per unit in decimal euros. More than two decimals are rounded, half a cent up',
  examples: [4.5],
})

export const description = Text({ maxLength: MAX_DESCRIPTION_LENGTH })

/** Fields of every item. */
export const itemFields = {
  language: listingLanguage,
  price,
  quantity: Type.Integer({ minimum: 1, maximum: MAX_QUANTITY }),
  description: Type.Optional(description),
  photo_urls: Type.Optional(
    Type.Array(FilledText({ maxLength: MAX_URL_LENGTH, singleLine: true }), {
      maxItems: MAX_PHOTOS,
      description:
        'Public http or https URLs of images (JPEG, PNG, WebP, GIF or AVIF, at most 10 MB each). The service fetches them after it has responded',
    }),
  ),
}

/** Additional fields of an item for a card. */
export const cardFields = {
  card: FilledText({
    maxLength: 100,
    description: 'Canonical or friendly id of a card. Send either `card` or `product`',
    examples: ['swsh9-18'],
  }),
  language_hint: Type.Optional(
    OneOf(LANGUAGES, {
      description:
        'Language code of the set. Selects one card if the friendly id means several; ignored otherwise. The listing’s language is in `language`.',
    }),
  ),
  condition: OneOf(CONDITIONS, { description: 'Required for cards; ignored for products' }),
  printing: Type.Optional(OneOf(PRINTINGS, { description: 'For cards. `standard` by default' })),
}

/** Additional fields of an item for a graded card. */
export const gradedFields = {
  grading_company: OneOf(GRADING_COMPANIES, { description: 'Required if the condition is G' }),
  grading_grade: OneOf(GRADES, { description: 'Required if the condition is G' }),
}

/** Additional fields of an item for a sealed product. */
export const productFields = {
  product: FilledText({
    maxLength: 150,
    description: 'Slug of a sealed product. Send either `product` or `card`',
    examples: ['brilliant-stars-booster-box'],
  }),
}

/** Optional, and null counts as absent. */
const OrNull = <S extends TSchema>(schema: S) => Type.Optional(Nullable(schema))

const { card, condition } = cardFields

const { product } = productFields

const { language, quantity } = itemFields

const required = { language, price, quantity }

const optional = {
  description: OrNull(itemFields.description),
  photo_urls: OrNull(itemFields.photo_urls),
}

const leftOut = Type.Optional(Type.Null())

/** States again that a key is absent (`leftOut`), in the form by which linters see that two schemas exclude each other. */
const without = (key: string) => ({
  not: { required: [key], properties: { [key]: { type: 'string' } } },
})

const cardItem = (more: TProperties, description: string) =>
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
      ...more,
    },
    { description, ...without('product') },
  )

const productItem = (more: TProperties, description: string) =>
  Type.Object(
    { product, card: leftOut, ...required, ...optional, ...more },
    { description, ...without('card') },
  )

const itemOf = (cardItem: TSchema, productItem: TSchema) =>
  Type.Unsafe<object>({
    oneOf: [cardItem, productItem],
    description:
      'A new listing for a card or a sealed product. An optional field that is null counts as absent.',
  })

export const ListingItem = component(
  'ListingItem',
  itemOf(
    component('CardListingItem', cardItem({}, 'A new listing for a card.')),
    component('ProductListingItem', productItem({}, 'A new listing for a sealed product.')),
  ),
)

const OWN_NAME = 'Your own name of the listing, such as a SKU: unique among your listings'

const ownName = (options: TStringOptions) =>
  FilledText({ maxLength: 100, singleLine: true, ...options, examples: ['SHELF-4-118'] })

/** A seller's own name of a listing, in a request. */
export const reference = ownName({ description: OWN_NAME })

/**
 * The reference of a new listing: imports remove the blanks of their file, and would list the same stock a second time. A
 * stored reference of an earlier version may have them.
 */
export const newReference = ownName({
  pattern: NO_OUTER_BLANKS,
  description: `${OWN_NAME}, without blanks at its ends`,
})

const own = { reference: OrNull(newReference) }

/** An item that can have a reference, for the seller's own software. */
export const OwnListingItem = component(
  'OwnListingItem',
  itemOf(
    component('OwnCardListingItem', cardItem(own, 'A new listing for a card.')),
    component('OwnProductListingItem', productItem(own, 'A new listing for a sealed product.')),
  ),
)

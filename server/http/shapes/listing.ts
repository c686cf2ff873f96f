import Type, { type Static } from 'typebox'
import { type Catalog, listedCard, listedProduct } from '../../catalog/catalog.ts'
import { LISTING_STATUSES } from '../../enums.ts'
import { type Listing, MAX_QUANTITY } from '../../listings/listing.ts'
import type { Seller } from '../../listings/offers.ts'
import { timestamp } from '../../time/timestamp.ts'
import { bytesAsText } from '../latin1.ts'
import { component, Discriminated, Nullable, OneOf, Timestamp } from '../schema.ts'
import { description, price } from './listing-item.ts'
import { type Addresses, offerJson, publicFields, sellerJson } from './public-listing.ts'

const ListableCard = component(
  'ListableCard',
  Type.Object(
    {
      type: OneOf(['card'] as const),
      id: Type.String({ description: 'Canonical id of the card' }),
      friendly_id: Nullable(Type.String(), { description: 'null if the set has no shortcut' }),
      name: Type.String(),
      number: Type.String(),
      set: Nullable(Type.String(), { description: 'The set’s shortcut' }),
    },
    { description: 'The card of a listing.' },
  ),
)

const ListableProduct = component(
  'ListableProduct',
  Type.Object(
    {
      type: OneOf(['product'] as const),
      id: Type.String({ description: 'Slug of the sealed product' }),
      name: Type.String(),
    },
    { description: 'The sealed product of a listing.' },
  ),
)

const ListableSchema = component(
  'Listable',
  Discriminated<object>(
    'type',
    { card: ListableCard, product: ListableProduct },
    { description: 'The card or sealed product of a listing.' },
  ),
)

export const listingFields = {
  ...publicFields,
  status: OneOf(LISTING_STATUSES),
  quantity: Type.Integer({ description: 'Whole stock: reserved units are not subtracted' }),
  listable: Type.Unsafe<object | null>({
    anyOf: [ListableSchema, { type: 'null' }],
    description: 'The card or sealed product on sale',
  }),
  created_at: Timestamp(),
  updated_at: Timestamp({
    description: 'Time of the last change to the listing or its photos',
  }),
}

export const ListingSchema = component(
  'Listing',
  Type.Object(listingFields, { description: 'A listing as its seller sees it.' }),
)

/** The listing as its seller sees it (§2.6). */
export const listingJson = (
  listing: Listing,
  seller: Seller,
  catalog: Catalog,
  addresses: Addresses,
): Static<typeof ListingSchema> => ({
  ...offerJson(listing, addresses),
  seller: sellerJson(seller, addresses),
  status: listing.status,
  quantity: listing.quantity,
  listable: listableJson(listing, catalog),
  created_at: timestamp(listing.createdAt),
  updated_at: timestamp(listing.updatedAt),
})

/** The JSON of `listable` as the text of `bytesAsText`, made once for each card or product (docs/reads.md). */
export function listableText(listing: Listing, catalog: Catalog): string {
  const { cardId, productSlug } = listing
  const entry = cardId !== null ? listedCard(catalog, cardId) : listedProduct(catalog, productSlug)
  if (!entry) return 'null'
  entry.listable ??= bytesAsText(JSON.stringify(listableJson(listing, catalog)))
  return entry.listable
}

/** The card or product on sale; null if the catalog in memory does not have it (`CatalogReader.include`). */
function listableJson({ cardId, productSlug }: Listing, catalog: Catalog) {
  if (cardId !== null) {
    const card = listedCard(catalog, cardId)
    if (!card) return null
    const { id, friendlyId: friendly_id, name, number, set } = card
    return { type: 'card' as const, id, friendly_id, name, number, set: set.shortcut }
  }
  const product = listedProduct(catalog, productSlug)
  return product ? { type: 'product' as const, id: product.slug, name: product.name } : null
}

export const exampleListing = {
  id: 1204,
  price: 4.5,
  currency: 'EUR',
  condition: 'NM',
  language: 'EN',
  printing: 'holo',
  graded: null,
  quantity_available: 2,
  description: 'Straight from the booster into a sleeve',
  photos: ['https://cards.example/photos/bU3mJ0Kc2rQe9XnYw1sZ5A-thumb.jpg'],
  seller: {
    name: 'Demo Cards',
    slug: 'demo-cards',
    url: 'https://cards.example/shops/demo-cards',
    tier: 'Gold',
    rating: 4.9,
    reviews: 312,
  },
  status: 'active',
  quantity: 3,
  listable: {
    type: 'card',
    id: 'swsh9-18',
    friendly_id: 'brs_18',
    name: 'Charizard VSTAR',
    number: '18',
    set: 'brs',
  },
  created_at: '2026-03-01T09:30:00Z',
  updated_at: '2026-03-02T18:05:12Z',
}

export const ListingPatch = Type.Object(
  {
    price: Type.Optional(price),
    quantity: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_QUANTITY,
        description: 'Stock. 0 makes an active listing `sold`; more makes a sold listing `active`',
      }),
    ),
    status: Type.Optional(
      OneOf(LISTING_STATUSES, {
        description:
          'A `hidden` listing keeps its stock and is not on sale. The stock decides between `active` and `sold`: a `sold` listing with stock becomes `active` again, so send `quantity` 0 as well. A hidden listing stays hidden until you send `active`; neither a new quantity nor `sold` puts it on sale.',
      }),
    ),
    description: Type.Optional(
      Nullable(description, { description: 'null or an empty text removes the description' }),
    ),
  },
  { examples: [{ price: 4.5, quantity: 3 }] },
)

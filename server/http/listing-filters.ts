import Type, { type Static } from 'typebox'
import type { Catalog } from '../catalog/catalog.ts'
import { findCard, findProduct } from '../catalog/identifiers.ts'
import { LISTING_STATUSES } from '../enums.ts'
import type { ListingFilters } from '../listings/listings.ts'
import { optionalDateTime } from './date-time.ts'
import { OneOf, Text } from './schema.ts'

/** The filters of a seller's own listings (§4.8), for the APIs that list them. */
export const listingFilters = {
  status: Type.Optional(OneOf(LISTING_STATUSES)),
  updated_since: Type.Optional(
    Text({
      description:
        'Only listings changed at or after this ISO 8601 date or date-time. A date means its first second; without an offset the time is UTC',
      examples: ['2026-03-01T09:30:00Z'],
    }),
  ),
  card: Type.Optional(Text({ maxLength: 100, description: 'Canonical or friendly id of a card' })),
  product: Type.Optional(Text({ maxLength: 150, description: 'Slug of a sealed product' })),
}

const schema = Type.Object(listingFilters)

/** @throws validation_error for an invalid time, not_found or ambiguous_identifier for a card or product */
export function readListingFilters(
  catalog: Catalog,
  { status, updated_since, card, product }: Static<typeof schema>,
): ListingFilters {
  return {
    status,
    updatedSince: optionalDateTime('updated_since', updated_since),
    cardId: card && findCard(catalog, card).id,
    productSlug: product && findProduct(catalog, product).slug,
  }
}

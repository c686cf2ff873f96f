import Type, { type Static } from 'typebox'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Seller } from '../../listings/offers.ts'
import type { OwnListing } from '../../listings/own-listings.ts'
import { component, Nullable } from '../schema.ts'
import { exampleListing, listingFields, listingJson } from './listing.ts'
import type { Addresses } from './public-listing.ts'

export const ownListingFields = {
  ...listingFields,
  reference: Nullable(Type.String(), {
    description: 'Your own name of the listing. Never public',
  }),
  photos_failed: Type.Integer({
    description: 'Number of the listing’s photos that could not be fetched',
  }),
}

export const OwnListingSchema = component(
  'OwnListing',
  Type.Object(ownListingFields, {
    description: 'A listing with the fields that only its seller’s software needs.',
  }),
)

/** A listing with its reference and the number of its failed photos. */
export const ownListingJson = (
  listing: OwnListing,
  seller: Seller,
  catalog: Catalog,
  addresses: Addresses,
): Static<typeof OwnListingSchema> => ({
  ...listingJson(listing, seller, catalog, addresses),
  reference: listing.reference,
  photos_failed: listing.photosFailed,
})

export const exampleOwnListing = { ...exampleListing, reference: 'SHELF-4-118', photos_failed: 0 }

import Type, { type Static } from 'typebox'
import { eurosFromCents } from '../../cents.ts'
import { LISTING_STATUSES } from '../../enums.ts'
import type { AnyListing } from '../../listings/all-listings.ts'
import { timestamp } from '../../time/timestamp.ts'
import { amount, component, Nullable, OneOf, Timestamp } from '../schema.ts'

export const ANY_STATUSES = [...LISTING_STATUSES, 'removed'] as const

export const OperatorListingSchema = component(
  'OperatorListing',
  Type.Object(
    {
      id: Type.Integer(),
      account_id: Type.Integer({ description: 'The seller' }),
      card: Nullable(Type.String(), { description: 'Canonical id of the card' }),
      product: Nullable(Type.String(), { description: 'Slug of the sealed product' }),
      price: amount('Price of a unit in decimal euros'),
      quantity: Type.Integer({ description: 'Whole stock: reserved units are not subtracted' }),
      condition: Nullable(Type.String()),
      language: Type.String(),
      printing: Type.String(),
      grading_company: Nullable(Type.String()),
      grading_grade: Nullable(Type.String()),
      description: Nullable(Type.String()),
      reference: Nullable(Type.String(), { description: 'The seller’s own name of the listing' }),
      status: OneOf(ANY_STATUSES, { description: '`removed`: deleted, or taken down' }),
      removed_because: Nullable(Type.String(), {
        description: 'Reason for which the operator took it down',
      }),
      created_at: Timestamp(),
      updated_at: Timestamp(),
    },
    { description: 'A listing as the operator sees it.' },
  ),
)

export const operatorListingJson = (listing: AnyListing): Static<typeof OperatorListingSchema> => ({
  id: listing.id,
  account_id: listing.accountId,
  card: listing.cardId,
  product: listing.productSlug,
  price: eurosFromCents(listing.priceCents),
  quantity: listing.quantity,
  condition: listing.condition,
  language: listing.language,
  printing: listing.printing,
  grading_company: listing.gradingCompany,
  grading_grade: listing.gradingGrade,
  description: listing.description,
  reference: listing.reference,
  status: listing.status,
  removed_because: listing.removedBecause,
  created_at: timestamp(listing.createdAt),
  updated_at: timestamp(listing.updatedAt),
})

export const exampleOperatorListing: Static<typeof OperatorListingSchema> = {
  id: 1204,
  account_id: 12,
  card: 'swsh9-18',
  product: null,
  price: 4.5,
  quantity: 3,
  condition: 'NM',
  language: 'EN',
  printing: 'holo',
  grading_company: null,
  grading_grade: null,
  description: null,
  reference: 'SHELF-4-118',
  status: 'active',
  removed_because: null,
  created_at: '2026-03-01T09:30:00Z',
  updated_at: '2026-03-01T09:30:00Z',
}

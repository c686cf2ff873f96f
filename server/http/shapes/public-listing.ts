import type { Static } from 'typebox'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Config } from '../../config.ts'
import { type Listing, quantityAvailable } from '../../listings/listing.ts'
import type { Offer, Seller } from '../../listings/offers.ts'
import { eurosFromCents } from '../../money.ts'
import { thumbnailUrl } from '../../photos/photo.ts'
import { timestamp } from '../../time/timestamp.ts'
import type { OwnListing, PublicListing } from './listing.ts'

type Addresses = Pick<Config, 'publicUrl' | 'marketplaceUrl'>

/** A listing as its owner sees it (§2.6). */
export const ownListingJson = (
  listing: Listing,
  seller: Seller,
  catalog: Catalog,
  addresses: Addresses,
): Static<typeof OwnListing> => ({
  ...offerJson(listing, addresses),
  seller: sellerJson(seller, addresses),
  status: listing.status,
  quantity: listing.quantity,
  listable: listableJson(listing, catalog),
  created_at: timestamp(listing.createdAt),
  updated_at: timestamp(listing.updatedAt),
})

/** The public shape but for its seller. */
export const offerJson = (
  offer: Omit<Offer, 'accountId'>,
  { publicUrl }: Addresses,
): Omit<Static<typeof PublicListing>, 'seller'> => ({
  id: offer.id,
  price: eurosFromCents(offer.priceCents),
  currency: 'EUR',
  condition: offer.condition,
  language: offer.language,
  printing: offer.printing,
  graded: gradedJson(offer),
  quantity_available: quantityAvailable(offer),
  description: offer.description,
  photos: offer.photos.map((name) => thumbnailUrl(publicUrl, name)),
})

/** The seller as buyers see them, beside each of their listings. */
export const sellerJson = (
  { shopName, slug, sellerTier, rating, reviews }: Seller,
  { marketplaceUrl }: Addresses,
) => ({
  name: shopName,
  slug,
  url: `${marketplaceUrl}/shops/${encodeURIComponent(slug)}`,
  tier: sellerTier,
  rating: reviews > 0 ? rating : null,
  reviews,
})

const gradedJson = ({
  gradingCompany: company,
  gradingGrade: grade,
}: Pick<Offer, 'gradingCompany' | 'gradingGrade'>) =>
  company && grade ? { company, grade, label: `${company} ${grade}` } : null

/** What it's for, by the catalog in memory; null when that doesn't have it yet. */
function listableJson({ cardId, productSlug }: Listing, catalog: Catalog) {
  if (cardId !== null) {
    const card = catalog.cardsById.get(cardId)
    if (!card) return null
    const { id, friendlyId: friendly_id, name, number, set } = card
    return { type: 'card' as const, id, friendly_id, name, number, set: set.shortcut }
  }
  const product = catalog.productsBySlug.get(productSlug)
  return product ? { type: 'product' as const, id: product.slug, name: product.name } : null
}

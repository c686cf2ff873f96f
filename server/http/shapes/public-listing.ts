import Type, { type Static } from 'typebox'
import { shownRating } from '../../accounts/rating.ts'
import { eurosFromCents } from '../../cents.ts'
import type { Config } from '../../config.ts'
import {
  CONDITIONS,
  GRADES,
  GRADING_COMPANIES,
  LANGUAGES,
  PRINTINGS,
  SELLER_TIERS,
} from '../../enums.ts'
import { quantityAvailable } from '../../listings/listing.ts'
import type { Offer, Seller } from '../../listings/offers.ts'
import { thumbnailUrl } from '../../photos/photo.ts'
import { Currency, component, Nullable, OneOf } from '../schema.ts'

export const listingLanguage = OneOf(LANGUAGES, {
  description: 'Language code of the card or product on sale',
})

const SellerSchema = component(
  'Seller',
  Type.Object(
    {
      name: Type.String(),
      slug: Nullable(Type.String()),
      url: Nullable(Type.String(), { description: 'The shop’s public page on the marketplace' }),
      tier: OneOf(SELLER_TIERS),
      rating: Nullable(Type.Number(), { description: 'Average rating; null without reviews' }),
      reviews: Type.Integer(),
    },
    { description: 'The shop that offers the listing.' },
  ),
)

const GradedSchema = Type.Object({
  company: OneOf(GRADING_COMPANIES),
  grade: OneOf(GRADES),
  label: Type.String({ description: 'Company and grade in one text', examples: ['PSA 9.5'] }),
})

export const publicFields = {
  id: Type.Integer(),
  price: Type.Number({ description: 'Price per unit in decimal euros' }),
  currency: Currency,
  condition: Nullable(OneOf(CONDITIONS), { description: 'null for sealed products' }),
  language: listingLanguage,
  printing: OneOf(PRINTINGS, { description: '`standard` if it was never set' }),
  graded: Type.Unsafe<{ company: string; grade: string; label: string } | null>({
    anyOf: [GradedSchema, { type: 'null' }],
    description: 'null unless the condition is G',
  }),
  quantity_available: Type.Integer({
    description: 'Stock minus the units that buyers’ carts reserve now; never below 0',
  }),
  description: Nullable(Type.String()),
  photos: Type.Array(Type.String(), {
    description: 'URLs of thumbnails. A photo appears here after the service has fetched it',
  }),
  seller: SellerSchema,
}

export const PublicListingSchema = component(
  'PublicListing',
  Type.Object(publicFields, { description: 'An active listing as buyers see it.' }),
)

export type Addresses = Pick<Config, 'publicUrl' | 'marketplaceUrl'>

/** The public listing (§2.6) without its `seller`, which many offers share. */
export const offerJson = (
  offer: Omit<Offer, 'accountId'>,
  addresses: Addresses,
): Omit<Static<typeof PublicListingSchema>, 'seller'> => ({
  id: offer.id,
  price: eurosFromCents(offer.priceCents),
  currency: 'EUR',
  condition: offer.condition,
  language: offer.language,
  printing: offer.printing,
  graded: gradedJson(offer),
  quantity_available: quantityAvailable(offer),
  description: offer.description,
  photos: photosJson(offer.photos, addresses),
})

/** The `photos` of a listing (§2.6). */
export const photosJson = (names: string[], { publicUrl }: Addresses): string[] =>
  names.map((name) => thumbnailUrl(publicUrl, name))

/** The `seller` of a listing (§2.6). */
export const sellerJson = (
  { shopName, slug, sellerTier, rating, reviews }: Seller,
  { marketplaceUrl }: Addresses,
) => ({
  name: shopName,
  slug,
  url: `${marketplaceUrl}/shops/${encodeURIComponent(slug)}`,
  tier: sellerTier,
  rating: shownRating(rating, reviews),
  reviews,
})

const gradedJson = ({
  gradingCompany: company,
  gradingGrade: grade,
}: Pick<Offer, 'gradingCompany' | 'gradingGrade'>) =>
  company && grade ? { company, grade, label: `${company} ${grade}` } : null

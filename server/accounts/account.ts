import type { ApiAccess, Fulfilment, SellerTier } from '../enums.ts'
import { notFound } from '../errors.ts'
import { plainLetters } from '../text/plain-letters.ts'

/** One way in which a seller sends parcels. */
export type ShippingOption = {
  /** Unique within the account. */
  code: string
  name: string
  fulfilment: Fulfilment
  tracked: boolean
  priceCents: number
  enabled: boolean
  /** ISO 3166-1 codes of the countries that it delivers to; null or absent for all. */
  countries?: string[] | null | undefined
  /** Highest value of the goods in a parcel; null or absent for any. */
  maxValueCents?: number | null | undefined
}

/** Whether a buyer can choose the option for goods of this value. Without a country, only those for all countries fit. */
export const isOffered = (
  { enabled, countries, maxValueCents }: ShippingOption,
  country: string | undefined,
  valueCents: number,
): boolean =>
  enabled &&
  (!countries || (country !== undefined && countries.includes(country.toUpperCase()))) &&
  valueCents <= (maxValueCents ?? Number.POSITIVE_INFINITY)

/** A shop on the marketplace, as the operator sees it. */
export type Account = {
  id: number
  shopName: string
  slug: string
  email: string
  business: boolean
  sellerTier: SellerTier
  payoutVerified: boolean
  apiAccess: ApiAccess
  /** Mean and number of earlier reviews, imported by the operator. */
  rating: number | null
  reviews: number
  /** The published mean and number of all reviews, imported and own (rating.ts). */
  sellerRating: number | null
  sellerReviews: number
  /** IANA name of the zone of the shop's days. Its months are in UTC. */
  timeZone: string
  /** Hides the shop from buyers, who can't order from it (holiday.ts). */
  onHoliday: boolean
  /** Whether buyers see the shop and its offers. */
  isShown: boolean
  shippingOptions: ShippingOption[]
  createdAt: Date
  /** Set from its closing until it opens again. */
  closedAt: Date | null
}

/** Whether a shipping option is enabled; otherwise nothing can be ordered. */
export const ships = ({ shippingOptions }: Pick<Account, 'shippingOptions'>): boolean =>
  shippingOptions.some(({ enabled }) => enabled)

/**
 * Fields of an account that a request may set. `passwordHash` is its first member's and is never returned: a key is derived
 * from a password before the transaction.
 */
export type AccountChanges = Partial<
  Omit<
    Account,
    'id' | 'createdAt' | 'closedAt' | 'onHoliday' | 'isShown' | 'sellerRating' | 'sellerReviews'
  > & {
    passwordHash: string | null
  }
>

export const accountNotFound = () => notFound('There is no such account.')

const MAX_SLUG_LENGTH = 60

/**
 * Derives a URL slug from the shop's name: lower-case ASCII letters, digits and single hyphens; "shop" if none are
 * left, as for a Japanese name.
 */
export function slugFor(shopName: string): string {
  const slug = plainLetters(shopName.replace(/['’]/g, ''))
    .toLowerCase()
    .replace(/&/g, ' and ')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_SLUG_LENGTH)
    .replace(/^-+|-+$/g, '')
  return slug || 'shop'
}

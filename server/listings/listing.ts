import type { Condition, GradingCompany, Language, ListingStatus, Printing } from '../enums.ts'

/** What a listing offers: one card or one sealed product of the catalog. */
export type Listable = { cardId: string; productSlug: null } | { cardId: null; productSlug: string }

/** Stock that a seller has for sale (§2.6). */
export type Listing = Listable & {
  id: number
  priceCents: number
  /** Raw stock. */
  quantity: number
  /** Units that carts hold now. A stock set below them makes it more than the quantity. */
  reserved: number
  /** null for sealed products. */
  condition: Condition | null
  language: Language
  printing: Printing
  /** Both, or neither: only with condition G. */
  gradingCompany: GradingCompany | null
  gradingGrade: string | null
  description: string | null
  /** Names in the storage. */
  photos: string[]
  status: ListingStatus
  createdAt: Date
  updatedAt: Date
}

/** What a seller can change about a listing; what is absent stays. */
export type ListingChanges = {
  priceCents?: number | undefined
  quantity?: number | undefined
  status?: ListingStatus | undefined
  /** null or empty clears it. */
  description?: string | null | undefined
}

/** What of a listing can change at all. */
export type Changeable = Pick<Listing, 'priceCents' | 'quantity' | 'status' | 'description'>

/** What of a listing can be bought now: its stock less what carts hold, never below 0. */
export const quantityAvailable = ({ quantity, reserved }: Pick<Listing, 'quantity' | 'reserved'>) =>
  Math.max(quantity - reserved, 0)

/** A listing after a change (§3.1). Its status follows from the status sent, the current status and the stock. */
export function changed(listing: Changeable, changes: ListingChanges): Changeable {
  const quantity = changes.quantity ?? listing.quantity
  // Only `active` puts a hidden listing on sale again: "sold elsewhere" must not.
  const staysHidden = listing.status === 'hidden' && changes.status !== 'active'
  const status = staysHidden ? 'hidden' : (changes.status ?? listing.status)
  return {
    priceCents: changes.priceCents ?? listing.priceCents,
    quantity,
    status: statusFor(status, quantity),
    description:
      (changes.description === undefined ? listing.description : changes.description) || null,
  }
}

/**
 * The status that a listing gets when one is asked for, or kept, with so much stock. Stock alone decides between
 * active and sold. A hidden listing never surfaces because its stock changed.
 */
export function statusFor(status: ListingStatus, quantity: number): ListingStatus {
  if (status === 'hidden') return 'hidden'
  return quantity > 0 ? 'active' : 'sold'
}

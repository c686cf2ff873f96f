import type { Condition, GradingCompany, Language, ListingStatus, Printing } from '../enums.ts'

/** Maximum stock of a listing (§4.9). */
export const MAX_QUANTITY = 999

/** Maximum price of a unit (§4.9). */
export const MAX_PRICE_CENTS = 9_999_999

/** The item of a listing: one card or one sealed product of the catalog. */
export type Listable = { cardId: string; productSlug: null } | { cardId: null; productSlug: string }

/** A seller's offer of one item (§2.6). */
export type Listing = Listable & {
  id: number
  priceCents: number
  /** Stock, reserved units included. */
  quantity: number
  /** Units that carts hold now. It exceeds `quantity` if the seller has lowered that since. */
  reserved: number
  /** null for sealed products. */
  condition: Condition | null
  language: Language
  printing: Printing
  /** Both are set with condition G, otherwise neither. */
  gradingCompany: GradingCompany | null
  gradingGrade: string | null
  description: string | null
  /** File names in the storage. */
  photos: string[]
  status: ListingStatus
  createdAt: Date
  updatedAt: Date
}

/** A seller's changes to a listing. Absent fields stay as they are. */
export type ListingChanges = {
  priceCents?: number | undefined
  quantity?: number | undefined
  status?: ListingStatus | undefined
  /** null or '' clears it. */
  description?: string | null | undefined
}

/** The fields that ListingChanges can change. */
export type Changeable = Pick<Listing, 'priceCents' | 'quantity' | 'status' | 'description'>

/** Units that can be bought now: the stock minus reserved units, never below 0. */
export const quantityAvailable = ({ quantity, reserved }: Pick<Listing, 'quantity' | 'reserved'>) =>
  Math.max(quantity - reserved, 0)

/** Applies changes (§3.1). The new status depends on the status sent, the current status and the stock. */
export function applyChanges(listing: Changeable, changes: ListingChanges): Changeable {
  const quantity = changes.quantity ?? listing.quantity
  // A seller's tool that sends `sold` must not unhide a listing: only `active` does.
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
 * The status of a listing with this stock. The stock alone decides between active and sold; a hidden listing stays hidden.
 *
 * @param status the requested status, otherwise the current one
 */
export function statusFor(status: ListingStatus, quantity: number): ListingStatus {
  if (status === 'hidden') return 'hidden'
  return quantity > 0 ? 'active' : 'sold'
}

import type { Catalog } from '../../catalog/catalog.ts'
import { eurosFromCents } from '../../cents.ts'
import { type Listing, quantityAvailable } from '../../listings/listing.ts'
import type { Seller } from '../../listings/offers.ts'
import { timestamp } from '../../time/timestamp.ts'
import { bytesAsText } from '../latin1.ts'
import { listableText, listingJson } from './listing.ts'
import { type Addresses, photosJson, sellerJson } from './public-listing.ts'

/**
 * Writes listings as `listingJson` does, as the text of `bytesAsText`. Everything but the fields below is the same for all
 * listings of a condition, language, printing, grade and status, so `listingJson` makes it once.
 */
export function listingWriter(addresses: Addresses) {
  /** At most one for each combination of the values of enumerations. */
  const templates = new Map<string, string[]>()
  const sellers = new WeakMap<Seller, string>()

  const templateOf = (listing: Listing, seller: Seller, catalog: Catalog): string[] => {
    const { condition, language, printing, gradingCompany, gradingGrade, status } = listing
    const variant = `${condition} ${language} ${printing} ${gradingCompany} ${gradingGrade} ${status}`
    let template = templates.get(variant)
    if (!template) {
      const fields = { ...listingJson(listing, seller, catalog, addresses), ...MARKED }
      template = JSON.stringify(fields).split(JSON.stringify(MARK))
      templates.set(variant, template)
    }
    return template
  }

  const sellerText = (seller: Seller): string => {
    let text = sellers.get(seller)
    if (text === undefined) {
      text = bytesAsText(JSON.stringify(sellerJson(seller, addresses)))
      sellers.set(seller, text)
    }
    return text
  }

  return (listing: Listing, seller: Seller, catalog: Catalog): string => {
    const parts = templateOf(listing, seller, catalog)
    const { description, photos } = listing
    const text = description === null ? 'null' : bytesAsText(JSON.stringify(description))
    const pictures = photos.length === 0 ? '[]' : JSON.stringify(photosJson(photos, addresses))
    const beforeSeller = `${parts[0]}${listing.id}${parts[1]}${eurosFromCents(listing.priceCents)}${parts[2]}${quantityAvailable(listing)}${parts[3]}${text}${parts[4]}${pictures}`
    const afterSeller = `${parts[6]}${listing.quantity}${parts[7]}${listableText(listing, catalog)}${parts[8]}"${timestamp(listing.createdAt)}"${parts[9]}"${timestamp(listing.updatedAt)}"${parts[10]}`
    return `${beforeSeller}${parts[5]}${sellerText(seller)}${afterSeller}`
  }
}

/** In no text of a listing, because PostgreSQL can't store it. */
const MARK = '\0'

/** The fields that are not in the template, in their order. */
const MARKED = {
  id: MARK,
  price: MARK,
  quantity_available: MARK,
  description: MARK,
  photos: MARK,
  seller: MARK,
  quantity: MARK,
  listable: MARK,
  created_at: MARK,
  updated_at: MARK,
}

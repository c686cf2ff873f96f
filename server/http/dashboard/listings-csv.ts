import { listedCard, listedProduct } from '../../catalog/catalog.ts'
import { eurosFromCents } from '../../cents.ts'
import { readListings } from '../../listings/listings.ts'
import { type OwnListing, withOwnFacts } from '../../listings/own-listings.ts'
import type { ListingSearch } from '../../listings/search-listings.ts'
import { nextIds } from '../../listings/search-listings.ts'
import { photoUrl } from '../../photos/photo.ts'
import type { Service } from '../../service.ts'

/** Listings that are read together: about a hundred kilobytes of text. */
const BATCH = 500

/** The columns of an import (docs/listings-dashboard.md), and three more that an import keeps and ignores. */
const COLUMNS = [
  ...['reference', 'card', 'product', 'condition', 'language', 'printing', 'price', 'quantity'],
  ...['grading_company', 'grading_grade', 'description', 'photo_urls'],
  ...['name', 'status', 'id'],
]

/**
 * A seller's listings as CSV, newest first. Reads them batch by batch while the client receives them. A listing that is
 * added meanwhile may be missing.
 */
export async function* listingsCsv(
  ctx: Service,
  accountId: number,
  search: ListingSearch,
): AsyncGenerator<string> {
  // Excel reads UTF-8 only after a byte order mark.
  yield `\ufeff${COLUMNS.join(',')}\r\n`
  let before: number | null = null
  for (;;) {
    const ids: number[] = await nextIds(ctx, accountId, search, before, BATCH)
    const listings = await withOwnFacts(ctx, await readListings(ctx, accountId, ids))
    await ctx.catalog.include(listings)
    if (listings.length > 0) yield listings.map((listing) => line(ctx, listing)).join('')
    if (ids.length < BATCH) return
    before = ids.at(-1)!
  }
}

function line({ config, catalog }: Service, listing: OwnListing): string {
  const { cardId, productSlug } = listing
  const item =
    cardId === null
      ? listedProduct(catalog.current, productSlug)
      : listedCard(catalog.current, cardId)
  const values = [
    listing.reference,
    cardId,
    productSlug,
    listing.condition,
    listing.language,
    listing.printing,
    eurosFromCents(listing.priceCents),
    listing.quantity,
    listing.gradingCompany,
    listing.gradingGrade,
    listing.description,
    listing.photos.map((name) => photoUrl(config.publicUrl, name)).join(' '),
    item?.name,
    listing.status,
    listing.id,
  ]
  return `${values.map(quoted).join(',')}\r\n`
}

/** Spreadsheets would take such a text for a formula. An import removes the apostrophe (sdk/src/csv.ts). */
const FORMULA = /^'*(?:[=@\t\r]|[+-](?![\d.,]*$))/

const quoted = (value: string | number | null | undefined) => {
  const plain = String(value ?? '')
  const text = FORMULA.test(plain) ? `'${plain}` : plain
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

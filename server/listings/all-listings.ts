import type { Context } from '../context.ts'
import { type Page, readPage } from '../database/paging.ts'
import type { Db } from '../database/sql.ts'
import type { ListingStatus } from '../enums.ts'
import type { Listing } from './listing.ts'
import { listingNotFound } from './listings.ts'

/** The status of a listing, deleted and taken down ones included. */
export type AnyStatus = ListingStatus | 'removed'

/** A listing as the operator sees it: any seller's, in any status. */
export type AnyListing = Omit<Listing, 'status' | 'reserved'> & {
  accountId: number
  status: AnyStatus
  reference: string | null
  /** Why the operator took it down. */
  removedBecause: string | null
}

export type AllListingsFilters = {
  accountId?: number | undefined
  cardId?: string | undefined
  productSlug?: string | undefined
  status?: AnyStatus | undefined
}

/** One page of the listings of all sellers, newest first, and the total. */
export const listAllListings = (
  ctx: Context,
  { accountId, cardId, productSlug, status }: AllListingsFilters,
  page: Page,
): Promise<{ rows: AnyListing[]; total: number }> =>
  readPage(ctx, page, (db) => {
    const isMatch = db`
      true
      ${accountId === undefined ? db`` : db`and account_id = ${accountId}`}
      ${cardId === undefined ? db`` : db`and card_id = ${cardId}`}
      ${productSlug === undefined ? db`` : db`and product_slug = ${productSlug}`}
      ${status === undefined ? db`` : db`and status = ${status}`}
      ${status === undefined || status === 'active' ? db`` : db`and status <> 'active'`}
    `
    return {
      total: db<{ total: number }[]>`select count(*) as total from listings where ${isMatch}`,
      rows: ({ size, skipped, fromEnd }) => db<AnyListing[]>`
        select ${columns(db)}
        from listings
        where ${isMatch}
        order by id ${fromEnd ? db`` : db`desc`}
        limit ${size}
        offset ${skipped}
      `,
    }
  })

/** @throws not_found */
export async function getAnyListing({ db }: Pick<Context, 'db'>, id: number): Promise<AnyListing> {
  const [listing] = await db<AnyListing[]>`select ${columns(db)} from listings where id = ${id}`
  if (!listing) throw listingNotFound()
  return listing
}

const columns = (db: Db) => db`
  id,
  account_id as "accountId",
  card_id as "cardId",
  product_slug as "productSlug",
  price_cents as "priceCents",
  quantity,
  condition,
  language,
  printing,
  grading_company as "gradingCompany",
  grading_grade as "gradingGrade",
  description,
  photos,
  status,
  reference,
  removed_because as "removedBecause",
  created_at as "createdAt",
  updated_at as "updatedAt"
`

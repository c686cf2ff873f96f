import type { Context } from '../context.ts'
import { ALL_SELLERS, placeOfPage } from '../database/counts.ts'
import { type Page, readPage } from '../database/paging.ts'
import type { Db, Fragment } from '../database/sql.ts'
import { LISTING_STATUSES, type ListingStatus } from '../enums.ts'
import type { Listing } from './listing.ts'
import { listingNotFound, storedColumns } from './listings.ts'

/** The status of a listing, deleted and taken down ones included. */
type AnyStatus = ListingStatus | 'removed'

/** A listing as the operator sees it: any seller's, in any status. */
export type AnyListing = Omit<Listing, 'status' | 'reserved'> & {
  accountId: number
  status: AnyStatus
  reference: string | null
  /** Why the operator took it down. */
  removedBecause: string | null
}

type AllListingsFilters = {
  accountId?: number | undefined
  cardIds?: string[] | undefined
  productSlug?: string | undefined
  status?: AnyStatus | undefined
}

/** One page of the listings of all sellers, newest first, and the total. */
export function listAllListings(
  ctx: Context,
  { accountId, cardIds, productSlug, status }: AllListingsFilters,
  page: Page,
): Promise<{ rows: AnyListing[]; total: number }> {
  if ((cardIds ?? productSlug) === undefined) return readCountedPage(ctx, accountId, status, page)
  return readPage(ctx, page, (db) => {
    const isMatch = db`
      true
      ${accountId === undefined ? db`` : db`and account_id = ${accountId}`}
      ${cardIds === undefined ? db`` : db`and ${isOneOf(db, cardIds)}`}
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
}

/**
 * A page without filters but the seller and the status. The total and the position come from the counts
 * (docs/counts.md), so a page costs the same however many listings there are.
 */
async function readCountedPage(
  { db }: Context,
  accountId: number | undefined,
  status: AnyStatus | undefined,
  { offset, perPage }: Page,
): Promise<{ rows: AnyListing[]; total: number }> {
  const statuses = status === undefined ? ([...LISTING_STATUSES, 'removed'] as const) : [status]
  const first = (isMatch: Fragment) => db`
    (
      select id
      from listings
      where
        -- "any" and the order are those of readCountedPages in listings.ts.
        ${accountId === undefined ? db`true` : db`account_id = any(array[${accountId}]::bigint[])`}
        and ${isMatch}
        and id < coalesce(until, 9223372036854775807)
      order by ${accountId === undefined ? db`` : db`account_id desc,`} id desc
      limit skipped_there + ${perPage}
    )
  `
  const found = await db<(AnyListing & { total: number })[]>`
    select total, ${columns(db)}
    from ${placeOfPage(db, 'listings', accountId ?? ALL_SELLERS, statuses, offset)} place
    -- Outer joins, because a page past the end has a total as well.
    left join lateral (
      select id as page_id
      from (
        -- Two branches, because a seller's indexes have removed listings apart.
        ${
          status === undefined
            ? db`${first(db`status <> 'removed'`)} union all ${first(db`status = 'removed'`)}`
            : first(
                db`status = ${status} ${status === 'active' ? db`` : db`and status <> 'active'`}`,
              )
        }
      ) matching
      order by id desc
      limit ${perPage}
      offset place.skipped_there
    ) page on true
    left join listings on listings.id = page_id
    order by id desc
  `
  const rows = found.filter(({ id }) => id !== null)
  return { rows: rows.map(({ total: _, ...row }) => row), total: found[0]!.total }
}

/** A single card is compared with `=`, so that the index of a card's listings has the order of the page. */
const isOneOf = (db: Db, [cardId, ...others]: string[]): Fragment =>
  others.length === 0
    ? db`card_id = ${cardId!}`
    : db`card_id = any(${[cardId!, ...others]}::text[])`

/** @throws not_found */
export async function getAnyListing({ db }: Pick<Context, 'db'>, id: number): Promise<AnyListing> {
  const [listing] = await db<AnyListing[]>`select ${columns(db)} from listings where id = ${id}`
  if (!listing) throw listingNotFound()
  return listing
}

const columns = (db: Db) => db`
  account_id as "accountId",
  reference,
  removed_because as "removedBecause",
  ${storedColumns(db)}
`

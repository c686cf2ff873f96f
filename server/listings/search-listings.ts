import type { Context } from '../context.ts'
import type { Page } from '../database/paging.ts'
import type { Db } from '../database/sql.ts'
import type { ListingStatus } from '../enums.ts'
import { readListings } from './listings.ts'
import { listOwnListings, type OwnListing, withOwnFacts } from './own-listings.ts'

/** The listings that a seller looks for. Without a search all of a status, or all. */
export type ListingSearch = {
  status?: ListingStatus | undefined
  /** Listings of any of these items, or with this reference. */
  wanted?: { cardIds: string[]; productSlugs: string[]; reference: string } | undefined
}

/** Listings that a search counts and shows: a shop can have a million, and most of them of a few cards. */
export const MAX_FOUND = 10_000

/**
 * One page of the listings that a search finds, newest first.
 *
 * @returns the total, or MAX_FOUND if there are more; the pages after it are empty
 */
export async function searchListings(
  ctx: Context,
  accountId: number,
  search: ListingSearch,
  page: Page,
): Promise<{ rows: OwnListing[]; total: number }> {
  if (!search.wanted) return listOwnListings(ctx, accountId, { status: search.status }, page)
  const { db } = ctx
  const [found] = await db<{ total: number; ids: number[] }[]>`
    with found as materialized (
      select id
      from (${matching(db, accountId, search, null, MAX_FOUND)}) newest
      order by id desc
      limit ${MAX_FOUND}
    )
    select
      (select count(*) from found) as total,
      array(
        select id from found order by id desc limit ${page.perPage} offset ${page.offset}
      ) as ids
  `
  const { total, ids } = found!
  return { rows: await withOwnFacts(ctx, await readListings(ctx, accountId, ids)), total }
}

/**
 * The ids of the next listings that a search finds, newest first: for work on all of them in batches.
 *
 * @param before the last id of the batch before; null for the first batch
 */
export async function nextIds(
  { db }: Context,
  accountId: number,
  search: ListingSearch,
  before: number | null,
  limit: number,
): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    select id from (${matching(db, accountId, search, before, limit)}) found
    order by id desc
    limit ${limit}
  `
  return rows.map(({ id }) => id)
}

/** The newest ids that match, at most `limit` of them for each item. */
function matching(
  db: Db,
  accountId: number,
  { status, wanted }: ListingSearch,
  before: number | null,
  limit: number,
) {
  const rest = db`
    status <> 'removed'
    ${status === undefined ? db`` : db`and status = ${status}`}
    ${before === null ? db`` : db`and id < ${before}`}
    order by id desc
    limit ${limit}
  `
  if (!wanted) return db`select id from listings where account_id = ${accountId} and ${rest}`
  return db`
    (
      select listing.id
      from unnest(${wanted.cardIds}::text[]) as item (id)
      cross join lateral (
        select id from listings where account_id = ${accountId} and card_id = item.id and ${rest}
      ) listing
      order by listing.id desc
      limit ${limit}
    )
    union
    (
      select listing.id
      from unnest(${wanted.productSlugs}::text[]) as item (slug)
      cross join lateral (
        select id
        from listings
        where account_id = ${accountId} and product_slug = item.slug and ${rest}
      ) listing
      order by listing.id desc
      limit ${limit}
    )
    union
    (
      select id
      from listings
      where account_id = ${accountId} and reference = ${wanted.reference} and ${rest}
    )
  `
}

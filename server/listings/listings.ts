import { parse as parseArray } from 'postgres-array'
import type { Context } from '../context.ts'
import { changedSince, placeOfPage } from '../database/counts.ts'
import { type Page, readPage, type Window } from '../database/paging.ts'
import { valuesIn } from '../database/record-text.ts'
import { MAX_ITEMS, readTogether, type SharedRead } from '../database/shared-reads.ts'
import type { Outcome } from '../database/shared-transactions.ts'
import type { Db, Fragment } from '../database/sql.ts'
import { wholeRows } from '../database/whole-rows.ts'
import { LISTING_STATUSES, type ListingStatus } from '../enums.ts'
import { notFound } from '../errors.ts'
import { applyChanges, type Listing, type ListingChanges } from './listing.ts'
import { isSame, writeListings } from './targets.ts'

export type ListingFilters = {
  status?: ListingStatus | undefined
  /** Changed at or after this moment. The listings are then in the order of their changes. */
  updatedSince?: Date | undefined
  cardId?: string | undefined
  productSlug?: string | undefined
  /** The seller's own name of one listing. */
  reference?: string | undefined
}

type Rows = { rows: Listing[]; total: number }

/**
 * One page of a seller's listings and the total (§4.8): newest first, or with `updatedSince` in the order of their
 * changes. Both orders are total.
 */
export function listListings(
  ctx: Context,
  accountId: number,
  filters: ListingFilters,
  page: Page,
): Promise<Rows> {
  const { status, updatedSince, cardId, productSlug, reference } = filters
  const isCounted = (updatedSince ?? cardId ?? productSlug ?? reference) === undefined
  return isCounted
    ? readCountedPage(ctx, accountId, status ?? 'all', page)
    : readFilteredPage(ctx, accountId, filters, page)
}

/** Larger pages are read alone: 16 of them with long descriptions would keep the process busy for a quarter of a second. */
const MAX_SHARED_ROWS = 40

type CountedPage = { accountId: number; page: Page }

/**
 * A page without filters, or with a status. The total and the position come from the counts (docs/counts.md), so
 * a page costs the same in every shop. Concurrent requests of small pages share a statement.
 */
async function readCountedPage(
  ctx: Context,
  accountId: number,
  status: ListingStatus | 'all',
  page: Page,
): Promise<Rows> {
  const read = COUNTED_PAGES[status]
  if (page.perPage <= MAX_SHARED_ROWS) return readTogether(ctx, read, { accountId, page })
  const [rows] = await read(ctx, [{ accountId, page }])
  return rows!
}

const readCountedPages =
  (status?: ListingStatus): SharedRead<Context, CountedPage, Rows> =>
  async ({ db, now }, wanted) => {
    const statuses = status === undefined ? LISTING_STATUSES : [status]
    // `any` keeps `account_id` in the order, so only an index that begins with it has this order. Where a few shops have nearly
    // all listings, the planner expects many of each shop among the newest of all, and would search the whole table for those
    // of a small one.
    const isMatch = db`
      account_id = any(array[wanted.account_id])
      and ${status === undefined ? db`status <> 'removed'` : db`status = ${status}`}
    `
    const items = wanted.map(({ accountId, page: { offset, perPage } }, ordinal) => ({
      ordinal,
      account_id: accountId,
      skipped: offset,
      size: perPage,
    }))
    const pages = await db<{ total: number; records: string | null }[]>`
      select
        counted.total,
        (
          with page as materialized (
            select *
            from (
              select *
              from listings
              where
                ${isMatch}
                -- The rows before the page are skipped in the index alone.
                and id <= (
                  select id
                  from listings
                  where ${isMatch} and id < coalesce(counted.until, 9223372036854775807)
                  order by account_id desc, id desc
                  limit 1
                  offset counted.skipped_there
                )
              order by account_id desc, id desc
              -- More than any page, and a constant: it tells the planner that there are few rows, which a parameter does not.
              limit 1000
            ) newest
            order by account_id desc, id desc
            limit wanted.size
          )
          select string_agg(listed::text, '')
          from (
            select
              id,
              card_id,
              product_slug,
              price_cents,
              page.quantity,
              coalesce(held.quantity, 0),
              condition,
              language,
              printing,
              grading_company,
              grading_grade,
              description,
              nullif(photos, '{}'),
              status,
              date_part('epoch', created_at),
              date_part('epoch', updated_at)
            from page
            left join (
              select listing_id, sum(quantity) as quantity
              from reservations
              where listing_id = any(array(select id from page)) and expires_at > ${now()}
              group by listing_id
            ) held on held.listing_id = id
            order by id desc
          ) listed
        ) as records
      from (
        select *
        -- JSON, because the planner expects the same number of rows for any text. It would plan arrays again each time.
        from json_to_recordset(${JSON.stringify(items)}::text::json)
          as (ordinal int, account_id bigint, skipped bigint, size int)
        limit ${db.unsafe(String(MAX_ITEMS))}
      ) wanted
      cross join lateral ${placeOfPage(db, 'listings', db`wanted.account_id`, statuses, db`wanted.skipped`)} counted
      order by wanted.ordinal
    `
    return pages.map(({ total, records }) => ({ total, rows: listingsIn(records ?? '') }))
  }

/** The read of each list, by its status. */
const COUNTED_PAGES = {
  all: readCountedPages(),
  active: readCountedPages('active'),
  hidden: readCountedPages('hidden'),
  sold: readCountedPages('sold'),
} satisfies Record<ListingStatus | 'all', unknown>

/** The columns that `readCountedPages` reads of a listing. */
const RECORD_VALUES = 16

/** The listings in the records of `readCountedPages`. */
function listingsIn(records: string): Listing[] {
  const values = valuesIn(records)
  const listings: Listing[] = []
  for (let at = 0; at < values.length; at += RECORD_VALUES) {
    const photos = values[at + 12]
    listings.push({
      id: Number(values[at]),
      cardId: values[at + 1],
      productSlug: values[at + 2],
      priceCents: Number(values[at + 3]),
      quantity: Number(values[at + 4]),
      reserved: Number(values[at + 5]),
      condition: values[at + 6],
      language: values[at + 7],
      printing: values[at + 8],
      gradingCompany: values[at + 9],
      gradingGrade: values[at + 10],
      description: values[at + 11],
      photos: photos ? parseArray(photos) : [],
      status: values[at + 13],
      createdAt: new Date(Number(values[at + 14]) * 1000),
      updatedAt: new Date(Number(values[at + 15]) * 1000),
    } as Listing)
  }
  return listings
}

/** A page of the other filters, which counts the listings that match and skips those before the page. */
function readFilteredPage(
  ctx: Context,
  accountId: number,
  filters: ListingFilters,
  page: Page,
): Promise<Rows> {
  const at = ctx.now()
  if (page.offset === 0) return readFirstPage(ctx.db, accountId, filters, page.perPage, at)
  return readPage(ctx, page, (db) => ({
    total: db<{ total: number }[]>`${counting(db, accountId, filters)}`,
    rows: (window) => db<Listing[]>`${listingsOf(db, accountId, filters, window, at)}`,
  }))
}

/** Reads the rows and the total with one statement, because a sync mostly asks for one page: it needs no transaction. */
async function readFirstPage(
  db: Db,
  accountId: number,
  filters: ListingFilters,
  size: number,
  now: Date,
): Promise<Rows> {
  const firstPage = { fromEnd: false, skipped: 0, size }
  const order =
    filters.updatedSince === undefined ? db`listed.id desc` : db`listed."updatedAt", listed.id`
  const found = await wholeRows(db<(Listing & { total: number })[]>`
    select counted.total, listed.*
    from (${counting(db, accountId, filters)}) counted
    -- An outer join, because an empty page has a total as well.
    left join (${listingsOf(db, accountId, filters, firstPage, now)}) listed on true
    order by ${order}
  `)
  return { rows: found.filter(({ id }) => id !== null), total: found[0]!.total }
}

function counting(db: Db, accountId: number, filters: ListingFilters) {
  const { status, updatedSince, cardId, productSlug, reference } = filters
  const isAnyItem = (cardId ?? productSlug ?? reference) === undefined
  const statuses = status === undefined ? LISTING_STATUSES : [status]
  return updatedSince !== undefined && isAnyItem
    ? changedSince(db, 'listings', accountId, statuses, updatedSince)
    : db`select count(*) as total from listings where ${isMatch(db, accountId, filters)}`
}

function listingsOf(
  db: Db,
  accountId: number,
  filters: ListingFilters,
  { fromEnd, skipped, size }: Omit<Window, 'isShort'>,
  now: Date,
) {
  const isByChange = filters.updatedSince !== undefined
  const direction = fromEnd === isByChange ? db`desc` : db``
  const order = isByChange ? db`updated_at ${direction}, id ${direction}` : db`id ${direction}`
  return db`
    select ${columns(db, now)}
    from (
      select id
      from listings
      where ${isMatch(db, accountId, filters)}
      order by ${order}
      limit ${size}
      offset ${skipped}
    ) page
    join listings using (id)
    order by ${order}
  `
}

const isMatch = (
  db: Db,
  accountId: number,
  { status, updatedSince, cardId, productSlug, reference }: ListingFilters,
) => db`
  account_id = ${accountId}
  and status <> 'removed'
  ${status === undefined ? db`` : db`and status = ${status}`}
  ${updatedSince === undefined ? db`` : db`and updated_at >= ${updatedSince}`}
  ${cardId === undefined ? db`` : db`and card_id = ${cardId}`}
  ${productSlug === undefined ? db`` : db`and product_slug = ${productSlug}`}
  ${reference === undefined ? db`` : db`and reference = ${reference}`}
`

/** A seller's changes to one of its listings. */
type Change = { accountId: number; id: number; changes: ListingChanges }

/**
 * Applies a seller's changes. Changes without effect leave `updatedAt` as it is (§4.10).
 *
 * @throws not_found unless the listing is the account's
 */
export const changeListing = (
  ctx: Context,
  accountId: number,
  id: number,
  changes: ListingChanges,
): Promise<Listing> => ctx.share(applyAll, { accountId, id, changes })

/** Applies the changes of several sellers, those of one listing in their order. */
async function applyAll(
  tx: Context,
  requested: Change[],
  waits: boolean,
): Promise<Outcome<Listing>[]> {
  const listings = await lockListings(tx, requested, waits)
  const now = tx.now()
  const changed = new Map<number, OwnedListing>()
  const outcomes = requested.map(({ accountId, id, changes }): Outcome<Listing> => {
    const before = listings.get(id)
    // Locked by another transaction, or not there.
    if (!before && !waits) return 'locked'
    if (before?.accountId !== accountId) return { error: listingNotFound() }
    const after = { ...before, ...applyChanges(before, changes) }
    if (isSame(before, after)) return { result: before }
    const listing = { ...after, updatedAt: before.updatedAt > now ? before.updatedAt : now }
    listings.set(id, listing)
    changed.set(id, listing)
    return { result: listing }
  })
  if (changed.size > 0) await writeListings(tx, [...changed.values()], now)
  return outcomes
}

/** The account's listings with these ids, in their order. Leaves out removed ones and those of other accounts. */
export async function readListings(
  { db, now }: Context,
  accountId: number,
  ids: number[],
): Promise<Listing[]> {
  if (ids.length === 0) return []
  return db<Listing[]>`
    select ${columns(db, now())}
    from unnest(${ids}::bigint[]) with ordinality as wanted (id, ordinal)
    join listings using (id)
    where account_id = ${accountId} and status <> 'removed'
    order by ordinal
  `
}

/** @throws not_found unless the listing is the account's */
export async function findListing(ctx: Context, accountId: number, id: number): Promise<Listing> {
  const [listing] = await readListings(ctx, accountId, [id])
  if (!listing) throw listingNotFound()
  return listing
}

/** @throws not_found unless the listing is the account's */
export async function requireListing(
  { db }: Context,
  accountId: number,
  id: number,
): Promise<void> {
  const [found] = await db`
    select 1 from listings where id = ${id} and account_id = ${accountId} and status <> 'removed'
  `
  if (!found) throw listingNotFound()
}

type OwnedListing = Listing & { accountId: number; reference: string | null }

/**
 * Locks listings until the transaction ends, in the order of locks.ts. Leaves out those of other accounts, which nobody
 * but their owners may lock.
 *
 * @param waits whether to wait for listings that another transaction has locked; otherwise they are left out
 */
async function lockListings(
  { db, now }: Context,
  wanted: { accountId: number; id: number }[],
  waits: boolean,
): Promise<Map<number, OwnedListing>> {
  const ids = wanted.map(({ id }) => id)
  const [rows, held] = await Promise.all([
    db<OwnedListing[]>`
      select account_id as "accountId", reference, 0 as reserved, ${storedColumns(db)}
      from listings
      where
        (id, account_id) in (
          select * from unnest(${ids}::bigint[], ${wanted.map(({ accountId }) => accountId)}::bigint[])
        )
        and status <> 'removed'
      order by id
      for no key update of listings ${waits ? db`` : db`skip locked`}
    `,
    // Its snapshot is taken after the listings were locked, so it includes the reservations that the locks waited for.
    db<{ id: number; reserved: number }[]>`
      select listing_id as id, sum(quantity) as reserved
      from reservations
      where listing_id = any(${ids}::bigint[]) and expires_at > ${now()}
      group by listing_id
    `,
  ])
  const listings = new Map(rows.map((listing) => [listing.id, listing]))
  for (const { id, reserved } of held) Object.assign(listings.get(id) ?? {}, { reserved })
  return listings
}

export const listingNotFound = () => notFound('There is no such listing.')

/** The columns of a Listing. */
const columns = (db: Db, now: Date) => db`
  ${storedColumns(db)}, ${reservedUnits(db, db`listings.id`, now)} as reserved
`

/** The columns of a Listing that the table has. */
export const storedColumns = (db: Db) => db`
  id,
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
  created_at as "createdAt",
  updated_at as "updatedAt"
`

/** Units of a listing that carts hold. */
export const reservedUnits = (db: Db, listingId: Fragment, now: Date) => db`
  (
    select coalesce(sum(r.quantity), 0)
    from reservations r
    where r.listing_id = ${listingId} and r.expires_at > ${now}
  )
`

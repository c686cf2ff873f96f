import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { type Page, type Window, windowOf } from '../database/paging.ts'
import type { Db } from '../database/sql.ts'
import { type ListingStatus, OPEN_STATUSES } from '../enums.ts'
import { conflict, notFound } from '../errors.ts'
import { applyChanges, type Changeable, type Listing, type ListingChanges } from './listing.ts'

export type ListingFilters = {
  status?: ListingStatus | undefined
  /** Changed at or after this moment. The listings are then in the order of their changes. */
  updatedSince?: Date | undefined
  cardId?: string | undefined
  productSlug?: string | undefined
}

/**
 * One page of a seller's listings and the total (§4.8): newest first, or with `updatedSince` in the order of their
 * changes. Both orders are total.
 */
export async function listListings(
  { db, begin, now }: Context,
  accountId: number,
  filters: ListingFilters,
  page: Page,
): Promise<{ rows: Listing[]; total: number }> {
  const at = now()
  if (page.offset === 0) {
    const firstPage = { fromEnd: false, skipped: 0, size: page.perPage }
    const [total, rows] = await Promise.all([
      countListings(db, accountId, filters),
      readWindow(db, accountId, filters, firstPage, at),
    ])
    return { rows, total }
  }
  return begin(async (tx) => {
    const total = await countListings(tx, accountId, filters)
    const window = windowOf(page, total)
    return { rows: window ? await readWindow(tx, accountId, filters, window, at) : [], total }
  }, 'snapshot')
}

async function countListings(db: Db, accountId: number, filters: ListingFilters): Promise<number> {
  const [counted] = await db<{ total: number }[]>`
    select count(*) as total from listings where ${isMatch(db, accountId, filters)}
  `
  return counted?.total ?? 0
}

function readWindow(
  db: Db,
  accountId: number,
  filters: ListingFilters,
  { fromEnd, skipped, size }: Window,
  now: Date,
): Promise<Listing[]> {
  const [forward, backward] =
    filters.updatedSince === undefined
      ? [db`id desc`, db`id`]
      : [db`updated_at, id`, db`updated_at desc, id desc`]
  return db<Listing[]>`
    select ${columns(db, now)}
    from (
      select id
      from listings
      where ${isMatch(db, accountId, filters)}
      order by ${fromEnd ? backward : forward}
      limit ${size}
      offset ${skipped}
    ) page
    join listings using (id)
    order by ${forward}
  `
}

const isMatch = (
  db: Db,
  accountId: number,
  { status, updatedSince, cardId, productSlug }: ListingFilters,
) => db`
  account_id = ${accountId}
  and status <> 'removed'
  ${status === undefined ? db`` : db`and status = ${status}`}
  ${updatedSince === undefined ? db`` : db`and updated_at >= ${updatedSince}`}
  ${cardId === undefined ? db`` : db`and card_id = ${cardId}`}
  ${productSlug === undefined ? db`` : db`and product_slug = ${productSlug}`}
`

/**
 * Applies a seller's changes. Changes without effect leave `updatedAt` as it is (§4.10).
 *
 * @throws not_found unless the listing is the account's
 */
export function changeListing(
  ctx: Context,
  accountId: number,
  id: number,
  changes: ListingChanges,
): Promise<Listing> {
  return inTransaction(ctx, async (tx) => {
    const before = await lockListing(tx, accountId, id)
    const after = applyChanges(before, changes)
    if (isSame(before, after)) return before
    const now = tx.now()
    const [written] = await tx.db<Pick<Listing, 'updatedAt' | 'reserved'>[]>`
      update listings
      set
        price_cents = ${after.priceCents},
        quantity = ${after.quantity},
        status = ${after.status},
        description = ${after.description},
        updated_at = greatest(updated_at, ${now})
      where id = ${id}
      returning
        updated_at as "updatedAt",
        -- Read again: the snapshot of the statement that locked the row can lack the latest reservations.
        ${reserved(tx.db, now)} as reserved
    `
    return { ...before, ...after, ...written }
  })
}

/**
 * Deletes a listing permanently (§4.10a). The row stays with the status `removed`; its reservations are deleted, and
 * completed orders lose their reference to it.
 *
 * @throws not_found unless the listing is the account's, conflict while one of its orders is open
 */
export function removeListing(ctx: Context, accountId: number, id: number): Promise<void> {
  return inTransaction(ctx, async (tx) => {
    // The lock excludes sales, so no order can be opened after the check.
    await lockListing(tx, accountId, id)
    await requireNoOpenOrder(tx, id)
    await tx.db`update orders set listing_id = null where listing_id = ${id}`
    await tx.db`delete from reservations where listing_id = ${id}`
    await tx.db`
      update listings
      set status = 'removed', updated_at = greatest(updated_at, ${tx.now()})
      where id = ${id}
    `
  })
}

async function requireNoOpenOrder({ db }: Context, listingId: number): Promise<void> {
  const [open] = await db`
    select 1
    from orders
    where listing_id = ${listingId} and status = any(${[...OPEN_STATUSES]}::text[])
    limit 1
  `
  if (open) {
    throw conflict('The listing has an open order: it can be deleted once that is completed.')
  }
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

/** Locks a listing until the transaction ends. @throws not_found unless it is the account's */
async function lockListing({ db, now }: Context, accountId: number, id: number): Promise<Listing> {
  const [listing] = await db<Listing[]>`
    select ${columns(db, now())}
    from listings
    where id = ${id} and account_id = ${accountId} and status <> 'removed'
    for no key update
  `
  if (!listing) throw listingNotFound()
  return listing
}

export const listingNotFound = () => notFound('There is no such listing.')

/** The columns of a Listing. */
const columns = (db: Db, now: Date) => db`
  id,
  card_id as "cardId",
  product_slug as "productSlug",
  price_cents as "priceCents",
  quantity,
  ${reserved(db, now)} as reserved,
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

/** Units of a row of `listings` that carts hold. */
const reserved = (db: Db, now: Date) => db`
  (
    select coalesce(sum(r.quantity), 0)
    from reservations r
    where r.listing_id = listings.id and r.expires_at > ${now}
  )
`

const isSame = (a: Changeable, b: Changeable) =>
  a.priceCents === b.priceCents &&
  a.quantity === b.quantity &&
  a.status === b.status &&
  a.description === b.description

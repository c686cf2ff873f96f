import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { type Page, type Window, windowOf } from '../database/paging.ts'
import type { Db } from '../database/sql.ts'
import type { ListingStatus } from '../enums.ts'
import { OPEN_STATUSES } from '../enums.ts'
import { conflict, notFound } from '../errors.ts'
import { type Changeable, changed, type Listing, type ListingChanges } from './listing.ts'

export type ListingFilters = {
  status?: ListingStatus | undefined
  /** Changed at or after this moment; the order is then that of the changes. */
  updatedSince?: Date | undefined
  cardId?: string | undefined
  productSlug?: string | undefined
}

/**
 * One page of a seller's listings and how many there are (§4.8): newest first, or with `updatedSince` in the order of
 * their changes. Both orders are total.
 */
export async function listListings(
  ctx: Context,
  accountId: number,
  filters: ListingFilters,
  page: Page,
): Promise<{ rows: Listing[]; total: number }> {
  const wanted = fitting(accountId, filters)
  const moment = ctx.now()
  if (page.offset === 0) {
    const fromStart = { fromEnd: false, skipped: 0, size: page.perPage }
    const [total, rows] = await Promise.all([
      countOf(ctx.db, wanted),
      rowsOf(ctx.db, wanted, fromStart, moment),
    ])
    return { rows, total }
  }
  return ctx.begin(async (db) => {
    const total = await countOf(db, wanted)
    const stretch = windowOf(page, total)
    return { rows: stretch ? await rowsOf(db, wanted, stretch, moment) : [], total }
  }, 'snapshot')
}

async function countOf(db: Db, { where, values }: Fitting): Promise<number> {
  const [counted] = await prepared<{ total: number }>(
    db,
    `select count(*) as total from listings where ${where}`,
    values,
  )
  return counted?.total ?? 0
}

function rowsOf(
  db: Db,
  { where, values, order }: Fitting,
  { fromEnd, skipped, size }: Window,
  moment: Date,
): Promise<Listing[]> {
  const [now, limit, offset] = [1, 2, 3].map((nth) => `$${values.length + nth}`)
  return prepared<Listing>(
    db,
    `
      select ${shown(now!)}
      from (
        select id
        from listings
        where ${where}
        order by ${fromEnd ? order.backward : order.forward}
        limit ${limit} offset ${offset}
      ) page
      join listings using (id)
      order by ${order.forward}
    `,
    [...values, moment, size, skipped],
  )
}

/**
 * Changes the fields that were sent; a change that changes nothing leaves `updatedAt` alone (§4.10).
 *
 * @throws not_found when the account has no such listing
 */
export function changeListing(
  ctx: Context,
  accountId: number,
  id: number,
  changes: ListingChanges,
): Promise<Listing> {
  return inTransaction(ctx, async (tx) => {
    const listing = await lockListing(tx, accountId, id)
    const after = changed(listing, changes)
    if (isSame(listing, after)) return listing
    const { priceCents, quantity, status, description } = after
    const written = [id, priceCents, quantity, status, description, tx.now()]
    const [now] = await prepared<Pick<Listing, 'updatedAt' | 'reserved'>>(tx.db, CHANGE, written)
    return { ...listing, ...after, ...now }
  })
}

/**
 * Takes a listing away for good (§4.10a): it stays inside as `removed`, carts lose their hold on it, and completed
 * orders that came of it no longer name it.
 *
 * @throws not_found when the account has no such listing, conflict while one of its orders is open
 */
export function removeListing(ctx: Context, accountId: number, id: number): Promise<void> {
  return inTransaction(ctx, async (tx) => {
    // The lock keeps sales out: what has no open order now gets none before the listing is gone.
    await lockListing(tx, accountId, id)
    await refuseWithOpenOrder(tx, id)
    await tx.db`update orders set listing_id = null where listing_id = ${id}`
    await tx.db`delete from reservations where listing_id = ${id}`
    await tx.db`
      update listings
      set status = 'removed', updated_at = greatest(updated_at, ${tx.now()})
      where id = ${id}
    `
  })
}

async function refuseWithOpenOrder({ db }: Context, listingId: number): Promise<void> {
  const [open] = await db`
    select 1
    from orders
    where listing_id = ${listingId} and status = any(${[...OPEN_STATUSES]}::text[])
    limit 1
  `
  if (open)
    throw conflict('The listing has an open order: it can be deleted once that is completed.')
}

/** @throws not_found when the account has no such listing */
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

/** The account's listing, kept from everybody else until the transaction ends. @throws not_found */
async function lockListing({ db, now }: Context, accountId: number, id: number): Promise<Listing> {
  const [listing] = await prepared<Listing>(db, LOCK, [id, accountId, now()])
  if (!listing) throw listingNotFound()
  return listing
}

export const listingNotFound = () => notFound('There is no such listing.')

const NEWEST_FIRST = { forward: 'id desc', backward: 'id' }
const BY_CHANGE = { forward: 'updated_at, id', backward: 'updated_at desc, id desc' }

/** Which of an account's listings are wanted, as a condition and what is bound in it, and in which order. */
type Fitting = { where: string; values: Bound[]; order: typeof NEWEST_FIRST }

function fitting(accountId: number, filters: ListingFilters): Fitting {
  const { status, updatedSince, cardId, productSlug } = filters
  const values: Bound[] = []
  const bound = (value: Bound) => `$${values.push(value)}`
  const conditions = [`account_id = ${bound(accountId)}`, `status <> 'removed'`]
  if (status !== undefined) conditions.push(`status = ${bound(status)}`)
  if (updatedSince !== undefined) conditions.push(`updated_at >= ${bound(updatedSince)}`)
  if (cardId !== undefined) conditions.push(`card_id = ${bound(cardId)}`)
  if (productSlug !== undefined) conditions.push(`product_slug = ${bound(productSlug)}`)
  const order = updatedSince === undefined ? NEWEST_FIRST : BY_CHANGE
  return { where: conditions.join(' and '), values, order }
}

/** The columns of a Listing, of a row of `listings`; `now` is the placeholder of the moment that carts hold units at. */
const shown = (now: string) => `
  id,
  card_id as "cardId",
  product_slug as "productSlug",
  price_cents as "priceCents",
  quantity,
  ${reserved(now)} as reserved,
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

/** Units that carts hold of a row of `listings`. */
const reserved = (now: string) => `
  (
    select coalesce(sum(r.quantity), 0)
    from reservations r
    where r.listing_id = listings.id and r.expires_at > ${now}
  )
`

const LOCK = `
  select ${shown('$3')}
  from listings
  where id = $1 and account_id = $2 and status <> 'removed'
  for no key update
`

// What carts hold is read again: the statement that waited for the lock doesn't see what they got meanwhile.
const CHANGE = `
  update listings
  set
    price_cents = $2,
    quantity = $3,
    status = $4,
    description = $5,
    updated_at = greatest(updated_at, $6)
  where id = $1
  returning updated_at as "updatedAt", ${reserved('$6')} as reserved
`

type Bound = string | number | Date | null

/**
 * Runs a statement whose text is put together here. The client's nested fragments do the same, and take as long
 * for it as the database takes for the page.
 */
const prepared = <Row extends object>(db: Db, text: string, values: Bound[]): Promise<Row[]> =>
  db.unsafe<Row[]>(text, values, { prepare: true })

const isSame = (a: Changeable, b: Changeable) =>
  a.priceCents === b.priceCents &&
  a.quantity === b.quantity &&
  a.status === b.status &&
  a.description === b.description

import { type Context, inTransaction } from '../context.ts'
import type { Db } from '../database/connect.ts'
import { notFound } from '../errors.ts'
import type { Page } from '../pages.ts'
import type { ListingStatus } from '../values.ts'
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
  ctx: Pick<Context, 'db' | 'now'>,
  accountId: number,
  filters: ListingFilters,
  page: Page,
): Promise<{ rows: Listing[]; total: number }> {
  const { db } = ctx
  const wanted = fitting(db, accountId, filters)
  const [counted] = await db<{ total: number }[]>`
    select count(*) as total from listings where ${wanted}
  `
  const total = counted?.total ?? 0
  const size = Math.min(page.perPage, total - page.offset)
  if (size <= 0) return { rows: [], total }

  // Rows before a page have to be skipped one by one: it's reached from the nearer end.
  const after = total - page.offset - size
  const fromEnd = after < page.offset
  const order = filters.updatedSince ? BY_CHANGE : NEWEST_FIRST
  const rows = await db<Listing[]>`
    select ${shown(db, ctx.now())}
    from (
      select id
      from listings
      where ${wanted}
      order by ${db.unsafe(fromEnd ? order.backward : order.forward)}
      limit ${size} offset ${fromEnd ? after : page.offset}
    ) page
    join listings using (id)
    order by ${db.unsafe(order.forward)}
  `
  return { rows, total }
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
    const [{ updatedAt } = listing] = await tx.db<{ updatedAt: Date }[]>`
      update listings
      set
        price_cents = ${priceCents},
        quantity = ${quantity},
        status = ${status},
        description = ${description},
        updated_at = greatest(updated_at, ${tx.now()})
      where id = ${id}
      returning updated_at as "updatedAt"
    `
    return { ...listing, ...after, updatedAt }
  })
}

/**
 * Takes a listing away for good (§4.10a): it stays inside as `removed`, for the orders that came of it, and carts lose
 * their hold on it.
 *
 * @throws not_found when the account has no such listing
 */
export function removeListing(ctx: Context, accountId: number, id: number): Promise<void> {
  return inTransaction(ctx, async (tx) => {
    // The lock keeps sales out: what has no open order now gets none before the listing is gone.
    await lockListing(tx, accountId, id)
    await tx.db`delete from reservations where listing_id = ${id}`
    await tx.db`
      update listings
      set status = 'removed', updated_at = greatest(updated_at, ${tx.now()})
      where id = ${id}
    `
  })
}

/** @throws not_found when the account has no such listing */
export async function requireListing(
  { db }: Pick<Context, 'db'>,
  accountId: number,
  id: number,
): Promise<void> {
  const [found] = await db`
    select 1 from listings where id = ${id} and account_id = ${accountId} and status <> 'removed'
  `
  if (!found) throw listingNotFound()
}

/** The account's listing, kept from everybody else until the transaction ends. @throws not_found */
async function lockListing(
  { db, now }: Pick<Context, 'db' | 'now'>,
  accountId: number,
  id: number,
): Promise<Listing> {
  const [listing] = await db<Listing[]>`
    select ${shown(db, now())}
    from listings
    where id = ${id} and account_id = ${accountId} and status <> 'removed'
    for no key update
  `
  if (!listing) throw listingNotFound()
  return listing
}

export const listingNotFound = () => notFound('There is no such listing.')

const NEWEST_FIRST = { forward: 'id desc', backward: 'id' }
const BY_CHANGE = { forward: 'updated_at, id', backward: 'updated_at desc, id desc' }

function fitting(db: Db, accountId: number, filters: ListingFilters) {
  const { status, updatedSince, cardId, productSlug } = filters
  return db`
    account_id = ${accountId}
    and status <> 'removed'
    ${status === undefined ? db`` : db`and status = ${status}`}
    ${updatedSince === undefined ? db`` : db`and updated_at >= ${updatedSince}`}
    ${cardId === undefined ? db`` : db`and card_id = ${cardId}`}
    ${productSlug === undefined ? db`` : db`and product_slug = ${productSlug}`}
  `
}

/** The columns of a Listing, of a row of `listings`. */
const shown = (db: Db, now: Date) => db`
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

/** Units of a row of `listings` that carts hold at this moment. */
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

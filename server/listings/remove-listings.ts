import type { Context } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { OPEN_STATUSES } from '../enums.ts'
import { conflict } from '../errors.ts'
import { DAYS } from '../time/units.ts'
import { listingNotFound } from './listings.ts'
import { type ItemOutcome, lockTargets, type Target } from './targets.ts'

const OPEN = [...OPEN_STATUSES]

/** Time after which the photos of a removed listing are deleted: staff may need them for a dispute. */
const PHOTOS_KEPT_MS = 30 * DAYS

/** Orders that lose their reference in one transaction: a listing can have many more. */
const MAX_FORGOTTEN = 5_000

/**
 * Deletes listings of one account in one transaction (§4.10a), each as if it were alone. The rows stay with the status
 * `removed`; their reservations are deleted, and completed orders lose their reference to them.
 *
 * @returns the ids in order; not_found, or conflict for a listing with an open order
 */
export function removeListings(
  ctx: Context,
  accountId: number,
  targets: Target[],
): Promise<ItemOutcome<number>[]> {
  return inTransaction(ctx, async (tx) => {
    // The locks exclude sales, so no order can be opened after the check.
    const listings = await lockTargets(tx, accountId, targets)
    const sold = await withOpenOrders(tx, accountId, [...listings.keys()])
    const byReference = new Map([...listings.values()].map(({ reference, id }) => [reference, id]))
    const removed = new Set<number>()
    const outcomes = targets.map((target): ItemOutcome<number> => {
      const id = 'id' in target ? target.id : byReference.get(target.reference)
      if (id === undefined || !listings.has(id) || removed.has(id)) {
        return { error: listingNotFound() }
      }
      if (sold.has(id)) return { error: hasOpenOrder() }
      removed.add(id)
      return { result: id }
    })
    await markRemoved(tx, [...removed])
    return outcomes
  })
}

/**
 * Deletes one listing permanently.
 *
 * @throws not_found unless the listing is the account's, conflict while one of its orders is open
 */
export async function removeListing(ctx: Context, accountId: number, id: number): Promise<void> {
  const [outcome] = await removeListings(ctx, accountId, [{ id }])
  if (outcome && 'error' in outcome) throw outcome.error
}

const hasOpenOrder = () =>
  conflict('The listing has an open order: it can be deleted once that is completed.')

/** The account lets the planner find its open orders instead, if the listings have more completed ones. */
async function withOpenOrders(
  { db }: Context,
  accountId: number,
  ids: number[],
): Promise<Set<number>> {
  const rows = await db<{ id: number }[]>`
    select distinct listing_id as id
    from orders
    where
      account_id = ${accountId}
      and listing_id = any(${ids}::bigint[])
      and status = any(${OPEN}::text[])
  `
  return new Set(rows.map(({ id }) => id))
}

/**
 * Removes locked listings: deletes their reservations, removes the references that orders have to them, and sets when
 * their photos are deleted. Open orders keep their references, because the documents for packing need the seller's own
 * name of the listing. `forgetRemoved` continues with the orders beyond a batch, and with the open ones once all are
 * completed; `orders/orders.ts` hides their references until then.
 */
export async function markRemoved(tx: Context, ids: number[]): Promise<void> {
  if (ids.length === 0) return
  const { db, now, signal } = tx
  const { changed, kept } = await forgetReferences(tx, ids, MAX_FORGOTTEN)
  if (changed === MAX_FORGOTTEN || kept > 0) {
    await db`insert into removed_listings (listing_id) select unnest(${ids}::bigint[])`
  }
  await db`delete from reservations where listing_id = any(${ids}::bigint[])`
  await db`
    update listings
    set status = 'removed', updated_at = greatest(updated_at, ${now()})
    where id = any(${ids}::bigint[])
  `
  await db`
    update photos
    set delete_at = ${new Date(now().getTime() + PHOTOS_KEPT_MS)}
    where listing_id = any(${ids}::bigint[])
  `
  await signal('offers')
}

/** Removes the references of orders to removed listings that `markRemoved` has left. */
export const forgetRemoved = (ctx: Context): Promise<void> =>
  inBatches((max) =>
    inTransaction(ctx, async (tx) => {
      const removed = await tx.db<{ id: number }[]>`
        select r.listing_id as id
        from removed_listings r
        join listings l on l.id = r.listing_id
        where
          not exists (
            select from orders o
            where
              -- Finds the seller's open orders: the listing can have many more that are completed.
              o.account_id = l.account_id
              and o.listing_id = r.listing_id
              and o.status = any(${OPEN}::text[])
          )
        order by r.listing_id
        limit ${max}
        for update of r skip locked
      `
      if (removed.length === 0) return 0
      const ids = removed.map(({ id }) => id)
      const { changed } = await forgetReferences(tx, ids, max)
      if (changed === max) return max
      // A dispute may have opened an order meanwhile.
      await tx.db`
        delete from removed_listings r
        where
          listing_id = any(${ids}::bigint[])
          and not exists (select from orders o where o.listing_id = r.listing_id)
      `
      return ids.length
    }),
  )

/**
 * Removes the references of at most `max` orders, unless they are open.
 *
 * @returns the number of these orders, and of those that are open
 */
async function forgetReferences({ db, now }: Context, ids: number[], max: number) {
  // Order rows are locked by id, as everywhere (orders/locks.ts). Open ones change as well: readers no longer see their
  // reference.
  const [counted] = await db<{ changed: number; kept: number }[]>`
    with locked as (
      select id
      from orders
      where
        id = any(array(
          select id from orders where listing_id = any(${ids}::bigint[]) limit ${max}
        ))
      order by id
      for no key update
    ),
    changed as (
      update orders
      set
        listing_id = case when status = any(${OPEN}::text[]) then listing_id end,
        changed_at = ${now()}
      from locked
      where orders.id = locked.id
      returning listing_id
    )
    select count(*) as changed, count(listing_id) as kept from changed
  `
  return counted!
}

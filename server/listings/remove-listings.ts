import type { Context } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
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
    const open = await tx.db<{ listingId: number }[]>`
      select listing_id as "listingId"
      ${openOrdersOf(tx.db, accountId, [...listings.keys()])}
    `
    const sold = new Set(open.map(({ listingId }) => listingId))
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
    await markRemoved(tx, accountId, [...removed])
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

/**
 * The open orders of listings of one account. The account lets the planner find its open orders, if the listings have more
 * completed ones.
 */
const openOrdersOf = (db: Db, accountId: number, ids: number[]) => db`
  from orders
  where
    account_id = ${accountId}
    and listing_id = any(${ids}::bigint[])
    and status = any(${OPEN}::text[])
`

/**
 * Removes locked listings of one account: deletes their reservations, removes the references that orders have to them,
 * and sets when their photos are deleted. Open orders keep their references, because the documents for packing need the
 * seller's own name of the listing. `forgetRemoved` continues with the completed orders beyond a batch, and with the open
 * ones as they are completed; `orders/orders.ts` hides their references until then.
 */
export async function markRemoved(tx: Context, accountId: number, ids: number[]): Promise<void> {
  if (ids.length === 0) return
  const { db, now, signal } = tx
  const { forgotten, kept } = await forgetReferences(tx, ids, MAX_FORGOTTEN, accountId)
  if (forgotten >= MAX_FORGOTTEN || kept > 0) {
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

/** Removes the references of completed orders to removed listings that `markRemoved` has left. */
export const forgetRemoved = (ctx: Context): Promise<void> =>
  inBatches((max) =>
    inTransaction(ctx, async (tx) => {
      // A listing whose remaining orders are all open stays until one is completed.
      const removed = await tx.db<{ id: number }[]>`
        select listing_id as id
        from removed_listings r
        where
          exists (
            select from orders o
            where o.listing_id = r.listing_id and o.status <> all(${OPEN}::text[])
          )
          or not exists (select from orders o where o.listing_id = r.listing_id)
        order by listing_id
        limit ${max}
        for update skip locked
      `
      if (removed.length === 0) return 0
      const ids = removed.map(({ id }) => id)
      const { forgotten } = await forgetReferences(tx, ids, max)
      if (forgotten === max) return max
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
 * Removes the references of at most `max` completed orders to removed listings.
 *
 * @param accountId of listings that are just being removed: their open orders change as well, because readers no longer
 *   see their references
 * @returns the number of orders without the reference, and of those that keep it because they are open
 */
async function forgetReferences(
  { db, now }: Context,
  ids: number[],
  max: number,
  accountId?: number,
) {
  const open = accountId ? db`array(select id ${openOrdersOf(db, accountId, ids)})` : db`'{}'`
  // One statement finds open and completed orders: two would both miss an order that is disputed between them. Order rows are
  // locked by id, as everywhere (orders/locks.ts), and can be completed or disputed until then.
  const [changed] = await db<[{ forgotten: number; kept: number }]>`
    with locked as (
      select id
      from orders
      where
        id = any(${open}::bigint[] || array(
          select id
          from orders
          where listing_id = any(${ids}::bigint[]) and status <> all(${OPEN}::text[])
          limit ${max}
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
    select count(*) - count(listing_id) as forgotten, count(listing_id) as kept from changed
  `
  return changed
}

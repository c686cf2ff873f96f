import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { OPEN_STATUSES } from '../enums.ts'
import { conflict } from '../errors.ts'
import { listingNotFound } from './listings.ts'
import { type ItemOutcome, lockTargets, type Target } from './targets.ts'

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
    const sold = await withOpenOrders(tx, [...listings.keys()])
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

async function withOpenOrders({ db }: Context, ids: number[]): Promise<Set<number>> {
  const rows = await db<{ id: number }[]>`
    select distinct listing_id as id
    from orders
    where listing_id = any(${ids}::bigint[]) and status = any(${[...OPEN_STATUSES]}::text[])
  `
  return new Set(rows.map(({ id }) => id))
}

/** Removes locked listings: reservations are deleted, and orders lose their reference to them. */
export async function markRemoved({ db, now, signal }: Context, ids: number[]): Promise<void> {
  if (ids.length === 0) return
  // Order rows are locked by id, as everywhere (orders/locks.ts).
  await db`
    with completed as (
      select id from orders where listing_id = any(${ids}::bigint[]) order by id for no key update
    )
    update orders
    set listing_id = null, changed_at = ${now()}
    from completed
    where orders.id = completed.id
  `
  await db`delete from reservations where listing_id = any(${ids}::bigint[])`
  await db`
    update listings
    set status = 'removed', updated_at = greatest(updated_at, ${now()})
    where id = any(${ids}::bigint[])
  `
  await signal('offers')
}

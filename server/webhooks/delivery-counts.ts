import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { addNewRows, endOfBatch, isUncounted, type SummedRows } from '../database/new-rows.ts'
import type { Db, Fragment } from '../database/sql.ts'
import { keptFrom } from './kept.ts'

/**
 * The kept number of deliveries to each endpoint (docs/partitions.md). New deliveries have the highest ids, and hidden
 * ones the lowest. Jobs count both in bulk, so that the statements which write deliveries don't count.
 */

const DELIVERIES: SummedRows = {
  table: 'deliveries',
  state: 'delivery_count_state',
  // A transaction writes the event before its deliveries, so it has a number before it takes their ids.
  add: (db, isInBatch) => db`
    insert into delivery_counts (endpoint_id, number)
    select endpoint_id, count(*)
    from deliveries
    where ${isInBatch}
    group by endpoint_id
    order by endpoint_id
    on conflict (endpoint_id) do update
    set number = delivery_counts.number + excluded.number
  `,
}

/** Adds the deliveries that no open transaction can add to any more. */
export const countDeliveries = (ctx: Context): Promise<void> => addNewRows(ctx, DELIVERIES)

/** Hides the deliveries below an id, and subtracts those that were counted. */
export async function hideDeliveries(ctx: Context, limit: number): Promise<void> {
  while (await hideBatch(ctx, limit));
}

/** @returns whether there may be more to hide */
const hideBatch = (ctx: Context, limit: number): Promise<boolean> =>
  inTransaction(ctx, async ({ db }) => {
    const [state] = await db<{ countedTo: number }[]>`
      select counted_to as "countedTo" from delivery_count_state for update
    `
    const [kept] = await db<{ from: number }[]>`
      select kept_from as "from" from retention where table_name = 'deliveries'
    `
    const { from } = kept!
    if (from >= limit) return false
    const end = (await endOfBatch(db, 'deliveries', from, limit)) ?? limit
    await db`
      update delivery_counts
      set number = delivery_counts.number - hidden.number
      from (
        select endpoint_id, count(*) as number
        from deliveries
        where id >= ${from} and id < ${Math.min(end, state!.countedTo)}
        group by endpoint_id
      ) hidden
      where delivery_counts.endpoint_id = hidden.endpoint_id
    `
    await db`update retention set kept_from = ${end} where table_name = 'deliveries'`
    await db`
      update delivery_count_state
      set counted_to = greatest(counted_to, ${end}), seen_to = greatest(seen_to, ${end})
    `
    return true
  })

/**
 * The number of deliveries that are shown: those that were counted, the newest ones, and queued ones past the retention.
 *
 * @param isListed a condition on `endpoint_id`
 */
export const numberKept = (db: Db, isListed: Fragment): Fragment => db`
  (
    coalesce((select sum(number)::bigint from delivery_counts where ${isListed}), 0)
    + (
      select count(*)
      from deliveries
      where ${isUncounted(db, DELIVERIES)} and ${isListed}
    )
    + (
      select count(*)
      from delivery_queue
      where
        delivery_id < ${keptFrom(db)} and ${isListed}
    )
  )
`

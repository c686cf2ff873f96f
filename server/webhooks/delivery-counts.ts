import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'

/**
 * The kept number of deliveries to each endpoint (docs/partitions.md). Deliveries are only added, at the end of the ids,
 * and hidden, at their beginning. Jobs count both in bulk, so that the statements which write deliveries need not.
 */

/** Rows that one transaction counts: it must stay far below its time limit. */
const BATCH_ROWS = 50_000

type Fragment = ReturnType<Db>

/** Adds the deliveries that no open transaction can add to any more. */
export async function countDeliveries(ctx: Context): Promise<void> {
  const [found] = await ctx.db<{ any: boolean; end: number | null }[]>`
    select counted_to < seen_to or newest.id >= seen_to as any, newest.id + 1 as end
    from delivery_count_state
    cross join (select max(id) as id from deliveries) newest
  `
  if (!found?.any) return
  while (await countBatch(ctx, found.end));
}

/**
 * @param end the id after the newest delivery, read before this transaction has a number; null without deliveries
 * @returns whether there may be more to count
 */
const countBatch = (ctx: Context, end: number | null): Promise<boolean> =>
  inTransaction(ctx, async ({ db }) => {
    const [state] = await db<{ countedTo: number; seenTo: number; isSettled: boolean }[]>`
      select
        counted_to as "countedTo",
        seen_to as "seenTo",
        (
          pg_snapshot_xmin(pg_current_snapshot()) >= seen_in
          -- A transaction of the server that a restored dump was made on.
          or seen_in > pg_snapshot_xmax(pg_current_snapshot())
        ) as "isSettled"
      from delivery_count_state
      for update skip locked
    `
    if (!state) return false
    const { countedTo, seenTo, isSettled } = state
    if (countedTo === seenTo) {
      // Ids below this one may still belong to transactions that have not ended. The next run counts them. Such a
      // transaction wrote the event before its deliveries, so its number is lower than that of this one. The limit of a
      // snapshot is no such number: it is the one after the last transaction that has ended.
      await db`
        update delivery_count_state
        set seen_to = greatest(seen_to, ${end}), seen_in = pg_current_xact_id()
      `
      return false
    }
    if (!isSettled) return false
    const batchEnd = (await endOfBatch(db, countedTo, seenTo)) ?? seenTo
    await db`
      insert into delivery_counts (endpoint_id, number)
      select endpoint_id, count(*)
      from deliveries
      where id >= ${countedTo} and id < ${batchEnd}
      group by endpoint_id
      order by endpoint_id
      on conflict (endpoint_id) do update
      set number = delivery_counts.number + excluded.number
    `
    await db`update delivery_count_state set counted_to = ${batchEnd}`
    return true
  })

/** Hides the deliveries below an id, and subtracts those that were counted. */
export async function hideDeliveries(ctx: Context, keptFrom: number): Promise<void> {
  while (await hideBatch(ctx, keptFrom));
}

/** @returns whether there may be more to hide */
const hideBatch = (ctx: Context, keptFrom: number): Promise<boolean> =>
  inTransaction(ctx, async ({ db }) => {
    const [state] = await db<{ countedTo: number }[]>`
      select counted_to as "countedTo" from delivery_count_state for update
    `
    const [kept] = await db<{ from: number }[]>`
      select kept_from as "from" from retention where table_name = 'deliveries'
    `
    const { from } = kept!
    if (from >= keptFrom) return false
    const end = (await endOfBatch(db, from, keptFrom)) ?? keptFrom
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

/** The id after the last row of a batch from `start` on; null without rows before `end`. */
async function endOfBatch(db: Db, start: number, end: number): Promise<number | null> {
  const [batch] = await db<{ end: number | null }[]>`
    select max(id) + 1 as end
    from (
      select id
      from deliveries
      where id >= ${start} and id < ${end}
      order by id
      limit ${BATCH_ROWS}
    ) batch
  `
  return batch!.end
}

/**
 * The number of deliveries that are shown: those that were counted, the newest ones, and queued ones past the retention.
 *
 * @param isListed a condition on `endpoint_id`
 */
export const numberKept = (db: Db, isListed: Fragment) => db`
  (
    coalesce((select sum(number)::bigint from delivery_counts where ${isListed}), 0)
    + (
      select count(*)
      from deliveries
      where
        id >= (select counted_to from delivery_count_state)
        -- A second bound, after which the planner expects few rows, as there are.
        and id <= (select max(id) from deliveries)
        and ${isListed}
    )
    + (
      select count(*)
      from delivery_queue
      where
        delivery_id < (select kept_from from retention where table_name = 'deliveries')
        and ${isListed}
    )
  )
`

import { inTransaction } from './in-transaction.ts'
import type { Db, Fragment } from './sql.ts'
import type { Begin } from './transactions.ts'

/**
 * Kept sums over a table to which rows are only added, at the end of its ids (docs/counts.md). A job adds them up in bulk,
 * so that the statements which write the rows need not.
 */
export type SummedRows = {
  table: string
  /** The table whose only row has the id up to which the rows are added up. */
  state: string
  /** Adds these rows to the sums. */
  add: (db: Db, isInBatch: Fragment) => PromiseLike<unknown>
}

/** Rows that one transaction adds up: it must stay far below its time limit. */
const BATCH_ROWS = 50_000

/** Adds the rows below the lowest id that an open transaction may still insert. */
export async function addNewRows(ctx: { db: Db; begin: Begin }, rows: SummedRows): Promise<void> {
  const [found] = await ctx.db<{ any: boolean; end: number | null }[]>`
    select counted_to < seen_to or newest.id >= seen_to as any, newest.id + 1 as end
    from ${ctx.db(rows.state)}
    cross join (select max(id) as id from ${ctx.db(rows.table)}) newest
  `
  if (!found?.any) return
  while (await addBatch(ctx, rows, found.end));
}

/**
 * @param end the id after the newest row, read before this transaction has a number; null without rows
 * @returns whether there may be more to add
 */
const addBatch = (
  ctx: { db: Db; begin: Begin },
  { table, state: stateTable, add }: SummedRows,
  end: number | null,
): Promise<boolean> =>
  inTransaction(ctx, async ({ db }) => {
    const locked = await db`select from ${db(stateTable)} for update skip locked`
    if (locked.length === 0) return false
    // A second statement: another process may have changed the row between the snapshot and the lock of the first, which
    // would compare the number of that process's transaction with the older snapshot.
    const [state] = await db<{ countedTo: number; seenTo: number; isSettled: boolean }[]>`
      select
        counted_to as "countedTo",
        seen_to as "seenTo",
        (
          pg_snapshot_xmin(pg_current_snapshot()) >= seen_in
          -- A transaction of the server that a restored dump was made on.
          or seen_in > pg_snapshot_xmax(pg_current_snapshot())
        ) as "isSettled"
      from ${db(stateTable)}
    `
    const { countedTo, seenTo, isSettled } = state!
    if (countedTo === seenTo) {
      // Ids below this one may still belong to transactions that have not ended. The next run adds them. Such a
      // transaction had a number before it took an id, so its number is lower than that of this one. The limit of a
      // snapshot is not such a number: it is the one after the last transaction that has ended.
      await db`
        update ${db(stateTable)}
        set seen_to = greatest(seen_to, ${end}), seen_in = pg_current_xact_id()
      `
      return false
    }
    if (!isSettled) return false
    const batchEnd = (await endOfBatch(db, table, countedTo, seenTo)) ?? seenTo
    await add(db, db`id >= ${countedTo} and id < ${batchEnd}`)
    await db`update ${db(stateTable)} set counted_to = ${batchEnd}`
    return true
  })

/** The id after the last row of a batch from `start` on; null without rows before `end`. */
export async function endOfBatch(
  db: Db,
  table: string,
  start: number,
  end: number,
): Promise<number | null> {
  const [batch] = await db<{ end: number | null }[]>`
    select max(id) + 1 as end
    from (
      select id
      from ${db(table)}
      where id >= ${start} and id < ${end}
      order by id
      limit ${BATCH_ROWS}
    ) batch
  `
  return batch!.end
}

/** SQL condition: a row that the sums don't contain yet. */
export const isUncounted = (db: Db, { table, state }: SummedRows) => db`
  id >= (select counted_to from ${db(state)})
  -- A second bound, after which the planner expects few rows, as there are.
  and id <= (select max(id) from ${db(table)})
`

import type { Db, Fragment } from './sql.ts'

/** Rows that one transaction of a job handles: it must stay far below its time limit. */
const BATCH_ROWS = 5_000

/**
 * Repeats a step until a batch is not full, so that a backlog of any size shrinks.
 *
 * @param handleSome handles at most `max` rows, and returns their number
 */
export async function inBatches(
  handleSome: (max: number) => Promise<number>,
  max = BATCH_ROWS,
): Promise<void> {
  while ((await handleSome(max)) === max);
}

type Expired = {
  where: Fragment
  /** The column of an index that finds the rows, so that no batch reads the whole table. */
  orderBy: string
}

/** Deletes rows in batches. Skips those that another process is deleting. */
export const deleteInBatches = (db: Db, table: string, expired: Expired): Promise<void> =>
  inBatches((max) => deleteSome(db, table, expired, max))

/** Deletes at most `max` rows. Returns their number. */
async function deleteSome(
  db: Db,
  table: string,
  { where, orderBy }: Expired,
  max: number,
): Promise<number> {
  const { count } = await db`
    delete from ${db(table)}
    -- By row address, known from the lock: no search, whatever number of rows the planner expects.
    where ctid = any(array(
      select ctid
      from ${db(table)}
      where ${where}
      order by ${db(orderBy)}
      limit ${max}
      for update skip locked
    ))
  `
  return count
}

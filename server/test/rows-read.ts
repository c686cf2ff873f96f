import type { Db } from '../database/sql.ts'
import { until } from './until.ts'

/** The number of rows of a table that `work` reads in the transaction `db`, by its indexes or from end to end. */
export async function rowsRead(
  db: Db,
  table: string,
  work: () => Promise<unknown>,
): Promise<number> {
  const read = async () => {
    const [row] = await db<{ count: number }[]>`
      select seq_tup_read + coalesce(idx_tup_fetch, 0) as count
      from pg_stat_xact_user_tables
      where relid = ${table}::regclass
    `
    return row!.count
  }
  const before = await read()
  await work()
  return (await read()) - before
}

/** Vacuums a table until an index-only scan reads none of its rows: an open snapshot can be older than some of them. */
export const vacuumed = (db: Db, table: string) =>
  until('all rows are visible to a vacuum', async () => {
    await db`vacuum analyze ${db(table)}`
    const [row] = await db<{ isVisible: boolean }[]>`
      select relallvisible = relpages as "isVisible" from pg_class where oid = ${table}::regclass
    `
    return row!.isVisible
  })

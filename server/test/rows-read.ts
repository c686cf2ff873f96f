import type { Db } from '../database/sql.ts'

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

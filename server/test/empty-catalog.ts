import type { Db } from '../database/sql.ts'

/** Deletes the whole catalog of a test's database, and all records that refer to it. */
export const emptyCatalog = (db: Db) =>
  // The truncation cascades to tables whose triggers refuse it, such as the ledger. The session of a replica skips these.
  db.unsafe(`
    do $$
    begin
      set local session_replication_role = replica;
      truncate series, sets, cards, products cascade;
    end
    $$
  `)

import type { Db } from '../database/sql.ts'

/** Deletes the whole catalog of a test's database, and all records that refer to it. */
export const emptyCatalog = (db: Db) =>
  // Truncation reaches tables that refuse it, such as the ledger. A replica's session skips their triggers.
  db.unsafe(`
    do $$
    begin
      set local session_replication_role = replica;
      truncate series, sets, cards, products cascade;
    end
    $$
  `)

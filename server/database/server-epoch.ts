import type { Db } from './sql.ts'

/**
 * Begins an epoch if the database was moved to another server with a dump. The transaction ids in its rows are those of
 * the old server, and the new server's own can be lower. The SQL function `xid_in_epoch` adds the epoch in the high bits,
 * so every later id is above every earlier one, and no row has to change. A server that is copied with its files keeps its
 * identifier and continues its ids.
 */
export async function recognizeServer(db: Db): Promise<void> {
  const isOther = db`
    system_identifier <> (select system_identifier from pg_control_system())
  `
  // Reads first: a read-only standby refuses even an update of no row.
  const [moved] = await db`select from server_epoch where ${isOther}`
  if (!moved) return
  // If two processes start at once, the second one finds the identifier changed.
  await db`
    update server_epoch
    set
      system_identifier = (select system_identifier from pg_control_system()),
      epoch = epoch + 1
    where ${isOther}
  `
}

import { waitUntil } from '../time/wait-until.ts'
import type { Db } from './sql.ts'

/** Waits until the transactions of this database that run now have ended. Returns whether they have, after the timeout at most. */
export async function runningTransactionsEnded(db: Db, timeoutMs: number): Promise<boolean> {
  const [{ began } = { began: '' }] = await db<{ began: string }[]>`
    select clock_timestamp()::text as began
  `
  const ended = await waitUntil(timeoutMs, async () => {
    const [running] = await db`
      select 1
      from pg_stat_activity
      where
        datname = current_database()
        and backend_type = 'client backend'
        and xact_start < ${began}::timestamptz
        and pid <> pg_backend_pid()
      limit 1
    `
    return running === undefined || undefined
  })
  return ended ?? false
}

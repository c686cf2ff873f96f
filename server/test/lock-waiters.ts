import type { Context } from '../context.ts'
import type { Db } from '../database/sql.ts'
import { until } from './until.ts'

/**
 * The number of statements in this database that wait for a lock. A commit that sends a signal locks an object, which all
 * databases of the server share: it can wait for another test file, and does not count.
 */
export async function lockWaiters(db: Db): Promise<number> {
  const waiting = await db`
    select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and wait_event <> 'object'
  `
  return waiting.length
}

/** Waits until at least `count` statements in this database wait for a lock. */
export const untilLockWaiters = (db: Db, count = 1) =>
  until(
    `at least ${count} statements wait for a lock`,
    async () => (await lockWaiters(db)) >= count,
  )

/** Does the work while another transaction has a lock. */
export const whileLocked = <T>(
  { begin }: Pick<Context, 'begin'>,
  lock: (db: Db) => PromiseLike<unknown>,
  work: () => Promise<T>,
): Promise<T> =>
  begin(async (db) => {
    await lock(db)
    return work()
  })

/** Ends the connections that wait for a lock, as a failing server would. */
export const endLockWaiters = (db: Db) => db`
  select pg_terminate_backend(pid)
  from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and wait_event <> 'object'
`

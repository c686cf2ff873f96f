import type { Db } from '../database/sql.ts'
import { until } from './until.ts'

/** Waits until exactly `count` statements in this database wait for a lock. */
export const untilLockWaiters = (db: Db, count = 1) =>
  until(`${count} statements wait for a lock`, async () => {
    const waiting = await db`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'
    `
    return waiting.length === count
  })

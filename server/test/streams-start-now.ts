import type { Db } from '../database/sql.ts'
import { until } from './until.ts'

/**
 * Waits until a stream of events that begins now begins after all events so far. Transactions in the databases of other
 * test files hold it back, and the stream would begin with events of earlier tests.
 */
export const streamsStartNow = (db: Db): Promise<true> =>
  until('streams start after all events', async () => {
    const [row] = await db<{ isPast: boolean }[]>`
      select
        not exists (select from events where written_in >= first_running)
        and not exists (select from deliveries where resent_in >= first_running) as "isPast"
      from pg_snapshot_xmin(pg_current_snapshot()) as first_running
    `
    return row!.isPast
  })

import type { Db } from '../database/sql.ts'

/** What is said of a try that nobody lived to note. */
export const INTERRUPTED = 'The service stopped in the middle of a try.'

/**
 * Gives up what its last try was cut off from, in a table whose rows are tried a few times. Not tried once more: what
 * brings the process down would do so for ever.
 */
export async function failInterrupted(
  db: Db,
  table: 'mails' | 'photos',
  mostAttempts: number,
): Promise<void> {
  await db`
    update ${db(table)}
    set status = 'failed', next_attempt_at = null, leased_until = null, error = ${INTERRUPTED}
    where id in (
      select id
      from ${db(table)}
      where
        status = 'waiting'
        and attempts >= ${mostAttempts}
        and leased_until < clock_timestamp()
      for update skip locked
    )
  `
}

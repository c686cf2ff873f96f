import type { Context } from '../context.ts'
import type { Fragment } from '../database/sql.ts'

/** Error recorded for an attempt whose process died before it finished. */
export const INTERRUPTED = 'The service stopped during this attempt.'

/**
 * Fails the rows whose last permitted attempt was interrupted. They get no further attempt: a job that crashes its
 * process would do so forever.
 *
 * @param assignments further ones to columns of the rows, each after a comma
 * @returns the ids of the rows
 */
export async function failInterrupted(
  { db, now }: Pick<Context, 'db' | 'now'>,
  table: 'mails' | 'photos',
  maxAttempts: number,
  assignments: Fragment = db``,
): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    update ${db(table)}
    set
      status = 'failed',
      next_attempt_at = null,
      leased_until = null,
      error = ${INTERRUPTED}
      ${assignments}
    where id in (
      select id
      from ${db(table)}
      where
        status = 'waiting'
        -- True since the attempt was claimed. The index leaves out the rows that wait for a retry.
        and next_attempt_at <= ${now()}
        and attempts >= ${maxAttempts}
        and leased_until < clock_timestamp()
      for update skip locked
    )
    returning id
  `
  return rows.map(({ id }) => id)
}

import type { Context } from '../context.ts'
import type { Db, Fragment } from '../database/sql.ts'

/** A claimed e-mail or photo. `attempts` is the fencing token (README.md). */
type Claim = { id: number; attempts: number }

/** SQL condition: the row is still the one that was claimed. */
export const claimStillHeld = (db: Db, { id, attempts }: Claim) => db`
  id = ${id} and attempts = ${attempts} and status = 'waiting' and leased_until is not null
`

/**
 * The sellers with an id above `after` that have waiting rows, as `waiting`, in the order of their ids; then a null. A loose
 * index scan, as in webhooks/delivery-queue.ts.
 *
 * @param isWaiting the condition of the index that begins with account_id
 */
export const waitingAccounts = (
  db: Db,
  table: 'mails' | 'photos',
  after: number,
  isWaiting: Fragment,
) => db`
  waiting as (
    (
      select account_id
      from ${db(table)}
      where ${isWaiting} and account_id > ${after}
      order by account_id
      limit 1
    )
    union all
    select (
      select next.account_id
      from ${db(table)} next
      where ${isWaiting} and next.account_id > waiting.account_id
      order by next.account_id
      limit 1
    )
    from waiting
    where waiting.account_id is not null
  )
`

/** Gives a claim up at a shutdown. The attempt does not count. */
export async function releaseClaim(
  { db }: Pick<Context, 'db'>,
  table: 'mails' | 'photos',
  claim: Claim,
): Promise<void> {
  await db`
    update ${db(table)}
    set attempts = attempts - 1, leased_until = null
    where ${claimStillHeld(db, claim)}
  `
}

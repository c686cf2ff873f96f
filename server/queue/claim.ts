import type { Context } from '../context.ts'
import type { Db } from '../database/sql.ts'

/** A claimed e-mail or photo. `attempts` is the fencing token (README.md). */
type Claim = { id: number; attempts: number }

/** SQL condition: the row is still the one that was claimed. */
export const claimStillHeld = (db: Db, { id, attempts }: Claim) => db`
  id = ${id} and attempts = ${attempts} and status = 'waiting' and leased_until is not null
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

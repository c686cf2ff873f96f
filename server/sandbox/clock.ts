import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Signals } from '../database/signals.ts'
import type { Db } from '../database/sql.ts'
import { type ApiError, validationError } from '../errors.ts'
import type { Log } from '../log.ts'
import { StartError } from '../start-error.ts'
import { realTime } from '../time/real-time.ts'

/**
 * The clock of every fact that users see. Outside the sandbox it is the real time. The sandbox can move it ahead, and
 * stores the offset in the database for all processes and the next start.
 */
export type Clock = {
  now(): Date
  /**
   * Moves the clock of all processes ahead and returns the new time.
   *
   * @throws ApiError validation_error if it would be more than `MAX_ADVANCED_SECONDS` ahead
   */
  advance(seconds: number): Promise<Date>
}

/** Maximum offset: later dates would exceed the formats of the API and the database. */
export const MAX_ADVANCED_SECONDS = 100 * 365 * 24 * 60 * 60

/**
 * Starts a clock that follows the offset in the database. It signals `time` when it has moved.
 *
 * @throws StartError outside the sandbox if a sandbox has moved it, and in the sandbox if the database belongs to a
 *   marketplace
 */
export async function startClock(
  ctx: Pick<Context, 'db' | 'begin' | 'signal' | 'config'>,
  signals: Pick<Signals, 'on'>,
  log: Log,
): Promise<Clock> {
  let aheadMs = 0
  const now = () => new Date(realTime() + aheadMs)

  const setAhead = (seconds: number) => {
    // The clock only moves ahead: an outdated query result has no effect.
    if (seconds * 1000 <= aheadMs) return
    aheadMs = seconds * 1000
    void ctx.signal('time')
  }

  signals.on('clock', () => {
    advancedSeconds(ctx.db).then(setAhead, (error) =>
      log.warn({ err: error }, 'cannot read the clock'),
    )
  })
  // Subscribed before: another process may move the clock during the query.
  setAhead(await advancedSeconds(ctx.db))
  if (aheadMs > 0 && !ctx.config.sandbox) {
    throw new StartError(
      'The test clock of this database was moved in a sandbox, so its records have dates in the future. Use another database.',
    )
  }
  if (ctx.config.sandbox && (await isLive(ctx.db))) {
    throw new StartError(
      'SANDBOX is true, but the database belongs to a marketplace: a sandbox would mark its payouts as paid and capture its e-mail. Use another database for the sandbox; the marketplace itself needs SANDBOX=false.',
    )
  }

  return {
    now,
    async advance(seconds) {
      const total = await inTransaction(ctx, async ({ db, signal }) => {
        const [clock] = await db<{ seconds: number }[]>`
          update clock
          set advanced_seconds = advanced_seconds + ${seconds}
          where advanced_seconds + ${seconds} <= ${MAX_ADVANCED_SECONDS}
          returning advanced_seconds as seconds
        `
        if (!clock) throw await tooFarAhead(db)
        await signal('clock')
        return clock.seconds
      })
      setAhead(total)
      return now()
    },
  }
}

/** Marks the database as that of a marketplace, so that no sandbox starts on it. */
export async function markLive(db: Db): Promise<void> {
  // A standby accepts no update, not even one of no row.
  if (!(await isLive(db))) await db`update clock set live = true`
}

async function isLive(db: Db): Promise<boolean> {
  const [clock] = await db<{ live: boolean }[]>`select live from clock`
  return clock?.live ?? false
}

async function tooFarAhead(db: Db): Promise<ApiError> {
  const left = MAX_ADVANCED_SECONDS - (await advancedSeconds(db))
  return validationError({
    advance_seconds: [
      `The advance_seconds field must not be greater than ${left}: the clock can be at most 100 years ahead.`,
    ],
  })
}

/** The clock with its current offset, for a command: it does not follow later moves. */
export async function readClock(db: Db): Promise<Pick<Clock, 'now'>> {
  const aheadMs = (await advancedSeconds(db)) * 1000
  return { now: () => new Date(realTime() + aheadMs) }
}

async function advancedSeconds(db: Db): Promise<number> {
  const [clock] = await db<{ seconds: number }[]>`select advanced_seconds as seconds from clock`
  return clock?.seconds ?? 0
}

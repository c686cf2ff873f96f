import type { Context } from '../context.ts'
import { pruneIdempotencyKeys } from '../idempotency.ts'
import { pruneReservations } from '../listings/reservations.ts'

const HOURS = 60 * 60 * 1000

type Recurring = { name: string; everyMs: number; run: (ctx: Context) => Promise<unknown> }

/** What recurs, in plain words. Each may run in several processes at once and twice in a row without harm. */
const RECURRING: Recurring[] = [
  { name: 'forget answers kept for retries', everyMs: 1 * HOURS, run: pruneIdempotencyKeys },
  { name: 'forget reservations that ran out', everyMs: 1 * HOURS, run: pruneReservations },
]

/** Begins what recurs; the returned function ends it. A run that fails is logged and tried again next time. */
export function startSchedule(ctx: Context): () => void {
  const timers = RECURRING.map(({ name, everyMs, run }) =>
    setInterval(() => {
      run(ctx).catch((error) => ctx.log.error({ err: error, job: name }, 'a recurring job failed'))
    }, everyMs).unref(),
  )
  return () => timers.forEach(clearInterval)
}

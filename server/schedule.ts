import { recalculateTiers } from './accounts/recalculate-tiers.ts'
import type { Context } from './context.ts'
import type { Signals } from './database/signals.ts'
import { pruneIdempotencyKeys } from './http/idempotency.ts'
import { pruneReservations } from './listings/reservations.ts'
import { pruneMails } from './mail/outbox.ts'
import type { Metrics } from './metrics.ts'
import { receiveLongShipped } from './orders/transitions.ts'
import { pruneDeliveries } from './webhooks/deliveries.ts'

const MINUTES = 60 * 1000
const HOURS = 60 * MINUTES

type ScheduleContext = Context & { metrics: Metrics }

type Recurring = { name: string; everyMs: number; run: (ctx: ScheduleContext) => Promise<unknown> }

/** What recurs, in plain words. Each may run in several processes at once and twice in a row without harm. */
const RECURRING: Recurring[] = [
  { name: 'forget answers kept for retries', everyMs: 1 * HOURS, run: pruneIdempotencyKeys },
  { name: 'forget reservations that ran out', everyMs: 1 * HOURS, run: pruneReservations },
  { name: 'close orders shipped 14 days ago', everyMs: 1 * MINUTES, run: receiveLongShipped },
  { name: 'reckon tiers on the 1st at 00:05 UTC', everyMs: 1 * MINUTES, run: recalculateTiers },
  { name: 'forget e-mail of a month ago', everyMs: 1 * HOURS, run: pruneMails },
  { name: 'forget deliveries of a month ago', everyMs: 1 * HOURS, run: pruneDeliveries },
]

/**
 * Begins what recurs; the returned function ends it. Besides its own rhythm, which is of real time, everything runs at
 * the start and when the sandbox's clock has moved, because anything may have become due. A run that fails is logged
 * and tried again next time.
 */
export function startSchedule(ctx: ScheduleContext & { signals: Signals }): () => void {
  const runs = RECURRING.map(({ name, run }) => async () => {
    await run(ctx).catch((error) => {
      ctx.log.error({ err: error, job: name }, 'a recurring job failed')
    })
  })
  for (const run of runs) void run()
  const timers = runs.map((run, i) => setInterval(run, RECURRING[i]!.everyMs).unref())
  const unsubscribe = ctx.signals.on('time', () => {
    for (const run of runs) void run()
  })
  return () => {
    unsubscribe()
    for (const timer of timers) clearInterval(timer)
  }
}

/** Runs everything that recurs once, one after the other: for tests. */
export async function runSchedule(ctx: ScheduleContext): Promise<void> {
  for (const { run } of RECURRING) await run(ctx)
}

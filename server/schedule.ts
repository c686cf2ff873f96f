import { recalculateTiers } from './accounts/recalculate-tiers.ts'
import { countAudit } from './audit/counts.ts'
import { pruneAudit, recordInterrupted } from './audit/record.ts'
import { eraseOldBuyers } from './back-office/buyers.ts'
import { pruneChanges } from './changes/changes.ts'
import type { Context } from './context.ts'
import { foldCounts } from './database/counts.ts'
import type { Signals } from './database/signals.ts'
import { isUnavailable, outageLog } from './database/unavailable.ts'
import type { FileStore } from './files/file-store.ts'
import { pruneIdempotencyKeys } from './http/idempotency.ts'
import type { OfferModel } from './listings/offer-model.ts'
import { forgetRemoved } from './listings/remove-listings.ts'
import { pruneReservations } from './listings/reservations.ts'
import type { Log } from './log.ts'
import { pruneMails } from './mail/outbox.ts'
import { pruneSignIns } from './members/sign-in.ts'
import type { Metrics } from './metrics.ts'
import { sumUpLedger } from './money/ledger.ts'
import { runSandboxPayouts } from './money/payout-runs.ts'
import { pruneUnconfirmed } from './money/payout-setup.ts'
import { issueInvoices } from './money/statements.ts'
import { pruneOAuth } from './oauth/grants.ts'
import { cancelOverdue } from './orders/cancel-overdue.ts'
import { remindSellers } from './orders/reminders.ts'
import { receiveLongShipped } from './orders/transitions.ts'
import { deletePhotos } from './photos/delete-photos.ts'
import { coalesced } from './queue/coalesced.ts'
import { watchClock } from './time/clock-watch.ts'
import { HOURS, MINUTES, SECONDS } from './time/units.ts'
import { pruneDeliveries } from './webhooks/deliveries.ts'
import { countDeliveries } from './webhooks/delivery-counts.ts'
import { skipUnwanted } from './webhooks/delivery-queue.ts'
import { beginPartitions } from './webhooks/partitions.ts'

type ScheduleContext = Context & {
  metrics: Metrics
  offers: OfferModel
  files: FileStore
  databaseUrl: string
}

type RecurringJob = {
  name: string
  everyMs: number
  run: (ctx: ScheduleContext) => Promise<unknown>
}

/** The recurring jobs whose work depends on the date and can't be undone. */
const DEADLINES: RecurringJob[] = [
  { name: 'delete expired idempotency keys', everyMs: 1 * HOURS, run: pruneIdempotencyKeys },
  { name: 'delete expired reservations', everyMs: 1 * HOURS, run: pruneReservations },
  { name: 'close orders shipped 14 days ago', everyMs: 1 * MINUTES, run: receiveLongShipped },
  { name: 'cancel overdue orders', everyMs: 10 * MINUTES, run: cancelOverdue },
  { name: 'remind sellers of waiting orders', everyMs: 10 * MINUTES, run: remindSellers },
  {
    name: 'recalculate tiers on the 1st at 00:05 UTC',
    everyMs: 1 * MINUTES,
    run: recalculateTiers,
  },
  { name: 'issue the fee invoices of the last month', everyMs: 10 * MINUTES, run: issueInvoices },
  { name: 'run the payouts of the sandbox', everyMs: 1 * MINUTES, run: runSandboxPayouts },
  { name: 'delete e-mail after 30 days', everyMs: 1 * HOURS, run: pruneMails },
  { name: 'delete changes that no cursor precedes', everyMs: 1 * HOURS, run: pruneChanges },
  { name: 'delete expired sessions', everyMs: 1 * HOURS, run: pruneSignIns },
  { name: 'delete unconfirmed bank accounts', everyMs: 1 * HOURS, run: pruneUnconfirmed },
  { name: 'delete expired access of programs', everyMs: 1 * HOURS, run: pruneOAuth },
  { name: 'delete old entries of the audit log', everyMs: 1 * HOURS, run: pruneAudit },
  { name: 'erase old data of buyers', everyMs: 1 * HOURS, run: eraseOldBuyers },
  { name: 'delete photos of removed listings', everyMs: 1 * HOURS, run: deletePhotos },
  { name: 'delete old deliveries', everyMs: 1 * HOURS, run: pruneDeliveries },
]

/** The other recurring jobs. Each job of both lists tolerates concurrent runs in several processes, and repeated ones. */
const UPKEEP: RecurringJob[] = [
  {
    name: 'delete old changes of offers',
    everyMs: 1 * MINUTES,
    run: ({ offers }) => offers.prune(),
  },
  { name: 'forget removed listings', everyMs: 10 * SECONDS, run: forgetRemoved },
  {
    name: 'add up the numbers of listings, orders, payouts and shipments',
    everyMs: 5 * SECONDS,
    run: foldCounts,
  },
  { name: 'record interrupted actions', everyMs: 10 * MINUTES, run: recordInterrupted },
  { name: 'count entries of the audit log', everyMs: 10 * SECONDS, run: countAudit },
  { name: 'skip deliveries of disabled endpoints', everyMs: 10 * SECONDS, run: skipUnwanted },
  { name: 'add up the ledger', everyMs: 10 * SECONDS, run: sumUpLedger },
  { name: 'count deliveries', everyMs: 5 * SECONDS, run: countDeliveries },
  { name: 'begin partitions of deliveries', everyMs: 1 * MINUTES, run: beginPartitions },
]

/**
 * Starts the recurring jobs; returns a function that stops them. A job runs at the start, at its interval in real time,
 * and when the sandbox's clock has moved, because it may have become due. A run that is still going on is followed by one
 * more. A failed run is logged and counted; the next interval retries it. Outside the sandbox, `DEADLINES` wait while the
 * machine's clock has just jumped ahead.
 */
export function startSchedule(ctx: ScheduleContext & { signals: Signals }): () => void {
  let isStopped = false
  const warn = outageLog(ctx.log)
  const isDoubted = ctx.config.sandbox ? () => false : doubtfulClock(ctx.log)
  const started = (jobs: RecurringJob[], mayRun: () => boolean) =>
    jobs.map(({ name, everyMs, run }) => ({
      everyMs,
      start: coalesced(async () => {
        if (isStopped || !mayRun()) return
        await run(ctx).catch((error) => {
          // The shutdown closes the database under a run. Its transaction is rolled back, and the next start runs it again.
          if (isStopped) return
          if (isUnavailable(error)) return warn({ err: error, job: name })
          ctx.log.error({ err: error, job: name }, 'a recurring job failed')
          ctx.metrics.countFailedJob()
        })
      }),
    }))
  const jobs = [...started(UPKEEP, () => true), ...started(DEADLINES, () => !isDoubted())]
  for (const job of jobs) job.start()
  const timers = jobs.map((job) => setInterval(job.start, job.everyMs).unref())
  const unsubscribe = ctx.signals.on('time', () => {
    for (const job of jobs) job.start()
  })
  return () => {
    isStopped = true
    unsubscribe()
    for (const timer of timers) clearInterval(timer)
  }
}

/** The returned function says whether the machine's clock has just jumped ahead, and logs when that begins and ends. */
function doubtfulClock(log: Log): () => boolean {
  const jumpedAhead = watchClock()
  let isDoubted = false
  return () => {
    const seconds = Math.round(jumpedAhead() / 1000)
    if (isDoubted !== seconds > 0) {
      isDoubted = seconds > 0
      if (isDoubted) {
        log.error(
          { seconds },
          'the clock of this machine jumped ahead: deadlines wait for 15 minutes (docs/operating.md#the-clock)',
        )
      } else log.info('deadlines follow the clock of this machine again')
    }
    return isDoubted
  }
}

/** Runs every recurring job once, sequentially, in tests. */
export async function runSchedule(ctx: ScheduleContext): Promise<void> {
  for (const { run } of [...UPKEEP, ...DEADLINES]) await run(ctx)
}

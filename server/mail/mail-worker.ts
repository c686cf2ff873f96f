import type { Context } from '../context.ts'
import type { Signals } from '../database/signals.ts'
import type { Metrics } from '../metrics.ts'
import { batch } from '../queue/batch.ts'
import { openTurns } from '../queue/turns.ts'
import {
  drainQueue,
  startWorker,
  type Work,
  type Worker,
  type WorkerOptions,
} from '../queue/worker.ts'
import { deliverMail } from './deliver-mail.ts'
import type { ClaimedMail, Handled, Mailer, MailerOptions } from './mail.ts'
import { openMailer } from './mailer.ts'
import {
  claimFastMails,
  claimMails,
  claimSlowMail,
  failInterruptedMails,
  recordSuccesses,
} from './outbox.ts'

/** At a shutdown, time for messages to finish, because one that is interrupted while it is accepted is sent twice. */
const GRACE_MS = 5_000

/** After this many failures in a row that are due to the mail server, a process pauses. A single one can have another cause. */
const MAX_SERVER_FAILURES = 3
const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 60_000

type MailContext = Context & { metrics: Metrics }

/** Sends e-mails as they become due. */
export function startMailWorker(
  ctx: MailContext & { signals: Signals },
  options: WorkerOptions & MailerOptions & { graceMs?: number } = {},
): Worker {
  const mailer = openMailer(ctx, options)
  const worker = startWorker(ctx, mailWork(ctx, mailer, options), options)
  return {
    async stop() {
      await worker.stop()
      await mailer.close()
    },
  }
}

/** Sends every e-mail that is due now or becomes due meanwhile, then returns. */
export async function runDueMail(ctx: MailContext, options?: MailerOptions): Promise<void> {
  const mailer = openMailer(ctx, options)
  try {
    await drainQueue(ctx, mailWork(ctx, mailer, options))
  } finally {
    await mailer.close()
  }
}

function mailWork(
  ctx: MailContext,
  mailer: Mailer,
  { graceMs = GRACE_MS, slowMs }: { graceMs?: number; slowMs?: number } = {},
): Work<ClaimedMail> {
  const record = batch<Handled>((handled) => recordSuccesses(ctx, handled), {
    max: mailer.concurrency,
  })
  const turns =
    mailer.limits &&
    openTurns<ClaimedMail>(mailer.limits, {
      fast: (turn) => claimFastMails(ctx, turn),
      slow: (turn) => claimSlowMail(ctx, turn),
    })
  const claim = turns ? turns.claim : (max: number) => claimMails(ctx, max)
  let failures = 0
  let failedAt = Number.NEGATIVE_INFINITY
  let pausedUntil = 0
  return {
    queue: 'mail',
    concurrency: mailer.concurrency,
    graceMs,
    async claim(max) {
      if (performance.now() < pausedUntil) return []
      // After failures, a single e-mail finds out whether the server accepts e-mails again.
      const mails = await claim(failures < MAX_SERVER_FAILURES ? max : 1)
      if (mails.length > 0) pausedUntil = performance.now() + pauseAfter(failures)
      // Not before each claim, and not while e-mails that are due wait for one in progress.
      else if (max === mailer.concurrency) await failInterruptedMails(ctx)
      return mails
    },
    async run(mail, stopping) {
      const startedAt = performance.now()
      let failure: Awaited<ReturnType<typeof deliverMail>>
      try {
        failure = await deliverMail(ctx, mailer, mail, record, stopping, slowMs)
      } finally {
        turns?.end(mail, failure?.isSlow === true)
      }
      if (failure?.error.isOfAll) {
        failures++
        failedAt = performance.now()
      } else {
        // A server can refuse further connections while e-mails go through on earlier ones.
        if (startedAt < failedAt) return
        failures = 0
      }
      pausedUntil = performance.now() + pauseAfter(failures)
    },
  }
}

/** The pause after failures in a row. It grows, because servers block clients that keep trying. */
const pauseAfter = (failures: number) =>
  failures < MAX_SERVER_FAILURES
    ? 0
    : Math.min(FIRST_PAUSE_MS * 2 ** (failures - MAX_SERVER_FAILURES), MAX_PAUSE_MS)

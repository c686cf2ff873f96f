import type { Context } from '../context.ts'
import type { Signals } from '../database/signals.ts'
import type { Metrics } from '../metrics.ts'
import { batch } from '../queue/batch.ts'
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
import { claimMails, recordSuccesses } from './outbox.ts'

/** At a shutdown, time for messages to finish, because one that is interrupted while it is accepted is sent twice. */
const GRACE_MS = 5_000

type MailContext = Context & { metrics: Metrics }

/** Sends e-mails as they become due. */
export function startMailWorker(
  ctx: MailContext & { signals: Signals },
  options: WorkerOptions & MailerOptions & { graceMs?: number } = {},
): Worker {
  const mailer = openMailer(ctx, options)
  const worker = startWorker(ctx, mailWork(ctx, mailer, options.graceMs), options)
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
    await drainQueue(ctx, mailWork(ctx, mailer))
  } finally {
    await mailer.close()
  }
}

function mailWork(ctx: MailContext, mailer: Mailer, graceMs = GRACE_MS): Work<ClaimedMail> {
  const record = batch<Handled>((handled) => recordSuccesses(ctx, handled), {
    max: mailer.concurrency,
  })
  return {
    queue: 'mail',
    concurrency: mailer.concurrency,
    graceMs,
    claim: (max) => claimMails(ctx, max),
    run: (mail, stopping) => deliverMail(ctx, mailer, mail, record, stopping),
  }
}

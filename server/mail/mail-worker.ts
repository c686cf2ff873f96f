import type { Context } from '../context.ts'
import type { Signals } from '../database/signals.ts'
import type { Metrics } from '../metrics.ts'
import {
  doDueWork,
  startWorker,
  type Work,
  type Worker,
  type WorkerOptions,
} from '../queue/worker.ts'
import { deliverMail } from './deliver-mail.ts'
import type { ClaimedMail, Mailer, MailerOptions } from './mail.ts'
import { openMailer } from './mailer.ts'
import { claimMail } from './outbox.ts'

/** Mails that one process is at, at a time; each has a connection of its own. */
const HANDS = 3
/** At a shutdown. A mail that is cut off while the server takes it may arrive twice, so it had better get through. */
type MailContext = Context & { metrics: Metrics }

const GRACE_MS = 5_000

/**
 * Sends mails as they become due, until it's told to stop. It shares the work with the workers of other processes, and
 * takes up what a killed one left when its lease has run out.
 */
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

/** Does all that is due now, and what becomes due meanwhile. */
export async function runDueMail(ctx: MailContext, options?: MailerOptions): Promise<void> {
  const mailer = openMailer(ctx, options)
  try {
    await doDueWork(ctx, mailWork(ctx, mailer))
  } finally {
    await mailer.close()
  }
}

const mailWork = (ctx: MailContext, mailer: Mailer, graceMs = GRACE_MS): Work<ClaimedMail> => ({
  queue: 'mail',
  hands: HANDS,
  graceMs,
  async claim() {
    const mail = await claimMail(ctx)
    return mail ? [mail] : []
  },
  carryOut: (mail, stopping) => deliverMail(ctx, mailer, mail, stopping),
})

import type { Context } from '../context.ts'
import type { Metrics } from '../metrics.ts'
import { isAddress } from '../text/mailbox.ts'
import type { Delivered, Mailer } from './mail.ts'
import { type ClaimedMail, MailError } from './mail.ts'
import { finishMail, releaseMail, retryMail } from './outbox.ts'

/**
 * One try at a mail. Should the process die between the mail server's yes and our noting it, it's sent again, with the
 * same Message-ID: at least once is what can be promised.
 *
 * @param stopping the process is about to end: what isn't sent by now is given back
 */
export async function deliverMail(
  ctx: Context & { metrics: Metrics },
  mailer: Mailer,
  mail: ClaimedMail,
  stopping: AbortSignal,
): Promise<void> {
  let outcome: Delivered
  try {
    if (!isAddress(mail.to)) throw new MailError('This is no e-mail address.', { final: true })
    outcome = await mailer.deliver(mail, stopping)
  } catch (error) {
    if (stopping.aborted) return releaseMail(ctx, mail)
    if (!(error instanceof MailError)) throw error
    const { isFailed } = await retryMail(ctx, mail, error)
    ctx.metrics.mailAttempted(isFailed ? 'given_up' : 'failed')
    ctx.log.warn(
      { mail: mail.id, attempts: mail.attempts, reason: error.summary },
      isFailed ? 'a mail was given up' : 'a mail could not be sent yet',
    )
    return
  }
  await finishMail(ctx, mail, outcome)
  ctx.metrics.mailAttempted(outcome)
}

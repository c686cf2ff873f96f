import type { Context } from '../context.ts'
import type { Metrics } from '../metrics.ts'
import { releaseClaim } from '../queue/claim.ts'
import { persistently } from '../queue/persistently.ts'
import { isAddress } from '../text/mailbox.ts'
import { type ClaimedMail, type Delivered, type Handled, MailError, type Mailer } from './mail.ts'
import { recordFailure } from './outbox.ts'

/**
 * Makes one attempt at sending an e-mail, and records its outcome.
 *
 * @param record records that the e-mail was handled
 * @param stopping aborted when the process is about to end: an unsent e-mail is released
 * @returns the failure of the attempt
 */
export async function deliverMail(
  ctx: Context & { metrics: Metrics },
  mailer: Mailer,
  mail: ClaimedMail,
  record: (handled: Handled) => Promise<void>,
  stopping: AbortSignal,
): Promise<MailError | undefined> {
  let outcome: Delivered
  try {
    if (!isAddress(mail.to)) {
      throw new MailError('The recipient is not a valid e-mail address.', { isPermanent: true })
    }
    outcome = await mailer.deliver(mail, stopping)
  } catch (error) {
    if (stopping.aborted) {
      await releaseClaim(ctx, 'mails', mail)
      return undefined
    }
    if (!(error instanceof MailError)) throw error
    const { isFailed } = await recordFailure(ctx, mail, error)
    ctx.metrics.countMailAttempt(isFailed ? 'given_up' : 'failed')
    ctx.log.warn(
      { mail: mail.id, attempts: mail.attempts, reason: error.summary },
      isFailed ? 'an e-mail failed permanently' : 'cannot send an e-mail; retrying later',
    )
    return error
  }
  await persistently(ctx, 'cannot record an e-mail; retrying', () => record({ mail, outcome }))
  ctx.metrics.countMailAttempt(outcome)
  return undefined
}

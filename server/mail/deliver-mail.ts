import type { Context } from '../context.ts'
import type { Metrics } from '../metrics.ts'
import { releaseClaim } from '../queue/claim.ts'
import { persistently } from '../queue/persistently.ts'
import { SLOW_MS } from '../queue/turns.ts'
import { isAddress } from '../text/mailbox.ts'
import { type ClaimedMail, type Delivered, type Handled, MailError, type Mailer } from './mail.ts'
import { recordFailure } from './outbox.ts'

/**
 * Makes one attempt at sending an e-mail, and records its outcome.
 *
 * @param record records that the e-mail was handled
 * @param stopping aborted when the process is about to end: an unsent e-mail is released
 * @param slowMs a failed attempt that took this long is slow
 * @returns the failure of the attempt
 */
export async function deliverMail(
  ctx: Context & { metrics: Metrics },
  mailer: Mailer,
  mail: ClaimedMail,
  record: (handled: Handled) => Promise<void>,
  stopping: AbortSignal,
  slowMs = SLOW_MS,
): Promise<{ error: MailError; isSlow: boolean } | undefined> {
  const startedAt = performance.now()
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
    // A failure of the server says nothing about the recipient.
    const isSlow = error.isOfServer ? mail.isSlow : performance.now() - startedAt >= slowMs
    const { isFailed } = await recordFailure(ctx, mail, error, isSlow)
    ctx.metrics.countMailAttempt(isFailed ? 'given_up' : 'failed')
    ctx.log.warn(
      { mail: mail.id, attempts: mail.attempts, reason: error.summary },
      isFailed ? 'an e-mail failed permanently' : 'cannot send an e-mail; retrying later',
    )
    return { error, isSlow }
  }
  await persistently(ctx, 'cannot record an e-mail; retrying', () => record({ mail, outcome }))
  ctx.metrics.countMailAttempt(outcome)
  return undefined
}

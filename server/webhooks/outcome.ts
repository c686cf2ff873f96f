import type { Attempted } from './attempt-delivery.ts'
import type { Attempt, ClaimedDelivery, FailedAttempt } from './delivery.ts'
import { nextTryAt } from './retry-schedule.ts'

/** The result of a claimed delivery, to be recorded. */
export type Outcome = {
  delivery: ClaimedDelivery
  /** Appended to the log. null if there was none, because the endpoint is disabled or deleted. */
  attempt: Attempt | null
} & (
  | { status: 'pending'; nextAttemptAt: Date }
  // `unchanged`: a resend doesn't affect the status, unless it succeeds.
  | { status: 'delivered' | 'skipped' | 'unchanged'; nextAttemptAt: null }
  | { status: 'failed'; nextAttemptAt: null; attempt: FailedAttempt }
)

/** `failDelivery` records a failed delivery, `recordOutcomes` every other outcome. */
export type RecordableOutcome = Exclude<Outcome, { status: 'failed' }>

/** The outcome of an attempt (§6.6). */
export function outcomeOf(delivery: ClaimedDelivery, attempted: Attempted): Outcome {
  if (attempted.isTaken) {
    return { delivery, attempt: attempted.attempt, status: 'delivered', nextAttemptAt: null }
  }
  const { attempt, isHopeless } = attempted
  if (delivery.isResend) return { delivery, attempt, status: 'unchanged', nextAttemptAt: null }
  const nextAttemptAt = isHopeless
    ? undefined
    : nextTryAt(delivery.tries + 1, delivery.firstAttemptAt ?? attempt.at, attempt.at)
  return nextAttemptAt
    ? { delivery, attempt, status: 'pending', nextAttemptAt }
    : { delivery, attempt, status: 'failed', nextAttemptAt: null }
}

/** The outcome of a delivery whose endpoint was disabled or deleted before an attempt. */
export const skippedOutcome = (delivery: ClaimedDelivery): RecordableOutcome => ({
  delivery,
  attempt: null,
  status: delivery.isResend ? 'unchanged' : 'skipped',
  nextAttemptAt: null,
})

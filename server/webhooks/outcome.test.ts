import { expect, it } from 'vitest'
import type { Attempted } from './attempt-delivery.ts'
import type { ClaimedDelivery } from './delivery.ts'
import { outcomeOf, skippedOutcome } from './outcome.ts'

const FIRST = new Date('2026-03-01T09:30:00Z')
const NOW = new Date('2026-03-01T09:31:05Z')
const IN_A_MINUTE = new Date('2026-03-01T09:32:05Z')

const NEW: ClaimedDelivery = {
  id: 1,
  claimId: 1,
  endpointId: 7,
  accountId: 3,
  isWanted: true,
  secretNumber: 1,
  event: 'order.cancelled',
  data: '{}',
  createdAt: FIRST,
  dueAt: FIRST,
  tries: 0,
  firstAttemptAt: null,
  isResend: false,
  resendAt: null,
}
const RETRIED = { ...NEW, tries: 1, firstAttemptAt: FIRST }
const LAST = { ...NEW, tries: 4, firstAttemptAt: FIRST }
const RESENT = { ...LAST, isResend: true, resendAt: NOW }

const ATTEMPT = { at: NOW, statusCode: null, error: null, durationMs: 5, response: null }
const SUCCESS: Attempted = { attempt: ATTEMPT, isTaken: true }
const FAILURE: Attempted = {
  attempt: { ...ATTEMPT, error: 'The connection was refused.' },
  isTaken: false,
  isHopeless: false,
}
const PRIVATE_ADDRESS: Attempted = { ...FAILURE, isHopeless: true }

it.each<[string, ClaimedDelivery, Attempted, string, Date | null]>([
  ['a successful first attempt delivers the event', NEW, SUCCESS, 'delivered', null],
  ['a successful last attempt delivers the event', LAST, SUCCESS, 'delivered', null],
  ['a successful resend delivers the event', RESENT, SUCCESS, 'delivered', null],
  ['a failed first attempt is retried', NEW, FAILURE, 'pending', IN_A_MINUTE],
  [
    'a failed second attempt is retried by the schedule of the first',
    RETRIED,
    FAILURE,
    'pending',
    new Date('2026-03-01T09:40:00Z'),
  ],
  ['a failed last attempt fails the delivery', LAST, FAILURE, 'failed', null],
  ['an attempt at a private address is not retried', NEW, PRIVATE_ADDRESS, 'failed', null],
  ['a failed resend changes nothing', RESENT, FAILURE, 'unchanged', null],
  ['a resend to a private address changes nothing', RESENT, PRIVATE_ADDRESS, 'unchanged', null],
])('%s', (_, delivery, result, status, nextAttemptAt) => {
  const { attempt } = result
  expect(outcomeOf(delivery, result)).toEqual({ delivery, attempt, status, nextAttemptAt })
})

it('a delivery that is not attempted is skipped, and a resend that is not attempted is unchanged', () => {
  expect(skippedOutcome(NEW)).toMatchObject({ attempt: null, status: 'skipped' })
  expect(skippedOutcome(RESENT)).toMatchObject({ attempt: null, status: 'unchanged' })
})

import type { NewMail } from '../mail/mail.ts'
import type { Attempt } from './delivery.ts'
import { DISABLED_AFTER, WARNED_AFTER } from './endpoint.ts'

/** An endpoint that doesn't take what it's sent, and whose it is. */
export type Failing = { url: string; shopName: string; email: string }

/** To a seller whose endpoint has failed several times in a row. */
export const warningLetter = (failing: Failing, last: Attempt): NewMail =>
  letter(failing, 'A webhook endpoint is failing', [
    `${WARNED_AFTER} deliveries in a row could not be delivered to ${placeOf(failing)}.`,
    reasonOf(last),
    `After ${DISABLED_AFTER} it will be disabled.`,
  ])

/** To a seller whose endpoint was disabled (§3.4). */
export const disabledLetter = (failing: Failing, last: Attempt): NewMail =>
  letter(failing, 'A webhook endpoint was disabled', [
    `${DISABLED_AFTER} deliveries in a row could not be delivered to ${placeOf(failing)}. Nothing more is sent there.`,
    reasonOf(last),
    'Once it works again, have it enabled, and what was skipped meanwhile sent again.',
  ])

const letter = ({ shopName, email }: Failing, subject: string, paragraphs: string[]): NewMail => ({
  to: email,
  subject,
  text: [`Hello ${shopName},`, ...paragraphs].join('\n\n'),
})

/** Where it is, without what may be secret in it. */
function placeOf({ url }: Failing): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

const reasonOf = ({ error, statusCode }: Attempt) =>
  `The last attempt ended so: ${error ?? `status ${statusCode}`}`

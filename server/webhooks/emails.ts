import { webhooksPage } from '../accounts/dashboard-pages.ts'
import type { Context } from '../context.ts'
import type { NewMail } from '../mail/mail.ts'
import { textFor } from '../mail/text.ts'
import type { FailedAttempt } from './delivery.ts'
import { DISABLED_AFTER, WARNED_AFTER } from './endpoint.ts'

/** An endpoint and its seller. */
export type FailingEndpoint = { url: string; shopName: string; email: string }

/** Warns a seller of deliveries that fail in a row. */
export const warningEmail = (
  ctx: Pick<Context, 'config'>,
  endpoint: FailingEndpoint,
  last: FailedAttempt,
): NewMail =>
  email(endpoint, 'A webhook endpoint is failing', [
    `The last ${WARNED_AFTER} deliveries to ${publicPartOf(endpoint.url)} failed.`,
    reasonOf(last),
    `After ${DISABLED_AFTER} failed deliveries in a row the endpoint will be disabled.`,
    `Its deliveries: ${webhooksPage(ctx)}`,
  ])

/** Tells a seller that their endpoint was disabled (§3.4). */
export const disabledEmail = (
  ctx: Pick<Context, 'config'>,
  endpoint: FailingEndpoint,
  last: FailedAttempt,
): NewMail =>
  email(endpoint, 'A webhook endpoint was disabled', [
    `The last ${DISABLED_AFTER} deliveries to ${publicPartOf(endpoint.url)} failed. The endpoint was disabled and receives no further events.`,
    reasonOf(last),
    `Once the endpoint works again, enable it and resend the skipped deliveries: ${webhooksPage(ctx)}`,
  ])

const email = (
  { shopName, email: to }: FailingEndpoint,
  subject: string,
  paragraphs: string[],
): NewMail => ({ to, subject, text: textFor(shopName, paragraphs) })

/** An endpoint's URL without the query and credentials, which may be secret. */
export function publicPartOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

const reasonOf = ({ error }: FailedAttempt) => `The last attempt failed: ${error}`

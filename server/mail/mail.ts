import type { Limits } from '../queue/turns.ts'
import { type Mailbox, withAsciiDomain } from '../text/mailbox.ts'
import { DAYS, HOURS, MINUTES } from '../time/units.ts'

/** A plain-text e-mail to one recipient. */
export type NewMail = {
  to: string
  subject: string
  text: string
  /** The part of the text that works as a credential, such as a link to a new password. Only the recipient may read it. */
  secret?: string
  /** The slice that it is about. */
  sliceId?: number
  /**
   * The seller whose turn it takes; by default the seller of the slice. An e-mail that a person waits for has none, and is
   * sent before those of sellers.
   */
  accountId?: number
  /** The checkout that it is about, if it is about all of its slices. `sliceId` is the first of them then. */
  checkoutId?: number
}

/** An e-mail in the outbox, whatever its status. */
export type Mail = Omit<NewMail, 'secret' | 'sliceId' | 'accountId' | 'checkoutId'> & {
  id: number
  status: MailStatus
  /** The reason of the last failure. */
  error: string | null
  sliceKey: string | null
  createdAt: Date
  sentAt: Date | null
}

/** `captured` by the sandbox, or `logged`, if there is no mail server. */
export const MAIL_STATUSES = ['waiting', 'sent', 'captured', 'logged', 'failed'] as const
export type MailStatus = (typeof MAIL_STATUSES)[number]

export const MAX_ATTEMPTS = 5

/** Backoff: the delay after the first failed attempt, the second, … */
const DELAYS_MS = [1 * MINUTES, 10 * MINUTES, 1 * HOURS, 6 * HOURS]

/** Milliseconds from a failed attempt to the next; undefined after the last. `attempts` includes the failed one. */
export const delayAfter = (attempts: number): number | undefined => DELAYS_MS[attempts - 1]

/**
 * Milliseconds to the next attempt after one that failed because of the mail server or the sender; undefined if the
 * e-mail is so old that the attempt counts. Grows with the age, because such attempts have no number.
 */
export const delayOfServer = (ageMs: number): number | undefined =>
  ageMs < PATIENCE_MS ? Math.min(Math.max(1 * MINUTES, ageMs / 2), 30 * MINUTES) : undefined

/** An outage of the mail server that ends within this time costs no e-mail: a long weekend, as between mail servers. */
const PATIENCE_MS = 4 * DAYS

const MAX_SUBJECT_CHARACTERS = 200

/**
 * Makes a subject, or a name in a text, a single line. It comes from users, and a line break would start another header or
 * paragraph, so control characters and line separators become spaces, as do those that reverse the text behind them.
 */
export function oneLine(text: string): string {
  const line = text.replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu, ' ').trim()
  const characters = [...line]
  return characters.length <= MAX_SUBJECT_CHARACTERS
    ? line
    : `${characters.slice(0, MAX_SUBJECT_CHARACTERS - 1).join('')}…`
}

/** Quotes a text that another person wrote, because its paragraphs would read as the marketplace's own. */
export const quote = (text: string) =>
  text
    .split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/)
    .map((line) => `> ${line}`.trimEnd())
    .join('\n')

/**
 * The Message-ID is the same in every attempt, so that mail servers and mail programs recognize duplicates. Its
 * timestamp distinguishes databases that send from the same domain. The mailer writes it as it is, and mail servers refuse
 * characters outside ASCII in it.
 */
export function messageId({ id, createdAt }: { id: number; createdAt: Date }, from: Mailbox) {
  const address = withAsciiDomain(from.address)
  return `<${id}.${createdAt.getTime()}@${address.slice(address.lastIndexOf('@') + 1)}>`
}

/**
 * A failed attempt. The message is stored with the e-mail for the operator. It contains no secret, but may quote the
 * mail server, which names recipients. `summary` is for the log and quotes nothing.
 */
export class MailError extends Error {
  override name = 'MailError'
  /** Whether every further attempt would fail. */
  readonly isPermanent: boolean
  /** Whether the mail server refuses the sender or is unavailable: the e-mail itself may be all right. */
  readonly isOfServer: boolean
  /** Whether other e-mails would fail as well. A reply about one recipient says nothing about the others. */
  readonly isOfAll: boolean
  /** Whether the server may have accepted the e-mail: such attempts are limited, because each can deliver it again. */
  readonly mayHaveArrived: boolean
  readonly summary: string

  constructor(
    message: string,
    options: {
      isPermanent?: boolean
      isOfServer?: boolean
      isOfAll?: boolean
      mayHaveArrived?: boolean
      summary?: string
    },
  ) {
    super(message)
    this.isPermanent = options.isPermanent ?? false
    this.isOfServer = options.isOfServer ?? false
    this.isOfAll = options.isOfAll ?? this.isOfServer
    this.mayHaveArrived = options.mayHaveArrived ?? false
    this.summary = options.summary ?? message
  }
}

/** The status of an e-mail that a mailer has handled. */
export type Delivered = 'sent' | 'captured' | 'logged'

/** An e-mail that a mailer has handled. */
export type Handled = { mail: ClaimedMail; outcome: Delivered }

export type Mailer = {
  /** E-mails that it can handle at the same time. */
  concurrency: number
  /** Limits of e-mails at the same time. Undefined if each e-mail is handled at once, so that none has to wait. */
  limits?: Limits
  /**
   * @param signal aborts the attempt; the e-mail may have been sent nevertheless
   * @throws MailError
   */
  deliver(mail: ClaimedMail, signal: AbortSignal): Promise<Delivered>
  close(): Promise<void>
}

export type MailerOptions = {
  /** Limits connecting to the mail server. Its replies and a whole attempt have multiples of it (smtp.ts). */
  timeoutMs?: number
  /** A failed attempt that took this long is slow. */
  slowMs?: number
}

/** An e-mail claimed by this process; `attempts` is the fencing token (queue/README.md). */
export type ClaimedMail = Mail & {
  id: number
  attempts: number
  /** The seller whose turn it takes. */
  accountId: number | null
  /** Whether the attempt before was slow. */
  isSlow: boolean
}

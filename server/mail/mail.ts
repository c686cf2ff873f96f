import type { Mailbox } from '../text/mailbox.ts'
/** An e-mail as its cause wants it: plain text, to one recipient. */
export type NewMail = { to: string; subject: string; text: string }

/** An e-mail that was written, whatever has become of it. */
export type Mail = NewMail & { createdAt: Date }

/** Tries in all. */
export const MAX_ATTEMPTS = 5

const MINUTES = 60 * 1000
const HOURS = 60 * MINUTES

/** How long after a failed try the next one follows. */
const DELAYS_MS = [1 * MINUTES, 10 * MINUTES, 1 * HOURS, 6 * HOURS]

/** Milliseconds from a failed try to the next one, or undefined when there is none. */
export const delayAfter = (attempts: number): number | undefined => DELAYS_MS[attempts - 1]

const LONGEST_SUBJECT = 200

/**
 * A subject as one line. Names of shops and cards stand in it, and a line break would begin another header: whatever
 * controls or breaks a line becomes a space.
 */
export function oneLine(text: string): string {
  const line = text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
  const characters = [...line]
  return characters.length <= LONGEST_SUBJECT
    ? line
    : `${characters.slice(0, LONGEST_SUBJECT - 1).join('')}…`
}

/**
 * The same for every try, so that mail servers and readers can tell a repetition from another mail. The moment keeps
 * those of two databases apart that send from one domain.
 */
export const messageId = ({ id, createdAt }: { id: number; createdAt: Date }, from: Mailbox) =>
  `<${id}.${createdAt.getTime()}@${from.address.slice(from.address.lastIndexOf('@') + 1)}>`

/**
 * Reason why a mail was not sent. The message is kept with the mail, for the operator; it holds no secret but may quote
 * the mail server, which names recipients. `summary` says the same for the log, without a quotation.
 */
export class MailError extends Error {
  override name = 'MailError'
  /** Whether another try would end the same. */
  readonly final: boolean
  readonly summary: string

  constructor(message: string, options: { final: boolean; summary?: string }) {
    super(message)
    this.final = options.final
    this.summary = options.summary ?? message
  }
}

/** What a mailer can have done with a mail. */
export type Delivered = 'sent' | 'captured' | 'logged'

/** Where e-mail goes. */
export type Mailer = {
  /**
   * @param signal when it's aborted the mail is no longer waited for; it may have been sent all the same
   * @throws MailError when it couldn't be sent
   */
  deliver(mail: ClaimedMail, signal: AbortSignal): Promise<Delivered>
  close(): Promise<void>
}

export type MailerOptions = {
  /** How long the mail server may take to be reached, and for each of its answers. */
  timeoutMs?: number
}

/**
 * A mail that this process is at. `attempts` tells whose it is: each claim has a number of its own, so that one who
 * was taken for dead can't write over the next.
 */
export type ClaimedMail = Mail & { id: number; attempts: number }

import { createTransport } from 'nodemailer'
import type { Mailbox } from '../text/mailbox.ts'
import type { Mailer, MailerOptions } from './mail.ts'
import { MailError, messageId } from './mail.ts'

/** Connections to the mail server that one process keeps, at most. */
const CONNECTIONS = 3
const TIMEOUT_MS = 15_000
/** How many times as long a try may take in all: a server can be slow with each line that it says. */
const TIMEOUTS_IN_ALL = 4
const LONGEST_REPLY = 200

/** Sends through a mail server. Connections are kept for a while, since mails often come several at a time. */
export function smtpMailer(
  url: string,
  from: Mailbox,
  { timeoutMs = TIMEOUT_MS }: MailerOptions = {},
): Mailer {
  const server = createTransport({
    url,
    pool: true,
    maxConnections: CONNECTIONS,
    // Once more at once where a kept connection turns out to be closed; for the rest there is the outbox.
    maxRequeues: 1,
    // From the name's look-up to the greeting.
    connectionTimeout: timeoutMs,
    socketTimeout: timeoutMs,
  })
  // Whatever it is, it's told to the mail that was on its way, too. Nobody listening would end the process.
  server.on('error', () => {})

  return {
    async deliver(mail, signal) {
      try {
        await server.sendMail({
          from,
          // Not as text, which would be read as a list of recipients.
          to: { name: '', address: mail.to },
          subject: mail.subject,
          text: mail.text,
          date: mail.createdAt,
          messageId: messageId(mail, from),
          // So that nobody's holiday notice answers.
          headers: { 'Auto-Submitted': 'auto-generated' },
          xMailer: false,
          signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUTS_IN_ALL * timeoutMs)]),
        })
        return 'sent'
      } catch (error) {
        throw asMailError(error as SmtpError)
      }
    },
    async close() {
      server.close()
    },
  }
}

/** What nodemailer tells of a failure. */
type SmtpError = Error & {
  code?: string
  /** What the system said beneath `code`. */
  originalCode?: string
  /** What was being sent. */
  command?: string
  /** The server's words, and the number they begin with. */
  response?: string
  responseCode?: number
  /** Whether the same mail would be refused again. */
  permanent?: boolean
}

/** Nothing of the original is kept: what a server says about a login may repeat the password. */
function asMailError(error: SmtpError): MailError {
  const { code, originalCode, command, responseCode, permanent } = error
  const retried = (message: string) => new MailError(message, { final: false })
  switch (code) {
    case 'EENVELOPE':
    case 'EMESSAGE': {
      // Without a number it's nodemailer that refused it, before anything was sent.
      if (responseCode === undefined) {
        return new MailError('The mail can’t be sent as it is.', { final: true })
      }
      // A sender that's refused is a matter of settings, and can be mended before the next try.
      const final = permanent === true && command !== 'MAIL FROM'
      const refusal = `The mail server refused ${refused(command)}`
      return new MailError(`${refusal}: ${reply(error)}`, {
        final,
        summary: `${refusal}${number(responseCode)}.`,
      })
    }
    case 'EAUTH':
    case 'ENOAUTH':
      return retried(`The mail server refused the login${number(responseCode)}.`)
    case 'ETIMEDOUT':
    case 'EABORT':
      return retried('The mail server did not answer in time.')
    case 'EDNS':
      return retried('The mail server’s name could not be looked up.')
    case 'ETLS':
      return retried(`The mail server could not be reached encrypted${detail(originalCode)}.`)
    case 'ECONNECTION':
    case 'ESOCKET':
      return retried(
        `The connection to the mail server failed${number(responseCode) || detail(originalCode)}.`,
      )
    default:
      return retried(`The mail could not be sent${detail(code)}.`)
  }
}

const refused = (command = '') =>
  ({ 'MAIL FROM': 'the sender', 'RCPT TO': 'the recipient' })[command] ?? 'the mail'

const reply = ({ response = '' }: SmtpError) =>
  response.replace(/[\s\p{Cc}]+/gu, ' ').slice(0, LONGEST_REPLY)

const number = (code: number | undefined) => (code ? ` (${code})` : '')
const detail = (code: string | undefined) => (code ? ` (${code})` : '')

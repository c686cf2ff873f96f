import { createTransport } from 'nodemailer'
import type { Mailbox } from '../text/mailbox.ts'
import type { Mailer, MailerOptions } from './mail.ts'
import { MailError, messageId } from './mail.ts'

const MAX_CONNECTIONS = 3
/** Limits connecting, to the end of the greeting. */
const TIMEOUT_MS = 15_000
/**
 * Limits the wait for a reply, in multiples of the timeout. A server may check an e-mail for minutes before it accepts it,
 * and an e-mail that is given up meanwhile arrives again with the next attempt.
 */
const REPLY_TIMEOUTS = 8
/** Limits an attempt, in multiples of the timeout: a server can be slow with each line of its replies. */
const ATTEMPT_TIMEOUTS = 12
const MAX_REPLY_CHARACTERS = 200
/**
 * Replies about the permission to send (5.7.x), the sender's address (5.1.7, 5.1.8) or a quota (5.4.5), by their code of
 * RFC 3463. Many servers send them only in response to RCPT TO or to the message.
 */
const SENDER_REFUSED = /^5\d\d[ -]5\.(7\.\d+|1\.[78]|4\.5)\b/

/** Sends through an SMTP server. Connections are pooled, because e-mails often come in bursts. */
export function smtpMailer(
  url: string,
  from: Mailbox,
  { timeoutMs = TIMEOUT_MS }: MailerOptions = {},
): Omit<Mailer, 'concurrency'> {
  const server = createTransport({
    url,
    pool: true,
    maxConnections: MAX_CONNECTIONS,
    // Retries at once if a pooled connection turns out to be closed. The outbox does all other retries.
    maxRequeues: 1,
    // From the DNS lookup to the greeting.
    connectionTimeout: timeoutMs,
    socketTimeout: REPLY_TIMEOUTS * timeoutMs,
  })
  // The e-mail being sent fails with the same error. An `error` event without a listener would end the process.
  server.on('error', () => {})

  return {
    async deliver(mail, signal) {
      try {
        await server.sendMail({
          from,
          // An object, because nodemailer parses a string as a list of recipients.
          to: { name: '', address: mail.to },
          subject: mail.subject,
          text: mail.text,
          date: mail.createdAt,
          messageId: messageId(mail, from),
          // Suppresses out-of-office replies.
          headers: { 'Auto-Submitted': 'auto-generated' },
          xMailer: false,
          signal: AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_TIMEOUTS * timeoutMs)]),
        })
        return 'sent'
      } catch (error) {
        throw mailErrorFrom(error as SmtpError)
      }
    },
    async close() {
      server.close()
    },
  }
}

/** An error of nodemailer. */
type SmtpError = Error & {
  code?: string
  /** The error code of the system. */
  originalCode?: string
  /** The SMTP command that failed. */
  command?: string
  /** The server's reply, and its code. */
  response?: string
  responseCode?: number
  /** Whether the reply is a permanent rejection. */
  permanent?: boolean
}

/** The original error is dropped, because a server's reply to a login can contain the password. */
function mailErrorFrom(error: SmtpError): MailError {
  const { code, originalCode, command, responseCode, permanent } = error
  const temporary = (message: string) => new MailError(message, { isPermanent: false })
  switch (code) {
    case 'EENVELOPE':
    case 'EMESSAGE': {
      // Without a reply code, nodemailer refused the e-mail before sending anything.
      if (responseCode === undefined) {
        return new MailError('The e-mail is malformed and cannot be sent.', { isPermanent: true })
      }
      // A refused sender is a matter of the settings, which the operator can fix before the next attempt.
      const isOfSender = command === 'MAIL FROM' || SENDER_REFUSED.test(error.response ?? '')
      const isPermanent = permanent === true && !isOfSender
      const refusal = `The mail server refused ${isOfSender ? 'the sender' : refusedPart(command)}`
      return new MailError(`${refusal}: ${reply(error)}`, {
        isPermanent,
        summary: `${refusal}${detail(responseCode)}.`,
      })
    }
    case 'EAUTH':
    case 'ENOAUTH':
      return temporary(`The mail server refused the login${detail(responseCode)}.`)
    case 'ETIMEDOUT':
    case 'EABORT':
      return temporary('The mail server did not answer in time.')
    case 'EDNS':
      return temporary('The DNS lookup of the mail server failed.')
    case 'ETLS':
      return temporary(`The encrypted connection to the mail server failed${detail(originalCode)}.`)
    case 'ECONNECTION':
    case 'ESOCKET':
      return temporary(
        `The connection to the mail server failed${detail(responseCode || originalCode)}.`,
      )
    default:
      // The greeting, for example, was a refusal.
      if (code === 'EPROTOCOL' && isRefusal(responseCode)) {
        return temporary(`The mail server refused the connection${detail(responseCode)}.`)
      }
      return temporary(`The e-mail could not be sent${detail(code)}.`)
  }
}

/** A reply that isn't SMTP can begin with any number. */
const isRefusal = (code: number | undefined) => code !== undefined && code >= 400 && code < 600

const refusedPart = (command: string | undefined) =>
  command === 'RCPT TO' ? 'the recipient' : 'the e-mail'

const reply = ({ response = '' }: SmtpError) =>
  response.replace(/[\s\p{Cc}]+/gu, ' ').slice(0, MAX_REPLY_CHARACTERS)

const detail = (code: string | number | undefined) => (code ? ` (${code})` : '')

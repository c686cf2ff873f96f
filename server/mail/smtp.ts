import type { Readable } from 'node:stream'
import { createTransport, type SendMailOptions } from 'nodemailer'
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
/**
 * Limits the time until the server has accepted sender and recipient, in multiples of the timeout. A server that asks the
 * recipient's server first gives up within half a minute by default. The five minutes of RFC 5321 would keep a connection
 * that others need, and nothing arrives twice, because the message is sent later.
 */
const RECIPIENT_TIMEOUTS = 4
/** Limits an attempt, in multiples of the timeout: a server can be slow with each line of its replies. */
const ATTEMPT_TIMEOUTS = 12
const MAX_REPLY_CHARACTERS = 200
/** A code of RFC 3463, by which a server says what its reply is about. */
const ENHANCED_CODE = /^\d{3}[ -][45]\.\d+\.\d+\b/
/**
 * Replies about the permission to send (5.7.x), the sender's address (5.1.7, 5.1.8) or a quota (5.4.5, and 5.1.90 and
 * 5.2.252 of Microsoft). Many servers send them only in response to RCPT TO or to the message.
 */
const SENDER_REFUSED = /^5\d\d[ -]5\.(?:7\.\d+|1\.(?:[78]|90)|2\.252|4\.5)\b/
/** Texts of such replies without an enhanced code to RCPT TO. */
const SENDER_IN_REPLY_TO_RECIPIENT = /\bsender\b|\brelay|\bper (?:minute|hour|day)\b/i
/** The same in response to the message, such as those of SendGrid and Amazon SES. 552 is about the mailbox or the size. */
const SENDER_IN_REPLY_TO_MESSAGE =
  /^55[^2].*(?:\bsenders?\b|\bsending\b|\bfrom address\b|\bnot verified\b|\bquota\b|\blimit|\bexceeded\b|\brelay|authori[sz]ed\b|\bper (?:minute|hour|day)\b)/is
/** Temporary replies about the recipient (4.1.x, 4.2.x) or the content (4.6.x). */
const OF_MAIL = /^4\d\d[ -]4\.[126]\.\d+\b/
/** Temporary replies to RCPT TO about the server (4.3.x) or the rate. Others are usually about the recipient. */
const THROTTLED = /^4\d\d[ -]4\.3\.\d+\b|\brate\b|\blimit|\btoo (?:many|much)\b|throttl|\bexceed/i

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
  // The server gets the message only after it has accepted the recipient.
  server.use('stream', ({ data, message }, done) => {
    message.processFunc((stream) => {
      ;(data as WatchedMail).onStream(stream)
      return stream
    })
    done()
  })

  return {
    async deliver(mail, signal) {
      let message: Readable | undefined
      let timer: NodeJS.Timeout | undefined
      const unaccepted = new AbortController()
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
          signal: AbortSignal.any([
            signal,
            unaccepted.signal,
            AbortSignal.timeout(ATTEMPT_TIMEOUTS * timeoutMs),
          ]),
          onStream: (stream) => {
            message = stream
            // The pool repeats an e-mail whose connection was closed: both have one limit.
            timer ??= setTimeout(() => {
              if (!message?.readableDidRead) unaccepted.abort()
            }, RECIPIENT_TIMEOUTS * timeoutMs)
          },
        } satisfies SendMailOptions & WatchedMail as SendMailOptions)
        return 'sent'
      } catch (error) {
        throw mailErrorFrom(error as SmtpError, {
          mayHaveArrived: message?.readableDidRead === true,
        })
      } finally {
        clearTimeout(timer)
      }
    },
    async close() {
      server.close()
    },
  }
}

/** An e-mail whose sender learns of the stream that the server gets. */
type WatchedMail = { onStream: (stream: Readable) => void }

/** An error of nodemailer. */
type SmtpError = Error & {
  code?: string
  /** The error code of the system. */
  originalCode?: string
  /** The SMTP command that failed. */
  command?: string
  /** The part of the attempt that timed out. */
  timeoutType?: string
  /** The server's reply, and its code. */
  response?: string
  responseCode?: number
  /** Whether the reply is a permanent rejection. */
  permanent?: boolean
}

/**
 * The original error is dropped, because a server's reply to a login can contain the password.
 *
 * @param mayHaveArrived whether the message was sent, so that a lost connection says nothing about its acceptance
 */
function mailErrorFrom(error: SmtpError, { mayHaveArrived }: { mayHaveArrived: boolean }) {
  const { code, originalCode, responseCode, timeoutType } = error
  const ofServer = (message: string) => new MailError(message, { isOfServer: true, mayHaveArrived })
  switch (code) {
    case 'EENVELOPE':
    case 'EMESSAGE':
      return refusalFrom(error)
    case 'EAUTH':
    case 'ENOAUTH':
      return ofServer(`The mail server refused the login${detail(responseCode)}.`)
    case 'ETIMEDOUT':
    case 'EABORT': {
      const message = 'The mail server did not respond in time.'
      // Later silence can be about the recipient or the message.
      const isConnecting = timeoutType !== undefined && timeoutType !== 'SOCKET_TIMEOUT'
      return isConnecting ? ofServer(message) : new MailError(message, {})
    }
    case 'EDNS':
      return ofServer('The DNS lookup of the mail server failed.')
    case 'ETLS':
      return ofServer(`The encrypted connection to the mail server failed${detail(originalCode)}.`)
    case 'ECONNECTION':
    case 'ESOCKET':
      // A reply, such as 421, says that the message was not accepted.
      return new MailError(
        `The connection to the mail server failed${detail(responseCode || originalCode)}.`,
        { isOfServer: true, mayHaveArrived: mayHaveArrived && !isRefusal(responseCode) },
      )
    default:
      // The greeting, for example, was a refusal.
      if (code === 'EPROTOCOL' && isRefusal(responseCode)) {
        return ofServer(`The mail server refused the connection${detail(responseCode)}.`)
      }
      return new MailError(`The e-mail could not be sent${detail(code)}.`, {})
  }
}

/** A refusal of the sender, the recipient or the message. */
function refusalFrom(error: SmtpError): MailError {
  const { command, response = '', responseCode, permanent = false } = error
  // Without a reply code, nodemailer refused the e-mail before sending anything.
  if (responseCode === undefined) {
    return new MailError('The e-mail is malformed and cannot be sent.', { isPermanent: true })
  }
  const isToRecipient = command === 'RCPT TO'
  const hasCode = ENHANCED_CODE.test(response)
  const senderTexts = isToRecipient ? SENDER_IN_REPLY_TO_RECIPIENT : SENDER_IN_REPLY_TO_MESSAGE
  // A refused sender is a matter of the settings, which the operator can fix before the next attempt.
  const isOfSender =
    command === 'MAIL FROM' ||
    SENDER_REFUSED.test(response) ||
    (permanent && !hasCode && senderTexts.test(response))
  const isThrottled =
    responseCode === 421 ||
    (!permanent && !OF_MAIL.test(response) && (!isToRecipient || THROTTLED.test(response)))
  const refusal = `The mail server refused ${isOfSender ? 'the sender' : refusedPart(command)}`
  return new MailError(`${refusal}: ${reply(error)}`, {
    // Without an enhanced code, a refusal of the message can be one of the sender in words that we don't know.
    isPermanent: permanent && !isOfSender && (isToRecipient || hasCode),
    isOfServer: isOfSender || isThrottled,
    isOfAll: isThrottled || (isOfSender && !isToRecipient),
    summary: `${refusal}${detail(responseCode)}.`,
  })
}

/** A reply that isn't SMTP can begin with any number. */
const isRefusal = (code: number | undefined) => code !== undefined && code >= 400 && code < 600

const refusedPart = (command: string | undefined) =>
  command === 'RCPT TO' ? 'the recipient' : 'the e-mail'

const reply = ({ response = '' }: SmtpError) =>
  response.replace(/[\s\p{Cc}]+/gu, ' ').slice(0, MAX_REPLY_CHARACTERS)

const detail = (code: string | number | undefined) => (code ? ` (${code})` : '')

import type { Context } from '../context.ts'
import type { Mailer, MailerOptions } from './mail.ts'

/** Each message being sent has an SMTP connection of its own. */
const SMTP_CONCURRENCY = 3
/** Recipients that the server is slow to answer for must not delay the e-mails of others. */
const SMTP_LIMITS = { perSeller: 2, slow: 1 }
/** Without a mail server, only the database limits how many e-mails are handled. */
const LOCAL_CONCURRENCY = 100

/** Sends to the mail server. Without one, e-mail stays in the outbox (sandbox) or is logged (elsewhere). */
export function openMailer({ config, log }: Context, options?: MailerOptions): Mailer {
  const { smtpUrl, mailFrom, sandbox } = config
  if (smtpUrl !== undefined) return lazySmtpMailer(smtpUrl, mailFrom, options)
  if (sandbox) {
    return { concurrency: LOCAL_CONCURRENCY, deliver: async () => 'captured', async close() {} }
  }
  return {
    concurrency: LOCAL_CONCURRENCY,
    async deliver({ id, to, subject }) {
      log.info(
        { mail: id, to, subject },
        'SMTP_URL is not set: an e-mail was logged instead of sent',
      )
      return 'logged'
    },
    async close() {},
  }
}

/** Loads nodemailer with the first e-mail, to keep starts fast. */
function lazySmtpMailer(...parameters: Parameters<typeof import('./smtp.ts').smtpMailer>): Mailer {
  let opening: ReturnType<typeof open> | undefined
  const open = async () => (await import('./smtp.ts')).smtpMailer(...parameters)
  return {
    concurrency: SMTP_CONCURRENCY,
    limits: SMTP_LIMITS,
    async deliver(mail, signal) {
      opening ??= open()
      return (await opening).deliver(mail, signal)
    },
    close: async () => (await opening)?.close(),
  }
}

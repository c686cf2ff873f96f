import type { Context } from '../context.ts'
import type { Mailer, MailerOptions } from './mail.ts'

/** Sends to the mail server. Without one, e-mail stays in the outbox (sandbox) or is logged (elsewhere). */
export function openMailer({ config, log }: Context, options?: MailerOptions): Mailer {
  const { smtpUrl, mailFrom, sandbox } = config
  if (smtpUrl !== undefined) return lazySmtpMailer(smtpUrl, mailFrom, options)
  if (sandbox) return { deliver: async () => 'captured', async close() {} }
  return {
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
  let opening: Promise<Mailer> | undefined
  const open = async () => (await import('./smtp.ts')).smtpMailer(...parameters)
  return {
    async deliver(mail, signal) {
      opening ??= open()
      return (await opening).deliver(mail, signal)
    },
    close: async () => (await opening)?.close(),
  }
}

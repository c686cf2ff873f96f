import type { Context } from '../context.ts'
import type { Mailer, MailerOptions } from './mail.ts'

/** To the mail server; without one, in the sandbox nowhere beyond the outbox, elsewhere to the log. */
export function openMailer({ config, log }: Context, options?: MailerOptions): Mailer {
  const { smtpUrl, mailFrom, sandbox } = config
  if (smtpUrl !== undefined) return smtpWhenNeeded(smtpUrl, mailFrom, options)
  if (sandbox) return { deliver: async () => 'captured', async close() {} }
  return {
    async deliver({ id, to, subject }) {
      log.info({ mail: id, to, subject }, 'an e-mail goes nowhere: there is no SMTP_URL')
      return 'logged'
    },
    async close() {},
  }
}

/** Loads the client with the first mail: most starts have none to send. */
function smtpWhenNeeded(...parameters: Parameters<typeof import('./smtp.ts').smtpMailer>): Mailer {
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

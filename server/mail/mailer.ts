import type { Context } from '../context.ts'
import type { ClaimedMail } from './outbox.ts'

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

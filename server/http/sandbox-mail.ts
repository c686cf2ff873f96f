import type { Config } from '../config.ts'

/** The operator's operation that shows the e-mail of a sandbox, links to passwords included. */
export const SANDBOX_MAIL = '/operator/v1/sandbox/mail'

/** Whether e-mail is only captured, so that it reaches no mailbox. */
export const isMailCaptured = ({ sandbox, smtpUrl }: Pick<Config, 'sandbox' | 'smtpUrl'>) =>
  sandbox && smtpUrl === undefined

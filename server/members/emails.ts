import type { NewMail } from '../mail/mail.ts'

/** The e-mails to members about their sign-in. Plain text. Links begin with PUBLIC_URL, never with a request's host. */

/** @param signIn where the member signs in once the link is used */
export const invitationEmail = (
  to: string,
  shopName: string,
  link: string,
  signIn: string,
): NewMail => ({
  to,
  subject: `Your invitation to ${shopName}`,
  text: paragraphs(
    `You have been invited to manage the shop ${shopName}. Choose a password here:`,
    link,
    'The link works once, within 7 days. Afterwards you sign in here:',
    signIn,
  ),
  secret: link,
})

export const resetEmail = (to: string, link: string): NewMail => ({
  to,
  subject: 'Choose a new password',
  text: paragraphs(
    'Someone requested a new password for this address. Choose it here:',
    link,
    'The link works once, within an hour of the request; after that, request another. If it wasn’t you, you can ignore this e-mail: your password stays the same.',
  ),
  secret: link,
})

/** @param link where the member can choose another password */
export const passwordChangedEmail = (to: string, link: string): NewMail => ({
  to,
  subject: 'Your password was changed',
  text: paragraphs(
    'Your password was changed, and every other browser was signed out. The shop’s API keys and webhook endpoints still work: revoke or delete in the dashboard those that you don’t know.',
    'If it wasn’t you, choose another one here:',
    link,
  ),
})

export const confirmEmail = (to: string, link: string): NewMail => ({
  to,
  subject: 'Confirm your e-mail address',
  text: paragraphs(
    'Confirm that you want to sign in with this address:',
    link,
    'The link works once, within an hour of the request; after that, change the address again. If it wasn’t you, you can ignore this e-mail.',
  ),
  secret: link,
})

export const emailChangedEmail = (to: string, newEmail: string): NewMail => ({
  to,
  subject: 'Your e-mail address was changed',
  text: paragraphs(
    `You now sign in with ${newEmail} instead of this address.`,
    'If it wasn’t you, contact the marketplace at once.',
  ),
})

const paragraphs = (...texts: string[]) => ['Hello,', ...texts].join('\n\n')

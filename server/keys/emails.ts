import type { NewMail } from '../mail/mail.ts'
import { textFor } from '../mail/text.ts'

/** The e-mails to sellers about their keys. Plain text, without secrets. */

export type Seller = {
  shopName: string
  email: string
  /** The page of the dashboard that lists the keys. */
  keysUrl: string
}

type Shown = { name: string | null; prefix: string; scopes: string[]; graceEndsAt: Date | null }

export const createdEmail = (seller: Seller, key: Shown): NewMail =>
  email(seller, 'A new API key', [
    `The API key ${nameOf(key)} was created. Its scopes: ${key.scopes.join(', ')}.`,
    'If this wasn’t you, revoke the key at once:',
  ])

export const rotatedEmail = (seller: Seller, key: Shown): NewMail =>
  email(seller, 'An API key was rotated', [
    `The API key ${nameOf(key)} has a new secret.${graceOf(key)}`,
    'If this wasn’t you, revoke the key at once:',
  ])

export const revokedEmail = (seller: Seller, key: Shown): NewMail =>
  email(seller, 'An API key was revoked', [
    `The API key ${nameOf(key)} was revoked. The service refuses it from now on.`,
    'If this wasn’t you, check who has access to your shop:',
  ])

const email = (
  { shopName, email: to, keysUrl }: Seller,
  subject: string,
  paragraphs: string[],
): NewMail => ({
  to,
  subject,
  text: textFor(shopName, [...paragraphs, keysUrl]),
})

const nameOf = ({ name, prefix }: Shown) => (name === null ? `${prefix}…` : `${name} (${prefix}…)`)

const graceOf = ({ graceEndsAt }: Shown) =>
  graceEndsAt === null
    ? ''
    : ` The former one works until ${graceEndsAt.toISOString().slice(0, 16).replace('T', ' ')} UTC.`

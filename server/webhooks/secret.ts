import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Config } from '../config.ts'
import { deriveKey } from '../crypto/derived-key.ts'
import { randomText } from '../crypto/random-text.ts'

/**
 * Signing secrets of endpoints. Signing needs the plain secret, so they are encrypted at rest instead of hashed:
 * AES-256-GCM with a key derived from SECRET_KEY, bound to the account.
 */

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** §4.16 */
export const generateSecret = () => `svc_whsec_${randomText(40)}`

/** Encrypts a secret; returns nonce, ciphertext and tag, concatenated. */
export function seal(config: Pick<Config, 'secretKey'>, accountId: number, secret: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, deriveKey('webhook secrets', config), nonce)
  cipher.setAAD(ownerOf(accountId))
  return Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/**
 * Decrypts a secret.
 *
 * @throws Error if it was sealed with another SECRET_KEY or for another account, or was modified
 */
export function unseal(
  config: Pick<Config, 'secretKey'>,
  accountId: number,
  sealed: Uint8Array,
): string {
  const [nonce, text, tag] = [
    sealed.subarray(0, NONCE_BYTES),
    sealed.subarray(NONCE_BYTES, -TAG_BYTES),
    sealed.subarray(-TAG_BYTES),
  ]
  const decipher = createDecipheriv(CIPHER, deriveKey('webhook secrets', config), nonce)
  decipher.setAAD(ownerOf(accountId)).setAuthTag(tag)
  return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8')
}

const ownerOf = (accountId: number) => Buffer.from(`account ${accountId}`)

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Config } from '../config.ts'
import { deriveKey, type SealedPurpose } from './derived-key.ts'

/**
 * Text that is encrypted at rest because its plain form is needed again: AES-256-GCM with a key derived from SECRET_KEY,
 * bound to the account.
 */

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

type Sealer = Pick<Config, 'secretKey'>

/** Encrypts a text; returns nonce, ciphertext and tag, concatenated. */
export function sealText(
  config: Sealer,
  purpose: SealedPurpose,
  accountId: number,
  text: string,
): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, deriveKey(purpose, config), nonce)
  cipher.setAAD(ownerOf(accountId))
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/**
 * Decrypts a text.
 *
 * @throws Error if it was sealed with another SECRET_KEY or for another account, or was modified
 */
export function unsealText(
  config: Sealer,
  purpose: SealedPurpose,
  accountId: number,
  sealed: Uint8Array,
): string {
  const [nonce, text, tag] = [
    sealed.subarray(0, NONCE_BYTES),
    sealed.subarray(NONCE_BYTES, -TAG_BYTES),
    sealed.subarray(-TAG_BYTES),
  ]
  const decipher = createDecipheriv(CIPHER, deriveKey(purpose, config), nonce)
  decipher.setAAD(ownerOf(accountId)).setAuthTag(tag)
  return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8')
}

const ownerOf = (accountId: number) => Buffer.from(`account ${accountId}`)

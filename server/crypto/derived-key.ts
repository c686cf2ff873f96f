import { createHmac } from 'node:crypto'
import type { Config } from '../config.ts'

/**
 * The key for one purpose, 32 bytes made of SECRET_KEY: what is known of one says nothing of the others.
 *
 * @throws Error without a secret key, which the settings don't allow outside of tests
 */
export function deriveKey(
  purpose: 'label links' | 'webhook secrets',
  { secretKey }: Pick<Config, 'secretKey'>,
): Buffer {
  if (secretKey === undefined) throw new Error('There is no secret key.')
  const name = `${purpose} ${secretKey}`
  let key = made.get(name)
  if (!key) {
    key = createHmac('sha256', secretKey).update(purpose).digest()
    made.set(name, key)
  }
  return key
}

/** Every delivery needs one. */
const made = new Map<string, Buffer>()

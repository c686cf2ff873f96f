import { createHmac } from 'node:crypto'
import type { Config } from '../config.ts'

/** Secrets that are stored encrypted (sealed.ts). */
export type SealedPurpose = 'webhook secrets' | 'bank accounts' | 'stored responses'

/**
 * Derives the 32-byte key for one purpose from SECRET_KEY. A leaked key reveals nothing about the others.
 *
 * @throws Error without a secret key, which the settings only allow in tests
 */
export function deriveKey(
  purpose:
    | 'label links'
    | 'device codes'
    | 'oauth codes'
    | 'oauth signatures'
    | 'key check'
    | 'photo names'
    | SealedPurpose,
  { secretKey }: Pick<Config, 'secretKey'>,
): Buffer {
  if (secretKey === undefined) throw new Error('There is no secret key.')
  const name = `${purpose} ${secretKey}`
  return cache.getOrInsertComputed(name, () =>
    createHmac('sha256', secretKey).update(purpose).digest(),
  )
}

/** Cached because every delivery needs a key. */
const cache = new Map<string, Buffer>()

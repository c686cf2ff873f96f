import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { serviceUnavailable, validationError } from '../errors.ts'
import { limitConcurrency } from '../queue/limit-concurrency.ts'

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)
const COST = { N: 2 ** 15, r: 8, p: 1 }
const MAX_MEMORY = 64 * 1024 * 1024
const SALT_BYTES = 16
const BYTES = 32

/** Lengths of a password that a member chooses, in characters. */
export const PASSWORD_LENGTH = { min: 12, max: 200 } as const

/** Each derivation takes 32 MB and a tenth of a second of one of Node's four threads, which files and DNS need as well. */
const inTurn = limitConcurrency(2)
/** Maximum number of waiting derivations; the last one waits for about two seconds. */
const MAX_WAITING = 40
let waiting = 0

/** The stored form of a password: scrypt with its parameters and a random salt. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const derived = await deriveInTurn(password, salt, COST)
  return stored(COST, salt, derived)
}

/**
 * Whether the password is the stored one. Without a stored one this takes the same time and is false, so that the time
 * of a sign-in doesn't reveal who has a password.
 */
export async function isPassword(password: string, hash: string | null): Promise<boolean> {
  const [, N, r, p, salt, expected] = (hash ?? NO_PASSWORD).split('$')
  const cost = { N: Number(N), r: Number(r), p: Number(p) }
  const derived = await deriveInTurn(password, Buffer.from(salt!, 'base64'), cost)
  return timingSafeEqual(derived, Buffer.from(expected!, 'base64')) && hash !== null
}

/** Checks the length of a new password. @throws validation_error on `field` */
export function requireGoodPassword(password: string, field = 'password'): void {
  const { length } = [...password.normalize('NFC')]
  const { min, max } = PASSWORD_LENGTH
  if (length >= min && length <= max) return
  throw validationError({ [field]: [`The password must have ${min} to ${max} characters.`] })
}

async function deriveInTurn(
  password: string,
  salt: Buffer,
  { N, r, p }: typeof COST,
): Promise<Buffer> {
  if (waiting === MAX_WAITING)
    throw serviceUnavailable('Too many people are signing in. Try again in a few seconds.')
  waiting++
  try {
    const options = { N, r, p, maxmem: MAX_MEMORY }
    return await inTurn(() => derive(password.normalize('NFC'), salt, BYTES, options))
  } finally {
    waiting--
  }
}

const stored = ({ N, r, p }: typeof COST, salt: Buffer, derived: Buffer) =>
  ['scrypt', N, r, p, salt.toString('base64'), derived.toString('base64')].join('$')

const NO_PASSWORD = stored(COST, Buffer.alloc(SALT_BYTES), Buffer.alloc(BYTES))

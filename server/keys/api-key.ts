import { hash } from 'node:crypto'
import { randomText } from '../crypto/random-text.ts'

/** What a key looks like from outside (§5.2): `svc_live_` and 40 random characters. */
const LEAD = 'svc_live_'
const RANDOM_CHARACTERS = 40
const SHOWN_CHARACTERS = 4
const FORMAT = new RegExp(`^${LEAD}[A-Za-z0-9]{${RANDOM_CHARACTERS}}$`)

/** How long the secret before a rotation stays good (§5.3). */
export const ROTATION_GRACE_MS = 24 * 60 * 60 * 1000

/** A new secret. It's long and random, so one fast hash of it is enough at rest. */
export const generateKey = () => LEAD + randomText(RANDOM_CHARACTERS)

/** Whether the text can be a key at all; what can't is refused without asking the database. */
export const looksLikeKey = (text: string) => FORMAT.test(text)

/** The leading characters by which people recognise a key: not secret. */
export const prefixOf = (key: string) => key.slice(0, LEAD.length + SHOWN_CHARACTERS)

/** What is stored of a key: its SHA-256, 64 hexadecimal digits. */
export const hashKey = (key: string) => hash('sha256', key, 'hex')

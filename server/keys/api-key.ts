import { hash } from 'node:crypto'
import { randomText } from '../crypto/random-text.ts'
import { HOURS } from '../time/units.ts'

/** Format of a key (§5.2): `svc_live_` and 40 random characters. */
const LEAD = 'svc_live_'
const RANDOM_CHARACTERS = 40
const SHOWN_CHARACTERS = 4
const FORMAT = new RegExp(`^${LEAD}[A-Za-z0-9]{${RANDOM_CHARACTERS}}$`)

/** Time in which the previous secret remains valid after a rotation (§5.3). */
export const ROTATION_GRACE_MS = 24 * HOURS

/** Generates a secret. It is long and random, so a single fast hash is enough for storing it. */
export const generateKey = () => LEAD + randomText(RANDOM_CHARACTERS)

/** Whether the text has the format of a key. Any other text is refused without a query. */
export const looksLikeKey = (text: string) => FORMAT.test(text)

/** The leading characters, which identify a key to people and are not secret. */
export const prefixOf = (key: string) => key.slice(0, LEAD.length + SHOWN_CHARACTERS)

/** The stored form of a key: its SHA-256 as 64 hexadecimal digits. */
export const hashKey = (key: string) => hash('sha256', key, 'hex')

import { hash } from 'node:crypto'
import { randomText } from '../crypto/random-text.ts'

/** Format of a staff token: `svc_staff_` and 40 random characters. */
const LEAD = 'svc_staff_'
const RANDOM_CHARACTERS = 40
const FORMAT = new RegExp(`^${LEAD}[A-Za-z0-9]{${RANDOM_CHARACTERS}}$`)

/** Generates a token. It is long and random, so a single fast hash is enough for storing it. */
export const generateStaffToken = () => LEAD + randomText(RANDOM_CHARACTERS)

/** Whether the text has the format of a staff token. Others are refused without a query. */
export const looksLikeStaffToken = (text: string) => FORMAT.test(text)

/** The stored form of a token: its SHA-256. */
export const hashStaffToken = (token: string) => hash('sha256', token, 'buffer')

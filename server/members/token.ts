import { hash, randomBytes } from 'node:crypto'

/** 256 random bits, so a single fast hash is enough for storing them. */
const BYTES = 32
const FORMAT = /^[A-Za-z0-9_-]{43}$/

/** Generates the secret of a session's cookie or of a link. */
export const generateToken = () => randomBytes(BYTES).toString('base64url')

/** Whether the text has the format of a token. Any other text is refused without a query. */
export const looksLikeToken = (text: string) => FORMAT.test(text)

/** The stored form of a token: its SHA-256. */
export const hashToken = (token: string) => hash('sha256', token, 'buffer')

import { createHmac } from 'node:crypto'

/**
 * The signature of a delivery (§6.5): HMAC-SHA256 over the timestamp, a dot and the body's bytes, in hex.
 *
 * @param timestamp Unix seconds, the same as in the header
 */
export const signatureOf = (secret: string, timestamp: number, body: string | Uint8Array): string =>
  createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')

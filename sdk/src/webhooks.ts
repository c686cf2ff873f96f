import { CardstallError } from './errors.ts'
import type {
  ListingSoldEvent,
  OrderCancelledEvent,
  OrderCreatedEvent,
  OrderLabelReadyEvent,
} from './types.ts'

/** The body of a delivery; `event` tells which one it is. */
export type WebhookEvent =
  | OrderCreatedEvent
  | OrderCancelledEvent
  | OrderLabelReadyEvent
  | ListingSoldEvent

/** A delivery that is not genuine, or whose timestamp is too old or ahead of the clock. */
export class SignatureError extends CardstallError {
  override name = 'SignatureError'
}

export type RawBody = string | Uint8Array | ArrayBuffer

type SentHeaders = Headers | Record<string, string | string[] | undefined>

const TIMESTAMP = 'x-service-timestamp'
const SIGNATURE = 'x-service-signature'
const TOLERANCE_SECONDS = 300

/**
 * Checks that a delivery is genuine and fresh, and returns its event.
 *
 * @param rawBody the bytes exactly as received, before any parsing
 * @param secret of the endpoint (`svc_whsec_…`); several while a secret is rotated
 * @param options `now` returns Unix milliseconds: the sandbox's time, if its clock was moved
 * @throws SignatureError if the delivery is not genuine, or too old or ahead of the clock
 * @throws TypeError for a mistake of the receiver: a parsed body, no headers, or a time that is not a number
 * @throws SyntaxError for a genuine body that is not JSON
 */
export async function verify(
  rawBody: RawBody,
  headers: SentHeaders,
  secret: string | string[],
  {
    toleranceSeconds = TOLERANCE_SECONDS,
    now = Date.now,
  }: { toleranceSeconds?: number | undefined; now?: (() => number) | undefined } = {},
): Promise<WebhookEvent> {
  const body = bytesOf(rawBody)
  const timestamp = header(headers, TIMESTAMP)
  // The former secret signs the second for a day after a rotation.
  const signatures = [SIGNATURE, `${SIGNATURE}-previous`].flatMap(
    (name) => header(headers, name)?.split(/[\s,]+/) ?? [],
  )
  if (timestamp === undefined || !/^\d{1,12}$/.test(timestamp)) {
    throw new SignatureError(`The header ${TIMESTAMP} is missing or malformed.`)
  }
  const hashes = signatures.filter((signature) => /^[0-9a-f]{64}$/.test(signature))
  if (hashes.length === 0) {
    throw new SignatureError(`The header ${SIGNATURE} is missing or malformed.`)
  }
  const age = now() / 1000 - Number(timestamp)
  // A comparison with NaN, such as that of an empty setting, would accept a delivery of any age.
  if (Number.isNaN(age - toleranceSeconds)) {
    throw new TypeError('`toleranceSeconds` and `now()` must be numbers.')
  }
  if (age > toleranceSeconds) {
    throw new SignatureError('The delivery is too old, or the clocks differ.')
  }
  if (-age > toleranceSeconds) {
    throw new SignatureError(
      `The delivery is ${Math.ceil(-age)} s ahead of this clock. In a sandbox, pass \`now\` or a larger \`toleranceSeconds\`.`,
    )
  }
  const signed = await signedBytes(timestamp, body)
  // Everybody knows the empty secret.
  const secrets = [secret].flat().filter(Boolean)
  for (const one of secrets) {
    const key = await keyOf(one, 'verify')
    for (const hash of hashes) {
      const bytes = Uint8Array.from(hash.match(/../g)!, (pair) => Number(`0x${pair}`))
      if (await crypto.subtle.verify('HMAC', key, bytes, signed)) {
        return JSON.parse(new TextDecoder().decode(body))
      }
    }
  }
  throw new SignatureError(
    secrets.length > 0
      ? 'The signature does not match the body.'
      : 'The secret is missing: is its variable set?',
  )
}

/** The headers of a genuine delivery, for tests of a receiver. `timestamp` is in Unix seconds. */
export async function sign(
  rawBody: RawBody,
  secret: string,
  timestamp = Math.floor(Date.now() / 1000),
): Promise<Record<string, string>> {
  const key = await keyOf(secret, 'sign')
  const mac = await crypto.subtle.sign(
    'HMAC',
    key,
    await signedBytes(String(timestamp), bytesOf(rawBody)),
  )
  const hash = Array.from(new Uint8Array(mac), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )
  return { [TIMESTAMP]: String(timestamp), [SIGNATURE]: hash }
}

const keyOf = (secret: string, usage: 'sign' | 'verify') =>
  crypto.subtle.importKey(
    'raw',
    new TextEncoder().encode(secret),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    [usage],
  )

const signedBytes = (timestamp: string, body: Uint8Array) =>
  new Blob([`${timestamp}.`, body as Uint8Array<ArrayBuffer>]).arrayBuffer()

function bytesOf(rawBody: RawBody): Uint8Array {
  if (typeof rawBody === 'string') return new TextEncoder().encode(rawBody)
  if (rawBody instanceof Uint8Array) return rawBody
  if (rawBody instanceof ArrayBuffer) return new Uint8Array(rawBody)
  throw new TypeError(
    'Pass the raw body, not a parsed one. Fastify: a content type parser with parseAs "buffer"; Express: express.raw({ type: "*/*" }); Next and Workers: await request.arrayBuffer(); Hono: await c.req.arrayBuffer().',
  )
}

function header(headers: SentHeaders, name: string): string | undefined {
  if (!headers) throw new TypeError('Pass the headers of the request.')
  // Not `instanceof Headers`: libraries have classes of their own.
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() === name) return Array.isArray(value) ? value[0] : value
  }
  return undefined
}

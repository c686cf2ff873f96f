import { createHmac, timingSafeEqual } from 'node:crypto'

const TOLERANCE_SECONDS = 300

/**
 * Whether a delivery is genuine and fresh. Never throws, for any input.
 *
 * @param secret the whole secret from the response to the registration: svc_whsec_…
 * @param timestamp the header X-Service-Timestamp
 * @param signature the header X-Service-Signature
 * @param body the bytes exactly as received
 */
export function verify(
  secret: string,
  timestamp: unknown,
  signature: unknown,
  body: Uint8Array,
): boolean {
  // Everybody knows the empty secret.
  if (!secret) return false
  if (typeof timestamp !== 'string' || !/^[0-9]{1,12}$/.test(timestamp)) return false
  if (typeof signature !== 'string' || !/^[0-9a-f]{64}$/.test(signature)) return false
  if (Date.now() / 1000 - Number(timestamp) > TOLERANCE_SECONDS) return false

  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest()
  return timingSafeEqual(expected, Buffer.from(signature, 'hex'))
}

// A whole receiver around it: WEBHOOK_SECRET=svc_whsec_… node verify-webhook.ts (Node 22.18 or later)

import { createServer, type IncomingMessage } from 'node:http'

const PORT = Number(process.env.PORT ?? 3001)
const SECRET = process.env.WEBHOOK_SECRET ?? ''
const MAX_BYTES = 256 * 1024

if (!SECRET) throw new Error('Set WEBHOOK_SECRET to the secret of the endpoint.')

createServer(async (request, response) => {
  try {
    response.writeHead(await receive(request)).end()
  } catch (error) {
    // Not 2xx, so the service retries. A sender that has hung up doesn't read this.
    console.error(error)
    response.writeHead(500).end()
  }
}).listen(PORT, '127.0.0.1', () => console.log(`Receiving at http://localhost:${PORT}/`))

/** The status of the response. */
async function receive(request: IncomingMessage): Promise<number> {
  const body = await readBody(request)
  if (request.method !== 'POST') return 405
  if (!body) return 413

  const { headers } = request
  // For a day after a rotation, the former secret signs the second header.
  const isGenuine = [headers['x-service-signature'], headers['x-service-signature-previous']].some(
    (signature) => verify(SECRET, headers['x-service-timestamp'], signature, body),
  )
  if (!isGenuine) return 401

  const { event, delivery_id } = JSON.parse(body.toString())
  // Here: save the delivery by its delivery_id unless it exists already. Do slow work after the response.
  console.log(event, delivery_id)
  return 204
}

/** The bytes as received, or undefined if there are too many. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length <= MAX_BYTES) chunks.push(chunk)
  }
  return length <= MAX_BYTES ? Buffer.concat(chunks) : undefined
}

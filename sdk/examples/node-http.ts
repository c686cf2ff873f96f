// node:http, and Express: there, mount `express.raw({ type: '*/*' })` and pass `request.body` to `verify`.
import { createServer, type IncomingMessage } from 'node:http'
import { SignatureError, verify } from '@cardstall/sdk/webhooks'

const MAX_BYTES = 256 * 1024

// Start it with `server.listen(3000)`.
export const server = createServer(async (request, response) => {
  try {
    const event = await verify(await bodyOf(request), request.headers, process.env.WEBHOOK_SECRET!)
    // Here: save the event by its delivery_id unless it exists already. Do slow work after the response.
    console.log(event.event, event.delivery_id)
    response.writeHead(204).end()
  } catch (error) {
    // Not 2xx, so the service retries. Only this line says why, such as a missing secret.
    console.error(error)
    response.writeHead(error instanceof SignatureError ? 401 : 500).end()
  }
})

/** The bytes as received. Those beyond the limit are dropped, so that the signature does not match. */
async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length <= MAX_BYTES) chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

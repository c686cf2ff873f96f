// node:http, and Express: there, mount `express.raw({ type: '*/*' })` and pass `request.body` to `verify`.
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { SignatureError, verify } from '@cardstall/sdk/webhooks'

export const server = createServer(async (request, response) => {
  try {
    const event = await verify(await buffer(request), request.headers, process.env.WEBHOOK_SECRET!)
    // Here: save the event by its delivery_id unless it exists already. Do slow work after the response.
    console.log(event.event, event.delivery_id)
    response.writeHead(204).end()
  } catch (error) {
    // Not 2xx, so the service retries. Only this line says why, such as a missing secret.
    console.error(error)
    response.writeHead(error instanceof SignatureError ? 401 : 500).end()
  }
})

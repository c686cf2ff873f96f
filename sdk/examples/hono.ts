// Hono: app.post('/hook', receive)
import { SignatureError, verify } from '@cardstall/sdk/webhooks'

/** The part of Hono's `Context` that the handler uses. */
type Context = {
  req: { arrayBuffer(): Promise<ArrayBuffer>; header(): Record<string, string> }
  body(data: null, status: number): Response
}

export async function receive(c: Context): Promise<Response> {
  try {
    const body = await c.req.arrayBuffer()
    const event = await verify(body, c.req.header(), process.env.WEBHOOK_SECRET!)
    // Here: save the event by its delivery_id unless it exists already. Do slow work after the response.
    console.log(event.event, event.delivery_id)
    return c.body(null, 204)
  } catch (error) {
    // Not 2xx, so the service retries. Only this line says why, such as a missing secret.
    console.error(error)
    return c.body(null, error instanceof SignatureError ? 401 : 500)
  }
}

// Cloudflare Workers: the secret is a binding of the worker.
import { SignatureError, verify } from '@cardstall/sdk/webhooks'

export default {
  async fetch(request: Request, { WEBHOOK_SECRET }: { WEBHOOK_SECRET: string }): Promise<Response> {
    try {
      const event = await verify(await request.arrayBuffer(), request.headers, WEBHOOK_SECRET)
      // Here: save the event by its delivery_id unless it exists already. Do slow work after the response.
      console.log(event.event, event.delivery_id)
      return new Response(null, { status: 204 })
    } catch (error) {
      // Not 2xx, so the service retries. Only this line says why, such as a missing secret.
      console.error(error)
      return new Response(null, { status: error instanceof SignatureError ? 401 : 500 })
    }
  },
}

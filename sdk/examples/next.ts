// Next.js: a route handler, app/hook/route.ts.
import { SignatureError, verify } from '@cardstall/sdk/webhooks'

export async function POST(request: Request): Promise<Response> {
  try {
    const body = await request.arrayBuffer()
    const event = await verify(body, request.headers, process.env.WEBHOOK_SECRET!)
    // Here: save the event by its delivery_id unless it exists already. Do slow work after the response.
    console.log(event.event, event.delivery_id)
    return new Response(null, { status: 204 })
  } catch (error) {
    // Not 2xx, so the service retries. Only this line says why, such as a missing secret.
    console.error(error)
    return new Response(null, { status: error instanceof SignatureError ? 401 : 500 })
  }
}

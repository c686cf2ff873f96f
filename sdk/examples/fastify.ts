// Fastify: a content type parser that keeps the bytes, for the routes of this plugin only.
import { SignatureError, verify } from '@cardstall/sdk/webhooks'
import type { FastifyInstance } from 'fastify'

export async function webhooks(app: FastifyInstance) {
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
  app.post('/hook', async (request, reply) => {
    try {
      const event = await verify(
        request.body as Buffer,
        request.headers,
        process.env.WEBHOOK_SECRET!,
      )
      // Here: save the event by its delivery_id unless it exists already. Do slow work after the response.
      console.log(event.event, event.delivery_id)
      return reply.code(204).send()
    } catch (error) {
      // Not 2xx, so the service retries. Only this line says why, such as a missing secret.
      console.error(error)
      return reply.code(error instanceof SignatureError ? 401 : 500).send()
    }
  })
}

import type { FastifyInstance, FastifyReply } from 'fastify'

/** Aborted when the service stops: a response that waits or never ends would delay the shutdown. */
export function closingSignal(app: Pick<FastifyInstance, 'addHook'>): AbortSignal {
  const closing = new AbortController()
  app.addHook('preClose', async () => closing.abort())
  return closing.signal
}

/** Aborted when the client disconnects before it has the response. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  if (reply.raw.destroyed) gone.abort()
  return gone.signal
}

import type { FastifyInstance } from 'fastify'

/** Aborted when the service stops: a response that waits or never ends would delay the shutdown. */
export function closingSignal(app: Pick<FastifyInstance, 'addHook'>): AbortSignal {
  const closing = new AbortController()
  app.addHook('preClose', async () => closing.abort())
  return closing.signal
}

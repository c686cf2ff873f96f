import type { FastifyReply, FastifyRequest } from 'fastify'

/** Headers of every response: browsers must take a body for what its type says. */
export const ALWAYS = { 'x-content-type-options': 'nosniff' }

/** Lets nobody keep the responses of an API: they depend on the key. Catalog responses say otherwise. */
export function forbidCaching(
  _request: FastifyRequest,
  reply: FastifyReply,
  done: () => void,
): void {
  reply.header('cache-control', 'no-store')
  done()
}

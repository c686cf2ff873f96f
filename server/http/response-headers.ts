import type { FastifyReply, FastifyRequest } from 'fastify'

/** Headers of every response: browsers must not guess the type of a body. */
export const ALWAYS = { 'x-content-type-options': 'nosniff' }

/** `Cache-Control` of responses that depend on the key. */
export const NOT_STORED = 'no-store'

/** Forbids caches to store responses, because they depend on the key or the moment. Catalog responses override this. */
export function forbidCaching(
  _request: FastifyRequest,
  reply: FastifyReply,
  done: () => void,
): void {
  reply.header('cache-control', NOT_STORED)
  done()
}

import type { FastifyRequest } from 'fastify'
import type { Repeatable } from '../idempotency.ts'
import { repeatable } from '../idempotency-key.ts'

/** Identifies a request for `once` whose response has a secret: it is encrypted, and repeated to the same member only. */
export const repeatableSecret = (request: FastifyRequest, operation: string): Repeatable => ({
  ...repeatable(request, `member ${request.member.id}`, operation),
  sealedFor: request.member.accountId,
})

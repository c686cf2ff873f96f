import type { FastifyRequest } from 'fastify'
import type { Repeatable } from '../idempotency.ts'
import { repeatable } from '../idempotency-key.ts'

/**
 * Identifies a request for `once` whose response has a secret: it is encrypted, and repeated to the same token only.
 *
 * @param accountId the account that the secret belongs to; 0 for the marketplace's own
 */
export const repeatableSecret = (
  request: FastifyRequest,
  operation: string,
  accountId: number,
): Repeatable => {
  const { staffId } = request.operator
  const caller = staffId === null ? 'operator' : `staff ${staffId}`
  return { ...repeatable(request, caller, operation), sealedFor: accountId }
}

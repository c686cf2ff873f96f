import type { FastifyRequest } from 'fastify'

/**
 * Refuses an invalid request, in a route with `attachValidation`. An unknown record (404) takes precedence over an invalid
 * body (422), and is looked up only if the body is invalid.
 *
 * @param id the id in the path; not a number if the id itself is invalid
 * @param require throws not_found for an unknown record
 */
export async function refuseInvalid(
  { validationError }: FastifyRequest,
  id: unknown,
  require: (id: number) => Promise<unknown>,
): Promise<void> {
  if (!validationError) return
  if (typeof id === 'number') await require(id)
  throw validationError
}

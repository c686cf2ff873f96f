import type { FastifyRequest } from 'fastify'

/**
 * Refuses a request that isn't valid, in a route with `attachValidation`: a record that isn't there (404) comes before
 * what is wrong with the body (422). It's only looked up when that matters.
 *
 * @param id the path's id as the route has it; a number unless that was what is wrong
 * @param require throws not_found when the caller has no such record
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

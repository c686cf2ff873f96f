import type { FastifyRequest } from 'fastify'
import type { ApiError } from '../errors.ts'

/**
 * Options of a route: an unknown record (404) takes precedence over an invalid body (422). The record is looked up only if
 * the body is invalid, because the verb looks it up as well.
 *
 * @param require throws not_found for an unknown record
 */
export const recordFirst = <Params = { id: number }>(
  require: (params: Params, request: FastifyRequest) => Promise<unknown>,
) => ({
  attachValidation: true,
  async preHandler(request: FastifyRequest): Promise<void> {
    const { validationError, params } = request
    if (!validationError) return
    // That of an impossible id is the 404 already.
    const { status } = validationError as unknown as ApiError
    if (status !== 404) await require(params as Params, request)
    throw validationError
  },
})

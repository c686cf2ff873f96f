import type { FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { type ApiError, authorizationError } from '../errors.ts'

/**
 * Refuses a write that another site may have caused: a browser sends `Origin` with every write, and the cookie's
 * SameSite doesn't distinguish hosts of one domain. A request without `Origin` is refused as well.
 */
export function foreignOrigin(
  { method, headers }: FastifyRequest,
  { publicUrl }: Pick<Config, 'publicUrl'>,
): ApiError | undefined {
  if (method === 'GET' || method === 'HEAD') return undefined
  const { origin } = new URL(publicUrl)
  if (headers.origin === origin) return undefined
  return authorizationError(`Only pages of ${origin} may send this request.`)
}

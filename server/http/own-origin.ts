import type { FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { type ApiError, authorizationError } from '../errors.ts'
import { isLoopback } from '../text/loopback.ts'

/**
 * Refuses a write that another site may have caused: a browser sends `Origin` with every write, and the cookie's
 * SameSite doesn't distinguish hosts of one domain. A request without `Origin` is refused as well.
 */
export function foreignOrigin(
  { method, headers }: FastifyRequest,
  { publicUrl, sandbox }: Pick<Config, 'publicUrl' | 'sandbox'>,
): ApiError | undefined {
  if (method === 'GET' || method === 'HEAD') return undefined
  const own = new URL(publicUrl)
  if (headers.origin !== undefined && isSamePlace(headers.origin, own)) return undefined
  const refused = `Only pages of ${own.origin} may send this request.`
  // People try it from another device, in a container or behind a forwarded port.
  const remedy = ' Open the service there, or start it with the address that you use as PUBLIC_URL.'
  return authorizationError(sandbox ? refused + remedy : refused)
}

/**
 * The address of the sign-in for a link on a page. The form works only at PUBLIC_URL, and the public pages may be on another
 * host; otherwise the link is relative, so that it works under any path prefix of a proxy.
 */
export const signInAddress = (
  { publicUrl, marketplaceUrl }: Pick<Config, 'publicUrl' | 'marketplaceUrl'>,
  root: string,
): string =>
  `${new URL(marketplaceUrl).origin === new URL(publicUrl).origin ? root : publicUrl}/signin`

/** Whether an origin is our own. A service on this computer has several: localhost, 127.0.0.1 and [::1]. */
function isSamePlace(origin: string, own: URL): boolean {
  if (origin === own.origin) return true
  const other = URL.parse(origin)
  return (
    other !== null &&
    other.origin === origin &&
    other.protocol === own.protocol &&
    other.port === own.port &&
    isLoopback(own.hostname) &&
    isLoopback(other.hostname)
  )
}

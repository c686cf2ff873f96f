import type { FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import { type ApiError, authorizationError } from '../../errors.ts'
import { isLoopback } from '../../text/loopback.ts'

/**
 * Refuses a request to a host that isn't ours, or from a page that may not send it: MCP requires both checks. A service
 * on this computer accepts only pages of this computer, because a foreign page could reach it by DNS rebinding. A public
 * one accepts every https page: no cookie is read here, so a page can only do what its own token allows.
 */
export function refuseForeign({
  publicUrl,
}: Pick<Config, 'publicUrl'>): (
  request: Pick<FastifyRequest, 'host' | 'headers'>,
) => ApiError | undefined {
  const own = new URL(publicUrl)
  const isLocal = isLoopback(own.hostname)
  const isOurs = (host: string) => {
    const requested = parsed(`${own.protocol}//${host}`)
    return isLocal ? isLoopback(requested?.hostname) : requested?.host === own.host
  }
  return ({ host, headers: { origin } }) => {
    // Nearly every request has exactly this one.
    if (host !== own.host && !isOurs(host)) {
      return authorizationError('The Host of the request is not that of this service.')
    }
    if (origin === undefined || origin === own.origin) return undefined
    const page = parsed(origin)
    const mayAsk = isLocal ? isLoopback(page?.hostname) : page?.protocol === 'https:'
    if (mayAsk) return undefined
    return authorizationError('Pages of this Origin may not send requests here.')
  }
}

const parsed = (address: string) => (URL.canParse(address) ? new URL(address) : undefined)

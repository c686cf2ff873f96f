import type { FastifyRequest } from 'fastify'
import { isKnownClient, unknownClient } from '../../oauth/clients.ts'
import { exchangeDevice } from '../../oauth/devices.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { OFFLINE_ACCESS } from '../../oauth/resources.ts'
import {
  ACCESS_SECONDS,
  exchangeCode,
  type Issued,
  refreshTokens,
  revokeToken,
} from '../../oauth/tokens.ts'
import type { Service } from '../../service.ts'
import { limitRequests, readForm } from './endpoint.ts'
import { type Parameters, requireParameter } from './parameters.ts'

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** RFC 7636 §4.1 */
const VERIFIER = /^[\w.~-]{43,128}$/

/** `/oauth/token` and `/oauth/revoke`. */
export const tokenHandlers = (ctx: Service) => ({
  async token(request: FastifyRequest) {
    await limitRequests(ctx, request, 'token')
    const parameters = parametersOf(request)
    try {
      return tokenJson(await exchange(ctx, parameters))
    } catch (error) {
      throw await explainRefusal(ctx, error, parameters.client_id)
    }
  },

  /** The response is always the same, so that it tells nothing about tokens (RFC 7009). */
  async revoke(request: FastifyRequest) {
    await limitRequests(ctx, request, 'token')
    const sent = new URLSearchParams((request.body ?? '') as string)
    await revokeToken(ctx, sent.get('token') ?? '', sent.get('client_id') || undefined)
    return {}
  },
})

/** A client whose registration was deleted has to register again: after invalid_grant it would only sign in again. */
async function explainRefusal(ctx: Service, error: unknown, clientId = ''): Promise<unknown> {
  if (!(error instanceof OAuthError) || error.code !== 'invalid_grant') return error
  return (await isKnownClient(ctx, clientId)) ? error : unknownClient()
}

function exchange(ctx: Service, parameters: Parameters): Promise<Issued> {
  const grantType = requireParameter(parameters, 'grant_type')
  const clientId = requireParameter(parameters, 'client_id')
  const { resource, redirect_uri: redirectUri } = parameters
  switch (grantType) {
    case 'authorization_code': {
      const code = requireParameter(parameters, 'code')
      const verifier = requireParameter(parameters, 'code_verifier')
      if (!VERIFIER.test(verifier)) {
        throw new OAuthError('invalid_request', 'code_verifier must have 43 to 128 characters.')
      }
      return exchangeCode(ctx, code, { clientId, resource, redirectUri, verifier })
    }
    case 'refresh_token': {
      const refreshToken = requireParameter(parameters, 'refresh_token')
      const scopes = (parameters.scope ?? '').split(' ')
      return refreshTokens(ctx, refreshToken, {
        clientId,
        resource,
        scopes: scopes.filter((scope) => scope && scope !== OFFLINE_ACCESS),
      })
    }
    case DEVICE_GRANT:
      return exchangeDevice(ctx, requireParameter(parameters, 'device_code'), clientId)
    default:
      throw new OAuthError('unsupported_grant_type', 'This grant_type is not supported.')
  }
}

/** @throws OAuthError for a client that authenticates itself: the secret of a public client proves nothing */
function parametersOf(request: FastifyRequest): Parameters {
  const parameters = readForm(request)
  if (request.headers.authorization !== undefined || 'client_secret' in parameters) {
    throw new OAuthError('invalid_client', 'Clients must not authenticate themselves here.')
  }
  return parameters
}

const tokenJson = ({ accessToken, refreshToken, scopes }: Issued) => ({
  access_token: accessToken,
  token_type: 'Bearer',
  expires_in: ACCESS_SECONDS,
  refresh_token: refreshToken,
  scope: scopes.join(' '),
})

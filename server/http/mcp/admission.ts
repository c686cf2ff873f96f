import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, type ErrorType } from '../../errors.ts'
import { looksLikeKey } from '../../keys/api-key.ts'
import type { Scope } from '../../keys/scopes.ts'
import { addressSubject } from '../../limits/address.ts'
import type { RateLimit } from '../../limits/rate-limit.ts'
import { type Access, findAccess } from '../../oauth/access.ts'
import { TOOL_SERVERS } from '../../oauth/resources.ts'
import type { Service } from '../../service.ts'
import { bearerOf, refusalOf, showLimit } from '../authenticate.ts'

/** The path of a tool server. */
export type ServerPath = keyof typeof TOOL_SERVERS

/** Whether anyone may call the server without a token. */
export const isPublic = (path: ServerPath): boolean => path === '/mcp'

/** The caller of a request: the access of its token, or, without a token, the count of its address. */
export type Admission = { access: Access } | { limit: RateLimit }

/**
 * Admits a request by its token (401), or by its address's limit if the endpoint is public.
 *
 * @throws authentication_error with the challenge that starts the client's sign-in; authorization_error if the account
 *   has no API access
 */
export async function admit(
  ctx: Service,
  path: ServerPath,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Admission> {
  const token = bearerOf(request.headers)
  const { mcpPublicRate, publicUrl } = ctx.config
  if (token === undefined) {
    if (!isPublic(path) || mcpPublicRate === 0) {
      throw await refusalOf(ctx, request, reply, challenge(ctx, path, NO_TOKEN))
    }
    const limit = await ctx.limiter.count(`mcp:${addressSubject(request.ip)}`, mcpPublicRate)
    showLimit(reply, limit)
    return { limit }
  }
  const access = await findAccess(ctx, token, addressSubject(request.ip))
  if (access?.audience !== publicUrl + path) {
    const message = looksLikeKey(token) ? NO_KEY : INVALID_TOKEN
    const error = challenge(ctx, path, message, 'invalid_token')
    throw await refusalOf(ctx, request, reply, error)
  }
  request.databaseTime.accountId = access.account.id
  return { access }
}

const NO_TOKEN = 'Sign in: this tool server needs an access token.'
const NO_KEY = 'API keys do not work here: a program signs in and gets an access token.'
const INVALID_TOKEN = 'The access token is unknown, has expired, or is for another address.'

/** 403 for a call of a tool whose scope the token lacks. The client then asks the seller for it. */
export const missingScope = (ctx: Service, path: ServerPath, scope: Scope): ApiError =>
  refusal(
    ctx,
    path,
    'authorization_error',
    `The access token lacks the scope ${scope}.`,
    `error="insufficient_scope", scope="${scope}"`,
  )

const challenge = (ctx: Service, path: ServerPath, message: string, code?: string): ApiError =>
  refusal(
    ctx,
    path,
    'authentication_error',
    message,
    `${code ? `error="${code}", ` : ''}scope="${TOOL_SERVERS[path].scopes.join(' ')}"`,
  )

function refusal(
  { config }: Service,
  path: ServerPath,
  type: ErrorType,
  message: string,
  parameters: string,
): ApiError {
  const metadata = metadataUrl(config.publicUrl, path)
  return new ApiError(type, message, {
    headers: { 'www-authenticate': `Bearer ${parameters}, resource_metadata="${metadata}"` },
  })
}

/** The address of an endpoint's metadata (RFC 9728 §3.1): the well-known path comes before that of the service. */
function metadataUrl(publicUrl: string, path: string): string {
  const { origin, pathname } = new URL(publicUrl + path)
  return `${origin}/.well-known/oauth-protected-resource${pathname}`
}

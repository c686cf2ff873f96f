import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ApiError, rateLimited } from '../../errors.ts'
import { addressSubject } from '../../limits/address.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import type { Service } from '../../service.ts'
import { catalogued } from '../error-handler.ts'
import { forbidCaching } from '../response-headers.ts'
import { readParameters } from './parameters.ts'

/** The largest request is a registration with ten addresses. */
const BODY_LIMIT_BYTES = 32 * 1024

export const endpointOptions = { bodyLimit: BODY_LIMIT_BYTES }

/** Browsers may read these responses from any site: no cookie is read, and all clients are public. */
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, POST',
  'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
  'access-control-max-age': '86400',
}

/**
 * Prepares a scope for requests of programs: reads forms and JSON objects, and sends errors in the format of RFC 6749.
 */
export function serveEndpoints(app: FastifyInstance): void {
  app.addHook('onRequest', forbidCaching)
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(CORS)
    done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (request, body, done) => {
    try {
      done(null, readBody(request.headers['content-type'] ?? '', body as string))
    } catch (error) {
      done(error as Error)
    }
  })
  app.setErrorHandler((error: FastifyError | ApiError | OAuthError, request, reply) => {
    if (error instanceof OAuthError) return sendError(reply, error.status, error.code, error)
    const known = catalogued(error, request)
    // The log needs it, and the client must not take an outage for the end of its grant.
    if (known.status >= 500) throw error
    const status = known.status === 422 ? 400 : known.status
    const code = status === 429 ? 'temporarily_unavailable' : 'invalid_request'
    return sendError(reply.headers(known.headers), status, code, known)
  })
}

/** Answers the question of a browser whether a page may send a request. */
export const allowPreflight = (app: FastifyInstance, path: string) =>
  app.options(path, (_request, reply) => reply.code(204).send())

function readBody(type: string, body: string): unknown {
  if (/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) return readParameters(body)
  if (body === '') return {}
  if (/^application\/json\s*(;|$)/i.test(type)) {
    const parsed = parseJson(body)
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed
  }
  throw new OAuthError('invalid_request', 'The body is neither a form nor a JSON object.')
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

const sendError = (reply: FastifyReply, status: number, error: string, { message }: Error) =>
  reply.code(status).send({ error, error_description: message })

/**
 * Counts a request of a client address.
 *
 * @throws rate_limited
 */
export async function limitRequests(
  ctx: Service,
  { ip }: FastifyRequest,
  kind: 'authorize' | 'device' | 'register' | 'token',
): Promise<void> {
  const { max, seconds } = LIMITS[kind]
  const subject = `oauth-${kind}:${addressSubject(ip)}`
  const limit = await ctx.limiter.count(subject, max, seconds)
  if (!limit.exceeded) return
  ctx.metrics.countRateLimited('authentication')
  throw rateLimited(
    `Too many requests. Try again in ${limit.retryAfter} s.`,
    limit.retryAfter,
    limit.resetAt,
  )
}

/** Requests per client address and window. Each may cause a fetch, a row or a transaction. */
const LIMITS = {
  authorize: { max: 60, seconds: 60 },
  device: { max: 20, seconds: 3600 },
  register: { max: 20, seconds: 3600 },
  token: { max: 300, seconds: 60 },
}

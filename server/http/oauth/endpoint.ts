import type { FastifyReply, FastifyRequest } from 'fastify'
import { outageLog } from '../../database/unavailable.ts'
import { addressSubject } from '../../limits/address.ts'
import { countNetworks } from '../../limits/rate-limit.ts'
import type { Log } from '../../log.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import type { Service } from '../../service.ts'
import { tooMany } from '../authenticate.ts'
import { catalogued } from '../error-handler.ts'
import { type Parameters, readParameters } from './parameters.ts'

/**
 * Returns the error handler of the endpoints for programs. It sends errors in the format of RFC 6749, also 429 and 503:
 * official clients take any other body for the end of their grant, and ask the member again. It throws other faults of
 * this service, which are then logged.
 */
export function oauthErrorHandler(log: Log) {
  const warn = outageLog(log)
  return (error: Error, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (error instanceof OAuthError) {
      // Required with every 401; a client that authenticates itself used this scheme (RFC 6749 §5.2).
      if (error.status === 401) reply.header('www-authenticate', 'Basic realm="cardstall"')
      return sendError(reply, error.status, error.code, error)
    }
    const known = catalogued(error, request)
    const isTemporary = known.status === 503 || known.status === 429
    if (known.status >= 500 && !isTemporary) throw error
    if (known.status === 503 && known.cause) warn({ err: known.cause, reqId: request.id })
    const status = known.status === 422 ? 400 : known.status
    const code = isTemporary ? 'temporarily_unavailable' : 'invalid_request'
    return sendError(reply.headers(known.headers), status, code, known)
  }
}

const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i

/** The fields of a form. @throws OAuthError for any other body */
export function readForm({ headers, body }: FastifyRequest): Parameters {
  if (FORM.test(headers['content-type'] ?? '')) return readParameters((body ?? '') as string)
  throw new OAuthError('invalid_request', 'The body must be a form.')
}

/**
 * The fields of a form or JSON object.
 *
 * @throws OAuthError for any other body
 */
export function readFields({ headers, body }: FastifyRequest): Record<string, unknown> {
  const [type, text] = [headers['content-type'] ?? '', (body ?? '') as string]
  if (FORM.test(type)) return readParameters(text)
  if (text === '') return {}
  if (/^application\/json\s*(;|$)/i.test(type)) {
    const parsed = parseJson(text)
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
      return parsed as Record<string, unknown>
    }
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

/** RFC 6749 §5.2 allows a description these characters only. */
const describable = (message: string) =>
  message.replaceAll('’', "'").replaceAll(/[^ !#-[\]-~]/g, '?')

const sendError = (reply: FastifyReply, status: number, error: string, { message }: Error) =>
  reply.code(status).send({ error, error_description: describable(message) })

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
  const subject = `oauth-${kind}`
  const limit =
    kind === 'register'
      ? await countNetworks(ctx.limiter, subject, ip, { limit: max, seconds })
      : await ctx.limiter.count(`${subject}:${addressSubject(ip)}`, max, seconds)
  if (limit.exceeded) throw tooMany(ctx, 'authentication', limit, 'Too many requests.')
}

/** Limits per client address, because each request may cause a fetch, a row or a transaction. */
const LIMITS = {
  authorize: { max: 60, seconds: 60 },
  device: { max: 20, seconds: 3600 },
  register: { max: 20, seconds: 3600 },
  token: { max: 300, seconds: 60 },
}

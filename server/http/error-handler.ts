import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { isUnavailable, outageLog } from '../database/unavailable.ts'
import {
  ApiError,
  badRequest,
  type ErrorType,
  headersTooLarge,
  notFound,
  payloadTooLarge,
  requestTimeout,
  serverError,
  serviceUnavailable,
  validationError,
} from '../errors.ts'
import type { Log } from '../log.ts'
import { notJson } from './body.ts'
import { CHUNKS_TOO_SMALL } from './connections.ts'
import { isKeyed } from './idempotency-key.ts'
import { JSON_TYPE } from './json.ts'
import { STATUS_CODES } from './node-http.ts'
import { ALWAYS } from './response-headers.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A write that changes nothing the second time. */
    isRepeatable?: boolean
  }
}

/** The body of every error response (§7). */
export type ErrorEnvelope = {
  error: { type: ErrorType; message: string; fields?: Record<string, unknown> }
}

/** The body of an error response. */
export const envelope = (error: ApiError): ErrorEnvelope => ({
  error: {
    type: error.type,
    message: error.message,
    ...(error.fields ? { fields: error.fields } : {}),
  },
})

/**
 * Turns a thrown error into a response. An unavailable database becomes 503, with a throttled warning in the log. An error
 * outside of the catalogue becomes 500 without details; the log has them under the request id.
 */
export function errorHandler(log: Log) {
  const warn = outageLog(log)
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    let error = catalogued(thrown, request)
    if (error.status === 503 && error.cause) {
      warn({ err: error.cause, reqId: request.id })
      error = serviceUnavailable(outageMessage(request))
    }
    if (error.status === 500) log.error({ err: thrown, reqId: request.id }, 'request failed')
    // Caches may keep a 404 or 405 without it. Both replace what a route has set for its success: the file of a photo can
    // fail while it is read.
    reply.header('cache-control', 'no-store').type(JSON_TYPE)
    return reply.code(error.status).headers(error.headers).send(envelope(error))
  }
}

/** A write may have been committed before the database failed. Reads, deletions and some writes can be repeated at once. */
function outageMessage(request: FastifyRequest): string {
  const { method, routeOptions } = request
  if (['GET', 'HEAD', 'DELETE'].includes(method) || routeOptions.config.isRepeatable) return OUTAGE
  if (isKeyed(request)) {
    return 'The database is unavailable. Try again shortly, with the same Idempotency-Key.'
  }
  return 'The database is unavailable. The change may or may not have been made: read the record before you try again.'
}

const OUTAGE = 'The database is unavailable. Try again shortly.'

/** Maps a thrown error to an error of the catalogue. */
export function catalogued(thrown: unknown, request: FastifyRequest): ApiError {
  if (thrown instanceof ApiError) return thrown
  switch ((thrown as FastifyError).code) {
    case 'FST_ERR_BAD_URL':
      return malformedUrl()
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return notFound('There is nothing at this address.')
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return payloadTooLarge(request.routeOptions.bodyLimit ?? 0)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return notJson()
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return validationError({ body: ['The body is not as long as its Content-Length says.'] })
    case 'FST_ERR_REQUEST_ABORTED':
      return incompleteBody()
    default:
      if (isUnavailable(thrown)) return serviceUnavailable(OUTAGE, thrown)
      // A reset of the request's own connection is the client's fault; other connections can be reset as well.
      if (thrown === request.raw.errored) return incompleteBody()
      return serverError(thrown)
  }
}

/** The error for a request whose client has disconnected before the end of its body. */
export const incompleteBody = () =>
  validationError({ body: ['The connection closed before the body was complete.'] })

export const malformedUrl = () => notFound("The address's percent-encoding is malformed.")

/** The error for bytes that Node refused before they were a request: invalid HTTP, large headers, or a timeout. */
export function clientError({ code }: { code?: string }): ApiError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return headersTooLarge()
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return requestTimeout()
    case CHUNKS_TOO_SMALL:
      return badRequest(
        'The body has too many small chunks: send larger ones, or a Content-Length.',
      )
    case 'HPE_INVALID_URL':
      return badRequest(
        'The address has characters that must be percent-encoded, such as letters outside ASCII.',
      )
    default:
      return badRequest('This is not a valid HTTP request.')
  }
}

/** The error for CONNECT, whose address is that of another server. */
export const notProxy = () =>
  badRequest('This service is not a proxy: it does not support CONNECT.')

/**
 * Serialises the last response of a connection, for a request that has no reply object.
 *
 * @param options.isHead omits the body, for a HEAD request
 */
export function rawResponse(
  error: ApiError,
  requestId: string,
  { isHead = false }: { isHead?: boolean } = {},
): string {
  const body = JSON.stringify(envelope(error))
  return [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    ...Object.entries(ALWAYS).map((header) => header.join(': ')),
    'connection: close',
    '',
    isHead ? '' : body,
  ].join('\r\n')
}

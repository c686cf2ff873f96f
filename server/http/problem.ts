import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../context.ts'
import {
  ApiError,
  badRequest,
  type ErrorType,
  notFound,
  payloadTooLarge,
  unsupportedMediaType,
  validationError,
} from '../errors.ts'
import { ALWAYS } from './response-headers.ts'

/** The body of every answer that isn't a success (§7). */
export type ErrorEnvelope = {
  error: { type: ErrorType; message: string; fields?: Record<string, unknown> }
}

export const envelope = (error: ApiError): ErrorEnvelope => ({
  error: {
    type: error.type,
    message: error.message,
    ...(error.fields ? { fields: error.fields } : {}),
  },
})

/**
 * Answers with what was thrown. Anything that isn't in the catalogue is our fault: 500 without detail, and the
 * whole story in the log under the request's id.
 */
export function problemHandler(log: Log) {
  return (thrown: FastifyError | ApiError, request: FastifyRequest, reply: FastifyReply) => {
    const error = catalogued(thrown, request)
    if (error.status === 500) log.error({ err: thrown, reqId: request.id }, 'request failed')
    return reply.code(error.status).headers(error.headers).send(envelope(error))
  }
}

function catalogued(thrown: FastifyError | ApiError, request: FastifyRequest): ApiError {
  if (thrown instanceof ApiError) return thrown
  switch (thrown.code) {
    case 'FST_ERR_BAD_URL':
      return malformedUrl()
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return payloadTooLarge(request.routeOptions.bodyLimit ?? 0)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unsupportedMediaType('The body must be JSON (application/json).')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return validationError({ body: ['The body is not as long as its Content-Length says.'] })
    case 'FST_ERR_REQUEST_ABORTED':
    case 'ECONNRESET':
      return validationError({ body: ['The connection closed before the body was complete.'] })
    default:
      return new ApiError('server_error', 'Something went wrong on our side.', { cause: thrown })
  }
}

export const malformedUrl = () => notFound("The address's percent-encoding is malformed.")

/**
 * Answers what Node itself refused before there was a request: no HTTP, headers too large, too slow. Written by
 * hand on the socket because there's no reply object yet.
 */
export function clientErrorAnswer(error: { code?: string }, requestId: string): string {
  const [status, problem]: [string, ApiError] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', badRequest('The headers are too large.')]
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', badRequest('The request took too long to arrive.')]
        : ['400 Bad Request', badRequest('This is not a valid HTTP request.')]
  const body = JSON.stringify(envelope(problem))
  return [
    `HTTP/1.1 ${status}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    ...Object.entries(ALWAYS).map((header) => header.join(': ')),
    'connection: close',
    '',
    body,
  ].join('\r\n')
}

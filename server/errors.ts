/**
 * The catalogue of errors (§7): every `error.type` that an answer can carry, its HTTP status, and one
 * constructor each. Verbs throw these; `http/error-handler.ts` turns them into the envelope. docs/errors.md is
 * tested against `ERROR_TYPES`.
 */
export const ERROR_TYPES = {
  bad_request: 400,
  authentication_error: 401,
  authorization_error: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  ambiguous_identifier: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  validation_error: 422,
  rate_limited: 429,
  headers_too_large: 431,
  server_error: 500,
  provider_error: 502,
  service_unavailable: 503,
} as const

export type ErrorType = keyof typeof ERROR_TYPES

/** Field name to messages, the shape of `error.fields` on a `validation_error`. */
export type FieldMessages = Record<string, string[]>

/** What a caller is told. Its message is public; an internal reason belongs in `cause`. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly type: ErrorType
  readonly status: number
  readonly fields: Record<string, unknown> | undefined
  readonly headers: Record<string, string>

  constructor(
    type: ErrorType,
    message: string,
    more: {
      fields?: Record<string, unknown>
      headers?: Record<string, string>
      cause?: unknown
    } = {},
  ) {
    super(message, { cause: more.cause })
    this.type = type
    this.status = ERROR_TYPES[type]
    this.fields = more.fields
    this.headers = more.headers ?? {}
  }
}

/** 400: not HTTP as we understand it; there was no request to answer. */
export const badRequest = (message: string) => new ApiError('bad_request', message)

/** 401: no key, or one that's unknown, revoked or expired (§5.5). */
export const authenticationError = (message: string) =>
  new ApiError('authentication_error', message, { headers: { 'www-authenticate': 'Bearer' } })

/** 403: the caller is known and may not do this (§5.4, §5.6, §5.7). */
export const authorizationError = (message: string) => new ApiError('authorization_error', message)

/** 404: no such record, or none that the caller can access. */
export const notFound = (message: string) => new ApiError('not_found', message)

/** 405: the path exists with other methods, named in `Allow`. */
export const methodNotAllowed = (method: string, allow: string[]) =>
  new ApiError(
    'method_not_allowed',
    `${method} is not possible here. Possible: ${allow.join(', ')}.`,
    {
      headers: { allow: allow.join(', ') },
    },
  )

/** 408: the request was not complete in time. */
export const requestTimeout = () =>
  new ApiError('request_timeout', 'The request took too long to arrive.', {
    headers: { connection: 'close' },
  })

/** 409: the state of the record forbids it now. */
export const conflict = (message: string) => new ApiError('conflict', message)

/** 409: a friendly identifier that means several records; the candidates say which (§2.1, §7). */
export const ambiguousIdentifier = (message: string, candidates: object[]) =>
  new ApiError('ambiguous_identifier', message, {
    fields: { candidates: candidates.slice(0, MAX_CANDIDATES) },
  })

/** So that an error stays below 64 KiB. The bundled catalogs have at most ten that share an identifier. */
const MAX_CANDIDATES = 25

/** 413: the body is larger than this operation takes. */
export const payloadTooLarge = (limitBytes: number) =>
  new ApiError('payload_too_large', `The body is larger than ${Math.floor(limitBytes / 1024)} KiB.`)

/** 415: a body that isn't what this operation reads. */
export const unsupportedMediaType = (message: string) =>
  new ApiError('unsupported_media_type', message)

/** 417: the client expects something that the service can't promise (RFC 9110 §10.1.1). */
export const expectationFailed = () =>
  new ApiError('expectation_failed', 'Only "Expect: 100-continue" is supported.', {
    // The client may hold back its body now, so that nothing tells where its next request begins.
    headers: { connection: 'close' },
  })

/** 422: field by field, why the request can't be taken. The message is the first field's first one. */
export function validationError(fields: FieldMessages): ApiError {
  const first = Object.values(fields)[0]?.[0] ?? 'The request is not valid.'
  return new ApiError('validation_error', first, { fields })
}

/** 429: too many requests in this window. `resetAt` is the window's end in Unix seconds (§7). */
export const rateLimited = (message: string, retryAfter: number, resetAt: number) =>
  new ApiError('rate_limited', message, {
    headers: { 'retry-after': String(retryAfter), 'x-ratelimit-reset': String(resetAt) },
  })

/** 431: request line and headers are larger than Node takes, 16 KiB. */
export const headersTooLarge = () =>
  new ApiError('headers_too_large', 'The address and headers are larger than 16 KiB.')

/** 500: a fault of the service. The cause goes to the log, never to the client. */
export const serverError = (cause: unknown) =>
  new ApiError('server_error', 'Something went wrong on our side.', { cause })

/** 502: the carrier failed during a request that was in order (§7). The message is ours, what it said is the cause. */
export const providerError = (message: string, cause?: unknown) =>
  new ApiError('provider_error', message, { cause })

/** The shortest time after which a request that met an unavailable service may succeed. */
const RETRY_AFTER_S = 2

/** 503: not ready yet, overloaded, or without its database. A write that met it may have happened. */
export const serviceUnavailable = (message: string, cause?: unknown) =>
  new ApiError('service_unavailable', message, {
    headers: { 'retry-after': String(RETRY_AFTER_S) },
    cause,
  })

/**
 * The catalogue of errors (§7): every `error.type` with its HTTP status and a constructor. Verbs throw these errors, and
 * `http/error-handler.ts` turns them into responses. A test compares docs/errors.md with `ERROR_TYPES`.
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
  cursor_expired: 410,
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

/** Messages by field name: `error.fields` of a `validation_error`. */
export type FieldMessages = Record<string, string[]>

/** An error that the caller sees. The message is public; put an internal reason into `cause`. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly type: ErrorType
  readonly status: number
  readonly fields: Record<string, unknown> | undefined
  readonly headers: Record<string, string>
  /** Whether a part of the write was done before, or may have been, which the audit log has to show. */
  isPartial = false

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

/** Does the rest of a write after its first transaction. An error of the catalogue is marked as partial. */
export async function afterFirstCommit<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ApiError) error.isPartial = true
    throw error
  }
}

/** 400: the bytes are not a valid HTTP request. */
export const badRequest = (message: string) => new ApiError('bad_request', message)

/** 401: the key is missing, unknown, revoked or expired (§5.5). */
export const authenticationError = (message: string) =>
  new ApiError('authentication_error', message, { headers: { 'www-authenticate': 'Bearer' } })

/** 403: the caller is known but not allowed to do this (§5.4, §5.6, §5.7). */
export const authorizationError = (message: string) => new ApiError('authorization_error', message)

/** 404: the record does not exist, or the caller has no access to it. */
export const notFound = (message: string) => new ApiError('not_found', message)

/** 405: the path has only other methods, named in `Allow`. */
export const methodNotAllowed = (method: string, allow: string[]) =>
  new ApiError(
    'method_not_allowed',
    `${method} is not allowed here. Allowed: ${allow.join(', ')}.`,
    {
      headers: { allow: allow.join(', ') },
    },
  )

/** 408: the request was not complete in time. */
export const requestTimeout = () =>
  new ApiError('request_timeout', 'The request took too long to arrive.', {
    headers: { connection: 'close' },
  })

/** 409: the current state of the record forbids the operation. */
export const conflict = (message: string) => new ApiError('conflict', message)

/** 409: several records, the candidates, share a friendly identifier (§2.1, §7). */
export const ambiguousIdentifier = (message: string, candidates: object[]) =>
  new ApiError('ambiguous_identifier', message, {
    fields: { candidates: candidates.slice(0, MAX_CANDIDATES) },
  })

/** Keeps an error below 64 KiB. In the bundled catalogs at most ten records share an identifier. */
const MAX_CANDIDATES = 25

/** 410: changes after the cursor of a change feed may have been deleted. */
export const cursorExpired = () =>
  new ApiError(
    'cursor_expired',
    'The cursor has expired. Request a new one without `cursor`, list all of your records again, and continue from the new cursor.',
  )

/** 413: the body is larger than this operation allows. */
export const payloadTooLarge = (limitBytes: number) =>
  new ApiError('payload_too_large', `The body is larger than ${Math.floor(limitBytes / 1024)} KiB.`)

/** 415: this operation does not accept the media type of the body. */
export const unsupportedMediaType = (message: string) =>
  new ApiError('unsupported_media_type', message)

/** 417: the service does not support the `Expect` header of the request (RFC 9110 §10.1.1). */
export const expectationFailed = () =>
  new ApiError('expectation_failed', 'Only "Expect: 100-continue" is supported.', {
    // The client may omit its body now, so the start of its next request would be unknown.
    headers: { connection: 'close' },
  })

/** 422: the request is not valid. The error's message is the first message of the first field. */
export function validationError(fields: FieldMessages): ApiError {
  const first = Object.values(fields)[0]?.[0] ?? 'The request is not valid.'
  return new ApiError('validation_error', first, { fields })
}

/**
 * 429: too many requests in this window. `retryAfter` is in seconds, `resetAt` the end of the window in Unix seconds
 * (§7).
 */
export const rateLimited = (
  message: string,
  { retryAfter, resetAt }: { retryAfter: number; resetAt: number },
) =>
  new ApiError('rate_limited', message, {
    headers: { 'retry-after': String(retryAfter), 'x-ratelimit-reset': String(resetAt) },
  })

/** 431: request line and headers are larger than Node's limit of 16 KiB. */
export const headersTooLarge = () =>
  new ApiError('headers_too_large', 'The address and headers are larger than 16 KiB.')

/** 500: the service failed. The cause goes to the log, never to the client. */
export const serverError = (cause: unknown) =>
  new ApiError('server_error', 'Something went wrong on our side.', { cause })

/** 502: the carrier failed during a valid request (§7). The message is ours; the carrier's own belongs in `cause`. */
export const providerError = (message: string, cause?: unknown) =>
  new ApiError('provider_error', message, { cause })

/** Minimum time before a request to an unavailable service is worth repeating. */
const RETRY_AFTER_S = 2

/** 503: the service is starting, overloaded or without its database. A write may have taken effect. */
export const serviceUnavailable = (message: string, cause?: unknown) =>
  new ApiError('service_unavailable', message, {
    headers: { 'retry-after': String(RETRY_AFTER_S) },
    cause,
  })

import type { CardCandidate, SetCandidate } from './types.ts'

/** Details of a failed request. No error contains the API key. */
type Details = {
  type?: string | undefined
  status?: number | undefined
  fields?: Record<string, unknown> | undefined
  requestId?: string | undefined
  retryAfter?: number | undefined
  cause?: unknown
}

/** Base class of every error of this library. */
export class CardstallError extends Error {
  override name = 'CardstallError'
  /** `error.type` of the response, if there is one. */
  declare readonly type: string | undefined
  declare readonly status: number | undefined
  /** Messages by field for a `ValidationError`; `candidates` for an `AmbiguousIdentifierError`. */
  declare readonly fields: Record<string, unknown> | undefined
  /** Quote it when you report a problem. */
  declare readonly requestId: string | undefined
  /** Seconds until another attempt is worthwhile. */
  declare readonly retryAfter: number | undefined

  constructor(message: string, details?: Details) {
    super(message, details)
    Object.assign(this, details)
  }
}

/** 401: the key is missing, unknown, revoked or expired. */
export class AuthenticationError extends CardstallError {
  override name = 'AuthenticationError'
}
/** 403: the key lacks a scope, or the account may not do this. */
export class PermissionError extends CardstallError {
  override name = 'PermissionError'
}
/** 404: the record does not exist, or is another seller's. */
export class NotFoundError extends CardstallError {
  override name = 'NotFoundError'
}
/** 409: the state of the record forbids the request. */
export class ConflictError extends CardstallError {
  override name = 'ConflictError'
}
/** 409: several records share the friendly identifier. */
export class AmbiguousIdentifierError extends ConflictError {
  override name = 'AmbiguousIdentifierError'
  /** The cards or sets that the identifier may mean. */
  get candidates(): (CardCandidate | SetCandidate)[] {
    const candidates = this.fields?.candidates
    return Array.isArray(candidates) ? candidates : []
  }
}
/** 422: `fields` has the messages by field. */
export class ValidationError extends CardstallError {
  override name = 'ValidationError'
}
/** 429: the key's limit is used up for this minute. */
export class RateLimitError extends CardstallError {
  override name = 'RateLimitError'
}
/** 502: the carrier failed. */
export class ProviderError extends CardstallError {
  override name = 'ProviderError'
}
/** Any other 5xx response. */
export class ServerError extends CardstallError {
  override name = 'ServerError'
}
/** No complete response arrived. A write may have taken effect. */
export class ConnectionError extends CardstallError {
  override name = 'ConnectionError'
}
/** The response took longer than `timeoutMs`. */
export class TimeoutError extends ConnectionError {
  override name = 'TimeoutError'
}

const BY_STATUS: Record<number, typeof CardstallError> = {
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  422: ValidationError,
  429: RateLimitError,
  502: ProviderError,
}

/** The error of a response that is not a success. */
export function errorOf(
  status: number,
  body: unknown,
  details: Pick<Details, 'requestId' | 'retryAfter'>,
): CardstallError {
  const { type, message, fields } =
    (
      body as
        | { error?: { type?: string; message?: string; fields?: Record<string, unknown> } }
        | undefined
    )?.error ?? {}
  const ErrorClass =
    type === 'ambiguous_identifier'
      ? AmbiguousIdentifierError
      : (BY_STATUS[status] ?? (status >= 500 ? ServerError : CardstallError))
  // A redirect: 3xx, or 0 in a browser, which hides its status.
  const text =
    status < 400
      ? 'The service redirected the request: check `baseUrl`.'
      : (message ?? `The service responded with status ${status}.`)
  return new ErrorClass(text, { ...details, status, type, fields })
}

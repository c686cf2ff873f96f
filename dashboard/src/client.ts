import { DASHBOARD, SERVICE } from './base.ts'
import { connection } from './connection.ts'
import { session } from './session.ts'
import { unsavedInput } from './shell/ask-before-leaving.ts'

/** The error of a response, with the envelope's content. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly type: string
  /** Messages by field. */
  readonly fields: Record<string, string[]>
  /** Seconds to wait before another attempt, if the service says so (429). */
  readonly retryAfterS: number | undefined

  constructor(
    status: number,
    type: string,
    message: string,
    fields: Record<string, string[]>,
    retryAfterS?: number,
  ) {
    super(message)
    this.retryAfterS = retryAfterS
    this.status = status
    this.type = type
    this.fields = fields
  }
}

/** No response arrived, or one that says that the service is unavailable. A write may have taken effect. */
export class ConnectionError extends Error {
  override name = 'ConnectionError'
}

type Query = Record<string, string | number | boolean | null | undefined>

type Options = {
  /** Empty values are left out. */
  query?: Query
  /** Sent as JSON. */
  body?: unknown
  signal?: AbortSignal
  /** Makes it safe to send the same request again: the service acts once and repeats its response. */
  idempotencyKey?: string
  /** A read that belongs to a save: it keeps the page and its input if the session has ended. */
  isSave?: boolean
  /**
   * The caller repeats the call until the service responds. Reading the page again before would not show what it has
   * changed.
   */
  isRepeated?: boolean
}

type Api = {
  /** The address that paths are relative to, with a trailing slash. */
  address: string
  token?: () => string | undefined
  /** Called for each 401. May throw another error. */
  onUnauthorized: (isSave: boolean) => void
}

let api: Api = { address: `${DASHBOARD}api/`, onUnauthorized: signIn }

/** Makes all calls go to another API than the dashboard's. The console does so once, at its start. */
export function callApi(other: Api): void {
  api = other
}

/** The service has refused a write, so that nothing has changed. After any other error it may have taken effect. */
export const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status < 500

/** The record has another state than the request requires. */
export const isConflict = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status === 409

/** The part of the limit of writes that is left to people while the page sends one write after the other. */
const RESERVED = 0.2
const WINDOW_MS = 60_000

/** The writes that are left until the end of their window (Unix milliseconds). */
let writes = { left: 0, reserved: 0, until: 0 }

function noteLimit(headers: Headers): void {
  const limit = headers.get('x-ratelimit-limit')
  if (limit === null) return
  // The clock of this computer may differ from the service's.
  const leftMs =
    1000 * Number(headers.get('x-ratelimit-reset')) - Date.parse(headers.get('date') ?? '')
  writes = {
    left: Number(headers.get('x-ratelimit-remaining')),
    reserved: Math.max(1, RESERVED * Number(limit)),
    until: Date.now() + Math.min(leftMs, WINDOW_MS),
  }
}

/**
 * Milliseconds to wait before a request that can wait; 0 if it need not.
 *
 * @param cost the number of writes that the request counts as
 */
export function reservedMs(cost: number): number {
  const { left, reserved, until } = writes
  const ms = until - Date.now()
  // Not a number if a proxy has removed a header.
  return left - cost < reserved && ms > 0 ? ms : 0
}

let readAfterUnknown = () => {}

/** Sets the function that reads the page again after a write whose outcome is unknown. */
export function onUnknownOutcome(read: () => void): void {
  readAfterUnknown = read
}

/** Calls the API. Paths are relative to `/dashboard/api`, in the console to `/operator/v1`: `get<Me>('me')`. */
export const get = <T>(path: string, options?: Options) => call<T>('GET', path, options)
export const post = <T = void>(
  path: string,
  body?: unknown,
  options?: Pick<Options, 'signal' | 'idempotencyKey' | 'isRepeated'>,
) => call<T>('POST', path, { body, ...options })
export const put = <T = void>(path: string, body: unknown) => call<T>('PUT', path, { body })
export const patch = <T = void>(
  path: string,
  body: unknown,
  options?: Pick<Options, 'idempotencyKey'>,
) => call<T>('PATCH', path, { body, ...options })
/** Deletes a record. If the response to an earlier attempt was lost, a record that is gone was deleted by it. */
export const remove = <T = void>(path: string, body?: unknown): Promise<T> =>
  call<T>('DELETE', path, { body }).catch((error) => {
    if (!isRefusal(error)) maybeRemoved.add(path)
    else if (error.status === 404 && maybeRemoved.has(path)) return undefined as T
    throw error
  })
const maybeRemoved = new Set<string>()
/** Loads a file that needs the token of the console. A link can load all other files. */
export const getFile = (path: string): Promise<Blob> =>
  request('GET', path).then((response) => response.blob().catch(refuseBroken()))

/** A random name for an Idempotency-Key, also where the page has no secure context. */
export const randomName = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')

/** The address of an API call, for links to files. A link sends no headers, so it names the page's member itself. */
export const apiUrl = (path: string, query: Query = {}): string =>
  addressOf(path, { ...query, member: session.member() })

function addressOf(path: string, query: Query = {}): string {
  const parameters = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null || value === '' ? [] : [[name, String(value)]],
  )
  const search = new URLSearchParams(parameters).toString()
  return `${api.address}${path}${search && `?${search}`}`
}

/**
 * @throws ApiError with the service's message
 * @throws ConnectionError if the service can't be reached or is unavailable to this call
 */
async function call<T>(method: string, path: string, options?: Options): Promise<T> {
  try {
    const response = await request(method, path, options)
    if (response.status === 204) return undefined as T
    return (await response.json().catch(refuseBroken(adviceAfter(method, options)))) as T
  } catch (error) {
    if (method !== 'GET' && !options?.isRepeated && !isRefusal(error)) readAfterUnknown()
    throw error
  }
}

const TRY_AGAIN = 'Try again in a moment.'

/** A write may have been made without its response, so only one that is repeated with its key can be tried again at once. */
const adviceAfter = (method: string, { idempotencyKey }: Options = {}): string =>
  method === 'GET' || method === 'DELETE' || idempotencyKey !== undefined
    ? TRY_AGAIN
    : 'The change may or may not have been made: look before you try again.'

async function request(method: string, path: string, options: Options = {}): Promise<Response> {
  const { query, body, signal, idempotencyKey, isSave = method !== 'GET' } = options
  const advice = adviceAfter(method, options)
  const token = api.token?.()
  const member = session.member()
  const response = await fetch(addressOf(path, query), {
    method,
    credentials: 'same-origin',
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(member !== undefined && { 'x-member': String(member) }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
  }).catch(refuseBroken(advice))
  if (response.status === 502 || response.status === 503 || response.status === 504) {
    // The carrier's failures have an envelope too.
    const error = await errorOf(response)
    if (error.type === 'provider_error') throw error
    // A read that takes too long fails alone: it must not stop all others, nor be repeated as after a lost connection.
    if (!(await connection.check())) throw connectionLost(advice)
    // The service names the Idempotency-Key, which the page sends by itself. A proxy gives no advice.
    if (idempotencyKey !== undefined) throw new ConnectionError(`The service is busy. ${TRY_AGAIN}`)
    throw new ConnectionError(
      error.type === 'unknown' ? `${error.message} ${advice}` : error.message,
    )
  }
  connection.found()
  if (method !== 'GET') noteLimit(response.headers)
  if (response.status === 401) {
    api.onUnauthorized(isSave)
    throw await errorOf(response)
  }
  session.is(response.headers.has('x-member') ? 'of another member' : 'valid')
  if (!response.ok) throw await errorOf(response)
  return response
}

/**
 * Throws ConnectionError. Rethrows an abort by the caller, and the SyntaxError of a complete response that isn't JSON.
 */
function refuseBroken(advice = TRY_AGAIN): (error: Error) => never {
  return (error) => {
    if (error.name === 'AbortError' || error instanceof SyntaxError) throw error
    throw connectionLost(advice)
  }
}

function connectionLost(advice: string): ConnectionError {
  connection.lost()
  return new ConnectionError(`The connection to the service was lost. ${advice}`)
}

async function errorOf(response: Response): Promise<ApiError> {
  const { error } = await response.json().catch(() => ({ error: undefined }))
  const message = error?.message ?? `The service responded with status ${response.status}.`
  const retryAfter = response.headers.get('retry-after')
  return new ApiError(
    response.status,
    error?.type ?? 'unknown',
    message,
    fieldsOf(error?.fields),
    retryAfter === null ? undefined : Number(retryAfter),
  )
}

/** `fields` of other errors than a validation_error have other content. */
const fieldsOf = (fields: unknown): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries((fields as Record<string, unknown>) ?? {}).filter(
      (entry): entry is [string, string[]] =>
        Array.isArray(entry[1]) && entry[1].every((message) => typeof message === 'string'),
    ),
  )

/** The message of a save, or of a step of an import, that was refused because the session has ended. */
export const SESSION_ENDED = 'Your session has ended. Sign in in another tab, then try again.'

/**
 * Leaves for the sign-in page, which returns here. A page with unsaved input stays, also when later requests are refused.
 */
function signIn(isSave: boolean): void {
  if (isSave || unsavedInput().length > 0) {
    session.is('ended')
    throw new ApiError(401, 'authentication_error', SESSION_ENDED, {})
  }
  if (session.state() === 'ended') return
  const { pathname, search } = window.location
  const next = encodeURIComponent(pathname + search)
  window.location.assign(`${SERVICE}signin?next=${next}`)
}

import { CardstallError, ConnectionError, errorOf, TimeoutError } from './errors.ts'
import type { WebhookEndpoint } from './types.ts'

/** One attempt of a request, for logs and metrics. `error` is absent if it succeeded. */
export type RequestEvent = {
  method: string
  path: string
  status?: number
  requestId?: string | undefined
  ms: number
  /** 1 for the first attempt. */
  attempt: number
  error?: unknown
}

export type ClientOptions = {
  /** API key. Default: the environment variable CARDSTALL_KEY. */
  key?: string | undefined
  /** Address of the seller API, which ends in `/v1`. Default: the environment variable CARDSTALL_URL. */
  baseUrl?: string | undefined
  /** Time limit of an attempt, in milliseconds. Default: 30,000. Calls that wait for changes, labels or many resends have longer ones. */
  timeoutMs?: number | undefined
  /** Attempts after the first one. Default: 2. */
  maxRetries?: number | undefined
  fetch?: typeof fetch | undefined
  headers?: Record<string, string> | undefined
  /** Called after each attempt. An error that it throws is an uncaught one of the program. */
  onRequest?: ((event: RequestEvent) => void) | undefined
}

/** Options of a single call. */
export type Options = {
  signal?: AbortSignal | undefined
  timeoutMs?: number | undefined
  maxRetries?: number | undefined
  /** Makes repetitions of a create safe. Default: a random one for each call. */
  idempotencyKey?: string | undefined
}

export type QueryValue = string | number | boolean | Date | readonly string[] | null | undefined

/**
 * When a request may be sent again:
 * - `safe`: after any failure that another attempt may overcome. Repeating it has no further effect.
 * - `unsent`: after 429, or when no byte of it was sent.
 * - `limited`: after 429 only.
 */
export type Retry = 'safe' | 'unsent' | 'limited'

export type Request = Options & {
  /** Values are those of `QueryValue`. */
  query?: object | undefined
  body?: unknown
  retry?: Retry | undefined
  /** The API below the address of the service: the seller API by default. */
  api?: 'v1' | 'tools/v1' | undefined
  /**
   * Media type of the response. `text/event-stream` is received as a stream, which `signal` doesn't end; anything but JSON
   * and text as bytes.
   */
  accept?: string | undefined
}

/** A successful response. */
export type Received<T> = { body: T; headers: Headers }

export type Transport = <T>(method: string, path: string, request?: Request) => Promise<Received<T>>

const RETRIED_STATUS = /^(408|50[0234])$/
/** Bun 1.2 has the last one. */
const UNSENT_CODE = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused)$/
/** A longer timer ends at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1
/** A longer Retry-After is an error of the call. */
const MAX_RETRY_AFTER_S = 60
/**
 * A write whose outcome is unknown is not repeated later, such as after the computer has slept: the service forgets its
 * key after 24 hours, and the record may have changed meanwhile.
 */
const MAX_REPEAT_MS = 30 * 60 * 1000

/** @throws TypeError if the key or the address is missing or malformed; the message does not contain the key */
export function openTransport(options: ClientOptions): Transport {
  const environment = (globalThis as { process?: { env?: Record<string, string | undefined> } })
    .process?.env
  const key = options.key ?? environment?.CARDSTALL_KEY
  const baseUrl = options.baseUrl ?? environment?.CARDSTALL_URL
  if (!key) throw new TypeError('Pass `key`, or set CARDSTALL_KEY.')
  if (!baseUrl) throw new TypeError('Pass `baseUrl`, or set CARDSTALL_URL.')
  // A header cannot contain it, and the error of `fetch` would quote it.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new TypeError('`key` has a space or a special character.')
  const service = /^(https?:\/\/.*)\/v1\/*$/.exec(baseUrl)?.[1]
  if (!service) throw new TypeError('`baseUrl` must be an http or https address that ends in /v1.')
  const send = options.fetch ?? fetch

  return async <T>(method: string, path: string, request: Request = {}) => {
    // An address without its last segment is that of a list; `.` and `..` are not segments.
    if (EMPTY_SEGMENT.test(path)) throw new TypeError('An id must not be empty, "." or "..".')
    const url = `${service}/${request.api ?? 'v1'}${path}${queryText(request.query)}`
    const { accept = 'application/json', body, signal, idempotencyKey } = request
    const json = jsonOf(body)
    // Not in an attempt, where a mistake of the caller would count as a lost connection.
    const init = {
      method,
      headers: new Headers({
        accept,
        ...options.headers,
        authorization: `Bearer ${key}`,
        ...(json && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      }),
      // A redirect would send the key to another address, or lose it.
      redirect: 'manual' as const,
      // Required with a stream.
      duplex: 'half' as const,
    }
    const maxRetries = request.maxRetries ?? options.maxRetries ?? 2
    const retry = request.retry ?? (/^(GET|HEAD|DELETE)$/.test(method) ? 'safe' : 'unsent')
    const firstAt = Date.now()
    let mayBeDone = false
    for (let attempt = 1; ; attempt++) {
      try {
        return await attemptOnce(attempt)
      } catch (error) {
        // The attempt whose response was lost has deleted it. A 404 of a proxy has no type.
        if (mayBeDone && method === 'DELETE' && (error as CardstallError).type === 'not_found') {
          return {} as Received<T>
        }
        if (attempt > maxRetries || signal?.aborted || !mayRetry(error, retry)) throw error
        mayBeDone ||= !mayRetry(error, 'unsent')
        const { retryAfter = backoffS(attempt) } = error as CardstallError
        if (retryAfter > MAX_RETRY_AFTER_S) throw error
        await sleep(retryAfter * 1000, signal)
        if (mayBeDone && request.retry && Date.now() - firstAt > MAX_REPEAT_MS) throw error
      }
    }

    async function attemptOnce(attempt: number): Promise<Received<T>> {
      const startedAt = performance.now()
      let received: Pick<RequestEvent, 'status' | 'requestId'> = {}
      const report = (more?: { error: unknown }) =>
        notify(options.onRequest, {
          method,
          path,
          attempt,
          ms: Math.round(performance.now() - startedAt),
          ...received,
          ...more,
        })
      const limit = new AbortController()
      const cancel = () => limit.abort()
      const timer = setTimeout(
        cancel,
        Math.min(request.timeoutMs ?? options.timeoutMs ?? 30_000, MAX_TIMEOUT_MS),
      )
      const ignoreAbort = onAbort(signal, cancel)
      // Also for a `fetch` of the caller that ignores its signal.
      const ended = new Promise<never>((_, reject) => onAbort(limit.signal, reject as () => void))
      try {
        const content = await Promise.race([ended, receive()])
        report()
        return content
      } catch (error) {
        const failure = failureOf(error)
        report({ error: failure })
        throw failure
      } finally {
        clearTimeout(timer)
        ignoreAbort()
      }

      async function receive(): Promise<Received<T>> {
        limit.signal.throwIfAborted()
        const response = await send(url, {
          ...init,
          // Deno itself repeats a request whose connection is lost, unless its body is a stream: that of a `Blob`, because it
          // sends the stream of a `Response` as the text that it contains.
          body:
            json && retry !== 'safe' && (globalThis as { Deno?: unknown }).Deno
              ? new Blob([json]).stream()
              : json,
          signal: limit.signal,
        })
        const { status, headers } = response
        const requestId = headers.get('x-request-id') ?? undefined
        received = { status, requestId }
        const type = headers.get('content-type') ?? ''
        const isStream = response.ok && accept === 'text/event-stream'
        const content = isStream
          ? response.body
          : contentOf(new Uint8Array(await response.arrayBuffer()), type)
        if (!response.ok) {
          throw errorOf(status, content, { requestId, retryAfter: retryAfterOf(headers) })
        }
        const isOfApi = content && type && accept.includes(type.split(';')[0]!)
        if (!isOfApi && status !== 204 && method !== 'HEAD') {
          throw new CardstallError('The response is not of the API: check `baseUrl`.', received)
        }
        return { body: content as T, headers }
      }

      function failureOf(error: unknown): unknown {
        if (error instanceof CardstallError) return error
        if (signal?.aborted) return signal.reason
        return limit.signal.aborted
          ? new TimeoutError('The service did not respond in time.')
          : new ConnectionError(`The request failed: ${reasonOf(error)}.`, { cause: error })
      }
    }
  }
}

/** Seconds of Retry-After, which may be a date: then by the clock of the service, if it is known. */
function retryAfterOf(headers: Headers): number | undefined {
  const text = headers.get('retry-after') ?? ''
  if (/^\d+$/.test(text)) return Number(text)
  const now = Date.parse(headers.get('date')!) || Date.now()
  const seconds = Math.ceil((Date.parse(text) - now) / 1000)
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}

/** Whether another attempt may succeed, and may be made. */
export function mayRetry(error: unknown, retry: Retry): boolean {
  if (error instanceof ConnectionError) {
    return retry === 'safe' || (retry === 'unsent' && UNSENT_CODE.test(codeOf(error.cause)!))
  }
  return (
    error instanceof CardstallError &&
    (error.status === 429 || (retry === 'safe' && RETRIED_STATUS.test(`${error.status}`)))
  )
}

/** Node puts the reason of a failed fetch into `cause`, sometimes nested. */
function codeOf(error: unknown): string | undefined {
  for (let cause = error; cause; cause = (cause as { cause?: unknown }).cause) {
    const { code } = cause as { code?: unknown }
    if (typeof code === 'string') return code
  }
  return undefined
}

/** `fetch` only says that it failed: the code and the innermost message say why. */
function reasonOf(error: unknown): string {
  let reason = String(error)
  for (let cause = error; cause; cause = (cause as Error).cause) {
    reason = (cause as Error).message || reason
  }
  const code = codeOf(error)
  return code === undefined || reason.includes(code) ? reason : `${reason}, ${code}`
}

/** 0.25 to 0.5 seconds, doubled with each attempt up to 4 to 8 seconds. */
const backoffS = (attempt: number) => 2 ** Math.min(attempt - 3, 2) * (1 + Math.random())

/** Waits; an abort ends the wait with the reason of the signal. */
export const sleep = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      ignoreAbort()
      resolve()
    }, ms)
    const ignoreAbort = onAbort(signal, () => {
      clearTimeout(timer)
      reject(signal?.reason)
    })
  })

/** Calls `handle` when `signal` is aborted, or at once if it is. The returned function ends that: signals live long. */
export function onAbort(signal: AbortSignal | undefined, handle: () => void): () => void {
  if (signal?.aborted) handle()
  else signal?.addEventListener('abort', handle)
  return () => signal?.removeEventListener('abort', handle)
}

/** Sends a request, and returns the `data` of its response. */
export const requestData = async <T>(
  send: Transport,
  method: string,
  path: string,
  request?: Request,
): Promise<T> => (await send<{ data: T }>(method, path, request)).body.data

/** Sends a write that can be repeated, because it carries an `Idempotency-Key`. */
export const writeOnce = <T>(
  send: Transport,
  path: string,
  body: unknown,
  options: Options = {},
): Promise<Received<T>> =>
  send<T>('POST', path, {
    ...options,
    idempotencyKey: options.idempotencyKey ?? crypto.randomUUID(),
    body,
    retry: 'safe',
  })

/** Sends a write whose response has a webhook's secret, which a repetition returns as well. */
export async function secretOnce(
  send: Transport,
  path: string,
  input: unknown,
  options?: Options,
): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
  type Response = { data: WebhookEndpoint; secret: string }
  const { data: endpoint, secret } = (await writeOnce<Response>(send, path, input, options)).body
  return { endpoint, secret }
}

/** Calls a function of the program. Its error is not one of the request, which succeeded or may have taken effect. */
export function notify<T>(callback: ((event: T) => void) | undefined, event: T): void {
  try {
    callback?.(event)
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}

/** `JSON.stringify` writes null for an invalid date. */
const jsonOf = (body: unknown) =>
  JSON.stringify(body, function (this: Record<string, unknown>, name, value) {
    const date = this[name]
    return date instanceof Date ? date.toISOString() : value
  }) as string | undefined

const EMPTY_SEGMENT = /\/\.{0,2}(\/|$)/

function queryText(query: object = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query as Record<string, QueryValue>)) {
    if (value === undefined || value === null) continue
    parameters.set(name, value instanceof Date ? value.toISOString() : String(value))
  }
  // Not by its `size`, which browsers before 2023 don't have.
  const text = String(parameters)
  return text && `?${text}`
}

/** The JSON value, text, or the bytes of another type; undefined without any, and for JSON that cannot be read. */
function contentOf(bytes: Uint8Array, type: string): unknown {
  if (bytes.length === 0) return undefined
  const isJson = type.includes('json')
  if (!isJson && !type.startsWith('text/')) return bytes
  const text = new TextDecoder().decode(bytes)
  try {
    return isJson ? JSON.parse(text) : text
  } catch {
    return undefined
  }
}

import { ERROR_TYPES } from '../../server/errors.ts'
import type { describedResponses } from '../../server/test/described-responses.ts'
import type { Response } from './client.ts'
import { pathWith } from './generate.ts'
import { jsonIn, type Memory } from './memory.ts'
import { isPage } from './pages.ts'
import { mayRedirectTo } from './programs.ts'
import type { Request } from './request.ts'

/** The rules that every response must follow. Each function returns the violations as sentences. */

export type Described = ReturnType<typeof describedResponses>

/** Statuses of requests that are rejected before their key is checked, and so are not counted. */
const UNCOUNTED_STATUSES = [400, 401, 404, 405, 408, 417, 431]

/** Rules for a response to any bytes, except those of a HEAD request. */
function faultsOfAnyResponse(response: Response): string[] {
  const faults = faultsOfHead(response)
  if (response.status >= 400) faults.push(...faultsOfError(response))
  return faults
}

/** Rules for a response to an attack, which may ask for a page. */
export const faultsOfAttacked = (response: Response): string[] =>
  response.headers['content-type'] === HTML_TYPE
    ? faultsOfHead(response)
    : faultsOfAnyResponse(response)

/** Rules for status and headers. */
function faultsOfHead(response: Response): string[] {
  const { status, headers } = response
  const faults: string[] = []
  if (status >= 500) faults.push(`The status is ${status}.`)
  if (!headers['x-request-id']) faults.push('X-Request-Id is missing.')
  if (headers['x-content-type-options'] !== 'nosniff') {
    faults.push('X-Content-Type-Options is not nosniff.')
  }
  return faults
}

/** Rules for a page. */
function faultsOfPage({ method }: Request, { status, headers, body }: Response): string[] {
  const { location } = headers
  if (status === 304) return []
  if (status >= 300 && status < 400) {
    return location && mayRedirectTo(location) ? [] : [`The page redirects to ${location}.`]
  }
  if (headers['content-type'] !== HTML_TYPE) {
    return [`The Content-Type of a page is ${headers['content-type']}.`]
  }
  if (method === 'HEAD') return []
  // A search engine reads the data of an item; nothing else is in a script.
  const hasScript = /<script(?! type="application\/ld\+json">)/i.test(body.toString())
  return [
    ...(body.includes('<h1') ? [] : ['The page has no heading.']),
    ...(hasScript ? ['The page has a script.'] : []),
  ]
}

const JSON_TYPE = 'application/json; charset=utf-8'
const HTML_TYPE = 'text/html; charset=utf-8'

function faultsOfError({ status, headers, body }: Response): string[] {
  if (headers['content-type'] !== JSON_TYPE) {
    return [`The Content-Type of an error is ${headers['content-type']}.`]
  }
  const { error, ...rest } = jsonIn(body) ?? {}
  // An error of JSON-RPC, from a tool server.
  if (rest.jsonrpc === '2.0' && typeof error?.code === 'number') return []
  // An error of RFC 6749.
  if (typeof error === 'string' && typeof rest.error_description === 'string') return []
  const { type, message, fields, ...more } = error ?? {}
  if (typeof type !== 'string' || typeof message !== 'string' || message === '') {
    return ['The error envelope is not complete.']
  }
  const faults: string[] = []
  // An interrupted import reports what it did in `data`.
  const { data: _, ...unexpected } = rest
  const extra = [...Object.keys(unexpected), ...Object.keys(more)]
  if (extra.length > 0) faults.push(`The error envelope has unexpected keys: ${extra.join(', ')}.`)
  if (ERROR_TYPES[type as keyof typeof ERROR_TYPES] !== status) {
    faults.push(`The error ${type} has the status ${status}.`)
  }
  const hasFields = type === 'validation_error' || type === 'ambiguous_identifier'
  if ((fields !== undefined) !== hasFields) {
    faults.push(`The error ${type} must ${hasFields ? 'have' : 'not have'} fields.`)
  }
  return faults
}

/** Rules for a response to a request that is well-formed HTTP. */
export async function faultsOfResponse(
  request: Request,
  response: Response,
  memory: Memory,
  beganAt: number,
  described: Described,
): Promise<string[]> {
  const { status, headers, body } = response
  const carrierFails = status === 502 && memory.carrierFailedAt >= beganAt
  const isShown = isPage(request.target, status) && headers['content-type'] !== JSON_TYPE
  const found =
    request.method === 'HEAD' || isShown ? faultsOfHead(response) : faultsOfAnyResponse(response)
  if (isShown) found.push(...faultsOfPage(request, response))
  const faults = found.filter((fault) => !(carrierFails && /^The status/.test(fault)))
  if (status === 401 && !headers['www-authenticate']) faults.push('WWW-Authenticate is missing.')
  if (status === 405 && !headers.allow) faults.push('Allow is missing.')
  if (status === 429 && !(Number(headers['retry-after']) >= 1))
    faults.push('Retry-After is missing.')
  faults.push(...faultsOfLimits(request, response))
  if (headers['content-type'] !== 'text/event-stream') {
    const json = headers['content-type']?.startsWith('application/json') ? jsonIn(body) : undefined
    try {
      await described(request.method, request.target, { status, body: json, headers })
    } catch (error) {
      faults.push(`The response does not match its description: ${(error as Error).message}`)
    }
    const { operation } = request
    const isReached =
      request.method === operation.method &&
      request.target.split('?')[0] === pathWith(operation.path, request.ids)
    const isOwn = isReached && status < 300 && json !== undefined
    const mismatch = isOwn ? operation.mismatch?.(status, json) : null
    if (mismatch) faults.push(`The response does not match its schema: ${mismatch}.`)
  }
  return faults
}

/** Every response of the seller API and the tools API to a valid key states its rate limit. */
function faultsOfLimits({ operation, hasValidKey, target }: Request, response: Response): string[] {
  const { status, headers } = response
  const isCounted = !UNCOUNTED_STATUSES.includes(status)
  if (
    operation.credential !== 'seller' ||
    !hasValidKey ||
    !isCounted ||
    !/^\/(tools\/)?v1\//.test(target)
  )
    return []
  return ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].flatMap((name) =>
    /^\d+$/.test(headers[name] ?? '') ? [] : [`${name} is missing.`],
  )
}

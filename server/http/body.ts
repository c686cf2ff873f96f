import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type ApiError, unsupportedMediaType, validationError } from '../errors.ts'
import { groupDigits } from '../text/formats.ts'
import { parseJson } from './parse-json.ts'

/** Default limit of a body; a route can set its own. */
export const BODY_LIMIT_BYTES = 256 * 1024

/**
 * Limit of a body with many listings. A hundred items of maximum size take about 2.4 MiB, a thousand changes with the
 * longest descriptions in three-byte characters about 3.2 MiB.
 */
export const BULK_LIMIT_BYTES = 4 * 1024 * 1024

/** Maximum nesting of a body. The deepest schema has three levels. */
const MAX_DEPTH = 32
/** Maximum number of values in a body, at all levels. The largest valid body (a checkout) has about 6,000. */
const MAX_VALUES = 20_000

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i

/**
 * Parses request bodies as JSON objects if their type is JSON or missing. An empty body counts as absent. Another type
 * is refused after the body has arrived, so that the connection stays usable.
 */
export function readJsonBodies(app: FastifyInstance): void {
  app.decorateRequest('bodyHash', undefined)
  // Fastify refuses a malformed type before it looks for a parser, also one without a body.
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request
    const type = headers['content-type']
    const isMalformed = type !== undefined && request.mediaType === undefined
    if (type === '' || (isMalformed && !hasBody(headers))) delete headers['content-type']
    done()
  })
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer
    if (bytes.length === 0) return done(null, undefined)
    const unsupported = refuseMediaType(request.headers)
    if (unsupported) return done(unsupported)
    const problem = limitProblem(bytes)
    if (problem) return done(validationError({ body: [problem] }))
    let parsed: unknown
    try {
      parsed = parseJson(utf8.decode(bytes))
    } catch {
      return done(validationError({ body: ['The body is not valid JSON.'] }))
    }
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
      return done(validationError({ body: ['The body must be a JSON object.'] }))
    }
    if (request.headers['idempotency-key'] !== undefined) request.bodyHash = hash('sha256', bytes)
    done(null, parsed)
  })
}

const hasBody = (headers: IncomingHttpHeaders) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** The error for a body that is not JSON by its type. Most clients that get it have sent JSON, without saying so. */
export const notJson = () =>
  unsupportedMediaType('Send the body as JSON with "Content-Type: application/json".')

/** 415 for a body that is not plain JSON by its headers. A missing type counts as JSON. */
export function refuseMediaType(headers: IncomingHttpHeaders): ApiError | undefined {
  const type = headers['content-type']
  if (type && !JSON_TYPE.test(type)) {
    return notJson()
  }
  const encoding = headers['content-encoding']
  if (encoding && encoding !== 'identity') {
    return unsupportedMediaType('A compressed body is not supported here.')
  }
  return undefined
}

const code = (character: string) => character.charCodeAt(0)
const QUOTE = code('"')
const BACKSLASH = code('\\')
const COMMA = code(',')
const OPEN_BRACE = code('{')
const CLOSE_BRACE = code('}')
const OPEN_BRACKET = code('[')
const CLOSE_BRACKET = code(']')

/**
 * Checks the limits of nesting and values in one pass over the bytes, before they are parsed: a parsed value costs fifty
 * times as much as its bytes. An empty list or object counts as one additional value.
 */
export function limitProblem(json: Buffer): string | undefined {
  let depth = 0
  let values = 0
  let inText = false
  for (let i = 0; i < json.length; i++) {
    const byte = json[i]
    if (inText) {
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) inText = false
    } else if (byte === QUOTE) {
      inText = true
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > MAX_DEPTH) return `The body must not be nested deeper than ${MAX_DEPTH} levels.`
      if (++values > MAX_VALUES) return TOO_MANY_VALUES
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--
    } else if (byte === COMMA && ++values > MAX_VALUES) {
      return TOO_MANY_VALUES
    }
  }
  return undefined
}

const TOO_MANY_VALUES = `The body must not have more than ${groupDigits(MAX_VALUES)} values.`

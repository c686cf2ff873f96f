import type { FastifyInstance } from 'fastify'
import { unsupportedMediaType, validationError } from '../errors.ts'

/** Bodies are small but for the routes that say otherwise. */
export const BODY_LIMIT_BYTES = 256 * 1024

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i

/**
 * Reads request bodies as JSON objects: declared as JSON, or not declared at all. An empty one is no body. A type
 * that isn't JSON is refused once the body has arrived, so that the connection stays usable.
 */
export function readJsonBodies(app: FastifyInstance): void {
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer
    if (bytes.length === 0) return done(null, undefined)
    const type = request.headers['content-type']
    if (type && !JSON_TYPE.test(type)) {
      return done(unsupportedMediaType('The body must be JSON (application/json).'))
    }
    const encoding = request.headers['content-encoding']
    if (encoding && encoding !== 'identity') {
      return done(unsupportedMediaType('A compressed body is not understood here.'))
    }
    let parsed: unknown
    try {
      parsed = JSON.parse(utf8.decode(bytes))
    } catch {
      return done(validationError({ body: ['The body is not valid JSON.'] }))
    }
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
      return done(validationError({ body: ['The body must be a JSON object.'] }))
    }
    done(null, parsed)
  })
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ApiError, unsupportedMediaType, validationError } from '../../errors.ts'
import type { Service } from '../../service.ts'
import { catalogued } from '../error-handler.ts'
import { html } from '../html.ts'
import { foreignOrigin } from '../own-origin.ts'
import { isMalformed, parseQuery, type Query } from '../query.ts'
import { forbidCaching } from '../response-headers.ts'
import { sendForm } from './layout.ts'

/** Bytes of the largest form: a path to go to, an address and a password, each percent-encoded. */
const FORM_LIMIT_BYTES = 16 * 1024

/** The fields of a form, without empty ones. */
export type Fields = Record<string, string>

export const fieldsOf = ({ body }: FastifyRequest): Fields => (body ?? {}) as Fields

export const formOptions = { bodyLimit: FORM_LIMIT_BYTES }

/**
 * Prepares a scope for pages with forms: reads the bodies of forms only, refuses writes that come from other sites, and
 * shows errors as pages.
 */
export function serveForms(app: FastifyInstance, ctx: Service): void {
  app.addHook('onRequest', forbidCaching)
  app.addHook('onRequest', (request, _reply, done) => done(foreignOrigin(request, ctx.config)))
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => {
      const fields = parseQuery(body as string)
      if (isMalformed(fields)) return done(validationError({ body: ['The form is malformed.'] }))
      done(null, fields)
    },
  )
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
    done(body === '' ? null : unsupportedMediaType('The body must be a form.'), undefined)
  })
  app.setErrorHandler((error, request, reply) => {
    const known = catalogued(error, request)
    if (known.status === 500) throw error
    return sendProblem(ctx, request, reply, known)
  })
}

/**
 * Shows an error as a page of its own. Its link keeps the page to which signing in leads, and begins with PUBLIC_URL: at
 * another name of the service the form would fail again.
 */
function sendProblem(
  { config }: Service,
  request: FastifyRequest,
  reply: FastifyReply,
  error: ApiError,
) {
  const { next, token = fieldsOf(request).token } = request.query as Query
  const query = new URLSearchParams({
    ...(next !== undefined && { next }),
    // A link by e-mail may be for another person than the one who is signed in.
    ...(token !== undefined && { switch: '1' }),
  })
  return sendForm(request, reply.code(error.status).headers(error.headers), {
    title: 'That didn’t work',
    main: html`<p>${error.message}</p>
<p><a href="${config.publicUrl}/signin${query.size > 0 && `?${query}`}">Sign in</a></p>`,
  })
}

/**
 * Prepares the response that shows a form again: sets its status and `Retry-After`.
 *
 * @returns the message for an error that the visitor can correct or that is temporary
 * @throws every other error
 */
export function failForm(request: FastifyRequest, reply: FastifyReply, thrown: unknown): string {
  const error = catalogued(thrown, request)
  if (![401, 422, 429, 503].includes(error.status)) throw thrown
  reply.code(error.status)
  const { 'retry-after': retryAfter } = error.headers
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  return error.message
}

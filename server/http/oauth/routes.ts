import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  RouteHandlerMethod,
  RouteShorthandOptions,
} from 'fastify'
import type { Service } from '../../service.ts'
import { lazy } from '../lazy.ts'
import { forbidCaching } from '../response-headers.ts'
import { formOptions } from '../sign-in/forms.ts'
import type { openHandlers } from './handlers.ts'

/**
 * The routes of programs that sign in to a shop. Only this file loads with the service: the code behind it loads with the
 * first request, because most starts don't need it.
 */

/** The largest request is a registration with ten addresses. */
const endpointOptions = { bodyLimit: 32 * 1024 }

/** Browsers may read these responses from any site: no cookie is read, and all clients are public. */
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, POST',
  'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
  'access-control-max-age': '86400',
}

type Handlers = ReturnType<typeof openHandlers>
type Handler = Exclude<keyof Handlers, 'handleError'>
type Open = () => Promise<Handlers>

/** Loads the code at its first use. The pages and the endpoints share it. */
export const openProgramSignIn = (ctx: Service): Open =>
  lazy(async () => (await import('./handlers.ts')).openHandlers(ctx))

/** `/oauth/authorize`, `/oauth/step` and `/device`: a member allows or refuses a program. */
export function consentRoutes(open: Open): Record<string, AddRoutes> {
  const on = routesOf(open)
  return {
    '/oauth/authorize': on(['GET', '/oauth/authorize', 'authorize']),
    '/oauth/step': on(
      ['GET', '/oauth/step/:uid', 'showConsent'],
      ['POST', '/oauth/step/:uid', 'decideConsent', formOptions],
    ),
    '/device': on(
      ['GET', '/device', 'showDevice'],
      ['POST', '/device', 'decideDevice', formOptions],
    ),
  }
}

/** The requests of programs. If PUBLIC_URL has a path, a proxy passes the documents with and without it. */
export function programRoutes(
  open: Open,
  { publicUrl }: Service['config'],
): Record<string, AddRoutes> {
  const on = routesOf(open)
  const base = new URL(publicUrl).pathname.replace(/\/$/, '')
  const post = (path: string, handler: Handler) =>
    on(['OPTIONS', path], ['POST', path, handler, endpointOptions])
  const documents = (paths: string[], handler: Handler) =>
    [...new Set(paths)].flatMap((path): Route[] => [
      ['OPTIONS', `/.well-known/${path}`],
      ['GET', `/.well-known/${path}`, handler],
    ])
  const both = (path: string) => [path, path + base]
  const servers = ['/mcp', '/mcp/seller'].flatMap((path) => [path, base + path])
  return {
    '/.well-known': on(
      ...documents(
        servers.map((path) => `oauth-protected-resource${path}`),
        'describeToolServer',
      ),
      ...documents(
        [...both('oauth-authorization-server'), ...both('openid-configuration')],
        'describeServer',
      ),
    ),
    // A form of another site. The page at this address is a GET, among consentRoutes.
    '/oauth/authorize': on(['POST', '/oauth/authorize', 'authorizeForm', endpointOptions]),
    '/oauth/token': post('/oauth/token', 'token'),
    '/oauth/register': post('/oauth/register', 'register'),
    '/oauth/revoke': post('/oauth/revoke', 'revoke'),
    '/oauth/device': post('/oauth/device', 'startDevice'),
    '/oauth/jwks': on(['OPTIONS', '/oauth/jwks'], ['GET', '/oauth/jwks', 'keys']),
  }
}

/** Prepares a scope for requests of programs: leaves the body to the handler, and sends errors as RFC 6749 does. */
export function serveEndpoints(app: FastifyInstance, open: Open): void {
  app.addHook('onRequest', forbidCaching)
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(CORS)
    done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.setErrorHandler(async (error, request, reply) =>
    (await open()).handleError(error as Error, request, reply),
  )
}

/** A route without a handler responds to a preflight of a browser. */
type Route = [
  method: 'GET' | 'POST' | 'OPTIONS',
  url: string,
  handler?: Handler,
  options?: RouteShorthandOptions,
]

type AddRoutes = (app: FastifyInstance) => void

const routesOf =
  (open: Open) =>
  (...routes: Route[]): AddRoutes =>
  (app) => {
    for (const [method, url, name, options] of routes) {
      const handler: RouteHandlerMethod = name
        ? async (request, reply) => (await open())[name](request, reply)
        : allowPreflight
      app.route({ ...options, method, url, handler })
    }
  }

const allowPreflight = (_request: FastifyRequest, reply: FastifyReply) => reply.code(204).send()

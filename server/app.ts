import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import findMyWay from 'find-my-way'
import { type ApiError, expectationFailed, methodNotAllowed, notFound } from './errors.ts'
import { BODY_LIMIT_BYTES, readJsonBodies } from './http/body.ts'
import { connectionOf, createHttpServer } from './http/connections.ts'
import { limitDatabaseTime } from './http/database-time.ts'
import {
  clientError,
  errorHandler,
  malformedUrl,
  notProxy,
  rawResponse,
} from './http/error-handler.ts'
import { type FastLane, fastLane } from './http/fast-lane.ts'
import { gatherBodies } from './http/gather-body.ts'
import { isMissedByPerson, sendMissingPage } from './http/missing-page.ts'
import { isNulInPath } from './http/nul-in-path.ts'
import { isMalformed, parseQuery } from './http/query.ts'
import { requestIds } from './http/request-id.ts'
import { withPaths } from './http/request-target.ts'
import { ALWAYS } from './http/response-headers.ts'
import { recordResponse } from './http/response-log.ts'
import { validatorCompiler } from './http/validate.ts'
import { routes } from './routes.ts'
import type { Service } from './service.ts'

/** Fits an identifier of 150 code points, each of which takes up to twelve characters percent-encoded. */
const MAX_PARAM_LENGTH = 4_096

/** Time for a client to send a complete request. */
const REQUEST_TIMEOUT_MS = 60_000

const NOTHING = 'There is nothing at this address'

/** Options that tests replace. */
type AppOptions = {
  requestTimeoutMs?: number
  /** Joins the fast lane and the framework. */
  listener?: (lane: FastLane, ordinary: RequestListener) => RequestListener
}

/** Builds the HTTP service. It does not listen yet. */
export async function buildApp(
  ctx: Service,
  {
    requestTimeoutMs = REQUEST_TIMEOUT_MS,
    listener = (lane, ordinary) => lane.before(ordinary),
  }: AppOptions = {},
): Promise<FastifyInstance> {
  const { log, config } = ctx
  const nextRequestId = requestIds()
  const lane = fastLane(ctx, nextRequestId)
  /** Responds to a request that doesn't reach the framework, and closes the connection. */
  const refuseUnread = (socket: Socket, refused: ApiError, options: { isHead?: boolean } = {}) => {
    const connection = connectionOf(socket)
    if (!connection || socket.destroyed) return
    const reqId = nextRequestId()
    log.info({ reqId, status: refused.status }, refused.message)
    ctx.metrics.countUnreadable(refused.status)
    connection.conclude(rawResponse(refused, reqId, options))
  }
  const app = Fastify({
    loggerInstance: log as unknown as FastifyBaseLogger,
    // Our own log line per response (below) instead of Fastify's two, and no child logger per request.
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (logger) => logger,
    genReqId: nextRequestId,
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    bodyLimit: BODY_LIMIT_BYTES,
    // Requests that arrive during a shutdown get their response; then their connections close.
    return503OnClosing: false,
    // Named here, because Fastify otherwise loads its own compilers at each start: 130 modules.
    schemaController: {
      compilersFactory: {
        buildValidator: () => validatorCompiler as never,
        // Responses are exactly what the handlers return; the tests check them against the schemas.
        buildSerializer: () => () => JSON.stringify,
      },
    },
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: MAX_PARAM_LENGTH,
      querystringParser: parseQuery,
    },
    serverFactory: (handler) =>
      createHttpServer(withPaths(listener(lane, handler)), requestTimeoutMs),
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id).headers(ALWAYS)
      errorHandler(log)(error, request, reply)
    },
    clientErrorHandler: (error, socket) => {
      const isTimeout = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      if (isTimeout && connectionOf(socket)?.isSlowAllowed) return
      refuseUnread(socket, clientError(error), { isHead: isHead(error.rawPacket) })
    },
  }) as unknown as FastifyInstance

  app.decorateRequest('caller')
  app.decorateRequest('member')
  app.decorateRequest('operator')
  app.decorateRequest('audited')
  app.decorateRequest('isBodyLate', false)
  app.setErrorHandler(errorHandler(log))
  readJsonBodies(app)
  limitDatabaseTime(app)

  const allowed = allowedMethods(app)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id).headers(ALWAYS)
    // Before any byte of the body is read.
    if (!request.is404) return done(refusal(request))
    const allow = allowed(request.url)
    if (allow) return done(methodNotAllowed(request.method, allow))
    if (isMissedByPerson(request)) sendMissingPage(request, reply, NOTHING)
    else done(notFound(`${NOTHING}.`))
  })
  logResponses(app, ctx)
  app.addHook('onRoute', gatherBodies())
  routes(app, ctx, lane)
  await app.ready()
  app.server.on('connect', ({ socket }) => {
    // Node has removed its own listener, because the connection could now be a tunnel.
    socket.on('error', () => socket.destroy())
    refuseUnread(socket, notProxy())
  })
  return app
}

/**
 * Whether bytes that Node could not parse look like a HEAD request. They are those of the last packet: Node keeps neither
 * earlier ones nor the method, so a HEAD whose head arrives in several packets gets a body before its connection closes.
 */
const isHead = (bytes: unknown) =>
  Buffer.isBuffer(bytes) && bytes.subarray(0, 5).toString('latin1') === 'HEAD '

function refusal({ url, query, headers: { expect } }: FastifyRequest): ApiError | undefined {
  if (isMalformed(query)) return malformedUrl()
  if (isNulInPath(url)) return notFound(`${NOTHING}.`)
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') return expectationFailed()
  return undefined
}

/** The seller whose key, session or access token has sent the request. */
function senderOf({ caller, member, admission }: Partial<FastifyRequest>): number | undefined {
  if (caller) return caller.account.id
  if (member) return member.accountId
  return admission && 'access' in admission ? admission.access.account.id : undefined
}

/**
 * Counts and logs each response. Takes the URL pattern when the route is registered, because reading it from the request
 * creates an object each time.
 */
function logResponses(app: FastifyInstance, ctx: Service): void {
  const logged =
    (route: string) => (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
      const { method, url, id: reqId } = request
      const { statusCode: status, elapsedTime: ms } = reply
      const account = senderOf(request)
      recordResponse(ctx, { reqId, account, method, url, route, status, ms })
      done()
    }
  app.addHook('onRoute', (route) => {
    route.onResponse = [route.onResponse ?? [], logged(route.url)].flat()
  })
  const logUnknown = logged('unknown')
  app.addHook('onResponse', (request, reply, done) => {
    if (request.is404) logUnknown(request, reply, done)
    else done()
  })
}

/**
 * Collects the methods of each path, to distinguish a wrong method (405) from an unknown path (404). The paths are indexed
 * at the first request that needs them, not at the start.
 */
function allowedMethods(app: FastifyInstance): (url: string) => string[] | undefined {
  const methods = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = methods.getOrInsertComputed(url, () => new Set())
    for (const name of [method].flat()) known.add(name)
  })
  const index = () => {
    const router = findMyWay({ ignoreTrailingSlash: true, maxParamLength: MAX_PARAM_LENGTH })
    for (const [url, known] of methods) router.on('GET', url, () => {}, known)
    return router
  }
  let paths: ReturnType<typeof index> | undefined
  return (url) => {
    paths ??= index()
    const found = paths.find('GET', url.split(/[?#]/, 1)[0] ?? '')
    return found ? [...(found.store as Set<string>)].sort() : undefined
  }
}

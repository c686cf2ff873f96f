import { STATUS_CODES } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
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
import { clientError, malformedUrl, problemHandler, rawAnswer } from './http/error-handler.ts'
import { gatherBodies } from './http/gather-body.ts'
import { isMalformed, parseQuery } from './http/query.ts'
import { requestIds } from './http/request-id.ts'
import { ALWAYS } from './http/response-headers.ts'
import { validatorCompiler } from './http/validate.ts'
import { routes } from './routes.ts'
import type { Service } from './service.ts'

/** Identifiers go to 150 code points, each of which can take twelve characters percent-encoded. */
const LONGEST_PATH_PART = 4_096

/** Time for a client to send a complete request. */
const REQUEST_TIMEOUT_MS = 60_000

/**
 * Builds the whole HTTP service on a context. It doesn't listen yet.
 *
 * @param options.requestTimeoutMs for tests
 */
export async function buildApp(
  ctx: Service,
  { requestTimeoutMs = REQUEST_TIMEOUT_MS }: { requestTimeoutMs?: number } = {},
): Promise<FastifyInstance> {
  const { log, config } = ctx
  const nextRequestId = requestIds()
  const app = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    // One line of our own per answer (below) instead of Fastify's two, and no child logger per request.
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (logger) => logger,
    genReqId: nextRequestId,
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    bodyLimit: BODY_LIMIT_BYTES,
    // Requests that come while closing are answered; their connections close after them.
    return503OnClosing: false,
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: LONGEST_PATH_PART,
      querystringParser: parseQuery,
    },
    serverFactory: (handler) => createHttpServer(handler, requestTimeoutMs),
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id).headers(ALWAYS)
      problemHandler(log)(error, request, reply)
    },
    clientErrorHandler: (error, socket) => {
      const connection = connectionOf(socket)
      if (!connection || socket.destroyed) return
      if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && connection.isSlowAllowed) return
      const refused = clientError(error)
      const reqId = nextRequestId()
      log.info({ reqId, status: refused.status }, refused.message)
      connection.conclude(rawAnswer(refused, reqId, { isHead: isHead(error.rawPacket) }))
    },
  }).withTypeProvider<TypeBoxTypeProvider>()

  app.decorateRequest('caller')
  app.setValidatorCompiler(validatorCompiler)
  // Answers are what the handlers return, all of it; the tests hold them against the schemas.
  app.setSerializerCompiler(() => JSON.stringify)
  app.setErrorHandler(problemHandler(log))
  readJsonBodies(app as unknown as FastifyInstance)
  limitDatabaseTime(app as unknown as FastifyInstance)

  const allowed = allowedMethods(app as unknown as FastifyInstance)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id).headers(ALWAYS)
    // Before anything is read of a body.
    done(request.is404 ? unknownAddress(request, allowed) : refusal(request))
  })
  noteAnswers(app as unknown as FastifyInstance, ctx)
  app.addHook('onRoute', gatherBodies())
  routes(app as unknown as FastifyInstance, ctx)
  await app.ready()
  return app as unknown as FastifyInstance
}

/** Whether the bytes that could not be parsed begin a HEAD request, as far as they can tell. */
const isHead = (bytes: unknown) =>
  Buffer.isBuffer(bytes) && bytes.subarray(0, 5).toString('latin1') === 'HEAD '

function unknownAddress(
  { url, method }: FastifyRequest,
  allowed: ReturnType<typeof allowedMethods>,
): ApiError {
  const allow = allowed(url)
  return allow ? methodNotAllowed(method, allow) : notFound('There is nothing at this address.')
}

function refusal({ query, headers: { expect } }: FastifyRequest): ApiError | undefined {
  if (isMalformed(query)) return malformedUrl()
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') return expectationFailed()
  return undefined
}

/**
 * Counts each answer and writes a line about it. The pattern of the address is known when the route is registered;
 * asking the request for it builds an object each time.
 */
function noteAnswers(app: FastifyInstance, { metrics, log }: Service): void {
  const noting =
    (route: string) => (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
      const { method, id: reqId } = request
      const status = reply.statusCode
      const ms = reply.elapsedTime
      metrics.answered(method, route, status, ms / 1000)
      // The path alone: a query can hold a signed link's secret.
      const path = request.url.split('?', 1)[0]
      log.info(
        { reqId, method, path, status, ms: Math.round(ms * 1000) / 1000 },
        STATUS_CODES[status],
      )
      done()
    }
  app.addHook('onRoute', (route) => {
    route.onResponse = [route.onResponse ?? [], noting(route.url)].flat()
  })
  const noteUnknown = noting('unknown')
  app.addHook('onResponse', (request, reply, done) => {
    if (request.is404) noteUnknown(request, reply, done)
    else done()
  })
}

/** Remembers which methods each path has, to tell a wrong method (405) from an unknown path (404). */
function allowedMethods(app: FastifyInstance): (url: string) => string[] | undefined {
  const methods = new Map<string, Set<string>>()
  const paths = findMyWay({ ignoreTrailingSlash: true, maxParamLength: LONGEST_PATH_PART })
  app.addHook('onRoute', ({ url, method }) => {
    let known = methods.get(url)
    if (!known) {
      known = new Set()
      methods.set(url, known)
      paths.on('GET', url, () => {}, known)
    }
    for (const name of [method].flat()) known.add(name)
  })
  return (url) => {
    const found = paths.find('GET', url.split(/[?;#]/, 1)[0] ?? '')
    return found ? [...(found.store as Set<string>)].sort() : undefined
  }
}

import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { methodNotAllowed } from '../../errors.ts'
import type { Service } from '../../service.ts'
import { showLimit, tooMany } from '../authenticate.ts'
import { BODY_LIMIT_BYTES, refuseMediaType } from '../body.ts'
import { JSON_TYPE } from '../json.ts'
import { lazy } from '../lazy.ts'
import { forbidCaching } from '../response-headers.ts'
import { type Admission, admit, isPublic, missingScope, type ServerPath } from './admission.ts'
import { callTool, failedCall } from './call-tool.ts'
import {
  type Answer,
  calledTool,
  failure,
  METHOD_NOT_FOUND,
  quoted,
  readMessage,
} from './message.ts'
import { refuseForeign } from './own-host.ts'
import type { SellerCall } from './tool.ts'
import type { ProtocolRequest } from './tool-server.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** On whose behalf a tool server's request comes. */
    admission: Admission
  }
}

/** A hundred items of maximum size take about 2.4 MiB. Calls without a token are small. */
const SELLER_LIMIT_BYTES = 4 * 1024 * 1024

/** Real time for which a browser may remember the answer to a preflight. */
const PREFLIGHT_MAX_AGE_S = 600

const CORS = {
  'access-control-expose-headers':
    'WWW-Authenticate, X-Request-Id, Retry-After, Mcp-Protocol-Version',
  vary: 'Origin',
}

const PREFLIGHT = {
  allow: 'POST',
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers':
    'Authorization, Content-Type, Accept, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID',
  'access-control-max-age': PREFLIGHT_MAX_AGE_S,
}

/** Requests of all other methods have no stream or session to refer to. */
const REFUSED_METHODS = ['GET', 'HEAD', 'DELETE', 'PUT', 'PATCH']

/**
 * Serves a tool server at one path. The library and the tools are loaded at the first request that is admitted: they
 * cost a sixth of a second and 17 MB.
 */
export const toolServerRoutes =
  (ctx: Service, path: ServerPath): FastifyPluginCallback =>
  (app, _options, done) => {
    const open = lazy(async () => {
      const { openServers } = await import('./servers.ts')
      return openServers()[path]
    })

    if (!app.hasRequestDecorator('admission')) app.decorateRequest('admission')
    const foreignOf = refuseForeign(ctx.config)
    app.addHook('onRequest', forbidCaching)
    app.addHook('onRequest', (request, reply, done) => {
      const foreign = foreignOf(request)
      const { origin } = request.headers
      if (origin !== undefined && !foreign) {
        reply.headers({ ...CORS, 'access-control-allow-origin': origin })
      }
      done(foreign)
    })
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

    app.options(path, (_request, reply) => reply.code(204).headers(PREFLIGHT).send())
    app.route({
      method: REFUSED_METHODS,
      url: path,
      handler: ({ method }) => {
        throw methodNotAllowed(method, ['POST'])
      },
    })

    app.post(
      path,
      {
        bodyLimit: isPublic(path) ? BODY_LIMIT_BYTES : SELLER_LIMIT_BYTES,
        onRequest: async (request, reply) => {
          const unsupported = refuseMediaType(request.headers)
          if (unsupported) throw unsupported
          request.admission = await admit(ctx, path, request, reply)
        },
      },
      async (request, reply) => {
        const answer = await respond(request, reply)
        if (answer.body !== '') reply.header('content-type', JSON_TYPE)
        return reply.code(answer.status).send(answer.body)
      },
    )

    async function respond(request: FastifyRequest, reply: FastifyReply): Promise<Answer> {
      const { admission } = request
      const read = readMessage(request.body as Buffer | undefined)
      if ('answer' in read) return read.answer
      const { message } = read
      const server = await open()
      if (!server.knows(message)) {
        const { method } = message
        return failure(404, METHOD_NOT_FOUND, `There is no method ${quoted(String(method))}.`, {
          id: message.id,
        })
      }
      const name = calledTool(message)
      const tool = name === undefined ? undefined : server.toolNamed(name)
      const kind = !tool || tool.isRead ? 'read' : 'write'
      const limit =
        'limit' in admission
          ? admission.limit
          : await ctx.limiter.count(
              `${kind}:grant:${admission.access.grantId}`,
              ctx.config.rateLimit[kind],
            )
      showLimit(reply, limit)
      const exceeded = limit.exceeded ? tooMany(ctx, kind, limit) : undefined
      if (exceeded && !tool) throw exceeded
      if (!exceeded && !isPublic(path) && tool?.scope && 'access' in admission) {
        const { scopes } = admission.access
        if (!scopes.includes(tool.scope)) throw missingScope(ctx, path, tool.scope)
      }
      return server.serve(protocolRequest(request), message, (tool, args) =>
        exceeded
          ? Promise.resolve(failedCall(exceeded, request.id))
          : callTool(ctx, tool, args, { caller: callerOf(admission), request }),
      )
    }

    done()
  }

const callerOf = (admission: Admission): SellerCall | undefined =>
  'access' in admission ? admission.access : undefined

/** All responses are JSON, whatever the client says that it accepts. */
const FIXED_HEADERS: Record<string, string> = {
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
}
const PROTOCOL_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name']

/** The parts of a request that the library reads: a `Request` would cost a tenth of a call. */
const protocolRequest = ({ headers }: FastifyRequest): ProtocolRequest => ({
  method: 'POST',
  headers: {
    get(name) {
      const given = PROTOCOL_HEADERS.includes(name) ? headers[name] : undefined
      return FIXED_HEADERS[name] ?? given?.toString() ?? null
    },
  },
})

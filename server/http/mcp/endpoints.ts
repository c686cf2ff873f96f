import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Service } from '../../service.ts'
import { showLimit, tooMany } from '../authenticate.ts'
import { refuseMediaType } from '../body.ts'
import { JSON_TYPE } from '../json.ts'
import { lazy } from '../lazy.ts'
import { type Admission, admit, isPublic, missingScope, type ServerPath } from './admission.ts'
import { callTool, failedCall } from './call-tool.ts'
import {
  calledTool,
  failure,
  METHOD_NOT_FOUND,
  type MessageResponse,
  quoted,
  readMessage,
  refuseParams,
} from './message.ts'
import { refuseForeign } from './own-host.ts'
import type { SellerCall } from './tool.ts'
import type { ProtocolRequest } from './tool-server.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller of a tool server's request. */
    admission: Admission
  }
}

const CORS = {
  'access-control-expose-headers':
    'WWW-Authenticate, X-Request-Id, Retry-After, Mcp-Protocol-Version',
  vary: 'Origin',
}

/**
 * The endpoint of a tool server. The library and the tools are loaded at the first request that is admitted: they cost a
 * sixth of a second and 17 MB.
 */
export function toolServerEndpoint(ctx: Service, path: ServerPath) {
  const open = lazy(async () => {
    const { openServers } = await import('./servers.ts')
    return openServers()[path]
  })
  const foreignOf = refuseForeign(ctx.config)

  async function respond(request: FastifyRequest, reply: FastifyReply): Promise<MessageResponse> {
    const { admission } = request
    const read = readMessage(request.body as Buffer | undefined)
    const server = await open()
    const name = 'message' in read ? calledTool(read.message) : undefined
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
    if ('refusal' in read) return read.refusal
    const { message } = read
    if (!server.knows(message)) {
      const { method } = message
      return failure(404, METHOD_NOT_FOUND, `There is no method ${quoted(String(method))}.`, {
        id: message.id,
      })
    }
    if (!exceeded && !isPublic(path) && tool?.scope && 'access' in admission) {
      const { scopes } = admission.access
      if (!scopes.includes(tool.scope)) throw missingScope(ctx, path, tool.scope)
    }
    const refused = refuseParams(message)
    if (refused) return refused
    return server.serve(protocolRequest(request), message, (tool, args) =>
      exceeded
        ? Promise.resolve(failedCall(exceeded, request.id))
        : callTool(ctx, tool, args, { caller: callerOf(admission), request }),
    )
  }

  return {
    /** @throws authorization_error for a foreign host or page */
    check(request: FastifyRequest, reply: FastifyReply): void {
      const foreign = foreignOf(request)
      if (foreign) throw foreign
      const { origin } = request.headers
      if (origin !== undefined) reply.headers({ ...CORS, 'access-control-allow-origin': origin })
    },

    /** @throws every error that a request can have before its body is read */
    async admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const unsupported = refuseMediaType(request.headers)
      if (unsupported) throw unsupported
      request.admission = await admit(ctx, path, request, reply)
    },

    /** @throws authentication_error or authorization_error if the token's access has ended meanwhile */
    async recheck(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      // Other methods than POST are refused without one.
      const { admission } = request as { admission?: Admission }
      if (admission && 'access' in admission) {
        request.admission = await admit(ctx, path, request, reply)
      }
    },

    async handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const { status, body } = await respond(request, reply)
      if (body !== '') reply.header('content-type', JSON_TYPE)
      return reply.code(status).send(body)
    },
  }
}

const callerOf = (admission: Admission): SellerCall | undefined =>
  'access' in admission ? admission.access : undefined

/** The library requires these of a client. Ours may leave them out: every response is JSON anyway. */
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

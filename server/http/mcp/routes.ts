import type { FastifyInstance } from 'fastify'
import { methodNotAllowed } from '../../errors.ts'
import type { Service } from '../../service.ts'
import { BODY_LIMIT_BYTES, BULK_LIMIT_BYTES } from '../body.ts'
import { recheckAfterBody } from '../gather-body.ts'
import { lazy } from '../lazy.ts'
import { forbidCaching } from '../response-headers.ts'
import type { ServerPath } from './admission.ts'

/** Only a seller's calls list cards in bulk. */
const LIMIT_BYTES = { '/mcp': BODY_LIMIT_BYTES, '/mcp/seller': BULK_LIMIT_BYTES }

/** Real time for which a browser may cache the response to a preflight. */
const PREFLIGHT_MAX_AGE_S = 600

const PREFLIGHT = {
  allow: 'POST',
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers':
    'Authorization, Content-Type, Accept, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID',
  'access-control-max-age': PREFLIGHT_MAX_AGE_S,
}

/** Requests of all other methods have no stream or session to refer to. */
const REFUSED_METHODS = ['GET', 'HEAD', 'DELETE', 'PUT', 'PATCH']

/** Serves a tool server at one path. Only this file loads with the service; the code behind it with the first request. */
export function toolServerRoutes(app: FastifyInstance, ctx: Service, path: ServerPath): void {
  const open = lazy(async () => {
    const { toolServerEndpoint } = await import('./endpoints.ts')
    return toolServerEndpoint(ctx, path)
  })

  if (!app.hasRequestDecorator('admission')) app.decorateRequest('admission')
  app.addHook('onRequest', forbidCaching)
  app.addHook('onRequest', async (request, reply) => (await open()).check(request, reply))
  app.addHook(
    'onRoute',
    recheckAfterBody(async (request, reply) => (await open()).recheck(request, reply)),
  )
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
      bodyLimit: LIMIT_BYTES[path],
      onRequest: async (request, reply) => (await open()).admit(request, reply),
    },
    async (request, reply) => (await open()).handle(request, reply),
  )
}

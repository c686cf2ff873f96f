import type { FastifyPluginCallback } from 'fastify'
import { notFound } from '../../errors.ts'
import { offersRegistration, registerClient } from '../../oauth/clients.ts'
import type { Service } from '../../service.ts'
import { realTime } from '../../time/real-time.ts'
import { allowPreflight, endpointOptions, limitRequests } from './endpoint.ts'

/** `/oauth/register`: programs that don't know this service in advance (RFC 7591). */
export const registrationRoutes =
  (ctx: Service): FastifyPluginCallback =>
  (app, _options, done) => {
    allowPreflight(app, '/oauth/register')
    app.post('/oauth/register', endpointOptions, async (request, reply) => {
      if (!offersRegistration(ctx.config)) throw notFound('Programs can’t register here.')
      await limitRequests(ctx, request, 'register')
      const client = await registerClient(ctx, request.body as Record<string, unknown>)
      return reply.code(201).send({
        client_id: client.id,
        client_id_issued_at: Math.floor(realTime() / 1000),
        client_name: client.name,
        redirect_uris: client.redirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      })
    })
    done()
  }

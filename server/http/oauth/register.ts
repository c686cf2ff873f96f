import type { FastifyReply, FastifyRequest } from 'fastify'
import { notFound } from '../../errors.ts'
import { offersRegistration, registerClient } from '../../oauth/clients.ts'
import type { Service } from '../../service.ts'
import { realTime } from '../../time/real-time.ts'
import { limitRequests, readFields } from './endpoint.ts'

/** `/oauth/register`: programs that don't know this service in advance (RFC 7591). */
export const registrationHandlers = (ctx: Service) => ({
  async register(request: FastifyRequest, reply: FastifyReply) {
    if (!offersRegistration(ctx.config)) throw notFound('Programs can’t register here.')
    const metadata = readFields(request)
    await limitRequests(ctx, request, 'register')
    const client = await registerClient(ctx, metadata)
    return reply.code(201).send({
      client_id: client.id,
      client_id_issued_at: Math.floor(realTime() / 1000),
      client_name: client.name,
      redirect_uris: client.redirectUris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    })
  },
})

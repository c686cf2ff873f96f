import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { getAccount } from '../../accounts/accounts.ts'
import { withoutCredentials } from '../../audit/secrets.ts'
import type { Service } from '../../service.ts'
import { type Endpoint, endpointNotFound } from '../../webhooks/endpoint.ts'
import {
  enableEndpoint,
  listEndpoints,
  removeEndpoint,
  requireEndpoint,
} from '../../webhooks/endpoints.ts'
import { resendDeliveries } from '../../webhooks/resend.ts'
import type { App } from '../schema.ts'
import { Data, PathId } from '../schema.ts'
import { auditedPeriod, periodOf, ResendInput, Resent } from '../shapes/resend.ts'
import { EndpointSchema, endpointJson, exampleEndpoint } from '../shapes/webhook-endpoint.ts'
import { pathId } from '../validate.ts'

const account = { id: PathId('The account') }
const accountAndEndpoint = Type.Object({ ...account, endpoint: PathId('The endpoint’s id') })

const shownToStaff = (endpoint: Endpoint) => ({
  ...endpointJson(endpoint),
  url: withoutCredentials(endpoint.url),
})

export function endpointRoutes(app: App, ctx: Service): void {
  app.get(
    '/accounts/:id/webhooks',
    {
      schema: {
        operationId: 'listEndpoints',
        summary: 'List an account’s webhook endpoints',
        description:
          'Returns all endpoints of the account, oldest first, including disabled ones, without the user and password of their URLs. Not paginated.',
        tags: ['Webhooks'],
        params: Type.Object(account),
        response: { 200: Data(Type.Array(EndpointSchema), 'The account’s endpoints') },
        'x-example': { data: [exampleEndpoint] },
      },
    },
    async ({ params: { id } }) => {
      await getAccount(ctx, id)
      return { data: (await listEndpoints(ctx, id)).map(shownToStaff) }
    },
  )

  app.delete(
    '/accounts/:id/webhooks/:endpoint',
    {
      schema: {
        operationId: 'deleteEndpoint',
        summary: 'Delete a webhook endpoint',
        description:
          'Deletes the endpoint and its secret, as the seller can. It gets no further events, and its pending deliveries are skipped; those that were sent before stay listed.',
        tags: ['Webhooks'],
        params: accountAndEndpoint,
        response: { 204: Type.Null({ description: 'Deleted' }) },
      },
    },
    async ({ params: { id, endpoint } }, reply) => {
      await removeEndpoint(ctx, id, endpoint)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/accounts/:id/webhooks/:endpoint/enable',
    {
      schema: {
        operationId: 'enableEndpoint',
        summary: 'Enable a webhook endpoint again',
        description:
          'Makes the endpoint active and resets its count of failures, also if it is active already. Deliveries that were skipped meanwhile stay skipped until you resend them. Responds with 409 while the service still skips a long queue of deliveries that were pending: try again some seconds later.',
        tags: ['Webhooks'],
        params: accountAndEndpoint,
        response: { 200: Data(EndpointSchema, 'The endpoint after the change') },
        'x-errors': ['conflict'],
        'x-example': { data: exampleEndpoint },
      },
    },
    async ({ params: { id, endpoint } }) => ({
      data: shownToStaff(await enableEndpoint(ctx, id, endpoint)),
    }),
  )

  app.post(
    '/accounts/:id/webhooks/:endpoint/resend',
    {
      preValidation: endpointExists(ctx),
      // Many deliveries are resent in many transactions.
      config: { audit: 'begun and ended', auditRequest: auditedPeriod, isLong: true },
      schema: {
        operationId: 'resendDeliveries',
        summary: 'Resend the deliveries that an endpoint has missed',
        description:
          'Makes one attempt at each skipped or failed delivery of an event in this period. A pending delivery keeps its schedule: resend it alone. Responds when all attempts are scheduled: a million deliveries take about a minute. The service continues if the connection is lost. Responds with 409 if the endpoint is disabled, also if that happens meanwhile: the attempts that are left are not made.',
        tags: ['Webhooks'],
        params: accountAndEndpoint,
        body: ResendInput,
        response: { 202: Resent },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': { data: { deliveries: 12 } },
      },
    },
    async ({ params: { id, endpoint }, body }, reply) => {
      const deliveries = await resendDeliveries(ctx, id, endpoint, periodOf(body))
      return reply.code(202).send({ data: { deliveries } })
    },
  )
}

/** A preValidation hook: an unknown endpoint gets 404 even if the body is invalid. */
const endpointExists = (ctx: Service) => async (request: FastifyRequest) => {
  const params = request.params as { id?: unknown; endpoint?: unknown }
  const [accountId, id] = [pathId(params.id), pathId(params.endpoint)]
  if (accountId === undefined || id === undefined) throw endpointNotFound()
  await requireEndpoint(ctx, accountId, id)
}

import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { getAccount } from '../../accounts/accounts.ts'
import { validationError } from '../../errors.ts'
import type { Service } from '../../service.ts'
import { resendDeliveries } from '../../webhooks/deliveries.ts'
import { endpointNotFound } from '../../webhooks/endpoint.ts'
import { enableEndpoint, listEndpoints, requireEndpoint } from '../../webhooks/endpoints.ts'
import { parseDateTimes } from '../date-time.ts'
import { Data, PathId, Text } from '../schema.ts'
import { EndpointSchema, endpointJson, exampleEndpoint } from '../shapes/webhook-endpoint.ts'
import { pathId } from '../validate.ts'

const account = { id: PathId('The account') }
const accountAndEndpoint = Type.Object({ ...account, endpoint: PathId('The endpoint’s id') })

const DateTimeText = (description: string) =>
  Text({
    description: `${description}. ISO 8601 date or date-time; without an offset the time is UTC`,
    examples: ['2026-03-01T09:30:00Z'],
  })

export const endpointRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get(
      '/accounts/:id/webhooks',
      {
        schema: {
          operationId: 'listEndpoints',
          summary: 'List an account’s webhook endpoints',
          description:
            'Returns all endpoints of the account, oldest first, including disabled ones. Not paginated.',
          tags: ['Webhooks'],
          params: Type.Object(account),
          response: { 200: Data(Type.Array(EndpointSchema), 'The account’s endpoints') },
          'x-example': { data: [exampleEndpoint] },
        },
      },
      async ({ params: { id } }) => {
        await getAccount(ctx, id)
        return { data: (await listEndpoints(ctx, id)).map(endpointJson) }
      },
    )

    app.post(
      '/accounts/:id/webhooks/:endpoint/enable',
      {
        schema: {
          operationId: 'enableEndpoint',
          summary: 'Enable a webhook endpoint again',
          description:
            'Makes the endpoint active and resets its count of failures, also if it is active already. Deliveries that were skipped meanwhile stay skipped until you resend them.',
          tags: ['Webhooks'],
          params: accountAndEndpoint,
          response: { 200: Data(EndpointSchema, 'The endpoint after the change') },
          'x-example': { data: exampleEndpoint },
        },
      },
      async ({ params: { id, endpoint } }) => ({
        data: endpointJson(await enableEndpoint(ctx, id, endpoint)),
      }),
    )

    app.post(
      '/accounts/:id/webhooks/:endpoint/resend',
      {
        preValidation: endpointExists(ctx),
        schema: {
          operationId: 'resendDeliveries',
          summary: 'Resend the deliveries that an endpoint has missed',
          description:
            'Makes one attempt at each skipped or failed delivery of an event in this period. Responds with 409 if the endpoint is disabled.',
          tags: ['Webhooks'],
          params: accountAndEndpoint,
          body: Type.Object(
            {
              from: DateTimeText('First second of the period'),
              to: DateTimeText('Last second of the period; a date means its first second'),
            },
            { examples: [{ from: '2026-03-01T09:30:00Z', to: '2026-03-02' }] },
          ),
          response: {
            202: Data(
              Type.Object({
                deliveries: Type.Integer({ description: 'Number of deliveries that are resent' }),
              }),
              'The attempts are scheduled',
            ),
          },
          'x-errors': ['conflict', 'validation_error'],
          'x-example': { data: { deliveries: 12 } },
        },
      },
      async ({ params: { id, endpoint }, body }, reply) => {
        const { from, to } = body
        const period = parseDateTimes({ from, to })
        if (period.from > period.to) {
          throw validationError({ to: ['The to field must not be before the from field.'] })
        }
        const deliveries = await resendDeliveries(ctx, id, endpoint, period)
        return reply.code(202).send({ data: { deliveries } })
      },
    )
    done()
  }

/** A preValidation hook: an unknown endpoint is 404 even if the body is invalid. */
const endpointExists = (ctx: Service) => async (request: FastifyRequest) => {
  const params = request.params as { id?: unknown; endpoint?: unknown }
  const [accountId, id] = [pathId(params.id), pathId(params.endpoint)]
  if (accountId === undefined || id === undefined) throw endpointNotFound()
  await requireEndpoint(ctx, accountId, id)
}

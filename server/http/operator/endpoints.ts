import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { getAccount } from '../../accounts/accounts.ts'
import { validationError } from '../../errors.ts'
import type { Service } from '../../service.ts'
import { resendDeliveries } from '../../webhooks/deliveries.ts'
import { endpointNotFound } from '../../webhooks/endpoint.ts'
import { enableEndpoint, listEndpoints, requireEndpoint } from '../../webhooks/endpoints.ts'
import { momentsOf } from '../date-time.ts'
import { Data, PathId, Text } from '../schema.ts'
import { EndpointSchema, endpointJson, exampleEndpoint } from '../shapes/webhook-endpoint.ts'
import { pathId } from '../validate.ts'

const account = { id: PathId('The account') }
const accountAndEndpoint = Type.Object({ ...account, endpoint: PathId('The endpoint’s id') })

/** Required, as `momentsOf` reads it. */
const Moment = (description: string) =>
  Text({
    description: `${description}. ISO 8601 date or date-time, UTC where no offset is given`,
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
          description: 'Oldest first, disabled ones among them. Not paginated.',
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
            'It is active, with no failures counted. What was skipped meanwhile stays so until it is sent again. One that is active already starts counting anew.',
          tags: ['Webhooks'],
          params: accountAndEndpoint,
          response: { 200: Data(EndpointSchema, 'The endpoint as it is now') },
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
          summary: 'Send again what an endpoint has missed',
          description:
            'All its skipped and failed deliveries of events that happened in this time, one attempt each. 409 while it is disabled.',
          tags: ['Webhooks'],
          params: accountAndEndpoint,
          body: Type.Object(
            {
              from: Moment('The first second'),
              to: Moment('The last second; a date is its first'),
            },
            { examples: [{ from: '2026-03-01T09:30:00Z', to: '2026-03-02' }] },
          ),
          response: {
            202: Data(
              Type.Object({ deliveries: Type.Integer({ description: 'How many are sent again' }) }),
              'They are on their way',
            ),
          },
          'x-errors': ['conflict', 'validation_error'],
          'x-example': { data: { deliveries: 12 } },
        },
      },
      async ({ params: { id, endpoint }, body }, reply) => {
        const { from, to } = body
        const span = momentsOf({ from, to })
        if (span.from > span.to) {
          throw validationError({ to: ['The to field must not be before the from field.'] })
        }
        const deliveries = await resendDeliveries(ctx, id, endpoint, span)
        return reply.code(202).send({ data: { deliveries } })
      },
    )
    done()
  }

/** Answers 404 for an endpoint that isn't there before its body is looked at. */
const endpointExists = (ctx: Service) => async (request: FastifyRequest) => {
  const params = request.params as { id?: unknown; endpoint?: unknown }
  const [accountId, id] = [pathId(params.id), pathId(params.endpoint)]
  if (accountId === undefined || id === undefined) throw endpointNotFound()
  await requireEndpoint(ctx, accountId, id)
}

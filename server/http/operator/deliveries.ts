import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import type { Service } from '../../service.ts'
import { listDeliveries, resendDelivery } from '../../webhooks/deliveries.ts'
import { DELIVERY_STATUSES } from '../../webhooks/delivery.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { Query } from '../query.ts'
import { Data, Id, OneOf, Paginated, PathId } from '../schema.ts'
import { DeliverySchema, deliveryJson, exampleDelivery } from '../shapes/delivery.ts'

export const deliveryRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get(
      '/deliveries',
      {
        schema: {
          operationId: 'listDeliveries',
          summary: 'List webhook deliveries',
          description:
            'Newest first, each with its attempts. Kept for 30 days (`WEBHOOK_RETENTION_DAYS`), those to deleted endpoints, too.',
          tags: ['Webhooks'],
          querystring: Type.Object({
            account_id: Type.Optional(Id()),
            endpoint_id: Type.Optional(Id()),
            status: Type.Optional(OneOf(DELIVERY_STATUSES)),
            ...pageParameters,
          }),
          response: { 200: Paginated(DeliverySchema, 'A page of deliveries') },
          'x-errors': ['validation_error'],
          'x-example': pageExample('/operator/v1/deliveries', [exampleDelivery]),
        },
      },
      async (request) => {
        const query = request.query as Query
        const filters = {
          accountId: integerIn(query.account_id),
          endpointId: integerIn(query.endpoint_id),
          status: request.query.status,
        }
        return paginated(
          `${ctx.config.publicUrl}/operator/v1/deliveries`,
          query,
          (page) => listDeliveries(ctx, filters, page),
          deliveryJson,
        )
      },
    )

    app.post(
      '/deliveries/:id/resend',
      {
        schema: {
          operationId: 'resendDelivery',
          summary: 'Send a delivery again',
          description:
            'At once, with the same `delivery_id`, `created_at` and body, and a new timestamp and signature. One attempt beside the schedule, whatever became of it so far: if it is taken the delivery is `delivered`, if it fails nothing changes and nothing is counted. 409 when the endpoint is disabled or deleted.',
          tags: ['Webhooks'],
          params: Type.Object({ id: PathId('The delivery') }),
          response: { 202: Data(DeliverySchema, 'It is on its way') },
          'x-errors': ['conflict'],
          'x-example': { data: exampleDelivery },
        },
      },
      async ({ params }, reply) =>
        reply.code(202).send({ data: deliveryJson(await resendDelivery(ctx, params.id)) }),
    )
    done()
  }

/** An integer of a validated query, whose values are all text. */
const integerIn = (text: string | undefined) => (text === undefined ? undefined : Number(text))

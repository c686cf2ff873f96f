import Type from 'typebox'
import { DELIVERY_STATUSES } from '../../enums.ts'
import { validationError } from '../../errors.ts'
import type { Service } from '../../service.ts'
import { listDeliveries } from '../../webhooks/delivery-list.ts'
import { resendDelivery } from '../../webhooks/resend.ts'
import { optionalDateTimes } from '../date-time.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { Data, Id, OneOf, Paginated, PathId } from '../schema.ts'
import { DeliverySchema, deliveryJson, eventPeriod, exampleDelivery } from '../shapes/delivery.ts'

export function deliveryRoutes(app: App, ctx: Service): void {
  app.get(
    '/deliveries',
    {
      schema: {
        operationId: 'listDeliveries',
        summary: 'List webhook deliveries',
        description:
          'Returns deliveries with their attempts, newest first. Deliveries are kept for `WEBHOOK_RETENTION_DAYS`, by default 30, also those to deleted endpoints. `from` and `to` need `account_id` or `endpoint_id`. Pages reach only the newest 10,000 deliveries of a list: the links end there, and a request for a further page fails with 422.',
        tags: ['Webhooks'],
        querystring: Type.Object({
          account_id: Type.Optional(Id()),
          endpoint_id: Type.Optional(Id()),
          status: Type.Optional(OneOf(DELIVERY_STATUSES)),
          ...eventPeriod,
          ...pageParameters,
        }),
        response: { 200: Paginated(DeliverySchema, 'A page of deliveries') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/operator/v1/deliveries', [exampleDelivery]),
      },
    },
    async (request) => {
      const { query } = request
      const filters = {
        accountId: query.account_id,
        endpointId: query.endpoint_id,
        status: query.status,
        ...optionalDateTimes({ from: query.from, to: query.to }),
      }
      if (!query.account_id && !query.endpoint_id && (query.from || query.to)) {
        throw validationError({
          account_id: ['With from or to, the account_id or endpoint_id field is required.'],
        })
      }
      return paginated(ctx, request, (page) => listDeliveries(ctx, filters, page), deliveryJson)
    },
  )

  app.post(
    '/deliveries/:id/resend',
    {
      schema: {
        operationId: 'resendDelivery',
        summary: 'Send a delivery again',
        description:
          'Makes one attempt at once, outside the retry schedule and whatever the status of the delivery. `delivery_id`, `created_at` and body stay the same; timestamp and signature are new. If the attempt succeeds, the delivery is `delivered`; if it fails, nothing else changes and no failure is counted. Responds with 409 if the endpoint is disabled or deleted.',
        tags: ['Webhooks'],
        params: Type.Object({ id: PathId('The delivery') }),
        response: { 202: Data(DeliverySchema, 'The attempt is scheduled') },
        'x-errors': ['conflict'],
        'x-example': { data: exampleDelivery },
      },
    },
    async ({ params }, reply) =>
      reply.code(202).send({ data: deliveryJson(await resendDelivery(ctx, params.id)) }),
  )
}

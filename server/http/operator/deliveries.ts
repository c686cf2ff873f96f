import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type, { type Static } from 'typebox'
import { WEBHOOK_EVENTS } from '../../enums.ts'
import { sampleData } from '../../sandbox/sample-events.ts'
import type { Service } from '../../service.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import { listDeliveries, resendDelivery } from '../../webhooks/deliveries.ts'
import { DELIVERY_STATUSES, type Delivery, payloadOf } from '../../webhooks/delivery.ts'
import { pageEnd, pageOf, pageParameters } from '../paginate.ts'
import type { Query } from '../query.ts'
import { component, Data, Id, Nullable, OneOf, Paginated, PathId, Timestamp } from '../schema.ts'
import { DELIVERED } from '../shapes/event.ts'

const AttemptShown = Type.Object({
  at: Timestamp({ description: 'When it began' }),
  status_code: Nullable(Type.Integer(), { description: 'null when nothing was answered' }),
  error: Nullable(Type.String(), { description: 'Why it failed; null when it was taken' }),
  duration_ms: Type.Integer(),
  response: Nullable(Type.String(), { description: 'How the answer begins' }),
})

const DeliveryShown = component(
  'Delivery',
  Type.Object(
    {
      id: Type.Integer({ description: 'The envelope’s `delivery_id`' }),
      account_id: Type.Integer(),
      endpoint_id: Type.Integer(),
      event: OneOf(WEBHOOK_EVENTS),
      status: OneOf(DELIVERY_STATUSES, {
        description:
          '`pending`: to be attempted, for the first time or again. `failed`: every attempt has failed. `skipped`: the endpoint was disabled or deleted before it was delivered.',
      }),
      attempts: Type.Array(AttemptShown, { description: 'Oldest first, resends among them' }),
      next_attempt_at: Nullable(Timestamp(), { description: 'null when none is to come' }),
      created_at: Timestamp({ description: 'When the event happened' }),
      payload: Type.Unsafe<object>({
        anyOf: Object.values(DELIVERED),
        description: 'The envelope as it is sent',
      }),
    },
    { description: 'An event’s way to one endpoint.' },
  ),
)

const example = {
  id: 88,
  account_id: 1,
  endpoint_id: 3,
  event: 'order.cancelled',
  status: 'pending',
  attempts: [
    {
      at: '2026-03-01T09:30:00Z',
      status_code: 503,
      error: 'The receiver answered with status 503.',
      duration_ms: 84,
      response: 'down for maintenance',
    },
  ],
  next_attempt_at: '2026-03-01T09:31:00Z',
  created_at: '2026-03-01T09:30:00Z',
  payload: {
    event: 'order.cancelled',
    delivery_id: 88,
    created_at: '2026-03-01T09:30:00Z',
    data: sampleData('order.cancelled'),
  },
}

export const deliveryRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    const address = `${ctx.config.publicUrl}/operator/v1/deliveries`

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
          response: { 200: Paginated(DeliveryShown, 'A page of deliveries') },
          'x-errors': ['validation_error'],
          'x-example': { data: [example], ...pageEnd(EXAMPLE_ADDRESS, {}, pageOf({}), 1, 1) },
        },
      },
      async (request) => {
        const query = request.query as Query
        const { status } = request.query
        const wanted = pageOf(query)
        const filters = {
          accountId: numberIn(query.account_id),
          endpointId: numberIn(query.endpoint_id),
          status,
        }
        const { rows, total } = await listDeliveries(ctx, filters, wanted)
        return {
          data: rows.map(deliveryJson),
          ...pageEnd(address, query, wanted, rows.length, total),
        }
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
          response: { 202: Data(DeliveryShown, 'It is on its way') },
          'x-errors': ['conflict'],
          'x-example': { data: example },
        },
      },
      async ({ params }, reply) =>
        reply.code(202).send({ data: deliveryJson(await resendDelivery(ctx, params.id)) }),
    )
    done()
  }

const EXAMPLE_ADDRESS = 'https://cards.example/operator/v1/deliveries'

/** A query's integer, which was checked and is text all the same. */
const numberIn = (text: string | undefined) => (text === undefined ? undefined : Number(text))

const deliveryJson = (delivery: Delivery): Static<typeof DeliveryShown> => ({
  id: delivery.id,
  account_id: delivery.accountId,
  endpoint_id: delivery.endpointId,
  event: delivery.event,
  status: delivery.status,
  attempts: delivery.attempts.map(({ at, statusCode, error, durationMs, response }) => ({
    at: timestamp(at),
    status_code: statusCode,
    error,
    duration_ms: durationMs,
    response,
  })),
  next_attempt_at: timestampOrNull(delivery.nextAttemptAt),
  created_at: timestamp(delivery.createdAt),
  payload: JSON.parse(payloadOf(delivery)),
})

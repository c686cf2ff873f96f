import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { WEBHOOK_EVENTS } from '../../enums.ts'
import { conflict } from '../../errors.ts'
import { recordEvent } from '../../events/record.ts'
import { sampleData, testData } from '../../sandbox/sample-events.ts'
import type { Service } from '../../service.ts'
import { requireDelivery, sendTestEvent } from '../../webhooks/deliveries.ts'
import { listDeliveries } from '../../webhooks/delivery-list.ts'
import { endpointNotFound } from '../../webhooks/endpoint.ts'
import { requireEndpoint, rotateSecret } from '../../webhooks/endpoints.ts'
import { resendDeliveries, resendDelivery } from '../../webhooks/resend.ts'
import { refusalMeanwhile } from '../authenticate.ts'
import { closingSignal } from '../closing.ts'
import { openEventStream, STREAM_DESCRIPTION, streamSchema } from '../event-stream.ts'
import { sendOnce } from '../idempotency.ts'
import { idempotencyKeyHeader, secretForKey } from '../idempotency-key.ts'
import { sendJson } from '../json.ts'
import { pageExample, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { Data, OneOf, Paginated, PathId } from '../schema.ts'
import {
  DeliveryQuery,
  DeliverySchema,
  deliveryFilters,
  deliveryJson,
  exampleDelivery,
} from '../shapes/delivery.ts'
import { SampleSent } from '../shapes/event.ts'
import { periodOf, ResendInput, Resent } from '../shapes/resend.ts'
import { endpointJson, exampleEndpoint, NewEndpoint } from '../shapes/webhook-endpoint.ts'
import { pathId } from '../validate.ts'

const SCOPE = 'webhooks:manage'
const config = { scope: SCOPE } as const

const EventInput = Type.Object(
  { event: OneOf(WEBHOOK_EVENTS) },
  { examples: [{ event: 'order.created' }] },
)

export function ownDeliveryRoutes(app: App, ctx: Service): void {
  app.get(
    '/deliveries',
    {
      config,
      schema: {
        operationId: 'listOwnDeliveries',
        summary: 'List your webhook deliveries',
        description:
          'Returns the deliveries to your endpoints with their attempts, newest first. The marketplace decides how long they are kept, by default 30 days, also those to deleted endpoints. Pages reach only the newest 10,000 deliveries of a list: the links end there, and a request for a further page fails with 422. List older ones with `to`, 10 seconds after the `created_at` of the last one, and drop those that you have by their `id`.',
        tags: ['Webhooks'],
        querystring: DeliveryQuery,
        response: { 200: Paginated(DeliverySchema, 'A page of your deliveries') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/tools/v1/deliveries', [exampleDelivery]),
      },
    },
    async (request) => {
      const filters = deliveryFilters(request.caller.account.id, request.query)
      return paginated(ctx, request, (page) => listDeliveries(ctx, filters, page), deliveryJson)
    },
  )

  app.post(
    '/deliveries/:id/resend',
    {
      config,
      schema: {
        operationId: 'resendOwnDelivery',
        summary: 'Send a delivery again',
        description:
          'Makes one attempt at once, outside the retry schedule and whatever the status of the delivery. `delivery_id`, `created_at` and body stay the same; timestamp and signature are new. Responds with 409 if the endpoint is disabled or deleted.',
        tags: ['Webhooks'],
        params: Type.Object({ id: PathId('The delivery') }),
        response: { 202: Data(DeliverySchema, 'The attempt is scheduled') },
        'x-errors': ['conflict'],
        'x-example': { data: exampleDelivery },
      },
    },
    async ({ caller, params: { id } }, reply) => {
      await requireDelivery(ctx, caller.account.id, id)
      return reply.code(202).send({ data: deliveryJson(await resendDelivery(ctx, id)) })
    },
  )
}

export function ownEndpointRoutes(app: App, ctx: Service): void {
  const endpoint = {
    tags: ['Webhooks'],
    params: Type.Object({ id: PathId('The endpoint’s id') }),
  }
  /** An unknown endpoint gets 404 even if the body is invalid. */
  const preValidation = async (request: FastifyRequest) => {
    const id = pathId((request.params as { id?: unknown }).id)
    if (id === undefined) throw endpointNotFound()
    await requireEndpoint(ctx, request.caller.account.id, id)
  }

  app.post(
    '/webhooks/:id/resend',
    {
      // Many deliveries are resent in many transactions.
      config: { ...config, isLong: true },
      preValidation,
      schema: {
        ...endpoint,
        operationId: 'resendOwnDeliveries',
        summary: 'Resend the deliveries that an endpoint has missed',
        description:
          'Makes one attempt at each skipped or failed delivery of an event in this period. A pending delivery keeps its schedule: resend it alone. Responds when all attempts are scheduled: a million deliveries take about a minute. The service continues if the connection is lost. Responds with 409 if the endpoint is disabled, also if that happens meanwhile: the attempts that are left are not made.',
        body: ResendInput,
        response: { 202: Resent },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': { data: { deliveries: 12 } },
      },
    },
    async ({ caller, params, body }, reply) => {
      const period = periodOf(body)
      const deliveries = await resendDeliveries(ctx, caller.account.id, params.id, period)
      return reply.code(202).send({ data: { deliveries } })
    },
  )

  app.post(
    '/webhooks/:id/test',
    {
      config,
      preValidation,
      schema: {
        ...endpoint,
        operationId: 'testWebhook',
        summary: 'Send a test event to an endpoint',
        description:
          'Sends the event to this endpoint, whether or not it is subscribed, and to the account’s streams of events, but to no other endpoint. It is about an order and a listing with the id 0, which do not exist. It is logged, retried and counted like a real event. Responds with 409 if the endpoint is disabled.',
        body: EventInput,
        response: { 202: Data(DeliverySchema, 'The test is queued') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': {
          data: {
            ...exampleDelivery,
            event: 'order.created',
            attempts: [],
            next_attempt_at: exampleDelivery.created_at,
            payload: {
              ...exampleDelivery.payload,
              event: 'order.created',
              data: testData('order.created'),
            },
          },
        },
      },
    },
    async ({ caller, params, body: { event } }, reply) => {
      const test = { event, data: testData(event) }
      const sent = await sendTestEvent(ctx, caller.account.id, params.id, test)
      return reply.code(202).send({ data: deliveryJson(sent) })
    },
  )

  app.post(
    '/webhooks/:id/rotate-secret',
    {
      config,
      schema: {
        ...endpoint,
        operationId: 'rotateWebhookSecret',
        summary: 'Give an endpoint a new secret',
        description:
          'Only this response contains the new secret, which signs `X-Service-Signature` from now on. For 24 hours, deliveries also have `X-Service-Signature-Previous`, signed with the former secret, so that a receiver which checks both headers can be changed without a gap. A second rotation ends that period of the first: send an `Idempotency-Key`, with which you can safely repeat the request for 24 hours.',
        headers: idempotencyKeyHeader,
        response: { 200: NewEndpoint },
        'x-example': {
          data: exampleEndpoint,
          secret: 'svc_whsec_0123456789abcdefghijABCDEFGHIJ0123456789',
        },
      },
    },
    async (request, reply) => {
      const { caller, params } = request
      const identity = secretForKey(request, `rotateWebhookSecret ${params.id}`)
      return sendOnce(ctx, reply, identity, async (tx) => {
        const { endpoint, secret } = await rotateSecret(tx, caller.account.id, params.id)
        return { status: 200, body: { data: endpointJson(endpoint), secret } }
      })
    },
  )
}

/** Streams of an account that one process keeps open at a time. */
const MAX_STREAMS = 5

export function ownEventRoutes(app: App, ctx: Service): void {
  const closing = closingSignal(app)
  const streams = new Map<number, number>()

  app.get(
    '/events/stream',
    {
      config: { ...config, isLong: true },
      // HEAD would wait for events without sending them.
      exposeHeadRoute: false,
      schema: {
        operationId: 'followOwnEvents',
        summary: 'Follow your events',
        description: `Streams all your events as server-sent events, whether or not an endpoint is subscribed to them. \`cardstall webhooks listen\` uses this operation. An account can have ${MAX_STREAMS} streams at a time in each process of the service; a further one gets 409. Don’t rely on more than ${MAX_STREAMS}, because chance decides which process accepts a connection. The stream ends when the key is revoked. ${STREAM_DESCRIPTION}`,
        tags: ['Webhooks'],
        ...streamSchema,
        'x-errors': ['conflict', 'validation_error'],
      },
    },
    async (request, reply) => {
      // The client disconnected while its key was looked up: 'close' has fired and would never make room.
      if (reply.raw.destroyed) return sendJson(reply, '')
      const accountId = request.caller.account.id
      const open = streams.get(accountId) ?? 0
      if (open >= MAX_STREAMS) {
        throw conflict(`You already have ${MAX_STREAMS} open streams: close one of them first.`)
      }
      streams.set(accountId, open + 1)
      reply.raw.once('close', () => {
        const left = streams.get(accountId)! - 1
        if (left > 0) streams.set(accountId, left)
        else streams.delete(accountId)
      })
      const stream = await openEventStream(ctx, request, reply, {
        accountId,
        closing,
        mayContinue: async () => !(await refusalMeanwhile(ctx, request, SCOPE)),
      })
      return reply.send(stream)
    },
  )

  if (ctx.config.sandbox) {
    app.post(
      '/events',
      {
        config,
        schema: {
          operationId: 'sendOwnSampleEvent',
          summary: 'Send a sample event',
          description:
            'Sandbox only. Sends the event to your endpoints that are subscribed to it, and to your stream. It is logged, retried and counted like a real event. Its data is invented: the order and the listing do not exist.',
          tags: ['Webhooks'],
          body: EventInput,
          response: { 202: Data(SampleSent, 'The event is queued') },
          'x-errors': ['validation_error'],
          'x-example': { data: { event: 'order.created', deliveries: 1 } },
        },
      },
      async ({ caller, body: { event } }, reply) => {
        const accountId = caller.account.id
        const deliveries = await recordEvent(ctx, { accountId, event, data: sampleData(event) })
        return reply.code(202).send({ data: { event, deliveries } })
      },
    )
  }
}

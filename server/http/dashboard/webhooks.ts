import Type, { type Static } from 'typebox'
import { WEBHOOK_EVENTS } from '../../enums.ts'
import { testData } from '../../sandbox/sample-events.ts'
import type { Service } from '../../service.ts'
import { timestampOrNull } from '../../time/timestamp.ts'
import { checkSignature } from '../../webhooks/check-signature.ts'
import { requireDelivery, sendTestEvent } from '../../webhooks/deliveries.ts'
import { listDeliveries } from '../../webhooks/delivery-list.ts'
import type { Endpoint } from '../../webhooks/endpoint.ts'
import {
  createEndpoint,
  enableEndpoint,
  listEndpoints,
  removeEndpoint,
  rotateSecret,
} from '../../webhooks/endpoints.ts'
import { missedSince, resendDeliveries, resendDelivery } from '../../webhooks/resend.ts'
import { sendOnce } from '../idempotency.ts'
import { idempotencyKeyHeader, secretForMember } from '../idempotency-key.ts'
import { paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { Data, Nullable, OneOf, Paginated, PathId, Timestamp } from '../schema.ts'
import { DeliveryQuery, DeliverySchema, deliveryFilters, deliveryJson } from '../shapes/delivery.ts'
import { auditedPeriod, periodOf, ResendInput, Resent } from '../shapes/resend.ts'
import { EndpointInput, endpointJson } from '../shapes/webhook-endpoint.ts'
import { shopPeriod } from './shop-period.ts'

const EndpointSchema = Type.Object({
  id: Type.Integer(),
  url: Type.String(),
  events: Type.Array(OneOf(WEBHOOK_EVENTS)),
  active: Type.Boolean(),
  disabled_at: Nullable(Timestamp()),
  consecutive_failures: Type.Integer(),
  failure_reason: Nullable(Type.String()),
  created_at: Timestamp(),
})

const ListedEndpointSchema = Type.Object({
  ...EndpointSchema.properties,
  missed_since: Nullable(Timestamp()),
})

/** An endpoint with the reason of its last failure, and the time of the oldest event that it has missed. */
export type EndpointRecord = Static<typeof ListedEndpointSchema>

export type DeliveryRecord = Static<typeof DeliverySchema>

const CheckSchema = Type.Object({ valid: Type.Boolean(), findings: Type.Array(Type.String()) })

/** The result of the signature checker. */
export type SignatureRecord = Static<typeof CheckSchema>

const MAX_BODY_LENGTH = 200_000
const MAX_HEADER_LENGTH = 500

const endpoint = { params: Type.Object({ id: PathId('The endpoint') }) }
const delivery = { params: Type.Object({ id: PathId('The delivery') }) }

export function webhooksApi(app: App, ctx: Service): void {
  app.get(
    '/webhooks',
    { schema: { response: { 200: Data(Type.Array(ListedEndpointSchema), 'The endpoints') } } },
    async ({ member }) => {
      const missed = await missedSince(ctx, member.accountId)
      const endpoints = await listEndpoints(ctx, member.accountId)
      return {
        data: endpoints.map((endpoint) => ({
          ...endpointRecord(endpoint),
          missed_since: timestampOrNull(missed.get(endpoint.id) ?? null),
        })),
      }
    },
  )

  app.post(
    '/webhooks',
    {
      schema: {
        headers: idempotencyKeyHeader,
        body: EndpointInput,
        response: { 201: Type.Object({ data: EndpointSchema, secret: Type.String() }) },
      },
    },
    async (request, reply) => {
      const { member, body } = request
      const identity = secretForMember(request, 'dashboard createEndpoint')
      return sendOnce(ctx, reply, identity, async (tx) => {
        const { endpoint, secret } = await createEndpoint(tx, member.accountId, body)
        return { status: 201, body: { data: endpointRecord(endpoint), secret } }
      })
    },
  )

  app.delete(
    '/webhooks/:id',
    { schema: { ...endpoint, response: { 204: Type.Null({ description: 'Deleted' }) } } },
    async ({ member, params }, reply) => {
      await removeEndpoint(ctx, member.accountId, params.id)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/webhooks/:id/enable',
    { schema: { ...endpoint, response: { 200: Data(EndpointSchema, 'The active endpoint') } } },
    async ({ member, params }) => ({
      data: endpointRecord(await enableEndpoint(ctx, member.accountId, params.id)),
    }),
  )

  app.post(
    '/webhooks/:id/rotate-secret',
    {
      schema: {
        ...endpoint,
        headers: idempotencyKeyHeader,
        response: { 200: Type.Object({ data: EndpointSchema, secret: Type.String() }) },
      },
    },
    async (request, reply) => {
      const { member, params } = request
      const identity = secretForMember(request, `dashboard rotateSecret ${params.id}`)
      return sendOnce(ctx, reply, identity, async (tx) => {
        const { endpoint, secret } = await rotateSecret(tx, member.accountId, params.id)
        return { status: 200, body: { data: endpointRecord(endpoint), secret } }
      })
    },
  )

  app.post(
    '/webhooks/:id/test',
    {
      schema: {
        ...endpoint,
        body: Type.Object({ event: OneOf(WEBHOOK_EVENTS) }),
        response: { 202: Data(DeliverySchema, 'The test is queued') },
      },
    },
    async ({ member, params, body: { event } }, reply) => {
      const test = { event, data: testData(event) }
      const sent = await sendTestEvent(ctx, member.accountId, params.id, test)
      return reply.code(202).send({ data: deliveryJson(sent) })
    },
  )

  app.post(
    '/webhooks/:id/resend',
    {
      // Many deliveries are resent in many transactions.
      config: { audit: 'begun and ended', auditRequest: auditedPeriod, isLong: true },
      schema: {
        ...endpoint,
        body: ResendInput,
        response: { 202: Resent },
      },
    },
    async ({ member, params, body }, reply) => {
      const period = {
        ...periodOf(body),
        ...(await shopPeriod(ctx, member.accountId, body)),
      }
      const deliveries = await resendDeliveries(ctx, member.accountId, params.id, period)
      return reply.code(202).send({ data: { deliveries } })
    },
  )

  app.get(
    '/webhooks/deliveries',
    {
      schema: {
        querystring: DeliveryQuery,
        response: { 200: Paginated(DeliverySchema, 'A page of deliveries') },
      },
    },
    async (request) => {
      const { accountId } = request.member
      const filters = {
        ...deliveryFilters(accountId, request.query),
        ...(await shopPeriod(ctx, accountId, request.query)),
      }
      return paginated(ctx, request, (page) => listDeliveries(ctx, filters, page), deliveryJson)
    },
  )

  app.get(
    '/webhooks/deliveries/:id',
    { schema: { ...delivery, response: { 200: Data(DeliverySchema, 'The delivery') } } },
    async ({ member, params }) => ({
      data: deliveryJson(await requireDelivery(ctx, member.accountId, params.id)),
    }),
  )

  app.post(
    '/webhooks/deliveries/:id/resend',
    { schema: { ...delivery, response: { 202: Data(DeliverySchema, 'Queued') } } },
    async ({ member, params }, reply) => {
      await requireDelivery(ctx, member.accountId, params.id)
      return reply.code(202).send({ data: deliveryJson(await resendDelivery(ctx, params.id)) })
    },
  )

  // The server checks it, because a page without https has no cryptography. Nothing of it is stored or logged.
  app.post(
    '/webhooks/signature',
    {
      config: { audit: 'never' },
      schema: {
        body: Type.Object({
          body: Type.String({ maxLength: MAX_BODY_LENGTH }),
          timestamp: Type.String({ maxLength: MAX_HEADER_LENGTH }),
          signature: Type.String({ maxLength: MAX_HEADER_LENGTH }),
          secret: Type.String({ maxLength: MAX_HEADER_LENGTH }),
        }),
        response: { 200: Data(CheckSchema, 'The result') },
      },
    },
    async ({ body }) => {
      const { isValid, findings } = checkSignature(body, ctx.now())
      return { data: { valid: isValid, findings } }
    },
  )
}

const endpointRecord = (endpoint: Endpoint): Static<typeof EndpointSchema> => ({
  ...endpointJson(endpoint),
  failure_reason: endpoint.failureReason,
})

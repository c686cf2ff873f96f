import type { OpenAPIV3_1 } from 'openapi-types'
import { WEBHOOK_EVENTS, type WebhookEvent } from '../../enums.ts'
import { sampleData } from '../../sandbox/sample-events.ts'
import { publishedRef } from '../schema.ts'
import { EVENT_SCHEMAS } from '../shapes/event.ts'

/** Describes deliveries for OpenAPI's `webhooks`, from the receiver's point of view (§6). */
export const webhookDescriptions = (): Record<WebhookEvent, OpenAPIV3_1.OperationObject> => ({
  'order.created': delivery('order.created', {
    operationId: 'orderCreated',
    summary: 'An order was created',
    description:
      'Sent once for each order row: a cart with three of your listings causes three deliveries. Each comes with a `listing.sold` event.',
  }),
  'order.cancelled': delivery('order.cancelled', {
    operationId: 'orderCancelled',
    summary: 'An order was cancelled',
    description:
      'Sent when a row is cancelled and refunded: by you, by the marketplace (also for the buyer, or after a dispute), or by the service, because it was not shipped in time. `cancelled_by` says which. Do not ship it.',
  }),
  'order.label_ready': delivery('order.label_ready', {
    operationId: 'orderLabelReady',
    summary: 'A label or its tracking changed',
    description:
      'Sent when a platform label is bought, and again when its PDF or tracking code appears or changes. One order can cause two events, the first without a PDF or a tracking code. These are two deliveries with different ids, while a repeated attempt keeps its id. Reading a label again (`POST /orders/{order}/label`) sends no event if nothing has changed, so a receiver can call it.',
  }),
  'listing.sold': delivery('listing.sold', {
    operationId: 'listingSold',
    summary: 'Units of a listing were sold',
    description:
      'Sent with every `order.created`, for the same row: the number of units sold and the number left.',
  }),
})

function delivery(
  event: WebhookEvent,
  text: { operationId: string; summary: string; description: string },
): OpenAPIV3_1.OperationObject {
  return {
    ...text,
    tags: ['Webhooks'],
    // The signature authenticates the sender.
    security: [],
    parameters: headers(event),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: publishedRef(EVENT_SCHEMAS[event]),
          example: {
            event,
            delivery_id: exampleId(event),
            created_at: '2026-03-01T09:30:00Z',
            data: sampleData(event),
          },
        },
      },
    },
    responses: {
      '2XX': {
        description: 'The delivery succeeded and is not sent again. The response body is ignored.',
      },
      default: {
        description:
          'The attempt failed. A redirect, which is not followed, and a timeout (10 seconds by default) also count as failures. The service retries 1 minute, 10 minutes, 1 hour and 6 hours after the first attempt, and at least one minute after the previous attempt. After five failed attempts the delivery has failed; 10 failed deliveries in a row disable the endpoint. If the host name resolves to a private address, the delivery fails without retries.',
      },
    },
  }
}

/** Different for each event, so that the examples don't look like one delivery. */
const exampleId = (event: WebhookEvent) => 9001 + WEBHOOK_EVENTS.indexOf(event)

const SIGNATURE = { type: 'string', pattern: '^[0-9a-f]{64}$' } as const

/** §6.4, and the header of a rotation. */
const headers = (event: WebhookEvent): OpenAPIV3_1.ParameterObject[] => [
  header('X-Service-Signature', {
    description:
      'Hex HMAC-SHA256, keyed with the endpoint’s secret, of `X-Service-Timestamp`, a dot and the raw body.',
    schema: SIGNATURE,
    example: '5d1c0f7a9be2463881f0c3d94a6be57f20c9a41d8e73b652fa90d7c4183be62f',
  }),
  header('X-Service-Timestamp', {
    description: 'Unix time in seconds of this attempt. Refuse requests older than 300 seconds.',
    schema: { type: 'integer', format: 'int64' },
    example: 1772357401,
  }),
  header('X-Service-Event', {
    description: 'Equals `event` in the body.',
    schema: { type: 'string', enum: [event] },
    example: event,
  }),
  header('X-Service-Delivery', {
    description:
      'Equals `delivery_id` in the body. If you have processed this id before, just respond with 2XX.',
    schema: { type: 'integer', format: 'int64' },
    example: exampleId(event),
  }),
  header('X-Service-Signature-Previous', {
    required: false,
    description:
      'Only in the 24 hours after a rotation of the secret: the same as `X-Service-Signature`, keyed with the former secret. Accept the delivery if one of the two matches.',
    schema: SIGNATURE,
  }),
]

const header = (
  name: string,
  rest: Omit<OpenAPIV3_1.ParameterObject, 'name' | 'in' | 'schema'> & {
    schema: OpenAPIV3_1.SchemaObject
  },
): OpenAPIV3_1.ParameterObject =>
  ({ name, in: 'header', required: true, ...rest }) as OpenAPIV3_1.ParameterObject

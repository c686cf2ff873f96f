import type { OpenAPIV3_1 } from 'openapi-types'
import { WEBHOOK_EVENTS, type WebhookEvent } from '../../enums.ts'
import { sampleData } from '../../sandbox/sample-events.ts'
import { publishedRef } from '../schema.ts'
import { EVENT_SCHEMAS } from '../shapes/event.ts'

/** What is POSTed to endpoints, as OpenAPI's `webhooks` describe it: seen from the receiver (§6). */
export const webhookDescriptions = (): Record<WebhookEvent, OpenAPIV3_1.OperationObject> => ({
  'order.created': delivery('order.created', {
    operationId: 'orderCreated',
    summary: 'Something of yours was bought',
    description:
      'Once for each row that a checkout makes of your listings: a cart with three of them is three deliveries. `listing.sold` comes with each.',
  }),
  'order.cancelled': delivery('order.cancelled', {
    operationId: 'orderCancelled',
    summary: 'An order was cancelled',
    description:
      'When a row is cancelled and its buyer refunded: at the wish of the buyer, by the marketplace, or because a dispute ended in the buyer’s favour. Don’t ship it.',
  }),
  'order.label_ready': delivery('order.label_ready', {
    operationId: 'orderLabelReady',
    summary: 'A label or its tracking changed',
    description:
      'When a platform label is bought, and again when its PDF or tracking code appears or changes. So it may come twice for one order, at first without a PDF or a code: two deliveries with ids of their own, where a repetition has the id that you know. To read a label again (`POST /orders/{order}/label`) sends none if nothing has changed, so a receiver may do that.',
  }),
  'listing.sold': delivery('listing.sold', {
    operationId: 'listingSold',
    summary: 'Stock of a listing was sold',
    description:
      'With every `order.created`, for the same row: how many units it took of the listing, and how many are left.',
  }),
})

function delivery(
  event: WebhookEvent,
  text: { operationId: string; summary: string; description: string },
): OpenAPIV3_1.OperationObject {
  return {
    ...text,
    tags: ['Webhooks'],
    // Who sends it is told by the signature.
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
      '2XX': { description: 'Taken: it is not sent again. The answer’s body doesn’t matter.' },
      default: {
        description:
          'Not taken, as without an answer in time (10 seconds, unless the operator has set another limit). A redirect is not followed and counts as this, too. Tried again 1 minute, 10 minutes, 1 hour and 6 hours after the first attempt, never sooner than a minute after the one before. With the fifth attempt the delivery has failed, and 10 of these in a row disable the endpoint. An endpoint whose host has a private address isn’t tried again.',
      },
    },
  }
}

/** Four deliveries that can't be taken for one. */
const exampleId = (event: WebhookEvent) => 9001 + WEBHOOK_EVENTS.indexOf(event)

/** §6.4 */
const headers = (event: WebhookEvent): OpenAPIV3_1.ParameterObject[] => [
  header('X-Service-Signature', {
    description:
      'Hex HMAC-SHA256, keyed with the endpoint’s secret, of `X-Service-Timestamp`, a dot and the raw body.',
    schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    example: '5d1c0f7a9be2463881f0c3d94a6be57f20c9a41d8e73b652fa90d7c4183be62f',
  }),
  header('X-Service-Timestamp', {
    description: 'Unix time in seconds of this attempt; refuse what is older than 300 seconds.',
    schema: { type: 'integer' },
    example: 1772357401,
  }),
  header('X-Service-Event', {
    description: 'The same as `event` in the body.',
    schema: { type: 'string', enum: [event] },
    example: event,
  }),
  header('X-Service-Delivery', {
    description:
      'The same as `delivery_id` in the body: what has this id and was worked off needs no more than a 2XX.',
    schema: { type: 'integer' },
    example: exampleId(event),
  }),
]

const header = (
  name: string,
  rest: Omit<OpenAPIV3_1.ParameterObject, 'name' | 'in' | 'schema'> & {
    schema: OpenAPIV3_1.SchemaObject
  },
): OpenAPIV3_1.ParameterObject =>
  ({ name, in: 'header', required: true, ...rest }) as OpenAPIV3_1.ParameterObject

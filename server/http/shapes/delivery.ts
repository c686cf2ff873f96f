import Type, { type Static } from 'typebox'
import { DELIVERY_STATUSES, WEBHOOK_EVENTS } from '../../enums.ts'
import { sampleData } from '../../sandbox/sample-events.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import { type Delivery, MAX_ATTEMPTS_KEPT, payloadOf } from '../../webhooks/delivery.ts'
import type { DeliveryFilters } from '../../webhooks/delivery-list.ts'
import { optionalDateTimes } from '../date-time.ts'
import { pageParameters } from '../paginate.ts'
import {
  component,
  DateTimeText,
  Discriminated,
  Id,
  Nullable,
  OneOf,
  Timestamp,
} from '../schema.ts'
import { EVENT_SCHEMAS } from './event.ts'

const AttemptSchema = Type.Object({
  at: Timestamp({ description: 'Start of the attempt' }),
  status_code: Nullable(Type.Integer(), {
    description: 'Status of the response; null if there was none',
  }),
  error: Nullable(Type.String(), {
    description: 'Reason of the failure; null if the attempt succeeded',
  }),
  duration_ms: Type.Integer(),
  response: Nullable(Type.String(), { description: 'Beginning of the response body' }),
})

export const DeliverySchema = component(
  'Delivery',
  Type.Object(
    {
      id: Type.Integer({ description: 'Equals `delivery_id` in the payload' }),
      account_id: Type.Integer(),
      endpoint_id: Type.Integer(),
      endpoint_deleted: Type.Boolean({
        description: 'A delivery to a deleted endpoint can’t be sent again',
      }),
      event: OneOf(WEBHOOK_EVENTS),
      status: OneOf(DELIVERY_STATUSES, {
        description:
          '`pending`: waits for its first or next attempt. `failed`: all attempts failed. `skipped`: the endpoint was disabled or deleted before the delivery succeeded.',
      }),
      attempts: Type.Array(AttemptSchema, {
        description: `The latest ${MAX_ATTEMPTS_KEPT}, oldest first, including resends`,
      }),
      next_attempt_at: Nullable(Timestamp(), { description: 'null if no attempt is scheduled' }),
      created_at: Timestamp({ description: 'Time of the event' }),
      payload: Discriminated<object>('event', EVENT_SCHEMAS, {
        description: 'The body that is sent',
      }),
    },
    { description: 'The delivery of one event to one endpoint.' },
  ),
)

export const deliveryJson = (delivery: Delivery): Static<typeof DeliverySchema> => ({
  id: delivery.id,
  account_id: delivery.accountId,
  endpoint_id: delivery.endpointId,
  endpoint_deleted: delivery.isEndpointDeleted,
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

export const exampleDelivery = {
  id: 88,
  account_id: 1,
  endpoint_id: 3,
  endpoint_deleted: false,
  event: 'order.cancelled',
  status: 'pending',
  attempts: [
    {
      at: '2026-03-01T09:30:00Z',
      status_code: 503,
      error: 'The receiver responded with status 503.',
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

/** Filters by the time of the event. */
export const eventPeriod = {
  from: Type.Optional(
    DateTimeText('Only events at or after this ISO 8601 date or time', {
      examples: ['2026-03-01T09:30:00Z'],
    }),
  ),
  to: Type.Optional(
    DateTimeText('Only events at or before this ISO 8601 time; a date means its first second', {
      examples: ['2026-03-02'],
    }),
  ),
}

/** Filters of a seller's log of deliveries. */
export const DeliveryQuery = Type.Object({
  endpoint_id: Type.Optional(Id()),
  status: Type.Optional(OneOf(DELIVERY_STATUSES)),
  event: Type.Optional(OneOf(WEBHOOK_EVENTS)),
  ...eventPeriod,
  ...pageParameters,
})

/** The filters of a query. @throws validation_error for malformed times */
export function deliveryFilters(
  accountId: number,
  { endpoint_id: endpointId, status, event, from, to }: Static<typeof DeliveryQuery>,
): DeliveryFilters {
  return {
    accountId,
    endpointId,
    status,
    event,
    ...optionalDateTimes({ from, to }),
  }
}

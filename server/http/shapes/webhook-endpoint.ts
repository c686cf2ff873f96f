import Type, { type Static } from 'typebox'
import { WEBHOOK_EVENTS } from '../../enums.ts'
import { MAX_URL_LENGTH } from '../../outbound/public-address.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import type { Endpoint } from '../../webhooks/endpoint.ts'
import { component, Nullable, OneOf, Text, Timestamp } from '../schema.ts'

/** There are four events. Repetitions are accepted up to this length. */
const MAX_EVENTS = 1_000

export const EndpointInput = Type.Object(
  {
    url: Text({
      maxLength: MAX_URL_LENGTH,
      publicUrl: true,
      singleLine: true,
      description:
        'An http or https URL. A private or reserved IP address is refused in any notation. The service resolves a host name before each attempt and delivers only to public addresses.',
      examples: ['https://shop.example/hooks/cards'],
    }),
    events: Type.Array(OneOf(WEBHOOK_EVENTS), {
      minItems: 1,
      maxItems: MAX_EVENTS,
      description: 'Events to deliver. Duplicates are ignored',
    }),
  },
  {
    examples: [
      { url: 'https://shop.example/hooks/cards', events: ['order.created', 'order.cancelled'] },
    ],
  },
)

export const endpointFields = {
  id: Type.Integer(),
  url: Type.String({ description: 'Target of the deliveries' }),
  events: Type.Array(OneOf(WEBHOOK_EVENTS)),
  active: Type.Boolean({ description: 'false while the endpoint is disabled' }),
  disabled_at: Nullable(Timestamp()),
  consecutive_failures: Type.Integer({
    description: 'Number of failed deliveries in a row. A successful delivery resets it to 0',
  }),
  created_at: Timestamp(),
}

export const EndpointSchema = component(
  'WebhookEndpoint',
  Type.Object(endpointFields, {
    description: 'A webhook endpoint. The signing secret is not shown.',
  }),
)

export const NewEndpoint = Type.Object(
  {
    data: EndpointSchema,
    secret: Type.String({
      description: 'Secret that signs the deliveries. It is shown only in this response',
    }),
  },
  { description: 'The endpoint, with its secret' },
)

export const endpointJson = (endpoint: Endpoint): Static<typeof EndpointSchema> => ({
  id: endpoint.id,
  url: endpoint.url,
  events: endpoint.events,
  active: endpoint.disabledAt === null,
  disabled_at: timestampOrNull(endpoint.disabledAt),
  consecutive_failures: endpoint.consecutiveFailures,
  created_at: timestamp(endpoint.createdAt),
})

export const exampleEndpoint = {
  id: 3,
  url: 'https://shop.example/hooks/cards',
  events: ['order.created', 'order.cancelled'],
  active: true,
  disabled_at: null,
  consecutive_failures: 0,
  created_at: '2026-03-01T09:30:00Z',
}

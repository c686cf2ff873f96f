import Type, { type Static } from 'typebox'
import { WEBHOOK_EVENTS } from '../../enums.ts'
import { MAX_URL_LENGTH } from '../../outbound/public-address.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import type { Endpoint } from '../../webhooks/endpoint.ts'
import { component, Nullable, OneOf, Text, Timestamp } from '../schema.ts'

/** There are four kinds; repeats are accepted within reason. */
const MAX_EVENTS = 1_000

export const EndpointInput = Type.Object(
  {
    url: Text({
      maxLength: MAX_URL_LENGTH,
      publicUrl: true,
      singleLine: true,
      description:
        'http or https. A private or reserved IP address is refused, however it is spelt; a name is looked up before each attempt, and what it then points to must be public.',
      examples: ['https://shop.example/hooks/cards'],
    }),
    events: Type.Array(OneOf(WEBHOOK_EVENTS), {
      minItems: 1,
      maxItems: MAX_EVENTS,
      description: 'Events to deliver; each counts once',
    }),
  },
  {
    examples: [
      { url: 'https://shop.example/hooks/cards', events: ['order.created', 'order.cancelled'] },
    ],
  },
)

export const EndpointSchema = component(
  'WebhookEndpoint',
  Type.Object(
    {
      id: Type.Integer(),
      url: Type.String({ description: 'Where deliveries are POSTed' }),
      events: Type.Array(OneOf(WEBHOOK_EVENTS)),
      active: Type.Boolean({ description: 'false once it was disabled' }),
      disabled_at: Nullable(Timestamp()),
      consecutive_failures: Type.Integer({
        description: 'Failed deliveries in a row; a successful one makes it 0',
      }),
      created_at: Timestamp(),
    },
    { description: 'Where events are sent. The signing secret is not part of it.' },
  ),
)

export const NewEndpoint = Type.Object(
  {
    data: EndpointSchema,
    secret: Type.String({
      description: 'What deliveries to it are signed with: shown now and never again',
    }),
  },
  { description: 'The new endpoint' },
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

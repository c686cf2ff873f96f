import Type, { type TSchema } from 'typebox'
import { CANCELLERS, WEBHOOK_EVENTS, type WebhookEvent } from '../../enums.ts'
import { amount, Currency, component, Nullable, OneOf, Timestamp } from '../schema.ts'
import { AddressSchema } from './address.ts'

/**
 * The payloads of deliveries: the envelope (§6.2) with each event's data (§6.3), keys in the order in which they are
 * sent.
 */

const OrderCreatedData = component(
  'OrderCreatedData',
  Type.Object(
    {
      order_id: Type.Integer({ description: 'Id of the order row, as in `GET /orders`' }),
      slice_key: Type.String({ description: 'Rows with the same slice key ship together' }),
      listing_id: Type.Integer(),
      quantity: Type.Integer({ minimum: 1, description: 'Number of units sold' }),
      price: amount('Price per unit in decimal euros'),
      currency: Currency,
      item_name: Type.String({
        description: 'Name of the card or product at the time of the sale',
      }),
      buyer_name: Type.String({ description: 'Empty if the buyer’s data was erased' }),
      delivery_address: Type.Unsafe<object | null>({
        anyOf: [AddressSchema, { type: 'null' }],
        description: 'null if the checkout had no address, or the buyer’s data was erased',
      }),
    },
    { description: 'The new order row.' },
  ),
)

const ListingSoldData = component(
  'ListingSoldData',
  Type.Object(
    {
      listing_id: Type.Integer(),
      order_id: Type.Integer({ description: 'Id of the order row of this sale' }),
      quantity_sold: Type.Integer({ minimum: 1, description: 'Number of units in this sale' }),
      remaining_quantity: Type.Integer({
        minimum: 0,
        description: 'Number of units left after the sale. At 0 the listing is `sold`',
      }),
    },
    { description: 'A sale from a listing, and the remaining stock.' },
  ),
)

const OrderCancelledData = component(
  'OrderCancelledData',
  Type.Object(
    {
      order_id: Type.Integer(),
      cancelled_by: OneOf(CANCELLERS, { description: 'Party that cancelled the order' }),
    },
    { description: 'The cancelled order row.' },
  ),
)

const OrderLabelReadyData = component(
  'OrderLabelReadyData',
  Type.Object(
    {
      order_id: Type.Integer({
        description: 'Id of the order row for which the label was requested',
      }),
      has_label: Type.Boolean({ description: 'Whether a PDF is available to print' }),
      label_url: Nullable(Type.String(), {
        description:
          'Signed link to the PDF, valid for five days. Anyone who has the link can download the PDF. null while there is no PDF',
      }),
      tracking_code: Nullable(Type.String(), {
        description: 'null until the carrier has assigned one',
      }),
    },
    { description: 'The current label and tracking of a shipment.' },
  ),
)

/** The envelope of one event. */
const delivered = (name: string, event: WebhookEvent, data: TSchema) =>
  component(
    name,
    Type.Object(
      {
        event: OneOf([event]),
        delivery_id: Type.Integer({
          description:
            'Unique id of the delivery, the same in every attempt. Equals `X-Service-Delivery`',
        }),
        created_at: Timestamp({ description: 'Time of the event, the same in every attempt' }),
        data,
      },
      { description: `The body of a delivery of \`${event}\`.` },
    ),
  )

export const EVENT_SCHEMAS: Record<WebhookEvent, TSchema> = {
  'order.created': delivered('OrderCreatedEvent', 'order.created', OrderCreatedData),
  'order.cancelled': delivered('OrderCancelledEvent', 'order.cancelled', OrderCancelledData),
  'order.label_ready': delivered('OrderLabelReadyEvent', 'order.label_ready', OrderLabelReadyData),
  'listing.sold': delivered('ListingSoldEvent', 'listing.sold', ListingSoldData),
}

/** The response to a request for a sample event. */
export const SampleSent = Type.Object({
  event: OneOf(WEBHOOK_EVENTS),
  deliveries: Type.Integer({ description: 'Number of endpoints that receive the event' }),
})

import Type, { type TSchema } from 'typebox'
import { CANCELLERS, type WebhookEvent } from '../../enums.ts'
import { amount, Currency, component, Nullable, OneOf, Timestamp } from '../schema.ts'
import { AddressSchema } from './address.ts'

/** What is sent to endpoints: the envelope (§6.2) with each event's data (§6.3), keys in the order in which they're sent. */

const OrderCreatedData = component(
  'OrderCreatedData',
  Type.Object(
    {
      order_id: Type.Integer({ description: 'The row, as `GET /orders` lists it' }),
      slice_key: Type.String({ description: 'Rows with the same one ship together' }),
      listing_id: Type.Integer(),
      quantity: Type.Integer({ minimum: 1, description: 'Units sold' }),
      price: amount('Decimal euros a unit'),
      currency: Currency,
      item_name: Type.String({ description: 'The card or product, as it was called then' }),
      buyer_name: Type.String(),
      delivery_address: Type.Unsafe<object | null>({
        anyOf: [AddressSchema, { type: 'null' }],
        description: 'null when the order came without one',
      }),
    },
    { description: 'The row that was sold.' },
  ),
)

const ListingSoldData = component(
  'ListingSoldData',
  Type.Object(
    {
      listing_id: Type.Integer(),
      order_id: Type.Integer({ description: 'The row that was sold of it' }),
      quantity_sold: Type.Integer({ minimum: 1, description: 'Units of this sale' }),
      remaining_quantity: Type.Integer({
        minimum: 0,
        description: 'Units left after it. 0: the listing is `sold` now',
      }),
    },
    { description: 'What a sale took of a listing, and what it left.' },
  ),
)

const OrderCancelledData = component(
  'OrderCancelledData',
  Type.Object(
    {
      order_id: Type.Integer(),
      cancelled_by: OneOf(CANCELLERS, { description: 'Who had it cancelled' }),
    },
    { description: 'The row that was cancelled.' },
  ),
)

const OrderLabelReadyData = component(
  'OrderLabelReadyData',
  Type.Object(
    {
      order_id: Type.Integer({ description: 'The row of the slice that the label was asked for' }),
      has_label: Type.Boolean({ description: 'Whether there is a PDF to print' }),
      label_url: Nullable(Type.String(), {
        description:
          'Signed link to the PDF, for everybody who has it, good for five days. null while there is none',
      }),
      tracking_code: Nullable(Type.String(), {
        description: 'null until the carrier has given one',
      }),
    },
    { description: 'A shipment’s label and tracking as they are now.' },
  ),
)

/** The whole body of a delivery. */
const delivered = (name: string, event: WebhookEvent, data: TSchema) =>
  component(
    name,
    Type.Object(
      {
        event: OneOf([event]),
        delivery_id: Type.Integer({
          description:
            'The same in every attempt at this delivery, and in `X-Service-Delivery`; no other delivery has it',
        }),
        created_at: Timestamp({ description: 'When it happened; the same in every attempt' }),
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

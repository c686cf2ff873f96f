import Type, { type Static } from 'typebox'
import { eurosFromCents } from '../../cents.ts'
import { FULFILMENTS, LANGUAGES, ORDER_STATUSES } from '../../enums.ts'
import { netOf } from '../../orders/money.ts'
import type { Order } from '../../orders/order.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import { amount, Currency, component, Nullable, OneOf, Timestamp } from '../schema.ts'

export const buyerName = Nullable(Type.String(), {
  description: 'null if the buyer’s data was erased',
})

export const orderFields = {
  id: Type.Integer(),
  slice_key: Type.String({ description: 'Rows with the same slice key ship together' }),
  checkout_id: Nullable(Type.Integer()),
  status: OneOf(ORDER_STATUSES),
  quantity: Type.Integer({ description: 'Number of units sold' }),
  price: amount('Price per unit in decimal euros, at the time of the order'),
  currency: Currency,
  item: Type.Object(
    {
      name: Nullable(Type.String()),
      subtitle: Nullable(Type.String(), {
        description:
          'Set and number; then the region of the set unless it is `int` or that of its language (`TW` of a Chinese set), the printing unless it is `standard`, and the grading: `Obsidian Flames 125 · reverse holo · PSA 9.5`',
      }),
      image: Nullable(Type.String()),
      condition: Nullable(Type.String(), { description: 'null for sealed products' }),
      language: Nullable(OneOf(LANGUAGES)),
      type: Nullable(OneOf(['card', 'product'] as const)),
      id: Nullable(Type.String(), { description: 'Catalog id of the card or product' }),
      friendly_id: Nullable(Type.String(), {
        description: 'null unless the item is a card with a friendly id',
      }),
    },
    { description: 'The item as it was at the time of the order' },
  ),
  listing_id: Nullable(Type.Integer(), {
    description: 'null after the listing has been deleted',
  }),
  tracking: Type.Object({
    code: Nullable(Type.String()),
    url: Nullable(Type.String()),
    status: Nullable(Type.String(), { description: 'Latest status that the carrier reported' }),
    updated_at: Nullable(Timestamp()),
    fulfilment: OneOf(FULFILMENTS, {
      description:
        '`platform`: the service buys the label. `self_ship`: you ship with your own option.',
    }),
  }),
  financial: Type.Object(
    {
      seller_net: amount('Price times quantity minus the commission, without shipping'),
      seller_fee: amount('All fees deducted'),
      commission: amount(
        'Commission included in `seller_fee`, by the seller tier at the time of the order',
      ),
      refunded_amount: amount('Sum of all refunds of this row'),
    },
    { description: 'Amounts in decimal euros. A refund changes only `refunded_amount`.' },
  ),
  buyer: Type.Object({ name: buyerName }),
  created_at: Nullable(Timestamp()),
  shipped_at: Nullable(Timestamp()),
  received_at: Nullable(Timestamp()),
  cancelled_at: Nullable(Timestamp()),
  disputed_at: Nullable(Timestamp()),
}

export const OrderSchema = component(
  'Order',
  Type.Object(orderFields, { description: 'One listing sold to one buyer in one checkout.' }),
)

/** An order row (§2.7). */
export const orderJson = (order: Order): Static<typeof OrderSchema> => ({
  id: order.id,
  slice_key: order.sliceKey,
  checkout_id: order.checkoutId,
  status: order.status,
  quantity: order.quantity,
  price: eurosFromCents(order.priceCents),
  currency: 'EUR',
  item: orderItemJson(order.item),
  listing_id: order.listingId,
  tracking: {
    code: order.tracking.code,
    url: order.tracking.url,
    status: order.tracking.status,
    updated_at: timestampOrNull(order.tracking.updatedAt),
    fulfilment: order.fulfilment,
  },
  financial: {
    seller_net: eurosFromCents(netOf(order)),
    seller_fee: eurosFromCents(order.commissionCents),
    commission: eurosFromCents(order.commissionCents),
    refunded_amount: eurosFromCents(order.refundedCents),
  },
  // Erased data is empty.
  buyer: { name: order.buyerName || null },
  created_at: timestamp(order.createdAt),
  shipped_at: timestampOrNull(order.shippedAt),
  received_at: timestampOrNull(order.receivedAt),
  cancelled_at: timestampOrNull(order.cancelledAt),
  disputed_at: timestampOrNull(order.disputedAt),
})

export const orderItemJson = (item: Order['item']) => ({
  name: item.name,
  subtitle: item.subtitle,
  image: item.image,
  condition: item.condition,
  language: item.language,
  type: item.type,
  id: item.id,
  friendly_id: item.friendlyId,
})

export const exampleOrder = {
  id: 501,
  slice_key: 'slc_p1Jm0KQ8yVn3xXo2bT5sWg',
  checkout_id: 77,
  status: 'shipped',
  quantity: 2,
  price: 4.5,
  currency: 'EUR',
  item: {
    name: 'Charizard VSTAR',
    subtitle: 'Brilliant Stars 18',
    image: 'https://images.pokemontcg.io/swsh9/18.png',
    condition: 'NM',
    language: 'EN',
    type: 'card',
    id: 'swsh9-18',
    friendly_id: 'brs_18',
  },
  listing_id: 1204,
  tracking: {
    code: '3SABCD1234567',
    url: null,
    status: null,
    updated_at: '2026-03-02T18:05:12Z',
    fulfilment: 'self_ship',
  },
  financial: { seller_net: 8.64, seller_fee: 0.36, commission: 0.36, refunded_amount: 0 },
  buyer: { name: 'Ash Ketchum' },
  created_at: '2026-03-01T09:30:00Z',
  shipped_at: '2026-03-02T18:05:12Z',
  received_at: null,
  cancelled_at: null,
  disputed_at: null,
}

/** The field of an order row of which this amount was refunded. */
export const exampleRefunded = (refunded_amount: number) => ({
  financial: { ...exampleOrder.financial, refunded_amount },
})

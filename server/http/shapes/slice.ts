import Type, { type Static } from 'typebox'
import { eurosFromCents } from '../../cents.ts'
import { SHIPPING_RECEIVERS } from '../../enums.ts'
import { paidTo, totalsOf } from '../../orders/money.ts'
import { SAMPLE_ADDRESS } from '../../sandbox/sample-events.ts'
import type { LabeledSlice } from '../../shipping/labeled-slice.ts'
import type { Address } from '../../text/address.ts'
import { timestampOrNull } from '../../time/timestamp.ts'
import { amount, Currency, component, Nullable, OneOf, Timestamp } from '../schema.ts'
import { AddressSchema, addressJson } from './address.ts'
import { buyerName, exampleOrder, OrderSchema, orderJson } from './order.ts'

export const sliceFields = {
  slice_key: Type.String(),
  orders: Type.Array(OrderSchema, { description: 'All rows of the slice' }),
  buyer: Type.Object({
    name: buyerName,
    address: Type.Unsafe<Address | null>({
      anyOf: [AddressSchema, { type: 'null' }],
      description: 'null if the checkout had no address, or the buyer’s data was erased',
    }),
  }),
  totals: Type.Object({
    merchandise: amount('Sum of price times quantity over all rows'),
    shipping: amount('Shipping price that the buyer paid'),
    seller_net: amount(
      'Sum of `seller_net` over all rows, plus `shipping.seller_share`: the payout before cancellations and refunds',
    ),
    currency: Currency,
  }),
  shipping: Type.Object({
    method: Nullable(Type.String(), { description: 'Shipping option that the buyer chose' }),
    price: amount('The same as `totals.shipping`'),
    paid_to: OneOf(SHIPPING_RECEIVERS, {
      description:
        '`seller`: paid out in full. `platform`: pays for the label that the service buys.',
    }),
    seller_share: amount('The price if it is paid to you, otherwise 0'),
    provider: Nullable(Type.String(), {
      description: 'Carrier platform of the label; null before it is bought',
    }),
    has_label: Type.Boolean(),
    tracking_code: Nullable(Type.String()),
    tracking_status: Nullable(Type.String()),
    label_url: Nullable(Type.String(), {
      description: 'The latest link to the label; null after it has expired',
    }),
    expires_at: Nullable(Timestamp()),
  }),
}

export const SliceSchema = component(
  'OrderSlice',
  Type.Object(sliceFields, {
    description:
      'A slice: your part of one checkout. All of its rows go to one buyer in one parcel.',
  }),
)

/** The response of `ship` (§4.14). */
export const ShippedSliceSchema = component(
  'ShippedOrderSlice',
  Type.Object(
    {
      ...sliceFields,
      shipped_lines: Type.Integer({ description: 'Number of rows that this request shipped' }),
    },
    { description: 'The slice after shipping.' },
  ),
)

/** A slice in detail (§2.8). */
export function sliceJson({ label, ...slice }: LabeledSlice): Static<typeof SliceSchema> {
  const { orders, buyer, shipping, tracking } = slice
  const totals = totalsOf(orders, {
    shippingCents: shipping.cents,
    fulfilment: shipping.fulfilment,
  })
  return {
    slice_key: slice.sliceKey,
    orders: orders.map(orderJson),
    buyer: { name: buyer.name || null, address: buyer.address && addressJson(buyer.address) },
    totals: {
      merchandise: eurosFromCents(totals.merchandiseCents),
      shipping: eurosFromCents(totals.shippingCents),
      seller_net: eurosFromCents(totals.sellerNetCents),
      currency: 'EUR',
    },
    shipping: {
      method: shipping.method,
      price: eurosFromCents(shipping.cents),
      paid_to: paidTo(shipping.fulfilment),
      seller_share: eurosFromCents(totals.sellerShareCents),
      provider: label?.provider ?? null,
      has_label: label?.status === 'ready',
      tracking_code: tracking.code,
      tracking_status: tracking.status,
      label_url: label?.labelUrl ?? null,
      expires_at: timestampOrNull(label?.expiresAt ?? null),
    },
  }
}

export const exampleSlice = {
  slice_key: exampleOrder.slice_key,
  orders: [exampleOrder],
  buyer: {
    name: 'Ash Ketchum',
    address: SAMPLE_ADDRESS,
  },
  totals: { merchandise: 9, shipping: 6.95, seller_net: 15.59, currency: 'EUR' },
  shipping: {
    method: 'Tracked parcel',
    price: 6.95,
    paid_to: 'seller',
    seller_share: 6.95,
    provider: null,
    has_label: false,
    tracking_code: '3SABCD1234567',
    tracking_status: null,
    label_url: null,
    expires_at: null,
  },
}

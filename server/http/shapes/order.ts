import Type from 'typebox'
import { FULFILMENTS, LANGUAGES, ORDER_STATUSES } from '../../enums.ts'
import { component, Nullable, OneOf, Timestamp } from '../schema.ts'

/** Orders as published (§2.7, §2.8). */

export const currency = OneOf(['EUR'] as const)
export const amount = (description: string) => Type.Number({ description })

export const OrderRow = component(
  'Order',
  Type.Object(
    {
      id: Type.Integer(),
      slice_key: Type.String({ description: 'Rows with the same one ship together' }),
      checkout_id: Nullable(Type.Integer()),
      status: OneOf(ORDER_STATUSES),
      quantity: Type.Integer({ description: 'Units sold' }),
      price: amount('Decimal euros a unit, at the time of the order'),
      currency,
      item: Type.Object(
        {
          name: Nullable(Type.String()),
          subtitle: Nullable(Type.String(), { description: 'Set and number' }),
          image: Nullable(Type.String()),
          condition: Nullable(Type.String(), { description: 'null for sealed products' }),
          language: Nullable(OneOf(LANGUAGES)),
          type: Nullable(OneOf(['card', 'product'] as const)),
          id: Nullable(Type.String(), { description: 'Catalog id of the card or product' }),
          friendly_id: Nullable(Type.String(), { description: 'Of cards' }),
        },
        { description: 'What was sold, as it was then' },
      ),
      listing_id: Nullable(Type.Integer(), { description: 'null once the listing was deleted' }),
      tracking: Type.Object({
        code: Nullable(Type.String()),
        url: Nullable(Type.String()),
        status: Nullable(Type.String(), { description: 'What the carrier reported last' }),
        updated_at: Nullable(Timestamp()),
        fulfilment: OneOf(FULFILMENTS, {
          description:
            '`platform`: the service buys the label. `self_ship`: you ship with an option of your own.',
        }),
      }),
      financial: Type.Object(
        {
          seller_net: amount('Price times quantity less commission; never shipping'),
          seller_fee: amount('All fees that were deducted'),
          commission: amount('The commission among them: of the tier at the time of the order'),
          refunded_amount: amount('Refunded to the buyer so far'),
        },
        { description: 'Decimal euros. A refund changes `refunded_amount` alone.' },
      ),
      buyer: Type.Object({ name: Nullable(Type.String()) }),
      created_at: Nullable(Timestamp()),
      shipped_at: Nullable(Timestamp()),
      received_at: Nullable(Timestamp()),
      cancelled_at: Nullable(Timestamp()),
      disputed_at: Nullable(Timestamp()),
    },
    { description: 'One listing sold to one buyer in one checkout.' },
  ),
)

export const Address = component(
  'Address',
  Type.Object(
    {
      full_name: Type.String(),
      street: Type.String(),
      house_number: Type.String(),
      house_number_suffix: Nullable(Type.String()),
      zip: Type.String(),
      city: Type.String(),
      country: Type.String({ description: 'ISO country code' }),
      phone: Nullable(Type.String()),
    },
    { description: 'Where a buyer wants it sent.' },
  ),
)

const sliceFields = {
  slice_key: Type.String(),
  orders: Type.Array(OrderRow, { description: 'Every row of the slice' }),
  buyer: Type.Object({
    name: Nullable(Type.String()),
    address: Type.Unsafe<object | null>({ anyOf: [Address, { type: 'null' }] }),
  }),
  totals: Type.Object({
    merchandise: amount('Sum of price times quantity over all rows'),
    shipping: amount('What the buyer paid for shipping'),
    seller_net: amount('The payout: every row’s `seller_net` and `shipping.seller_share`'),
    currency,
  }),
  shipping: Type.Object({
    method: Nullable(Type.String(), { description: 'What the buyer chose' }),
    price: amount('The same as `totals.shipping`'),
    paid_to: OneOf(['seller', 'platform'] as const, {
      description: '`seller`: paid out 1:1. `platform`: the service buys the label with it.',
    }),
    seller_share: amount('The price when it is paid to you, else 0'),
    provider: Nullable(Type.String(), { description: 'Who made the label; null before' }),
    has_label: Type.Boolean(),
    tracking_code: Nullable(Type.String()),
    tracking_status: Nullable(Type.String()),
    label_url: Nullable(Type.String(), {
      description: 'The link that was minted last, null once it has expired',
    }),
    expires_at: Nullable(Timestamp()),
  }),
}

export const SliceDetail = component(
  'OrderSlice',
  Type.Object(sliceFields, {
    description: 'What you send to one buyer: all rows of a checkout that are yours.',
  }),
)

/** The slice as `ship` answers with it (§4.14). */
export const ShippedSlice = component(
  'ShippedOrderSlice',
  Type.Object(
    {
      ...sliceFields,
      shipped_lines: Type.Integer({ description: 'Number of rows that this call shipped' }),
    },
    { description: 'The slice after shipping.' },
  ),
)

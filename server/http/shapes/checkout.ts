import Type, { type Static } from 'typebox'
import { centsFromEuros, eurosFromCents } from '../../cents.ts'
import { MAX_PRICE_CENTS } from '../../listings/listing.ts'
import type { Checkout, NewCheckout } from '../../orders/checkout.ts'
import { SAMPLE_ADDRESS } from '../../sandbox/sample-events.ts'
import { component, Euros, FilledText, Id, Nullable } from '../schema.ts'
import { Email } from './account.ts'
import { AddressInput, addressOf } from './address.ts'

const MAX_LINES = 1_000

const MAX_QUANTITY = 1_000_000

const id = Id()

/** The price that a buyer has seen, in a line or for the shipping. */
const seenPrice = (of: string) =>
  Type.Optional(
    Euros({
      maximum: eurosFromCents(MAX_PRICE_CENTS),
      description: `The price ${of} that the buyer has seen, in decimal euros. The request fails with 409 if the current price differs`,
    }),
  )

export const CheckoutInput = Type.Object(
  {
    buyer: Type.Object({
      name: FilledText({ maxLength: 200 }),
      email: Email(),
    }),
    address: Type.Optional(
      Type.Unsafe<Static<typeof AddressInput> | null>({
        ...AddressInput,
        type: ['object', 'null'],
        description: 'Delivery address; null if you have none',
      }),
    ),
    lines: Type.Array(
      Type.Object({
        listing_id: id,
        quantity: Type.Integer({ minimum: 1, maximum: MAX_QUANTITY }),
        price: seenPrice('of a unit'),
      }),
      { minItems: 1, maxItems: MAX_LINES, description: 'Lines of the same listing are added up' },
    ),
    cart_id: Type.Optional(
      Nullable(FilledText({ maxLength: 255 }), {
        description:
          'Cart whose reservations of these listings are consumed. Reserved units that are not bought are released',
      }),
    ),
    shipping: Type.Optional(
      Type.Array(
        Type.Object({
          account_id: id,
          option: FilledText({ maxLength: 50 }),
          price: seenPrice('of the option'),
        }),
        {
          maxItems: MAX_LINES,
          description:
            'Code of the shipping option for each seller. Without an entry, the first enabled option that fits the address and the value is used',
        },
      ),
    ),
  },
  {
    examples: [
      {
        buyer: { name: 'Ash Ketchum', email: 'ash@mail.example' },
        address: SAMPLE_ADDRESS,
        lines: [{ listing_id: 1, quantity: 1 }],
        cart_id: 'cart-8f2a',
        shipping: [{ account_id: 1, option: 'parcel' }],
      },
    ],
  },
)

export const CheckoutSchema = component(
  'Checkout',
  Type.Object(
    {
      id: Type.Integer(),
      slices: Type.Array(
        Type.Object({
          slice_key: Type.String(),
          account_id: Type.Integer(),
          order_ids: Type.Array(Type.Integer()),
          shipping_price: Type.Number({ description: 'Shipping price in decimal euros' }),
        }),
        { description: 'One slice per seller' },
      ),
    },
    { description: 'A checkout and its slices.' },
  ),
)

/** Maps the fields of a request to the domain's names. */
export const newCheckout = (body: Static<typeof CheckoutInput>): NewCheckout => ({
  buyer: { name: body.buyer.name, email: body.buyer.email },
  address: body.address ? addressOf(body.address) : null,
  lines: body.lines.map(({ listing_id: listingId, quantity, price }) => ({
    listingId,
    quantity,
    priceCents: seenCents(price),
  })),
  cartId: body.cart_id ?? undefined,
  shipping: (body.shipping ?? []).map(({ account_id: accountId, option, price }) => ({
    accountId,
    option,
    priceCents: seenCents(price),
  })),
})

const seenCents = (price: number | undefined) =>
  price === undefined ? undefined : centsFromEuros(price)

export const checkoutJson = ({ id, slices }: Checkout): Static<typeof CheckoutSchema> => ({
  id,
  slices: slices.map(({ sliceKey, accountId, orderIds, shippingCents }) => ({
    slice_key: sliceKey,
    account_id: accountId,
    order_ids: orderIds,
    shipping_price: eurosFromCents(shippingCents),
  })),
})

export const exampleCheckout = {
  id: 77,
  slices: [
    {
      slice_key: 'slc_p1Jm0KQ8yVn3xXo2bT5sWg',
      account_id: 1,
      order_ids: [501, 502],
      shipping_price: 6.95,
    },
  ],
}

import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type, { type Static } from 'typebox'
import { eurosFromCents } from '../../money.ts'
import type { Address } from '../../orders/address.ts'
import { type Checkout, checkOut, getCheckout } from '../../orders/checkout.ts'
import { SAMPLE_ADDRESS } from '../../sandbox/sample-events.ts'
import type { Service } from '../../service.ts'
import { once } from '../idempotency.ts'
import { idempotencyKeyHeader, idempotencyKeyOf } from '../idempotency-key.ts'
import { sendJson } from '../json.ts'
import { component, Data, FilledText, Id, Nullable, PathId, Text } from '../schema.ts'

const MAX_LINES = 1_000
const MAX_QUANTITY = 1_000_000
const id = Id()

const AddressInput = Type.Object({
  full_name: FilledText({ maxLength: 200 }),
  street: FilledText({ maxLength: 200 }),
  house_number: FilledText({ maxLength: 20 }),
  house_number_suffix: Type.Optional(Nullable(Text({ maxLength: 20 }))),
  zip: FilledText({ maxLength: 20 }),
  city: FilledText({ maxLength: 200 }),
  country: FilledText({ maxLength: 2, minLength: 2, description: 'ISO country code' }),
  phone: Type.Optional(Nullable(Text({ maxLength: 50 }))),
})

const CheckoutInput = Type.Object(
  {
    buyer: Type.Object({
      name: FilledText({ maxLength: 200 }),
      email: FilledText({ maxLength: 254, pattern: '^[^\\s@]+@[^\\s@]+$' }),
    }),
    address: Type.Optional(
      Type.Unsafe<Static<typeof AddressInput> | null>({
        ...AddressInput,
        type: ['object', 'null'],
        description: 'Where it goes; null when you keep none',
      }),
    ),
    lines: Type.Array(
      Type.Object({
        listing_id: id,
        quantity: Type.Integer({ minimum: 1, maximum: MAX_QUANTITY }),
      }),
      { minItems: 1, maxItems: MAX_LINES, description: 'Lines of one listing count together' },
    ),
    cart_id: Type.Optional(
      Nullable(FilledText({ maxLength: 255 }), {
        description:
          'The cart whose reservations of these listings are consumed; what it held beyond that is freed',
      }),
    ),
    shipping: Type.Optional(
      Type.Array(Type.Object({ account_id: id, option: FilledText({ maxLength: 50 }) }), {
        maxItems: MAX_LINES,
        description:
          'The buyer’s choice by seller, as the code of a shipping option; a seller left out gets its first enabled one',
      }),
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

const CheckoutShown = component(
  'Checkout',
  Type.Object(
    {
      id: Type.Integer(),
      slices: Type.Array(
        Type.Object({
          slice_key: Type.String(),
          account_id: Type.Integer(),
          order_ids: Type.Array(Type.Integer()),
          shipping_price: Type.Number({ description: 'Decimal euros' }),
        }),
        { description: 'One for each seller' },
      ),
    },
    { description: 'What a checkout came to.' },
  ),
)

const example = {
  data: {
    id: 77,
    slices: [
      {
        slice_key: 'slc_p1Jm0KQ8yVn3xXo2bT5sWg',
        account_id: 1,
        order_ids: [501, 502],
        shipping_price: 6.95,
      },
    ],
  },
}

export const checkoutRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.post(
      '/checkouts',
      {
        schema: {
          operationId: 'createCheckout',
          summary: 'Sell what is in a cart',
          description:
            'All of it or nothing: 409 when a line can’t be sold (too little stock, sold, hidden, deleted, or its seller has no enabled shipping option). Call it when the buyer has paid. With an `Idempotency-Key` the request can be repeated safely for 24 hours.',
          tags: ['Orders'],
          headers: idempotencyKeyHeader,
          body: CheckoutInput,
          response: { 201: Data(CheckoutShown, 'The checkout') },
          'x-errors': ['conflict', 'validation_error'],
          'x-example': example,
        },
      },
      async (request, reply) => {
        const { body } = request
        let rows = 0
        const answer = await once(
          ctx,
          {
            caller: 'operator',
            operation: 'createCheckout',
            key: idempotencyKeyOf(request),
            bodyHash: request.bodyHash,
          },
          async (ctx) => {
            const checkout = await checkOut(ctx, {
              buyer: { name: body.buyer.name, email: body.buyer.email },
              address: body.address ? addressOf(body.address) : null,
              lines: body.lines.map(({ listing_id: listingId, quantity }) => ({
                listingId,
                quantity,
              })),
              cartId: body.cart_id ?? undefined,
              shipping: (body.shipping ?? []).map(({ account_id: accountId, option }) => ({
                accountId,
                option,
              })),
            })
            rows = checkout.slices.flatMap(({ orderIds }) => orderIds).length
            return { status: 201, body: { data: checkoutJson(checkout) } }
          },
        )
        // Here and not in the verb, because the transaction of `once` is committed only now.
        if (!answer.repeated) ctx.metrics.ordersChanged('created', rows)
        return sendJson(reply.code(answer.status as 201), answer.body)
      },
    )

    app.get(
      '/checkouts/:id',
      {
        schema: {
          operationId: 'getCheckout',
          summary: 'Read a checkout',
          tags: ['Orders'],
          params: Type.Object({ id: PathId('The checkout') }),
          response: { 200: Data(CheckoutShown, 'The checkout') },
          'x-example': example,
        },
      },
      async ({ params }) => ({ data: checkoutJson(await getCheckout(ctx, params.id)) }),
    )
    done()
  }

/** The known fields, in the order in which they're shown. */
const addressOf = (given: Static<typeof AddressInput>): Address => ({
  full_name: given.full_name,
  street: given.street,
  house_number: given.house_number,
  house_number_suffix: given.house_number_suffix || null,
  zip: given.zip,
  city: given.city,
  country: given.country,
  phone: given.phone || null,
})

const checkoutJson = ({ id, slices }: Checkout): Static<typeof CheckoutShown> => ({
  id,
  slices: slices.map(({ sliceKey, accountId, orderIds, shippingCents }) => ({
    slice_key: sliceKey,
    account_id: accountId,
    order_ids: orderIds,
    shipping_price: eurosFromCents(shippingCents),
  })),
})

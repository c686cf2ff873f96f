import Type from 'typebox'
import { checkOut, getCheckout, sharesTransaction } from '../../orders/checkout.ts'
import type { Service } from '../../service.ts'
import { once } from '../idempotency.ts'
import { idempotencyKeyHeader, repeatable } from '../idempotency-key.ts'
import { sendStored } from '../json.ts'
import type { App } from '../schema.ts'
import { Data, PathId } from '../schema.ts'
import {
  CheckoutInput,
  CheckoutSchema,
  checkoutJson,
  exampleCheckout,
  newCheckout,
} from '../shapes/checkout.ts'

export function checkoutRoutes(app: App, ctx: Service): void {
  app.post(
    '/checkouts',
    {
      config: { audit: { created: checkoutJson, isShared: sharesTransaction } },
      schema: {
        operationId: 'createCheckout',
        summary: 'Sell the content of a cart',
        description:
          'Sells all lines or none. Call it when the buyer has paid. Responds with 409 if a line cannot be sold: too little stock, a sold, hidden or deleted listing, a seller who is on holiday, suspended or closed, or one without a shipping option for this address and value. A reservation holds units, but not their price. Send the `price` that the buyer has seen: the request fails with 409 if the current price differs. It fails with 422 if a chosen option does not fit the address or the value, or if the order ships with a label and the address has a blank name, street or city. With an `Idempotency-Key` you can safely repeat the request for 24 hours.',
        tags: ['Orders'],
        headers: idempotencyKeyHeader,
        body: CheckoutInput,
        response: { 201: Data(CheckoutSchema, 'The checkout') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': { data: exampleCheckout },
      },
    },
    async (request, reply) => {
      const { body } = request
      let rows = 0
      const response = await once(
        ctx,
        repeatable(request, 'operator', 'createCheckout'),
        async (ctx) => {
          const checkout = await checkOut(ctx, newCheckout(body))
          rows = checkout.slices.flatMap(({ orderIds }) => orderIds).length
          return { status: 201, body: { data: checkoutJson(checkout) } }
        },
      )
      // After `once`, whose transaction could still be rolled back. The count waits for that of the request, if there is one.
      if (!response.repeated) ctx.metrics.countOrderRows('created', rows)
      return sendStored(reply, response)
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
        response: { 200: Data(CheckoutSchema, 'The checkout') },
        'x-example': { data: exampleCheckout },
      },
    },
    async ({ params }) => ({ data: checkoutJson(await getCheckout(ctx, params.id)) }),
  )
}

import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { CANCELLERS } from '../../enums.ts'
import { orderNotFound } from '../../orders/order.ts'
import { getOrder } from '../../orders/orders.ts'
import {
  cancelOrder,
  disputeOrder,
  receiveOrder,
  resolveDispute,
} from '../../orders/transitions.ts'
import type { Service } from '../../service.ts'
import { Data, OneOf, PathId } from '../schema.ts'
import { exampleOrder, OrderSchema, orderJson } from '../shapes/order.ts'
import { pathId } from '../validate.ts'

const params = Type.Object({ id: PathId('The order row') })
const answer = {
  tags: ['Orders'],
  params,
  response: { 200: Data(OrderSchema, 'The order row as it is now') },
  'x-example': { data: exampleOrder },
}

export const orderTransitionRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.post(
      '/orders/:id/cancel',
      {
        preValidation: orderExists(ctx),
        schema: {
          ...answer,
          operationId: 'cancelOrder',
          summary: 'Cancel and refund an order row',
          description:
            'While it is pending, shipped or disputed. The refund is the row’s whole price; `restock` puts its units on sale again, unless the listing was deleted.',
          body: Type.Object(
            {
              cancelled_by: OneOf(CANCELLERS),
              restock: Type.Optional(Type.Boolean({ default: true })),
            },
            { examples: [{ cancelled_by: 'buyer', restock: true }] },
          ),
          'x-errors': ['conflict', 'validation_error'],
        },
      },
      async ({ params, body }) => {
        const { cancelled_by: cancelledBy, restock = true } = body
        return { data: orderJson(await cancelOrder(ctx, params.id, { cancelledBy, restock })) }
      },
    )

    app.post(
      '/orders/:id/receive',
      {
        schema: {
          ...answer,
          operationId: 'receiveOrder',
          summary: 'The buyer has received an order row',
          description: 'While it is shipped. Happens by itself 14 days after shipping.',
          'x-errors': ['conflict'],
        },
      },
      async ({ params }) => ({ data: orderJson(await receiveOrder(ctx, params.id)) }),
    )

    app.post(
      '/orders/:id/dispute',
      {
        schema: {
          ...answer,
          operationId: 'disputeOrder',
          summary: 'The buyer disputes an order row',
          description:
            'While it is shipped or received. An order that never ships is cancelled instead.',
          'x-errors': ['conflict'],
        },
      },
      async ({ params }) => ({ data: orderJson(await disputeOrder(ctx, params.id)) }),
    )

    app.post(
      '/orders/:id/resolve',
      {
        preValidation: orderExists(ctx),
        schema: {
          ...answer,
          operationId: 'resolveDispute',
          summary: 'Resolve a dispute',
          description:
            'In favour of the `seller`: the row is received. In favour of the `buyer`: it is cancelled by admin and refunded, and its units are not put on sale again.',
          body: Type.Object(
            { in_favour_of: OneOf(['seller', 'buyer'] as const) },
            { examples: [{ in_favour_of: 'seller' }] },
          ),
          'x-errors': ['conflict', 'validation_error'],
        },
      },
      async ({ params, body }) => ({
        data: orderJson(await resolveDispute(ctx, params.id, body.in_favour_of)),
      }),
    )
    done()
  }

/** Answers 404 for an order that isn't there before its body is looked at. */
const orderExists = (ctx: Service) => async (request: FastifyRequest) => {
  const id = pathId((request.params as { id?: unknown }).id)
  if (id === undefined) throw orderNotFound()
  await getOrder(ctx, id)
}

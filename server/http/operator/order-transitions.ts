import Type from 'typebox'
import { CANCELLERS, DISPUTE_REASONS, TRANSITIONS } from '../../enums.ts'
import { validationError } from '../../errors.ts'
import { REFUND_BEARERS } from '../../money/posting.ts'
import { RESOLUTIONS } from '../../orders/dispute.ts'
import { openDispute, resolveDispute } from '../../orders/disputes.ts'
import { refundOrder } from '../../orders/refund.ts'
import { cancelOrder, receiveOrder } from '../../orders/transitions.ts'
import type { Service } from '../../service.ts'
import { sendOnce } from '../idempotency.ts'
import { idempotencyKeyHeader, repeatable } from '../idempotency-key.ts'
import type { App } from '../schema.ts'
import { Data, Euros, OneOf, PathId, Words } from '../schema.ts'
import { disputeMessage, exampleDispute, seenDispute } from '../shapes/dispute.ts'
import { exampleOrder, exampleRefunded, OrderSchema, orderJson } from '../shapes/order.ts'
import { orderExists } from './must-exist.ts'

const params = Type.Object({ id: PathId('The order row') })
const transition = {
  tags: ['Orders'],
  params,
  response: { 200: Data(OrderSchema, 'The order row after the change') },
}

/** The refunds of a row that a caller has seen, in the body of another refund, a cancellation or a decision. */
const seenRefunds = Type.Optional(
  Euros({
    description:
      'The `refunded_amount` of the row that you have seen. With it, two people can’t compensate the same complaint: the request fails with 409 if the amount has changed',
  }),
)

export function orderTransitionRoutes(app: App, ctx: Service): void {
  app.post(
    '/orders/:id/cancel',
    {
      preValidation: orderExists(ctx),
      schema: {
        ...transition,
        operationId: 'cancelOrder',
        summary: 'Cancel and refund an order row',
        description:
          'Possible while the row is pending, shipped or disputed. Refunds the whole price of the row. `restock` puts its units on sale again, unless the listing was deleted. With an `Idempotency-Key` you can safely repeat the request for 24 hours.',
        headers: idempotencyKeyHeader,
        body: Type.Object(
          {
            cancelled_by: OneOf(CANCELLERS),
            restock: Type.Optional(Type.Boolean({ default: true })),
            status: Type.Optional(
              OneOf(TRANSITIONS.cancel.from, {
                description:
                  'The `status` of the row that you have seen. With it, a row that the seller has shipped meanwhile isn’t cancelled and restocked as a pending one: the request fails with 409',
              }),
            ),
            refunded_amount: seenRefunds,
          },
          { examples: [{ cancelled_by: 'buyer', restock: true }] },
        ),
        'x-errors': ['conflict', 'validation_error'],
        'x-example': {
          data: {
            ...exampleOrder,
            ...exampleRefunded(9),
            status: 'cancelled',
            cancelled_at: '2026-03-03T08:00:00Z',
          },
        },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const { cancelled_by: cancelledBy, restock = true, status } = request.body
      const { refunded_amount: refundedAmount } = request.body
      const identity = repeatable(request, 'operator', `cancelOrder ${id}`)
      return sendOnce(ctx, reply, identity, async (ctx) => {
        const seen = { status, refundedAmount }
        const order = await cancelOrder(ctx, id, { cancelledBy, restock, ...seen })
        return { status: 200, body: { data: orderJson(order) } }
      })
    },
  )

  app.post(
    '/orders/:id/refund',
    {
      preValidation: orderExists(ctx),
      schema: {
        ...transition,
        operationId: 'refundOrder',
        summary: 'Refund a part of an order row',
        description:
          'The row keeps its status, and `refunded_amount` grows, at most to price × quantity. `borne_by` says whose earnings the refund reduces: the seller’s payout or the marketplace’s commission. Responds with 409 for a cancelled row. With an `Idempotency-Key` you can safely repeat the request for 24 hours.',
        headers: idempotencyKeyHeader,
        body: Type.Object(
          {
            amount: Euros({ minimum: 0.01, description: 'Decimal euros' }),
            reason: Words({ maxLength: 500 }),
            borne_by: Type.Optional(OneOf(REFUND_BEARERS, { default: 'seller' })),
            refunded_amount: seenRefunds,
          },
          { examples: [{ amount: 1.5, reason: 'A scratch that the photos did not show.' }] },
        ),
        'x-errors': ['conflict', 'validation_error'],
        'x-example': { data: { ...exampleOrder, ...exampleRefunded(1.5) } },
      },
    },
    async (request, reply) => {
      const { amount, reason, borne_by: borneBy = 'seller' } = request.body
      const { refunded_amount: refundedAmount } = request.body
      const identity = repeatable(request, 'operator', `refundOrder ${request.params.id}`)
      return sendOnce(ctx, reply, identity, async (ctx) => {
        const refund = { amount, reason, borneBy, refundedAmount }
        const order = await refundOrder(ctx, request.params.id, refund)
        return { status: 200, body: { data: orderJson(order) } }
      })
    },
  )

  app.post(
    '/orders/:id/receive',
    {
      schema: {
        ...transition,
        operationId: 'receiveOrder',
        summary: 'Mark an order row as received',
        description:
          'Possible while the row is shipped. The service does this itself 14 days after shipping. With an `Idempotency-Key` you can safely repeat the request for 24 hours.',
        headers: idempotencyKeyHeader,
        'x-errors': ['conflict', 'validation_error'],
        'x-example': {
          data: { ...exampleOrder, status: 'received', received_at: '2026-03-05T10:00:00Z' },
        },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const identity = repeatable(request, 'operator', `receiveOrder ${id}`)
      return sendOnce(ctx, reply, identity, async (ctx) => {
        const order = await receiveOrder(ctx, id)
        return { status: 200, body: { data: orderJson(order) } }
      })
    },
  )

  app.post(
    '/orders/:id/dispute',
    {
      preValidation: orderExists(ctx),
      schema: {
        ...transition,
        operationId: 'disputeOrder',
        summary: 'Open a dispute about an order row',
        description:
          'Possible while the row is shipped or received. The seller gets an e-mail with the reason and the message, and has five days to answer. Cancel an order that never ships instead. With an `Idempotency-Key` you can safely repeat the request for 24 hours: without one, a repetition after the decision opens a second dispute.',
        headers: idempotencyKeyHeader,
        body: Type.Optional(
          Type.Object(
            {
              reason: Type.Optional(OneOf(DISPUTE_REASONS, { default: 'other' })),
              message: Type.Optional(disputeMessage),
            },
            { examples: [{ reason: 'not_as_described', message: 'The corner is bent.' }] },
          ),
        ),
        'x-errors': ['conflict', 'validation_error'],
        'x-example': {
          data: { ...exampleOrder, status: 'disputed', disputed_at: exampleDispute.opened_at },
        },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const { reason = 'other', message = null } = request.body ?? {}
      const identity = repeatable(request, 'operator', `disputeOrder ${id}`)
      return sendOnce(ctx, reply, identity, async (ctx) => {
        const order = await openDispute(ctx, id, { reason, message })
        return { status: 200, body: { data: orderJson(order) } }
      })
    },
  )

  app.post(
    '/orders/:id/resolve',
    {
      preValidation: orderExists(ctx),
      schema: {
        ...transition,
        operationId: 'resolveDispute',
        summary: 'Resolve a dispute',
        description:
          'In favour of the `seller`, the row becomes received. In favour of the `buyer`, the row is cancelled by `admin` and refunded, and its units are not put on sale again. With `refund`, the seller refunds a part of the price and the row becomes received, whichever side it favours (`seller` by default). With an `Idempotency-Key` you can safely repeat the request for 24 hours.',
        headers: idempotencyKeyHeader,
        body: Type.Object(
          {
            in_favour_of: Type.Optional(
              OneOf(RESOLUTIONS, { description: 'Required without `refund`' }),
            ),
            refund: Type.Optional(
              Euros({ minimum: 0.01, description: 'Partial refund in decimal euros' }),
            ),
            refunded_amount: seenRefunds,
            dispute_id: seenDispute,
          },
          {
            examples: [{ in_favour_of: 'seller' }, { refund: 1.5 }],
          },
        ),
        'x-requires-body': true,
        'x-errors': ['conflict', 'validation_error'],
        'x-example': {
          data: {
            ...exampleOrder,
            status: 'received',
            received_at: '2026-03-08T09:00:00Z',
            disputed_at: exampleDispute.opened_at,
          },
        },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const { in_favour_of: inFavourOf, refund } = request.body
      const { refunded_amount: refundedAmount, dispute_id: disputeId } = request.body
      if (inFavourOf === undefined && refund === undefined) {
        throw validationError({ in_favour_of: ['The in_favour_of field is required.'] })
      }
      const identity = repeatable(request, 'operator', `resolveDispute ${id}`)
      return sendOnce(ctx, reply, identity, async (ctx) => {
        const order = await resolveDispute(ctx, id, {
          inFavourOf: inFavourOf ?? 'seller',
          refund,
          refundedAmount,
          disputeId,
        })
        return { status: 200, body: { data: orderJson(order) } }
      })
    },
  )
}

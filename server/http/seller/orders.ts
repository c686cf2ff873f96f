import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import { ORDER_STATUSES } from '../../enums.ts'
import { listOrders, sliceIdOf } from '../../orders/orders.ts'
import { shipOrder } from '../../orders/ship-order.ts'
import type { Service } from '../../service.ts'
import { getLabeledSlice, withLabel } from '../../shipping/labeled-slice.ts'
import { parseDateTime } from '../date-time.ts'
import { pageEnd, pageExample, pageOf, pageParameters } from '../paginate.ts'
import type { Query } from '../query.ts'
import { refuseInvalid } from '../refuse-invalid.ts'
import { Data, Nullable, OneOf, Paginated, PathId, Text } from '../schema.ts'
import { exampleOrder, OrderSchema, orderJson } from '../shapes/order.ts'
import { exampleSlice, ShippedSliceSchema, SliceSchema, sliceJson } from '../shapes/slice.ts'

const params = Type.Object({ order: PathId('Any row of the slice') })

export const orderRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    const address = `${ctx.config.publicUrl}/v1/orders`

    app.get(
      '/orders',
      {
        config: { scope: 'orders:read' },
        schema: {
          operationId: 'listOrders',
          summary: 'List your orders',
          description:
            'A row for each listing that was sold, newest first. Rows with the same `slice_key` go to one buyer and ship together; the address is in `GET /orders/{order}`.',
          tags: ['Orders'],
          querystring: Type.Object({
            status: Type.Optional(OneOf(ORDER_STATUSES)),
            since: Type.Optional(
              Text({
                description:
                  'Created at or after this ISO 8601 date or date-time; a date is its first second, UTC where no offset is given',
                examples: ['2026-03-01'],
              }),
            ),
            ...pageParameters,
          }),
          response: { 200: Paginated(OrderSchema, 'A page of your orders') },
          'x-errors': ['validation_error'],
          'x-example': pageExample('/v1/orders', [exampleOrder]),
        },
      },
      async ({ caller: { account }, query }) => {
        const { status } = query
        const since = query.since === undefined ? undefined : parseDateTime('since', query.since)
        const wanted = pageOf(query as Query)
        const { rows, total } = await listOrders(ctx, account.id, { status, since }, wanted)
        return {
          data: rows.map(orderJson),
          ...pageEnd(address, query as Query, wanted, rows.length, total),
        }
      },
    )

    app.get(
      '/orders/:order',
      {
        config: { scope: 'orders:read' },
        schema: {
          operationId: 'getOrder',
          summary: 'Read an order',
          description:
            'The whole slice that the row belongs to, with the buyer’s address; the same whichever of its rows is asked for.',
          tags: ['Orders'],
          params,
          response: { 200: Data(SliceSchema, 'The slice') },
          'x-example': { data: exampleSlice },
        },
      },
      async ({ caller, params }) => ({
        data: sliceJson(await getLabeledSlice(ctx, caller.account.id, params.order)),
      }),
    )

    app.post(
      '/orders/:order/ship',
      {
        config: { scope: 'orders:write' },
        // An order that isn't there is 404 whatever was sent.
        attachValidation: true,
        schema: {
          operationId: 'shipOrder',
          summary: 'Mark an order as shipped',
          description:
            'Every row of the slice that is still pending, whichever one is addressed; the buyer gets an e-mail for each. `data.shipped_lines` is the number of rows that this call shipped. `tracking_code` is required for your own tracked options, and refused for your own letters and for platform labels, whose tracking comes from the label. 409 when nothing is pending, or while the payout setup is not verified.',
          tags: ['Orders'],
          params,
          body: Type.Optional(
            Type.Object(
              {
                tracking_code: Type.Optional(
                  Nullable(Text({ maxLength: 100 }), {
                    description: 'null or an empty text for none',
                  }),
                ),
              },
              {
                'x-examples': {
                  untracked: {
                    summary: 'A letter of your own, or a platform label',
                    value: {},
                  },
                  tracked: {
                    summary: 'A tracked option of your own',
                    value: { tracking_code: '3SABCD1234567' },
                  },
                },
              },
            ),
          ),
          response: { 200: Data(ShippedSliceSchema, 'The slice as it is now') },
          'x-errors': ['conflict', 'validation_error'],
          'x-example': { data: { ...exampleSlice, shipped_lines: 1 } },
        },
      },
      async (request) => {
        const { account } = request.caller
        const { order: id } = request.params
        await refuseInvalid(request, id, (id) => sliceIdOf(ctx, account.id, id))
        const code = request.body?.tracking_code?.trim() || null
        const { slice, shippedLines } = await shipOrder(ctx, account, id, code)
        return {
          data: { ...sliceJson(await withLabel(ctx, slice)), shipped_lines: shippedLines },
        }
      },
    )
    done()
  }

import Type from 'typebox'
import { ORDER_STATUSES } from '../../enums.ts'
import { getSliceId, listOrders } from '../../orders/orders.ts'
import { shipOrder } from '../../orders/ship-order.ts'
import type { Service } from '../../service.ts'
import { getLabeledSlice, withLabel } from '../../shipping/labeled-slice.ts'
import { optionalDateTime } from '../date-time.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import { refuseInvalid } from '../refuse-invalid.ts'
import type { App } from '../schema.ts'
import { Data, Nullable, OneOf, Paginated, PathId, Text } from '../schema.ts'
import { exampleOrder, OrderSchema, orderJson } from '../shapes/order.ts'
import { exampleSlice, ShippedSliceSchema, SliceSchema, sliceJson } from '../shapes/slice.ts'

const params = Type.Object({ order: PathId('Any row of the slice') })

export function orderRoutes(app: App, ctx: Service): void {
  app.get(
    '/orders',
    {
      config: { scope: 'orders:read' },
      schema: {
        operationId: 'listOrders',
        summary: 'List your orders',
        description:
          'Returns one row for each listing sold, newest first. Rows with the same `slice_key` ship together to one buyer. The address is in `GET /orders/{order}`. To read only new orders, send as `since` the newest `created_at` that you have, minus 30 seconds, and drop the orders that you have: an order can appear 10 seconds after its `created_at`.',
        tags: ['Orders'],
        querystring: Type.Object({
          status: Type.Optional(OneOf(ORDER_STATUSES)),
          since: Type.Optional(
            Text({
              description:
                'Only orders created at or after this ISO 8601 date or date-time. A date means its first second; without an offset the time is UTC',
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
    async (request) => {
      const { status, since } = request.query
      const filters = { status, since: optionalDateTime('since', since) }
      return paginated(
        ctx,
        request,
        (page) => listOrders(ctx, request.caller.account.id, filters, page),
        orderJson,
      )
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
          'Returns the whole slice with the buyer’s address. Every row of the slice gives the same response.',
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
      // An unknown order gets 404 even if the body is invalid: see refuseInvalid.
      attachValidation: true,
      schema: {
        operationId: 'shipOrder',
        summary: 'Mark an order as shipped',
        description:
          'Ships all pending rows of the slice, whichever row you name. The buyer gets an e-mail for each row. `data.shipped_lines` is the number of rows that this request shipped. `tracking_code` is required for your own tracked options. It is refused for your own untracked options and for platform labels, whose tracking code comes from the label. Responds with 409 if no row is pending or if the payout setup is not verified.',
        tags: ['Orders'],
        params,
        body: Type.Optional(
          Type.Object(
            {
              tracking_code: Type.Optional(
                Nullable(Text({ maxLength: 100 }), {
                  description: 'null or an empty text means no tracking code',
                }),
              ),
            },
            {
              'x-examples': {
                untracked: {
                  summary: 'Your own untracked option, or a platform label',
                  value: {},
                },
                tracked: {
                  summary: 'Your own tracked option',
                  value: { tracking_code: '3SABCD1234567' },
                },
              },
            },
          ),
        ),
        response: { 200: Data(ShippedSliceSchema, 'The slice after shipping') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': { data: { ...exampleSlice, shipped_lines: 1 } },
      },
    },
    async (request) => {
      const { account } = request.caller
      const { order: id } = request.params
      await refuseInvalid(request, id, (id) => getSliceId(ctx, id, account.id))
      const code = request.body?.tracking_code?.trim() || null
      const { slice, shippedLines } = await shipOrder(ctx, account, id, code, withLabel)
      return { data: { ...sliceJson(slice), shipped_lines: shippedLines } }
    },
  )
}

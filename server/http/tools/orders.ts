import Type from 'typebox'
import { ORDER_STATUSES } from '../../enums.ts'
import { getSliceId, listOrders } from '../../orders/orders.ts'
import { PACKED_STATUSES, readPacking } from '../../orders/packing.ts'
import { cancelAsSeller } from '../../orders/transitions.ts'
import type { Service } from '../../service.ts'
import { buyLabels, fetchDeadline, mergeLabels } from '../../shipping/several-labels.ts'
import { goneSignal } from '../closing.ts'
import { optionalDateTimes } from '../date-time.ts'
import { packingParameters, sendPackingPage } from '../packing-page.ts'
import { wantsPage } from '../page.ts'
import { pageEnd, pageExample, pageOf, pageParameters, paginated } from '../paginate.ts'
import type { Query } from '../query.ts'
import { refuseInvalid } from '../refuse-invalid.ts'
import type { App } from '../schema.ts'
import { Data, DateTimeText, OneOf, PageLinks, PageMeta, Paginated, PathId } from '../schema.ts'
import {
  exampleLabelResults,
  LabelResultSchema,
  LabelsInput,
  labelResultJson,
} from '../shapes/labels.ts'
import { exampleRefunded } from '../shapes/order.ts'
import { CancelInput, exampleOwnOrder, OwnOrderSchema, ownOrderJson } from '../shapes/own-order.ts'
import { examplePacking, PackingSchema, packingJson } from '../shapes/packing.ts'

export function ownOrderRoutes(app: App, ctx: Service): void {
  const { publicUrl } = ctx.config
  app.get(
    '/orders',
    {
      config: { scope: 'orders:read' },
      schema: {
        operationId: 'listOwnOrders',
        summary: 'List your orders with their last changes',
        description:
          'Returns the order rows of `GET /v1/orders` with `updated_at`, `cancelled_by` and `cancel_reason`. With `updated_since`, the rows are in the order of their changes; a change is any transition, a refund, new tracking, or the deletion of the listing. Read the pages from the last to the first, and start the next synchronisation 30 seconds before the newest `updated_at` on the first page that you read (see docs/sync.md).',
        tags: ['Orders'],
        querystring: Type.Object({
          status: Type.Optional(OneOf(ORDER_STATUSES)),
          since: Type.Optional(
            DateTimeText('Only orders created at or after this ISO 8601 date or time'),
          ),
          updated_since: Type.Optional(
            DateTimeText('Only orders changed at or after this ISO 8601 date or time', {
              examples: ['2026-03-01T09:30:00Z'],
            }),
          ),
          ...pageParameters,
        }),
        response: { 200: Paginated(OwnOrderSchema, 'A page of your orders') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/tools/v1/orders', [exampleOwnOrder]),
      },
    },
    async (request) => {
      const { status, since, updated_since } = request.query
      const times = optionalDateTimes({ since, updated_since })
      const filters = { status, since: times.since, updatedSince: times.updated_since }
      return paginated(
        ctx,
        request,
        (page) => listOrders(ctx, request.caller.account.id, filters, page),
        ownOrderJson,
      )
    },
  )

  app.get(
    '/orders/packing',
    {
      config: { scope: 'orders:read' },
      schema: {
        operationId: 'getPacking',
        summary: 'Pick list and packing slips',
        description:
          'A page of the slices with rows in this status, oldest first: a slip for each parcel, and a list for picking the items of this page from your stock. With `Accept: text/html` the response is a page to print, one parcel on a sheet.',
        tags: ['Orders'],
        querystring: Type.Object({
          status: Type.Optional(OneOf(PACKED_STATUSES, { default: 'pending' })),
          ...packingParameters,
          ...pageParameters,
        }),
        response: {
          200: {
            description: 'Pick list and packing slips',
            content: {
              'application/json': {
                schema: Type.Object({ data: PackingSchema, links: PageLinks, meta: PageMeta }),
              },
              'text/html': { schema: Type.Unsafe<string>({ type: 'string' }) },
            },
          },
        },
        'x-errors': ['validation_error'],
        'x-example': { ...pageExample('/tools/v1/orders/packing', [{}]), data: examplePacking },
      },
    },
    async (request, reply) => {
      const { caller, query } = request
      const page = pageOf(query as Query)
      const { packing, total } = await readPacking(
        ctx,
        caller.account.id,
        query.status ?? 'pending',
        page,
      )
      if (wantsPage(request))
        return sendPackingPage(reply, packing, { ...query, offset: page.offset, total })
      const address = `${publicUrl}/tools/v1/orders/packing`
      return {
        data: packingJson(packing),
        ...pageEnd(address, query as Query, page, packing.slips.length, total),
      }
    },
  )

  app.post(
    '/orders/:order/cancel',
    {
      config: { scope: 'orders:write' },
      attachValidation: true,
      schema: {
        operationId: 'cancelOwnOrder',
        summary: 'Cancel a pending order row',
        description:
          'Cancels one row and refunds its buyer, who gets an e-mail with the reason. Sends `order.cancelled`. Responds with 409 if the row is not pending, or if a label was bought or may have been bought for its slice, unless the label was cancelled at the carrier.',
        tags: ['Orders'],
        params: Type.Object({ order: PathId('The order row') }),
        body: CancelInput,
        response: { 200: Data(OwnOrderSchema, 'The order row after the cancellation') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': {
          data: {
            ...exampleOwnOrder,
            ...exampleRefunded(9),
            status: 'cancelled',
            tracking: { ...exampleOwnOrder.tracking, code: null, updated_at: null },
            shipped_at: null,
            cancelled_at: '2026-03-02T08:00:00Z',
            cancelled_by: 'seller',
            cancel_reason: 'out_of_stock',
            updated_at: '2026-03-02T08:00:00Z',
          },
        },
      },
    },
    async (request) => {
      const { account } = request.caller
      const { order } = request.params
      await refuseInvalid(request, order, (id) => getSliceId(ctx, id, account.id))
      return { data: ownOrderJson(await cancelAsSeller(ctx, account.id, order, request.body)) }
    },
  )
}

export function ownLabelRoutes(app: App, ctx: Service): void {
  app.post(
    '/labels',
    {
      config: { scope: 'orders:write' },
      schema: {
        operationId: 'buyLabels',
        summary: 'Buy or re-read the labels of several orders',
        description:
          'Does what `POST /v1/orders/{order}/label` does for each of 1 to 50 orders. Each succeeds or fails on its own, and a repeated call buys nothing twice. An order whose label another call is still buying after 10 seconds has the error `conflict`: send it again. A response takes up to 130 seconds: with a slow carrier, no purchase starts after 50, and the remaining orders have the error `provider_error`. Send these again. With `merge`, the response is one PDF (`application/pdf`) of all labels that are ready, in the order of the request, except those of cancelled orders; `X-Missing-Labels` names the orders without one, also those whose file is lost or can’t be read at the moment. Without any label the request fails with 409, or with 502 if their files can’t be read, or are lost and the carrier doesn’t return them.',
        tags: ['Orders'],
        body: LabelsInput,
        response: {
          200: {
            description: 'A result for each order, in order; with `merge`, one PDF',
            headers: {
              'X-Missing-Labels': Type.String({
                description:
                  'With `merge`: the ids of the orders without a label in the PDF, separated by a comma and a space, such as `501, 502`. Absent if each has one.',
              }),
            },
            content: {
              'application/json': {
                schema: Type.Object({ data: Type.Array(LabelResultSchema) }),
              },
              'application/pdf': {
                schema: Type.Unsafe<Buffer>({ type: 'string', format: 'binary' }),
              },
            },
          },
        },
        'x-errors': ['conflict', 'provider_error', 'validation_error'],
        'x-example': { data: exampleLabelResults },
      },
    },
    async ({ caller: { account }, body: { orders, merge } }, reply) => {
      const fetchUntil = fetchDeadline()
      const signal = goneSignal(reply)
      const results = await buyLabels(ctx, account, orders)
      if (!merge) return { data: results.map(labelResultJson) }
      const found = results.filter(({ error }) => error?.type !== 'not_found')
      const { pdf, missing } = await mergeLabels(
        ctx,
        account.id,
        found.map(({ orderId }) => orderId),
        { fetchUntil, signal },
      )
      const failed = orders.filter(
        (order) => missing.includes(order) || !found.some(({ orderId }) => orderId === order),
      )
      if (failed.length > 0) reply.header('x-missing-labels', failed.join(', '))
      reply.header('content-disposition', 'inline; filename="labels.pdf"')
      return reply.type('application/pdf').send(Buffer.from(pdf))
    },
  )
}

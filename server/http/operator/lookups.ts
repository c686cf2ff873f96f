import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import { getSliceOverview } from '../../back-office/slice-overview.ts'
import { ORDER_STATUSES } from '../../enums.ts'
import { listMails } from '../../mail/outbox.ts'
import { getOrder, listAllOrders } from '../../orders/orders.ts'
import type { Service } from '../../service.ts'
import { listShipments } from '../../shipping/all-shipments.ts'
import { optionalDateTime } from '../date-time.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import { integerIn, type Query } from '../query.ts'
import { Data, DateTimeText, Id, OneOf, Paginated, PathId, SearchText, Text } from '../schema.ts'
import { exampleOperatorMail, OperatorMailSchema, operatorMailJson } from '../shapes/mail.ts'
import {
  exampleOperatorOrder,
  OperatorOrderSchema,
  operatorOrderJson,
} from '../shapes/operator-order.ts'
import {
  exampleShipment,
  exampleSliceOverview,
  ShipmentSchema,
  SliceOverviewSchema,
  shipmentJson,
  sliceOverviewJson,
} from '../shapes/slice-overview.ts'

/** `/orders`: the order rows of all sellers. */
export const orderLookups =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get(
      '/orders',
      {
        schema: {
          operationId: 'listAllOrders',
          summary: 'Find order rows',
          description: 'Returns the order rows of all sellers, newest first.',
          tags: ['Orders'],
          querystring: Type.Object({
            account_id: Type.Optional(Id()),
            status: Type.Optional(OneOf(ORDER_STATUSES)),
            buyer_email: Type.Optional(SearchText({ description: 'In any casing' })),
            listing_id: Type.Optional(Id()),
            slice_key: Type.Optional(SearchText()),
            from: Type.Optional(DateTimeText()),
            to: Type.Optional(DateTimeText()),
            ...pageParameters,
          }),
          response: { 200: Paginated(OperatorOrderSchema, 'A page of order rows') },
          'x-errors': ['validation_error'],
          'x-example': pageExample('/operator/v1/orders', [exampleOperatorOrder]),
        },
      },
      async (request) => {
        const query = request.query as Query
        const { from, to } = query
        const filters = {
          accountId: integerIn(query.account_id),
          status: request.query.status,
          buyerEmail: query.buyer_email,
          listingId: integerIn(query.listing_id),
          sliceKey: query.slice_key,
          from: optionalDateTime('from', from),
          to: optionalDateTime('to', to),
        }
        return paginated(
          `${ctx.config.publicUrl}/operator/v1/orders`,
          query,
          (page) => listAllOrders(ctx, filters, page),
          operatorOrderJson,
        )
      },
    )

    app.get(
      '/orders/:id',
      {
        schema: {
          operationId: 'getAnyOrder',
          summary: 'Read an order row',
          tags: ['Orders'],
          params: Type.Object({ id: PathId('The order row') }),
          response: { 200: Data(OperatorOrderSchema, 'The order row') },
          'x-example': { data: exampleOperatorOrder },
        },
      },
      async ({ params }) => ({ data: operatorOrderJson(await getOrder(ctx, params.id)) }),
    )
    done()
  }

/** `/slices`: everything about a parcel. */
export const sliceLookups =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get(
      '/slices/:slice_key',
      {
        schema: {
          operationId: 'getSlice',
          summary: 'Read everything about a slice',
          description:
            'Returns the order rows of one seller in one checkout with address, shipment, e-mails, ledger entries and webhook deliveries.',
          tags: ['Orders'],
          params: Type.Object({ slice_key: Text() }),
          response: { 200: Data(SliceOverviewSchema, 'The slice') },
          'x-example': { data: exampleSliceOverview },
        },
      },
      async ({ params }) => ({
        data: sliceOverviewJson(await getSliceOverview(ctx, params.slice_key)),
      }),
    )
    done()
  }

/** `/mails`: the outbox. */
export const mailLookups =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get(
      '/mails',
      {
        schema: {
          operationId: 'listMails',
          summary: 'Find e-mails',
          description:
            'Returns the e-mails that the service has written, newest first. They are kept for 30 days.',
          tags: ['Orders'],
          querystring: Type.Object({
            to: Type.Optional(
              SearchText({ description: 'The recipient’s address, in any casing' }),
            ),
            slice_key: Type.Optional(SearchText()),
            ...pageParameters,
          }),
          response: { 200: Paginated(OperatorMailSchema, 'A page of e-mails') },
          'x-errors': ['validation_error'],
          'x-example': pageExample('/operator/v1/mails', [exampleOperatorMail]),
        },
      },
      async (request) => {
        const query = request.query as Query
        return paginated(
          `${ctx.config.publicUrl}/operator/v1/mails`,
          query,
          (page) => listMails(ctx, { to: query.to, sliceKey: query.slice_key }, page),
          operatorMailJson,
        )
      },
    )
    done()
  }

/** `/shipments`: platform labels. */
export const shipmentLookups =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get(
      '/shipments',
      {
        schema: {
          operationId: 'listShipments',
          summary: 'Find shipments',
          description:
            'Returns the shipments with a platform label, newest first, also those that are being bought.',
          tags: ['Orders'],
          querystring: Type.Object({
            account_id: Type.Optional(Id()),
            slice_key: Type.Optional(SearchText()),
            ...pageParameters,
          }),
          response: { 200: Paginated(ShipmentSchema, 'A page of shipments') },
          'x-errors': ['validation_error'],
          'x-example': pageExample('/operator/v1/shipments', [exampleShipment]),
        },
      },
      async (request) => {
        const query = request.query as Query
        const filters = { accountId: integerIn(query.account_id), sliceKey: query.slice_key }
        return paginated(
          `${ctx.config.publicUrl}/operator/v1/shipments`,
          query,
          (page) => listShipments(ctx, filters, page),
          shipmentJson,
        )
      },
    )
    done()
  }

import Type from 'typebox'
import { ORDER_STATUSES } from '../../enums.ts'
import { getOrder, listAllOrders } from '../../orders/orders.ts'
import type { Service } from '../../service.ts'
import { optionalDateTimes } from '../date-time.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { Data, DateTimeText, Id, OneOf, Paginated, PathId, SearchText } from '../schema.ts'
import {
  exampleOperatorOrder,
  OperatorOrderSchema,
  operatorOrderJson,
} from '../shapes/operator-order.ts'

/** `/orders`: the order rows of all sellers. */
export function orderRowRoutes(app: App, ctx: Service): void {
  app.get(
    '/orders',
    {
      schema: {
        operationId: 'listAllOrders',
        summary: 'Find order rows',
        description:
          'Returns the order rows of all sellers, newest first. `listing_id` also finds the open rows of a listing that was taken down, whose own `listing_id` is null.',
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
      const { query } = request
      const { from, to } = query
      const filters = {
        accountId: query.account_id,
        status: query.status,
        buyerEmail: query.buyer_email,
        listingId: query.listing_id,
        sliceKey: query.slice_key,
        ...optionalDateTimes({ from, to }),
      }
      return paginated(ctx, request, (page) => listAllOrders(ctx, filters, page), operatorOrderJson)
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
}

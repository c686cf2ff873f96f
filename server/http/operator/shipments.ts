import Type from 'typebox'
import type { Service } from '../../service.ts'
import { listShipments } from '../../shipping/all-shipments.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { Id, Paginated, SearchText } from '../schema.ts'
import { exampleShipment, ShipmentSchema, shipmentJson } from '../shapes/slice-overview.ts'

/** `/shipments`: platform labels. */
export function shipmentRoutes(app: App, ctx: Service): void {
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
      const { query } = request
      const filters = { accountId: query.account_id, sliceKey: query.slice_key }
      return paginated(ctx, request, (page) => listShipments(ctx, filters, page), shipmentJson)
    },
  )
}

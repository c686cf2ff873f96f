import Type from 'typebox'
import { getSliceOverview } from '../../back-office/slice-overview.ts'
import type { Service } from '../../service.ts'
import type { App } from '../schema.ts'
import { Data, Text } from '../schema.ts'
import {
  exampleSliceOverview,
  SliceOverviewSchema,
  sliceOverviewJson,
} from '../shapes/slice-overview.ts'
import { mayCall } from './permissions.ts'

/** `/slices`: everything about a parcel. */
export function sliceRoutes(app: App, ctx: Service): void {
  app.get(
    '/slices/:slice_key',
    {
      schema: {
        operationId: 'getSlice',
        summary: 'Read everything about a slice',
        description:
          'Returns the order rows of one seller in one checkout with address, shipment, e-mails, ledger entries and webhook deliveries. A role that may not read all e-mails or deliveries gets null instead of those of the slice.',
        tags: ['Orders'],
        params: Type.Object({ slice_key: Text() }),
        response: { 200: Data(SliceOverviewSchema, 'The slice') },
        'x-example': { data: exampleSliceOverview },
      },
    },
    async ({ params, operator: { role } }) => ({
      data: sliceOverviewJson(
        await getSliceOverview(ctx, params.slice_key, {
          mails: mayCall(role, 'listMails'),
          deliveries: mayCall(role, 'listDeliveries'),
        }),
      ),
    }),
  )
}

import Type from 'typebox'
import { DISPUTE_STATES } from '../../enums.ts'
import { listDisputes } from '../../orders/disputes.ts'
import type { Service } from '../../service.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { Id, OneOf, Paginated } from '../schema.ts'
import { DisputeSchema, disputeJson, exampleDispute } from '../shapes/dispute.ts'

export function disputeRoutes(app: App, ctx: Service): void {
  app.get(
    '/disputes',
    {
      schema: {
        operationId: 'listDisputes',
        summary: 'List disputes',
        description:
          'Returns disputes, newest first. `answered` disputes wait for your decision, and so do `open` ones after `answer_by`.',
        tags: ['Orders'],
        querystring: Type.Object({
          account_id: Type.Optional(Id()),
          order_id: Type.Optional(Id()),
          state: Type.Optional(OneOf(DISPUTE_STATES)),
          ...pageParameters,
        }),
        response: { 200: Paginated(DisputeSchema, 'A page of disputes') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/operator/v1/disputes', [exampleDispute]),
      },
    },
    async (request) => {
      const { query } = request
      const filters = {
        accountId: query.account_id,
        orderId: query.order_id,
        state: query.state,
      }
      return paginated(ctx, request, (page) => listDisputes(ctx, filters, page), disputeJson)
    },
  )
}

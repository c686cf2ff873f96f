import Type from 'typebox'
import { DISPUTE_STATES } from '../../enums.ts'
import { answerDispute, listDisputes } from '../../orders/disputes.ts'
import { getSliceId } from '../../orders/orders.ts'
import type { Service } from '../../service.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import { refuseInvalid } from '../refuse-invalid.ts'
import type { App } from '../schema.ts'
import { Data, Id, OneOf, Paginated, PathId } from '../schema.ts'
import {
  AnswerInput,
  answerOf,
  DisputeSchema,
  disputeJson,
  exampleAnsweredDispute,
  exampleDispute,
} from '../shapes/dispute.ts'

export function ownDisputeRoutes(app: App, ctx: Service): void {
  app.get(
    '/disputes',
    {
      config: { scope: 'orders:read' },
      schema: {
        operationId: 'listOwnDisputes',
        summary: 'List the disputes about your orders',
        description:
          'Returns disputes, newest first. `state=open` selects those that wait for your answer; `answer_by` is the deadline.',
        tags: ['Orders'],
        querystring: Type.Object({
          state: Type.Optional(OneOf(DISPUTE_STATES)),
          order_id: Type.Optional(Id()),
          ...pageParameters,
        }),
        response: { 200: Paginated(DisputeSchema, 'A page of disputes') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/tools/v1/disputes', [exampleDispute]),
      },
    },
    async (request) => {
      const { query } = request
      const filters = {
        accountId: request.caller.account.id,
        state: query.state,
        orderId: query.order_id,
      }
      return paginated(ctx, request, (page) => listDisputes(ctx, filters, page), disputeJson)
    },
  )
}

export function disputeAnswerRoutes(app: App, ctx: Service): void {
  app.post(
    '/orders/:order/dispute/answer',
    {
      config: { scope: 'orders:write' },
      attachValidation: true,
      schema: {
        operationId: 'answerDispute',
        summary: 'Answer the dispute about an order row',
        description:
          'Possible once, until the dispute is resolved. The buyer gets the message by e-mail. Answer by `answer_by`: afterwards the marketplace may decide without you.',
        tags: ['Orders'],
        params: Type.Object({ order: PathId('The disputed order row') }),
        body: AnswerInput,
        response: { 200: Data(DisputeSchema, 'The dispute with your answer') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': { data: exampleAnsweredDispute },
      },
    },
    async (request) => {
      const { id: accountId } = request.caller.account
      const { order } = request.params
      await refuseInvalid(request, order, (id) => getSliceId(ctx, id, accountId))
      const answer = answerOf(request.body)
      return { data: disputeJson(await answerDispute(ctx, accountId, order, answer)) }
    },
  )
}

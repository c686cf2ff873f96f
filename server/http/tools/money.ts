import Type from 'typebox'
import { PAYOUT_STATES } from '../../money/payout.ts'
import { listPayouts } from '../../money/payouts.ts'
import { readStatement } from '../../money/statements.ts'
import type { Service } from '../../service.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { OneOf, Paginated, Text } from '../schema.ts'
import { examplePayout, PayoutSchema, payoutJson } from '../shapes/payout.ts'
import {
  exampleStatement,
  sendStatement,
  statementFormat,
  statementResponse,
} from '../shapes/statement.ts'

export function ownPayoutRoutes(app: App, ctx: Service): void {
  app.get(
    '/payouts',
    {
      config: { scope: 'orders:read' },
      schema: {
        operationId: 'listOwnPayouts',
        summary: 'List your payouts',
        description:
          'Returns payouts, newest first. A slice has one payout, created when all of its rows are received or cancelled; if a later cancellation returns commission that a refund had cost you, another one pays that. `reason` says why a payout is held or failed.',
        tags: ['Money'],
        querystring: Type.Object({
          state: Type.Optional(OneOf(PAYOUT_STATES)),
          ...pageParameters,
        }),
        response: { 200: Paginated(PayoutSchema, 'A page of your payouts') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/tools/v1/payouts', [examplePayout]),
      },
    },
    async (request) => {
      const accountId = request.caller.account.id
      const { state } = request.query
      return paginated(
        ctx,
        request,
        (page) => listPayouts(ctx, { accountId, state }, page),
        payoutJson,
      )
    },
  )
}

export function statementRoutes(app: App, ctx: Service): void {
  app.get(
    '/statements/:month',
    {
      config: { scope: 'orders:read' },
      schema: {
        operationId: 'getStatement',
        summary: 'Read the statement of a month',
        description:
          'The month’s sales, commission, shipping, refunds and payouts by slice, between the opening and the closing balance. Months are in UTC. The commission of a month that has ended is a fee invoice with a number. With `Accept: text/csv` the response is a table.',
        tags: ['Money'],
        params: Type.Object({ month: Text({ examples: ['2026-03'] }) }),
        response: statementResponse,
        'x-errors': ['validation_error'],
        'x-example': { data: exampleStatement },
      },
    },
    async (request, reply) => {
      const { caller, params } = request
      return sendStatement(reply, statementFormat(request), (take) =>
        readStatement(ctx, caller.account.id, params.month, { take }),
      )
    },
  )
}

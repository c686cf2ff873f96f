import Type from 'typebox'
import { readStatement } from '../../money/statements.ts'
import type { Service } from '../../service.ts'
import type { App } from '../schema.ts'
import { PathId, Text } from '../schema.ts'
import {
  exampleStatement,
  sendStatement,
  statementFormat,
  statementResponse,
} from '../shapes/statement.ts'
import { accountExists } from './must-exist.ts'

/** `/accounts/{id}/statements`: the statements of an account, whether it is open or closed. */
export function accountStatementRoutes(app: App, ctx: Service): void {
  app.get(
    '/accounts/:id/statements/:month',
    {
      preValidation: accountExists(ctx),
      schema: {
        operationId: 'getAccountStatement',
        summary: 'Read an account’s statement of a month',
        description:
          'The statement that the seller reads, with its fee invoice. A closed account has statements too, and nobody else can read them. Months are in UTC. With `Accept: text/csv` the response is a table.',
        tags: ['Money'],
        params: Type.Object({
          id: PathId('The account'),
          month: Text({ examples: ['2026-03'] }),
        }),
        response: statementResponse,
        'x-errors': ['validation_error'],
        'x-example': { data: exampleStatement },
      },
    },
    async (request, reply) => {
      const { id, month } = request.params
      return sendStatement(reply, statementFormat(request), (take) =>
        readStatement(ctx, id, month, { take }),
      )
    },
  )
}

import Type from 'typebox'
import { PAYOUT_STATES } from '../../money/payout.ts'
import { listPayouts } from '../../money/payouts.ts'
import { readStatement, type StatementLine } from '../../money/statements.ts'
import { OneOf, Text } from '../schema.ts'
import { PayoutSchema, payoutJson } from '../shapes/payout.ts'
import { StatementSchema, statementJson, statementLineJson } from '../shapes/statement.ts'
import { note, PageOf, pageInput, pageOf } from './fields.ts'
import { cutToFit, pageResult } from './result-size.ts'
import { READS, type SellerCall, tool } from './tool.ts'

const payoutsTool = tool({
  name: 'list_payouts',
  title: 'List payouts',
  description:
    'Lists the shop’s payouts, newest first: one per parcel, in euros. `reason` says why one is held or failed.',
  scope: 'orders:read',
  input: {
    state: Type.Optional(OneOf(PAYOUT_STATES, { description: 'Default all' })),
    ...pageInput,
  },
  output: PageOf(PayoutSchema),
  effect: READS,
  async run(ctx, { state, ...input }, { account }: SellerCall) {
    const page = pageOf(input)
    const { rows, total } = await listPayouts(ctx, { accountId: account.id, state }, page)
    return pageResult(rows.map(payoutJson), total, page)
  },
})

/** More lines than fit into a result. */
const MAX_LINES = 500

const statementTool = tool({
  name: 'get_statement',
  title: 'Read a monthly statement',
  description:
    'Reads a month’s sales, commission, refunds and payouts by parcel, with opening and closing balance.',
  scope: 'orders:read',
  input: { month: Text({ description: 'Such as 2026-03' }) },
  output: Type.Object({ data: StatementSchema, note }),
  effect: READS,
  async run(ctx, { month }, { account }: SellerCall) {
    const lines: StatementLine[] = []
    const statement = await readStatement(ctx, account.id, month, {
      max: MAX_LINES,
      take: (batch) => lines.push(...batch),
    })
    return cutToFit(
      lines.map(statementLineJson),
      (slices) => ({ data: statementJson(statement, slices) }),
      'The totals include all. The dashboard has the whole statement as CSV.',
      statement.sliceCount,
    )
  },
})

export const moneyTools = [payoutsTool, statementTool]

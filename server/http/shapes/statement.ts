import type { FastifyReply } from 'fastify'
import Type, { type Static } from 'typebox'
import { eurosFromCents } from '../../cents.ts'
import type { Amounts, Statement } from '../../money/statements.ts'
import { amount, Currency, component, Nullable } from '../schema.ts'

const amounts = {
  gross: amount('Price × quantity of the rows sold'),
  commission: amount('Commission charged, minus that of cancelled rows'),
  shipping: amount('Shipping that buyers paid for an option of the seller'),
  refunds: amount('Refunds that the seller bears'),
  payout: amount('Transfers to the seller, minus those that failed'),
}

export const StatementSchema = component(
  'Statement',
  Type.Object(
    {
      month: Type.String(),
      currency: Currency,
      opening_balance: amount('The marketplace’s debt to the seller when the month began'),
      slices: Type.Array(Type.Object({ slice_key: Type.String(), ...amounts })),
      totals: Type.Object(amounts),
      closing_balance: amount(
        'opening_balance + gross − commission + shipping − refunds − payout of the totals',
      ),
      invoice: Nullable(
        Type.Object({ number: Type.String(), commission: amount('The commission of the month') }),
        {
          description:
            'The fee invoice. null until it is issued, within half an hour after the end of the month, and without commission',
        },
      ),
    },
    { description: 'A seller’s month, computed from the ledger.' },
  ),
)

const amountsJson = (sums: Amounts) => ({
  gross: eurosFromCents(sums.grossCents),
  commission: eurosFromCents(sums.commissionCents),
  shipping: eurosFromCents(sums.shippingCents),
  refunds: eurosFromCents(sums.refundsCents),
  payout: eurosFromCents(sums.payoutCents),
})

export const statementJson = (statement: Statement): Static<typeof StatementSchema> => ({
  month: statement.month,
  currency: 'EUR',
  opening_balance: eurosFromCents(statement.openingCents),
  slices: statement.slices.map((slice) => ({ slice_key: slice.sliceKey, ...amountsJson(slice) })),
  totals: amountsJson(statement.totals),
  closing_balance: eurosFromCents(statement.closingCents),
  invoice: statement.invoice && {
    number: statement.invoice.number,
    commission: eurosFromCents(statement.invoice.commissionCents),
  },
})

/** The response of a statement: JSON, or the table of `sendStatementCsv`. */
export const statementResponse = {
  200: {
    description: 'The statement',
    content: {
      'application/json': { schema: Type.Object({ data: StatementSchema }) },
      'text/csv': { schema: Type.Unsafe<string>({ type: 'string' }) },
    },
  },
}

/** Sends a statement as a CSV file. */
export const sendStatementCsv = (reply: FastifyReply, statement: Statement) =>
  reply
    .header('content-type', 'text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="statement-${statement.month}.csv"`)
    .send(statementCsv(statement))

/** The statement as a table with a line for each slice. The first and last lines have the balances. */
function statementCsv(statement: Statement): string {
  const { month, openingCents, slices, closingCents, invoice } = statement
  const euros = (cents: number) => eurosFromCents(cents).toFixed(2)
  const line = (name: string, sums: Amounts) =>
    [
      name,
      ...[sums.grossCents, sums.commissionCents, sums.shippingCents, sums.refundsCents].map(euros),
      euros(sums.payoutCents),
      '',
    ].join(',')
  return [
    'slice_key,gross,commission,shipping,refunds,payout,balance',
    `opening_balance,,,,,,${euros(openingCents)}`,
    ...slices.map((slice) => line(slice.sliceKey, slice)),
    line(
      invoice ? `total ${month} (fee invoice ${invoice.number})` : `total ${month}`,
      statement.totals,
    ),
    `closing_balance,,,,,,${euros(closingCents)}`,
    '',
  ].join('\r\n')
}

export const exampleStatement: Static<typeof StatementSchema> = {
  month: '2026-03',
  currency: 'EUR',
  opening_balance: 0,
  slices: [
    {
      slice_key: 'slc_4rE8xQm1v0ZkTn2bYc7Lwg',
      gross: 9,
      commission: 0.45,
      shipping: 6.95,
      refunds: 0,
      payout: 15.5,
    },
  ],
  totals: { gross: 9, commission: 0.45, shipping: 6.95, refunds: 0, payout: 15.5 },
  closing_balance: 0,
  invoice: { number: '2026-03-00001', commission: 0.45 },
}

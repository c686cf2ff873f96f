import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import Type, { type Static } from 'typebox'
import { eurosFromCents } from '../../cents.ts'
import type { Amounts, Statement, StatementLine } from '../../money/statements.ts'
import { timestamp } from '../../time/timestamp.ts'
import { JSON_TYPE } from '../json.ts'
import { amount, Currency, component, Nullable, Timestamp } from '../schema.ts'

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
        Type.Object({
          number: Type.String(),
          commission: amount('The commission of the month'),
          issued_at: Timestamp(),
        }),
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

/** A line of a statement. */
export const statementLineJson = ({ sliceKey, ...sums }: StatementLine) => ({
  slice_key: sliceKey,
  ...amountsJson(sums),
})

/** A statement with these lines. */
export const statementJson = (
  { month, openingCents, totals, closingCents, invoice }: Statement,
  slices: Static<typeof StatementSchema>['slices'],
): Static<typeof StatementSchema> => ({
  month,
  currency: 'EUR',
  opening_balance: eurosFromCents(openingCents),
  slices,
  totals: amountsJson(totals),
  closing_balance: eurosFromCents(closingCents),
  invoice: invoice && {
    number: invoice.number,
    commission: eurosFromCents(invoice.commissionCents),
    issued_at: timestamp(invoice.issuedAt),
  },
})

/** The response of a statement: JSON, or a table. */
export const statementResponse = {
  200: {
    description: 'The statement',
    content: {
      'application/json': { schema: Type.Object({ data: StatementSchema }) },
      'text/csv': { schema: Type.Unsafe<string>({ type: 'string' }) },
    },
  },
}

/** The format that a request accepts. */
export function statementFormat({ raw }: Pick<FastifyRequest, 'raw'>): 'json' | 'csv' {
  const type = new Negotiator(raw).mediaType(['application/json', 'text/csv'])
  return type === 'text/csv' ? 'csv' : 'json'
}

/**
 * Sends a whole statement. Its text is made batch by batch, so other requests are served in between. It is sent when it is
 * complete: a slow client must not hold a snapshot of the database.
 *
 * @param read reads the statement, and calls `take` with each batch of its lines
 */
export async function sendStatement(
  reply: FastifyReply,
  format: 'json' | 'csv',
  read: (take: (lines: StatementLine[]) => void) => Promise<Statement>,
): Promise<FastifyReply> {
  const isCsv = format === 'csv'
  const batches: Buffer[] = []
  const statement = await read((lines) => {
    const text = isCsv
      ? lines.map(({ sliceKey, ...sums }) => csvLine(sliceKey, sums)).join('')
      : (batches.length > 0 ? ',' : '') + JSON.stringify(lines.map(statementLineJson)).slice(1, -1)
    batches.push(Buffer.from(text))
  })
  const { before, after } = isCsv ? aroundCsv(statement) : aroundJson(statement)
  const pieces = [Buffer.from(before), ...batches, Buffer.from(after)]
  if (isCsv) {
    reply.header('content-disposition', `attachment; filename="statement-${statement.month}.csv"`)
  }
  return reply
    .header('content-type', isCsv ? 'text/csv; charset=utf-8' : JSON_TYPE)
    .header(
      'content-length',
      pieces.reduce((bytes, { length }) => bytes + length, 0),
    )
    .send(Readable.from(pieces))
}

/** The JSON before and after the lines: the only empty list is theirs. */
function aroundJson(statement: Statement) {
  const [before, after] = JSON.stringify({ data: statementJson(statement, []) }).split('[]')
  return { before: `${before}[`, after: `]${after}` }
}

/** The lines of the table before and after those of the slices: the first and last ones have the balances. */
function aroundCsv({ month, openingCents, totals, closingCents, invoice }: Statement) {
  const issued = invoice && `fee invoice ${invoice.number} issued ${timestamp(invoice.issuedAt)}`
  const name = issued ? `total ${month} (${issued})` : `total ${month}`
  return {
    before: `slice_key,gross,commission,shipping,refunds,payout,balance\r\nopening_balance,,,,,,${euros(openingCents)}\r\n`,
    after: `${csvLine(name, totals)}closing_balance,,,,,,${euros(closingCents)}\r\n`,
  }
}

const csvLine = (name: string, sums: Amounts) =>
  `${[
    name,
    ...[sums.grossCents, sums.commissionCents, sums.shippingCents, sums.refundsCents].map(euros),
    euros(sums.payoutCents),
    '',
  ].join(',')}\r\n`

const euros = (cents: number) => eurosFromCents(cents).toFixed(2)

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
  invoice: { number: '2026-03-00001', commission: 0.45, issued_at: '2026-04-01T00:10:00Z' },
}

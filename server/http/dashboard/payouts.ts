import Type, { type Static } from 'typebox'
import { eurosFromCents } from '../../cents.ts'
import { validationError } from '../../errors.ts'
import { requireMemberPassword } from '../../members/members.ts'
import { PAYOUT_STATES } from '../../money/payout.ts'
import { confirmSetup, getSetup, submitSetup } from '../../money/payout-setup.ts'
import { getPayout, listPayouts, owedBy, payoutNotFound } from '../../money/payouts.ts'
import { readStatement, type StatementLine, type StatementLines } from '../../money/statements.ts'
import { rowsOfSlices } from '../../orders/slice-list.ts'
import type { Service } from '../../service.ts'
import { pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { Data, FilledText, Line, Nullable, OneOf, Paginated, PathId, Text } from '../schema.ts'
import { PayoutSchema, payoutJson } from '../shapes/payout.ts'
import { PayoutSetupSchema, payoutSetupJson } from '../shapes/payout-setup.ts'
import {
  StatementSchema,
  sendStatement,
  statementJson,
  statementLineJson,
  statementResponse,
} from '../shapes/statement.ts'
import { limitAttempts } from '../sign-in-limits.ts'

export type PayoutRecord = Static<typeof PayoutSchema>
export type PayoutSetupRecord = Static<typeof PayoutSetupSchema>
export type StatementRecord = Static<typeof ShownStatement>

/** Slices that the page shows: a browser freezes for seconds with the 50,000 of a large shop. */
const MAX_SHOWN = 500

const ShownStatement = Type.Intersect([
  StatementSchema,
  Type.Object({
    slice_count: Type.Integer({ description: `All slices; \`slices\` has the first ${MAX_SHOWN}` }),
    orders: Type.Array(
      Type.Object({
        order_id: Type.Integer({ description: 'The first row of the slice' }),
        rows: Type.Integer(),
      }),
      { description: 'The rows of each of `slices`, in the same order' },
    ),
    has_deductions: Type.Boolean({
      description: 'Whether a run has deducted what one slice owed from the payout of another',
    }),
    issuer: Nullable(Type.String(), {
      description: 'The name of the marketplace on the fee invoice, as the bank knew it then',
    }),
    recipient: Nullable(Type.String(), {
      description: 'The name of the shop on the fee invoice',
    }),
  }),
])

const PayoutsPage = Type.Object(
  {
    ...Paginated(PayoutSchema, '').properties,
    owed: Type.Number({ description: 'The debt after refunds; the next runs deduct it' }),
  },
  { description: 'A page of payouts' },
)

const setupResponse = { 200: Data(PayoutSetupSchema, 'The payout setup') }

/** The member's payouts, bank account and statements. */
export function payoutsApi(app: App, ctx: Service): void {
  app.get(
    '/payouts',
    {
      schema: {
        querystring: Type.Object({
          state: Type.Optional(OneOf(PAYOUT_STATES)),
          ...pageParameters,
        }),
        response: { 200: PayoutsPage },
      },
    },
    async (request) => {
      const { accountId } = request.member
      const { state } = request.query
      const [payouts, owedCents] = await Promise.all([
        paginated(ctx, request, (page) => listPayouts(ctx, { accountId, state }, page), payoutJson),
        owedBy(ctx, accountId),
      ])
      return { ...payouts, owed: eurosFromCents(owedCents) }
    },
  )

  app.get(
    '/payouts/:id',
    {
      schema: {
        params: Type.Object({ id: PathId('The payout') }),
        response: { 200: Data(PayoutSchema, 'The payout') },
      },
    },
    async ({ member, params }) => {
      const payout = await getPayout(ctx, params.id)
      if (payout.accountId !== member.accountId) throw payoutNotFound()
      return { data: payoutJson(payout) }
    },
  )

  app.get('/payouts/setup', { schema: { response: setupResponse } }, async ({ member }) => ({
    data: payoutSetupJson(await getSetup(ctx, member.accountId)),
  }))

  app.put(
    '/payouts/setup',
    {
      config: { audit: 'begun and ended' },
      schema: {
        body: Type.Object({
          holder: Line({ maxLength: 100 }),
          iban: FilledText({ maxLength: 50 }),
          password: Type.Optional(Text({ maxLength: 200 })),
        }),
        response: setupResponse,
      },
    },
    async (request) => {
      const { member, body } = request
      const { holder, iban, password } = body
      const wanted = { holder, iban, password }
      const setup = await submitSetup(ctx, member.accountId, wanted, async (text) => {
        // A form for the first account has no such field. It may be open since before another member entered one.
        if (text === undefined) {
          throw validationError({
            password: ['There is a bank account already. A change of it needs your password.'],
          })
        }
        await limitAttempts(ctx, request, member.email, () =>
          requireMemberPassword(ctx, member.id, text),
        )
      })
      return { data: payoutSetupJson(setup) }
    },
  )

  app.post(
    '/payouts/setup/confirm',
    {
      schema: {
        body: Type.Object({ token: FilledText({ maxLength: 100 }) }),
        response: setupResponse,
      },
    },
    async ({ member, body }) => ({
      data: payoutSetupJson(await confirmSetup(ctx, member.accountId, body.token)),
    }),
  )

  app.get(
    '/payouts/statements/:month',
    {
      schema: {
        params: Type.Object({ month: Text() }),
        querystring: Type.Object({ format: Type.Optional(OneOf(['csv'] as const)) }),
        response: {
          200: {
            description: 'The beginning of the statement, or all of it as CSV',
            content: {
              ...statementResponse[200].content,
              'application/json': { schema: Type.Object({ data: ShownStatement }) },
            },
          },
        },
      },
    },
    async ({ member: { accountId }, params: { month }, query }, reply) => {
      const read = (lines: StatementLines) => readStatement(ctx, accountId, month, lines)
      if (query.format === 'csv') return sendStatement(reply, 'csv', (take) => read({ take }))
      const lines: StatementLine[] = []
      const statement = await read({ max: MAX_SHOWN, take: (batch) => lines.push(...batch) })
      const data = statementJson(statement, lines.map(statementLineJson))
      const keys = lines.map(({ sliceKey }) => sliceKey)
      const rowsOf = await rowsOfSlices(ctx, accountId, keys)
      return {
        data: {
          ...data,
          slice_count: statement.sliceCount,
          orders: keys.map((key) => {
            const { orderId, rows } = rowsOf.get(key)!
            return { order_id: orderId, rows }
          }),
          has_deductions: statement.hasDeductions,
          issuer: statement.invoice?.issuer ?? null,
          recipient: statement.invoice?.recipient ?? null,
        },
      }
    },
  )
}

import Type from 'typebox'
import { PAYOUT_STATES } from '../../money/payout.ts'
import {
  getPayout,
  listPayouts,
  markFailed,
  markPaid,
  payoutNotFound,
  releasePayout,
} from '../../money/payouts.ts'
import type { Service } from '../../service.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import {
  Data,
  Euros,
  FilledText,
  Id,
  OneOf,
  Paginated,
  PathId,
  SearchText,
  Words,
} from '../schema.ts'
import {
  exampleOperatorPayout,
  OperatorPayoutSchema,
  operatorPayoutJson,
} from '../shapes/operator-payout.ts'
import { mustExist } from './must-exist.ts'

const params = Type.Object({ id: PathId('The payout') })
const reference = Type.Optional(
  FilledText({
    maxLength: 35,
    description:
      'The reference of the transfer. With it, a report that is repeated late can’t be taken for one about the next transfer of the payout: it fails with 409',
  }),
)

export function payoutRoutes(app: App, ctx: Service): void {
  const exists = mustExist((id) => getPayout(ctx, id), payoutNotFound)

  app.get(
    '/payouts',
    {
      schema: {
        operationId: 'listPayouts',
        summary: 'List payouts',
        description:
          'Returns payouts, newest first. A slice has one payout, created when all of its rows are received or cancelled; if a later cancellation returns commission that a refund had cost the seller, another one pays that. `held` payouts are due, but no run takes them; `reason` says why. `run_id` finds the payouts in the file of a run: one that failed can have been transferred by another run since, and `state` is the present one.',
        tags: ['Money'],
        querystring: Type.Object({
          account_id: Type.Optional(Id()),
          state: Type.Optional(OneOf(PAYOUT_STATES)),
          reference: Type.Optional(
            SearchText({
              description: 'The payout’s reference, or that of one of its former transfers',
            }),
          ),
          slice_key: Type.Optional(SearchText()),
          run_id: Type.Optional(Id()),
          ...pageParameters,
        }),
        response: { 200: Paginated(OperatorPayoutSchema, 'A page of payouts') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/operator/v1/payouts', [exampleOperatorPayout]),
      },
    },
    async (request) => {
      const { query } = request
      const filters = {
        accountId: query.account_id,
        state: query.state,
        reference: query.reference,
        sliceKey: query.slice_key,
        runId: query.run_id,
      }
      return paginated(ctx, request, (page) => listPayouts(ctx, filters, page), operatorPayoutJson)
    },
  )

  app.get(
    '/payouts/:id',
    {
      schema: {
        operationId: 'getPayout',
        summary: 'Read a payout',
        tags: ['Money'],
        params,
        response: { 200: Data(OperatorPayoutSchema, 'The payout') },
        'x-example': { data: exampleOperatorPayout },
      },
    },
    async ({ params }) => ({ data: operatorPayoutJson(await getPayout(ctx, params.id)) }),
  )

  app.post(
    '/payouts/:id/release',
    {
      schema: {
        operationId: 'releasePayout',
        summary: 'Release a payout that you had to check',
        description:
          'Payouts of orders that were completed before the service kept payouts are held, because they may have been paid already. If one was not, release it, and the next run takes it. Responds with 409 for a payout that is held for another reason: it is released when that reason ends.',
        tags: ['Money'],
        params,
        response: { 200: Data(OperatorPayoutSchema, 'The payout after the change') },
        'x-errors': ['conflict'],
        'x-example': { data: exampleOperatorPayout },
      },
    },
    async ({ params }) => ({ data: operatorPayoutJson(await releasePayout(ctx, params.id)) }),
  )

  app.post(
    '/payouts/:id/paid',
    {
      preValidation: exists,
      schema: {
        operationId: 'markPayoutPaid',
        summary: 'Record that a payout was executed',
        description:
          'Possible while the payout is sent. A payout that you had to check can be marked as well, if the seller was paid outside of the service. With `outside`, so can each payout that is due, held or failed: the ledger has its whole amount as paid, no run takes it, and one that had failed has another `reference`.',
        tags: ['Money'],
        params,
        body: Type.Optional(
          Type.Object(
            {
              reference,
              amount: Type.Optional(
                Euros({
                  description:
                    'The `amount` of the payout that you have seen, or transferred. With it, a refund that has changed the amount meanwhile can’t have another one recorded as paid: the request fails with 409',
                }),
              ),
              outside: Type.Optional(
                Type.Boolean({
                  default: false,
                  description:
                    'Whether you have transferred the amount outside of the service: a report of the bank can only be about a payout that is sent',
                }),
              ),
            },
            { examples: [{}, { reference: exampleOperatorPayout.reference }] },
          ),
        ),
        response: { 200: Data(OperatorPayoutSchema, 'The payout after the change') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': {
          data: {
            ...exampleOperatorPayout,
            state: 'paid',
            sent_at: '2026-03-09T08:00:00Z',
            paid_at: '2026-03-10T08:00:00Z',
          },
        },
      },
    },
    async ({ params, body }) => ({
      data: operatorPayoutJson(
        await markPaid(ctx, params.id, {
          reference: body?.reference,
          amount: body?.amount,
          isOutside: body?.outside,
        }),
      ),
    }),
  )

  app.post(
    '/payouts/:id/failed',
    {
      preValidation: exists,
      schema: {
        operationId: 'markPayoutFailed',
        summary: 'Record that the bank returned a payout',
        description:
          'Possible while the payout is sent or paid. The seller gets an e-mail with the reason; the payout becomes due again when the seller changes the payout setup, or you verify it again. If the seller has changed the bank account since the transfer, it is due at once, or held. One that was paid outside of the service needs its `reference` (409 without it): the report may be a late one about an earlier transfer.',
        tags: ['Money'],
        params,
        body: Type.Object(
          { reason: Words({ maxLength: 500 }), reference },
          {
            examples: [
              { reason: 'The account is closed.' },
              { reason: 'The account is closed.', reference: exampleOperatorPayout.reference },
            ],
          },
        ),
        response: { 200: Data(OperatorPayoutSchema, 'The payout after the change') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': {
          data: {
            ...exampleOperatorPayout,
            state: 'failed',
            reason: 'The account is closed.',
            sent_at: '2026-03-09T08:00:00Z',
          },
        },
      },
    },
    async ({ params, body }) => ({
      data: operatorPayoutJson(await markFailed(ctx, params.id, body)),
    }),
  )
}

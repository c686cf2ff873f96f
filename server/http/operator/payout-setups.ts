import Type from 'typebox'
import { listSetups, rejectSetup, SETUP_STATES, verifySetup } from '../../money/payout-setup.ts'
import type { Service } from '../../service.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { Data, FilledText, OneOf, Paginated, PathId, Words } from '../schema.ts'
import { examplePayoutSetup, PayoutSetupSchema, payoutSetupJson } from '../shapes/payout-setup.ts'
import { accountExists } from './must-exist.ts'

export function payoutSetupList(app: App, ctx: Service): void {
  app.get(
    '/payout-setups',
    {
      schema: {
        operationId: 'listPayoutSetups',
        summary: 'List payout setups',
        description:
          'Returns the bank accounts that sellers have submitted and confirmed, oldest first. With `state=missing` it returns the accounts that have none and are not verified, by number. `payout_verified` of an account is true while its setup is `verified`.',
        tags: ['Money'],
        querystring: Type.Object({
          state: Type.Optional(OneOf(SETUP_STATES)),
          ...pageParameters,
        }),
        response: { 200: Paginated(PayoutSetupSchema, 'A page of payout setups') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/operator/v1/payout-setups', [examplePayoutSetup]),
      },
    },
    async (request) =>
      paginated(
        ctx,
        request,
        (page) => listSetups(ctx, request.query.state, page),
        payoutSetupJson,
      ),
  )
}

const submission = Type.Optional(
  FilledText({
    maxLength: 64,
    description:
      'The `submission` of the setup that you checked. With it, the decision can’t be about a bank account that the seller has submitted since, and can’t undo a later decision: such a request fails with 409',
  }),
)

const decision = {
  tags: ['Money'],
  params: Type.Object({ id: PathId('The account') }),
  response: { 200: Data(PayoutSetupSchema, 'The payout setup after the change') },
}

export function payoutSetupRoutes(app: App, ctx: Service): void {
  app.post(
    '/accounts/:id/payout-setup/verify',
    {
      preValidation: accountExists(ctx),
      schema: {
        ...decision,
        operationId: 'verifyPayoutSetup',
        summary: 'Verify a payout setup',
        description:
          'From now on the seller can list and ship, which an e-mail says unless the setup was verified before, and payouts are made. Failed payouts become due again. Responds with 409 if the seller has not submitted a setup, or if it has another `submission` than the body.',
        body: Type.Optional(
          Type.Object(
            { submission },
            { examples: [{}, { submission: examplePayoutSetup.submission }] },
          ),
        ),
        'x-errors': ['conflict', 'validation_error'],
        'x-example': { data: { ...examplePayoutSetup, state: 'verified' } },
      },
    },
    async ({ params, body }) => ({
      data: payoutSetupJson(await verifySetup(ctx, params.id, body?.submission)),
    }),
  )

  app.post(
    '/accounts/:id/payout-setup/reject',
    {
      preValidation: accountExists(ctx),
      schema: {
        ...decision,
        operationId: 'rejectPayoutSetup',
        summary: 'Reject a payout setup',
        description:
          'The seller gets an e-mail with the reason, and can neither list nor ship until another setup is verified. Responds with 409 if the seller has not submitted a setup, or if it has another `submission` than the body.',
        body: Type.Object(
          { reason: Words({ maxLength: 500 }), submission },
          {
            examples: [
              { reason: 'The holder is not the shop’s owner.' },
              {
                reason: 'The holder is not the shop’s owner.',
                submission: examplePayoutSetup.submission,
              },
            ],
          },
        ),
        'x-errors': ['conflict', 'validation_error'],
        'x-example': {
          data: {
            ...examplePayoutSetup,
            state: 'rejected',
            reason: 'The holder is not the shop’s owner.',
          },
        },
      },
    },
    async ({ params, body }) => ({
      data: payoutSetupJson(await rejectSetup(ctx, params.id, body)),
    }),
  )
}

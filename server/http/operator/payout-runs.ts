import Type, { type Static } from 'typebox'
import { eurosFromCents } from '../../cents.ts'
import {
  listRuns,
  markRunPaid,
  type PayoutRun,
  payoutFile,
  runPayouts,
} from '../../money/payout-runs.ts'
import type { Service } from '../../service.ts'
import { timestamp } from '../../time/timestamp.ts'
import { sendOnce } from '../idempotency.ts'
import { idempotencyKeyHeader, repeatable } from '../idempotency-key.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { amount, component, Data, Nullable, Paginated, PathId, Timestamp } from '../schema.ts'

const runFields = {
  id: Type.Integer(),
  count: Type.Integer({ description: 'Number of transfers' }),
  total: amount('Sum of the transfers'),
  file: Nullable(Type.String(), {
    description: 'URL of the file for the bank; null without transfers',
  }),
}

const PayoutRunSchema = component(
  'PayoutRun',
  Type.Object(runFields, { description: 'The payouts that one run took.' }),
)

const PastRunSchema = component(
  'PastPayoutRun',
  Type.Object(
    { ...runFields, created_at: Timestamp() },
    { description: 'A payout run, with its time.' },
  ),
)

/** A run as the console shows it. */
export type PastRun = Static<typeof PastRunSchema>

const exampleRun: Static<typeof PayoutRunSchema> = {
  id: 3,
  count: 41,
  total: 1022.75,
  file: 'https://cards.example/operator/v1/payout-runs/3/file',
}

const EXAMPLE_FILE = `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09">
…
</Document>
`

export function payoutRunRoutes(app: App, ctx: Service): void {
  app.post(
    '/payout-runs',
    {
      schema: {
        operationId: 'runPayouts',
        summary: 'Run the payouts that are due',
        description:
          'Takes every payout that is due and not held, at most 5,000, and marks it as sent. Concurrent runs never take the same payout. Give the file to the bank, then report the result of each payout. With an `Idempotency-Key` you can safely repeat the request for 24 hours. Responds with 409 without `PAYOUT_IBAN` and `PAYOUT_NAME`, and if the `SECRET_KEY` isn’t the one that encrypted a seller’s bank account; no payout is taken then.',
        tags: ['Money'],
        headers: idempotencyKeyHeader,
        response: { 201: Data(PayoutRunSchema, 'The run') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': { data: exampleRun },
      },
    },
    async (request, reply) => {
      const identity = repeatable(request, 'operator', 'runPayouts')
      return sendOnce(ctx, reply, identity, async (ctx) => {
        return { status: 201, body: { data: runJson(ctx, await runPayouts(ctx)) } }
      })
    },
  )

  app.get(
    '/payout-runs',
    {
      schema: {
        operationId: 'listPayoutRuns',
        summary: 'List payout runs',
        description: 'Returns runs, newest first.',
        tags: ['Money'],
        querystring: Type.Object(pageParameters),
        response: { 200: Paginated(PastRunSchema, 'A page of payout runs') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/operator/v1/payout-runs', [
          { ...exampleRun, created_at: '2026-03-09T08:00:00Z' },
        ]),
      },
    },
    async (request) =>
      paginated(
        ctx,
        request,
        (page) => listRuns(ctx, page),
        (run) => ({ ...runJson(ctx, run), created_at: timestamp(run.createdAt) }),
      ),
  )

  app.get(
    '/payout-runs/:id/file',
    {
      schema: {
        operationId: 'getPayoutFile',
        summary: 'Download the file of a payout run',
        description:
          'A SEPA credit transfer (ISO 20022, pain.001.001.09) for the bank. The file of a run never changes. It contains the sellers’ IBANs.',
        tags: ['Money'],
        params: Type.Object({ id: PathId('The payout run') }),
        response: {
          200: {
            description: 'The file',
            content: {
              'application/xml': {
                schema: Type.Unsafe<string>({ type: 'string', examples: [EXAMPLE_FILE] }),
              },
            },
          },
        },
        'x-errors': ['conflict'],
      },
    },
    async ({ params }, reply) =>
      reply
        .header('content-type', 'application/xml; charset=utf-8')
        .header('content-disposition', `attachment; filename="payouts-${params.id}.xml"`)
        .send(await payoutFile(ctx, params.id)),
  )

  app.post(
    '/payout-runs/:id/paid',
    {
      schema: {
        operationId: 'markRunPaid',
        summary: 'Record that the bank has executed a payout run',
        description:
          'Marks each payout of the run as paid that is still sent with its transfer. Report the transfers that the bank has returned as failed, before or afterwards: a failed payout stays failed, and one that another run has transferred since stays sent. A repeated request changes nothing more.',
        tags: ['Money'],
        params: Type.Object({ id: PathId('The payout run') }),
        response: {
          200: Data(
            Type.Object({
              payouts: Type.Integer({ description: 'Number of payouts that it marked' }),
            }),
            'The number of payouts',
          ),
        },
        'x-example': { data: { payouts: 40 } },
      },
    },
    async ({ params }) => ({ data: { payouts: await markRunPaid(ctx, params.id) } }),
  )
}

const runJson = (
  { config }: Pick<Service, 'config'>,
  { id, count, totalCents }: PayoutRun,
): Static<typeof PayoutRunSchema> => ({
  id,
  count,
  total: eurosFromCents(totalCents),
  file: count === 0 ? null : `${config.publicUrl}/operator/v1/payout-runs/${id}/file`,
})

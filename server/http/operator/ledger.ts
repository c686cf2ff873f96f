import Type from 'typebox'
import { eurosFromCents } from '../../cents.ts'
import { POSTING_KINDS } from '../../enums.ts'
import { listEntries, readBalances } from '../../money/ledger.ts'
import type { Service } from '../../service.ts'
import { optionalDateTimes } from '../date-time.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { Data, DateTimeText, Id, OneOf, Paginated, SearchText } from '../schema.ts'
import { exampleEntry, LedgerEntrySchema, ledgerEntryJson } from '../shapes/ledger.ts'

export function ledgerRoutes(app: App, ctx: Service): void {
  app.get(
    '/ledger',
    {
      schema: {
        operationId: 'listLedger',
        summary: 'List the entries of the ledger',
        description:
          'Returns entries, newest first. The ledger is double-entry and append-only: the entries of a posting sum to 0, and a correction is a new posting. `account_id` and `slice_key` select postings, with all of their entries.',
        tags: ['Money'],
        querystring: Type.Object({
          account_id: Type.Optional(Id()),
          slice_key: Type.Optional(SearchText()),
          from: Type.Optional(DateTimeText()),
          to: Type.Optional(DateTimeText()),
          kind: Type.Optional(OneOf(POSTING_KINDS)),
          ...pageParameters,
        }),
        response: { 200: Paginated(LedgerEntrySchema, 'A page of entries') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/operator/v1/ledger', [exampleEntry]),
      },
    },
    async (request) => {
      const { query } = request
      const { from, to } = query
      const filters = {
        accountId: query.account_id,
        sliceKey: query.slice_key,
        ...optionalDateTimes({ from, to }),
        kind: query.kind,
      }
      return paginated(ctx, request, (page) => listEntries(ctx, filters, page), ledgerEntryJson)
    },
  )

  app.get(
    '/ledger/balance',
    {
      schema: {
        operationId: 'getLedgerBalance',
        summary: 'Read the balance of every ledger account',
        description:
          'The balances sum to 0. A positive balance of `seller:{id}` is money that the marketplace owes the seller, for open orders too.',
        tags: ['Money'],
        response: {
          200: Data(
            Type.Record(Type.String(), Type.Number()),
            'Decimal euros by ledger account: `buyers`, `commission`, `shipping`, `refunds`, `payouts`, `seller:{id}`',
          ),
        },
        'x-example': {
          data: {
            buyers: -13.95,
            commission: 0.45,
            shipping: 4.95,
            refunds: 0,
            payouts: 0,
            'seller:12': 8.55,
          },
        },
      },
    },
    async () => ({
      data: Object.fromEntries(
        [...(await readBalances(ctx))].map(([account, cents]) => [account, eurosFromCents(cents)]),
      ),
    }),
  )
}

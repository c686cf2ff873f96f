import Type, { type Static } from 'typebox'
import { eurosFromCents } from '../../cents.ts'
import { POSTING_KINDS } from '../../enums.ts'
import type { Entry } from '../../money/posting.ts'
import { timestamp } from '../../time/timestamp.ts'
import { amount, component, Nullable, OneOf, Timestamp } from '../schema.ts'

export const LedgerEntrySchema = component(
  'LedgerEntry',
  Type.Object(
    {
      id: Type.Integer(),
      kind: OneOf(POSTING_KINDS, {
        description: 'The fact that was posted. All entries of one posting sum to 0.',
      }),
      slice_key: Type.String(),
      order_id: Nullable(Type.Integer(), {
        description: 'null if the posting is about the whole slice',
      }),
      account: Type.String({
        description:
          'Ledger account: `buyers`, `seller:{id}`, `commission`, `shipping` (platform labels), `refunds` or `payouts`',
      }),
      amount: amount(
        'Decimal euros that the account received, negative for those that it gave. `buyers` gives what buyers pay.',
      ),
      created_at: Timestamp(),
    },
    { description: 'One entry of the ledger.' },
  ),
)

export const ledgerEntryJson = (entry: Entry): Static<typeof LedgerEntrySchema> => ({
  id: entry.id,
  kind: entry.kind,
  slice_key: entry.sliceKey,
  order_id: entry.orderId,
  account: entry.account,
  amount: eurosFromCents(entry.amountCents),
  created_at: timestamp(entry.createdAt),
})

export const exampleEntry: Static<typeof LedgerEntrySchema> = {
  id: 9002,
  kind: 'sale',
  slice_key: 'slc_4rE8xQm1v0ZkTn2bYc7Lwg',
  order_id: 4711,
  account: 'seller:12',
  amount: 8.55,
  created_at: '2026-03-01T09:30:00Z',
}

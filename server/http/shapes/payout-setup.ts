import Type, { type Static } from 'typebox'
import { type PayoutSetup, SETUP_STATES } from '../../money/payout-setup.ts'
import { timestampOrNull } from '../../time/timestamp.ts'
import { component, Nullable, OneOf, Timestamp } from '../schema.ts'

export const PayoutSetupSchema = component(
  'PayoutSetup',
  Type.Object(
    {
      account_id: Type.Integer(),
      state: OneOf(SETUP_STATES),
      reason: Nullable(Type.String(), { description: 'Why the setup was rejected' }),
      holder: Nullable(Type.String()),
      iban_last4: Nullable(Type.String(), { description: 'The IBAN itself is never shown' }),
      country: Nullable(Type.String()),
      submission: Nullable(Type.String(), {
        description:
          'Differs for each submission, also of the same bank account, and after each decision',
      }),
      hold_until: Nullable(Timestamp(), {
        description: 'Payouts are held until then, because the bank account was changed',
      }),
      submitted_at: Nullable(Timestamp()),
      unconfirmed_until: Nullable(Timestamp(), {
        description: 'Set while a bank account waits for the seller’s confirmation by e-mail',
      }),
      unconfirmed: Nullable(
        Type.Object({
          holder: Type.String(),
          iban_last4: Type.String(),
          country: Type.String(),
        }),
        {
          description:
            'The bank account that waits for this confirmation. The other fields describe the current one',
        },
      ),
    },
    { description: 'A seller’s bank account for payouts.' },
  ),
)

export const payoutSetupJson = (setup: PayoutSetup): Static<typeof PayoutSetupSchema> => ({
  account_id: setup.accountId,
  state: setup.state,
  reason: setup.reason,
  holder: setup.holder,
  iban_last4: setup.ibanLast4,
  country: setup.country,
  submission: setup.submission,
  hold_until: timestampOrNull(setup.holdUntil),
  submitted_at: timestampOrNull(setup.submittedAt),
  unconfirmed_until: timestampOrNull(setup.unconfirmedUntil),
  unconfirmed: setup.unconfirmed && {
    holder: setup.unconfirmed.holder,
    iban_last4: setup.unconfirmed.ibanLast4,
    country: setup.unconfirmed.country,
  },
})

export const examplePayoutSetup: Static<typeof PayoutSetupSchema> = {
  account_id: 12,
  state: 'submitted',
  reason: null,
  holder: 'Kanto Cards',
  iban_last4: '6789',
  country: 'NL',
  submission: '9f2c4b7d1e6a8035c7d94e1b2a6f8c03',
  hold_until: null,
  submitted_at: '2026-03-01T09:30:00Z',
  unconfirmed_until: null,
  unconfirmed: null,
}

import Type, { type Static } from 'typebox'
import { eurosFromCents } from '../../cents.ts'
import { PAYOUT_STATES, type Payout } from '../../money/payout.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import { amount, component, Nullable, OneOf, Timestamp } from '../schema.ts'

const PayoutLineSchema = component(
  'PayoutLine',
  Type.Object(
    {
      order_id: Nullable(Type.Integer(), {
        description: 'null for shipping, and for the deduction of an earlier payout’s refund',
      }),
      gross: amount('Price × quantity'),
      commission: amount('Commission of the marketplace; 0 for a cancelled row'),
      refunds: amount(
        'Refunds that the seller bears, and what another payout of the slice has paid; negative for what was deducted from another payout before',
      ),
      shipping: amount('Shipping that the buyer paid for an option of the seller'),
    },
    { description: 'The part of a payout from one order row.' },
  ),
)

const PayoutDeductionSchema = component(
  'PayoutDeduction',
  Type.Object(
    {
      slice_key: Type.String(),
      order_ids: Type.Array(Type.Integer(), {
        description: 'The order rows whose refunds or cancellations caused the debt',
      }),
      amount: amount('The part of the debt that this payout has paid'),
    },
    {
      description: 'The part of a payout that a run has deducted for the refunds of another slice.',
    },
  ),
)

export const payoutFields = {
  id: Type.Integer(),
  account_id: Type.Integer(),
  slice_key: Type.String(),
  amount: amount('gross − commission − refunds + shipping of all lines'),
  state: OneOf(PAYOUT_STATES),
  reason: Nullable(Type.String(), { description: 'Why the payout is held or failed' }),
  reference: Type.String({
    description:
      'Reference of the current or next transfer, which the bank statement shows. Unique. A paid payout with an amount of 0 has no transfer: what the seller owed took all of it',
  }),
  created_at: Timestamp(),
  sent_at: Nullable(Timestamp()),
  paid_at: Nullable(Timestamp()),
  lines: Type.Array(PayoutLineSchema),
  deductions: Type.Array(PayoutDeductionSchema, {
    description:
      'The parts of the line for the deduction of refunds, oldest order of each run first. An earlier version kept none: what it deducted is only in the line',
  }),
}

export const PayoutSchema = component(
  'Payout',
  Type.Object(payoutFields, { description: 'The money that a seller gets for one slice.' }),
)

export const payoutJson = (payout: Payout): Static<typeof PayoutSchema> => ({
  id: payout.id,
  account_id: payout.accountId,
  slice_key: payout.sliceKey,
  amount: eurosFromCents(payout.amountCents),
  state: payout.state,
  reason: payout.reason,
  reference: payout.reference,
  created_at: timestamp(payout.createdAt),
  sent_at: timestampOrNull(payout.sentAt),
  paid_at: timestampOrNull(payout.paidAt),
  lines: payout.lines.map((line) => ({
    order_id: line.orderId,
    gross: eurosFromCents(line.grossCents),
    commission: eurosFromCents(line.commissionCents),
    refunds: eurosFromCents(line.refundsCents),
    shipping: eurosFromCents(line.shippingCents),
  })),
  deductions: payout.deductions.map(({ sliceKey, orderIds, cents }) => ({
    slice_key: sliceKey,
    order_ids: orderIds,
    amount: eurosFromCents(cents),
  })),
})

export const examplePayout: Static<typeof PayoutSchema> = {
  id: 31,
  account_id: 12,
  slice_key: 'slc_4rE8xQm1v0ZkTn2bYc7Lwg',
  amount: 15.5,
  state: 'due',
  reason: null,
  reference: 'CS6F1D0C29A4B84E7DA1',
  created_at: '2026-03-05T10:00:00Z',
  sent_at: null,
  paid_at: null,
  lines: [
    { order_id: 4711, gross: 9, commission: 0.45, refunds: 0, shipping: 0 },
    { order_id: null, gross: 0, commission: 0, refunds: 0, shipping: 6.95 },
  ],
  deductions: [],
}

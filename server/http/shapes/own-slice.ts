import Type, { type Static } from 'typebox'
import { eurosFromCents } from '../../cents.ts'
import { BOUGHT_LABEL_STATUSES, CANCEL_REASONS, CANCELLERS } from '../../enums.ts'
import type { RowRefund } from '../../money/ledger.ts'
import { REFUND_BEARERS } from '../../money/posting.ts'
import { MOMENTS, timelineOf } from '../../orders/timeline.ts'
import type { LabeledSlice } from '../../shipping/labeled-slice.ts'
import type { SliceActions } from '../../shipping/slice-actions.ts'
import { timestamp } from '../../time/timestamp.ts'
import { amount, Nullable, OneOf, Timestamp } from '../schema.ts'
import { OwnOrderSchema, ownOrderJson } from './own-order.ts'
import { sliceFields, sliceJson } from './slice.ts'

const TimelineSchema = Type.Array(
  Type.Object({
    kind: OneOf(MOMENTS),
    at: Timestamp(),
    orders: Type.Array(Type.Integer(), { description: 'The rows that it happened to' }),
    by: Nullable(OneOf(CANCELLERS)),
    reason: Nullable(OneOf(CANCEL_REASONS)),
    refund: Type.Optional(
      Type.Object({
        amount: amount('The refunded part of the price'),
        borne_by: OneOf(REFUND_BEARERS),
        reason: Nullable(Type.String()),
      }),
    ),
  }),
  { description: 'Oldest first' },
)

/** A slice in the dashboard: that of the seller API, with its history, label and possible actions. */
export const OwnSliceSchema = Type.Object({
  ...sliceFields,
  orders: Type.Array(OwnOrderSchema),
  created_at: Timestamp(),
  label: Type.Union([
    Type.Null(),
    Type.Object({
      status: OneOf(BOUGHT_LABEL_STATUSES),
      message: Nullable(Type.String()),
      label_url: Nullable(Type.String()),
    }),
  ]),
  timeline: TimelineSchema,
  actions: Type.Object({
    ship: Type.Union([Type.Null(), Type.Object({ needs_tracking_code: Type.Boolean() })]),
    label: Type.Boolean(),
    cancel: Type.Array(Type.Integer(), { description: 'Rows that the seller can cancel' }),
    needs_payout_setup: Type.Boolean(),
  }),
})

export function ownSliceJson(
  slice: LabeledSlice,
  actions: SliceActions,
  refunds: RowRefund[],
): Static<typeof OwnSliceSchema> {
  const { label } = slice
  return {
    ...sliceJson(slice),
    orders: slice.orders.map(ownOrderJson),
    created_at: timestamp(slice.createdAt),
    label: label && {
      status: label.status,
      message: label.message,
      label_url: label.labelUrl,
    },
    timeline: timelineOf(slice, label, refunds).map(
      ({ kind, at, orderIds, by, reason, refund }) => ({
        kind,
        at: timestamp(at),
        orders: orderIds,
        by,
        reason,
        ...(refund && { refund: refundJson(refund) }),
      }),
    ),
    actions: {
      ship: actions.ship && { needs_tracking_code: actions.ship.needsTrackingCode },
      label: actions.label,
      cancel: actions.cancel,
      needs_payout_setup: actions.needsPayoutSetup,
    },
  }
}

/** The reason of a refund that the marketplace bears was told to the buyer alone. */
const refundJson = ({ amountCents, borneBy, reason }: RowRefund) => ({
  amount: eurosFromCents(amountCents),
  borne_by: borneBy,
  reason: borneBy === 'seller' ? reason : null,
})

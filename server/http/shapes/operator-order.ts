import Type, { type Static } from 'typebox'
import { CANCELLERS } from '../../enums.ts'
import type { Order } from '../../orders/order.ts'
import { timestamp } from '../../time/timestamp.ts'
import { component, Nullable, OneOf, Timestamp } from '../schema.ts'
import { exampleOrder, orderFields, orderJson } from './order.ts'

/** Both are null after an erasure. */
export const OperatorBuyer = Type.Object({
  name: Nullable(Type.String()),
  email: Nullable(Type.String()),
})

export const OperatorOrderSchema = component(
  'OperatorOrder',
  Type.Object(
    {
      ...orderFields,
      account_id: Type.Integer({ description: 'The seller' }),
      buyer: OperatorBuyer,
      cancelled_by: Nullable(OneOf(CANCELLERS)),
      cancel_reason: Nullable(Type.String(), { description: 'The seller’s reason' }),
      updated_at: Timestamp(),
    },
    { description: 'An order row as the operator sees it.' },
  ),
)

export const operatorOrderJson = (order: Order): Static<typeof OperatorOrderSchema> => ({
  ...orderJson(order),
  account_id: order.accountId,
  buyer: { name: order.buyerName || null, email: order.buyerEmail || null },
  cancelled_by: order.cancelledBy,
  cancel_reason: order.cancelReason,
  updated_at: timestamp(order.updatedAt),
})

export const exampleOperatorOrder = {
  ...exampleOrder,
  account_id: 12,
  buyer: { name: 'Ash Ketchum', email: 'ash@buyers.example' },
  cancelled_by: null,
  cancel_reason: null,
  updated_at: '2026-03-02T18:05:12Z',
}

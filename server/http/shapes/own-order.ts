import Type, { type Static } from 'typebox'
import { CANCEL_REASONS, CANCELLERS } from '../../enums.ts'
import type { Order } from '../../orders/order.ts'
import { timestamp } from '../../time/timestamp.ts'
import { component, Nullable, OneOf, Timestamp } from '../schema.ts'
import { exampleOrder, orderFields, orderJson } from './order.ts'

/** An order row as its own seller sees it: the row of the seller API, and what v1 leaves out. */
export const OwnOrderSchema = component(
  'OwnOrder',
  Type.Object(
    {
      ...orderFields,
      cancelled_by: Nullable(OneOf(CANCELLERS)),
      cancel_reason: Nullable(OneOf(CANCEL_REASONS), {
        description: 'Given by the seller who cancelled the row',
      }),
      updated_at: Timestamp({ description: 'Last change of the row, its tracking included' }),
    },
    { description: 'An order row, with its cancellation and the time of its last change.' },
  ),
)

export const ownOrderJson = (order: Order): Static<typeof OwnOrderSchema> => ({
  ...orderJson(order),
  cancelled_by: order.cancelledBy,
  cancel_reason: order.cancelReason,
  updated_at: timestamp(order.updatedAt),
})

export const exampleOwnOrder = {
  ...exampleOrder,
  cancelled_by: null,
  cancel_reason: null,
  updated_at: '2026-03-02T18:05:12Z',
}

/** A cancellation by the seller. */
export const CancelInput = Type.Object(
  {
    reason: OneOf(CANCEL_REASONS, { description: 'The buyer’s e-mail names it' }),
    restock: Type.Optional(
      Type.Boolean({
        description:
          'Whether the units go on sale again. By default they do, unless the reason is `out_of_stock`',
      }),
    ),
  },
  { examples: [{ reason: 'out_of_stock' }] },
)

import Type, { type Static } from 'typebox'
import { eurosFromCents } from '../../cents.ts'
import { BOUGHT_LABEL_STATUSES, ORDER_STATUSES } from '../../enums.ts'
import type { SliceLine } from '../../orders/slice-list.ts'
import { timestamp } from '../../time/timestamp.ts'
import { amount, Nullable, OneOf, Timestamp } from '../schema.ts'

/** A line of the dashboard's list of slices. */
export const SliceLineSchema = Type.Object({
  slice_key: Type.String(),
  order_id: Type.Integer({ description: 'The first row' }),
  created_at: Timestamp(),
  buyer: Type.Object({ name: Nullable(Type.String(), { description: 'null after its erasure' }) }),
  shipping: Type.Object({ method: Type.String() }),
  statuses: Type.Object(
    Object.fromEntries(ORDER_STATUSES.map((status) => [status, Type.Integer()])) as Record<
      (typeof ORDER_STATUSES)[number],
      ReturnType<typeof Type.Integer>
    >,
    { description: 'Number of rows in each status' },
  ),
  lines: Type.Integer(),
  units: Type.Integer(),
  merchandise: amount('Sum of price times quantity over all rows'),
  item: Type.Object({
    name: Nullable(Type.String()),
    subtitle: Nullable(Type.String()),
    image: Nullable(Type.String()),
  }),
  label: Nullable(OneOf(BOUGHT_LABEL_STATUSES)),
})

export const sliceLineJson = (line: SliceLine): Static<typeof SliceLineSchema> => ({
  slice_key: line.sliceKey,
  order_id: line.orderId,
  created_at: timestamp(line.createdAt),
  buyer: { name: line.buyerName || null },
  shipping: { method: line.method },
  statuses: line.statuses,
  lines: line.lines,
  units: line.units,
  merchandise: eurosFromCents(line.merchandiseCents),
  item: line.item,
  label: line.label,
})

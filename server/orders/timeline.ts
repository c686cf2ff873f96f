import type { Canceller, CancelReason } from '../enums.ts'
import type { RowRefund } from '../money/ledger.ts'
import type { Order } from './order.ts'
import type { Slice } from './slice.ts'

export const MOMENTS = [
  'ordered',
  'label_bought',
  'shipped',
  'received',
  'disputed',
  'resolved',
  'refunded',
  'cancelled',
] as const
export type MomentKind = (typeof MOMENTS)[number]

/** One thing that happened to a slice, and the rows that it happened to. */
export type Moment = {
  kind: MomentKind
  at: Date
  orderIds: number[]
  /** The party that cancelled. */
  by: Canceller | null
  reason: CancelReason | null
  /** The partial refund. */
  refund?: RowRefund
}

/**
 * The history of a slice, oldest first, from the times that its rows keep. A row keeps its last dispute. Rows that
 * changed together are one moment.
 */
export function timelineOf(
  { orders }: Pick<Slice, 'orders'>,
  label: { boughtAt: Date } | null,
  refunds: RowRefund[],
): Moment[] {
  const moments = orders.flatMap(momentsOf)
  if (label) {
    const orderIds = orders.map(({ id }) => id)
    moments.push({ kind: 'label_bought', at: label.boughtAt, orderIds, by: null, reason: null })
  }
  const merged = Map.groupBy(moments, ({ kind, at, by, reason }) =>
    [kind, at.getTime(), by, reason].join(),
  )
  return [
    ...[...merged.values()].map((same) => ({
      ...same[0]!,
      orderIds: same.flatMap(({ orderIds }) => orderIds),
    })),
    ...refunds.map(momentOf),
  ].sort(
    (a, b) => a.at.getTime() - b.at.getTime() || MOMENTS.indexOf(a.kind) - MOMENTS.indexOf(b.kind),
  )
}

const momentOf = (refund: RowRefund): Moment => ({
  kind: 'refunded',
  at: refund.refundedAt,
  orderIds: [refund.orderId],
  by: null,
  reason: null,
  refund,
})

function momentsOf(order: Order): Moment[] {
  const { id, cancelledBy, cancelReason } = order
  const times: [MomentKind, Date | null][] = [
    ['ordered', order.createdAt],
    ['shipped', order.shippedAt],
    ['received', order.receivedAt],
    ['disputed', order.disputedAt],
    ['resolved', isResolved(order) ? order.resolvedAt : null],
    ['cancelled', order.cancelledAt],
  ]
  return times.flatMap(([kind, at]) => {
    const isCancelled = kind === 'cancelled'
    const by = isCancelled ? cancelledBy : null
    const reason = isCancelled ? cancelReason : null
    return at === null ? [] : [{ kind, at, orderIds: [id], by, reason }]
  })
}

/** Whether the last dispute was resolved. A row that is disputed again keeps the end of the dispute before. */
const isResolved = ({ disputedAt, resolvedAt }: Order) =>
  disputedAt !== null && resolvedAt !== null && resolvedAt >= disputedAt

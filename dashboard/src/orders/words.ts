import type { DisputeReason, OrderStatus } from '../../../server/enums.ts'
import type { Tone } from '../ui/badge.tsx'
import { formatMoney } from '../ui/format.ts'
import type { Dispute, OwnSlice } from './api.ts'

/** The names of the states of orders and labels on the page. */

export const STATUSES: Record<OrderStatus, { label: string; tone: Tone }> = {
  pending: { label: 'To ship', tone: 'warn' },
  shipped: { label: 'Shipped', tone: 'busy' },
  received: { label: 'Received', tone: 'good' },
  cancelled: { label: 'Cancelled', tone: 'neutral' },
  disputed: { label: 'Disputed', tone: 'bad' },
}

/** A buyer has no name after the erasure of their data. */
export const buyerName = ({ name }: { name: string | null }) => name ?? 'Erased buyer'

export type LabelStatus = NonNullable<OwnSlice['label']>['status']

export const LABELS: Record<LabelStatus, { label: string; tone: Tone }> = {
  ready: { label: 'Label ready', tone: 'good' },
  processing: { label: 'Label on its way', tone: 'busy' },
  action_required: { label: 'Label needs you', tone: 'warn' },
}

export const REASONS = [
  { value: 'out_of_stock', label: 'It is out of stock', said: 'out of stock' },
  { value: 'buyer_asked', label: 'The buyer asked for it', said: 'the buyer asked' },
  { value: 'other', label: 'Another reason', said: null },
] as const

export const DISPUTES: Record<Dispute['state'], { label: string; tone: Tone }> = {
  open: { label: 'Waits for your answer', tone: 'bad' },
  answered: { label: 'Being decided', tone: 'busy' },
  resolved: { label: 'Resolved', tone: 'neutral' },
}

export const PROBLEMS: Record<DisputeReason, string> = {
  not_received: 'Not received',
  not_as_described: 'Not as described',
  damaged: 'Damaged',
  other: 'Another problem',
}

type Moment = OwnSlice['timeline'][number]

const KINDS: Record<Moment['kind'], string> = {
  ordered: 'Ordered',
  label_bought: 'Label bought',
  shipped: 'Shipped',
  received: 'Received',
  disputed: 'Disputed',
  resolved: 'Dispute resolved',
  refunded: 'Refunded',
  cancelled: 'Cancelled',
}

const CANCELLERS: Record<NonNullable<Moment['by']>, string> = {
  buyer: 'by the buyer',
  seller: 'by you',
  admin: 'by the marketplace',
  system: 'automatically',
}

/** `Cancelled by you: out of stock`, `€2.50 refunded: a bent corner` */
export function sentenceOf({ kind, by, reason, refund }: Moment): string {
  if (refund) {
    const why =
      refund.borne_by === 'platform'
        ? ' at the marketplace’s expense'
        : refund.reason && `: ${refund.reason}`
    return `${formatMoney(refund.amount)} refunded${why ?? ''}`
  }
  const said = REASONS.find(({ value }) => value === reason)?.said
  return [KINDS[kind], by && CANCELLERS[by]].filter(Boolean).join(' ') + (said ? `: ${said}` : '')
}

import { Badge, type Tone } from '../ui/badge.tsx'
import type { Delivery, Listing, Mail, Order, PayoutSetup, Shipment } from './api.ts'

type Status =
  | Order['status']
  | Listing['status']
  | Delivery['status']
  | Mail['status']
  | PayoutSetup['state']
  | Shipment['state']

/** Statuses that are neither neutral nor under way. */
const TONES: Partial<Record<Status, Tone>> = {
  received: 'good',
  active: 'good',
  delivered: 'good',
  sent: 'good',
  verified: 'good',
  bought: 'good',
  shipped: 'busy',
  buying: 'busy',
  waiting: 'busy',
  pending: 'warn',
  submitted: 'warn',
  skipped: 'warn',
  disputed: 'bad',
  failed: 'bad',
  rejected: 'bad',
}

/** A status in the API's word, because staff read it in the API's answers and in the audit log as well. */
export const StatusBadge = ({ status }: { status: Status }) => (
  <Badge tone={TONES[status]}>{status}</Badge>
)

/** The options of a filter: all, or one of the API's values. */
export const optionsOf = (values: readonly string[]) => [
  { value: '', label: 'All' },
  ...values.map((value) => ({ value, label: value })),
]

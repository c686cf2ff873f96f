import { Badge, type Tone } from '../ui/badge.tsx'
import type { Column } from '../ui/table.tsx'
import type {
  Account,
  Delivery,
  Dispute,
  Listing,
  Mail,
  Member,
  Order,
  Payout,
  PayoutSetup,
  Shipment,
} from './api.ts'

type Status =
  | Order['status']
  | Listing['status']
  | Delivery['status']
  | Mail['status']
  | PayoutSetup['state']
  | Payout['state']
  | Shipment['state']
  | Dispute['state']
  | Member['status']
  | 'disabled'
  | 'revoked'

/** Statuses that are neither neutral nor under way. */
const TONES: Partial<Record<Status, Tone>> = {
  received: 'good',
  paid: 'good',
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
  held: 'warn',
  invited: 'warn',
  answered: 'warn',
  open: 'bad',
  disabled: 'bad',
  disputed: 'bad',
  failed: 'bad',
  rejected: 'bad',
}

/** A status in the API's word, because staff read it in the API's responses and in the audit log as well. */
export const StatusBadge = ({ status }: { status: Status }) => (
  <Badge tone={TONES[status]}>{status}</Badge>
)

/** A status, with the reason below it if there is one. */
export const ReasonedStatus = ({ status, reason }: { status: Status; reason: string | null }) => (
  <div>
    <StatusBadge status={status} />
    {reason && <p className="help">{reason}</p>}
  </div>
)

/** The API access of an account. It is off for shops without software of their own; a suspension is remarkable. */
export const ApiAccess = ({ api_access: access }: Pick<Account, 'api_access'>) =>
  access === 'suspended' ? <Badge tone="bad">suspended</Badge> : access

/** Whether a credential works. */
export const REVOCABLE_STATE: Column<{ revoked_at: string | null }> = {
  key: 'state',
  header: 'State',
  cell: ({ revoked_at }) => <StatusBadge status={revoked_at ? 'revoked' : 'active'} />,
}

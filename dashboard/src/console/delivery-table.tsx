import { plural } from '../ui/format.ts'
import { ACTIONS_COLUMN, type Column, Table } from '../ui/table.tsx'
import { DateTime } from '../ui/values.tsx'
import { type Delivery, useMay } from './api.ts'
import { ResendButton } from './resend-button.tsx'
import { SELLER } from './seller-link.tsx'
import { StatusBadge } from './statuses.tsx'

/** Webhook deliveries with a button that sends one again. */
export function DeliveryTable({ deliveries }: { deliveries: Delivery[] }) {
  const isAllowed = useMay()('resendDelivery')
  return (
    <Table
      label="Deliveries"
      isWide
      columns={isAllowed ? [...COLUMNS, RESEND] : COLUMNS}
      rows={deliveries}
    />
  )
}

const COLUMNS: Column<Delivery>[] = [
  {
    key: 'event',
    header: 'Event',
    isRowHeader: true,
    cell: ({ id, event }) => (
      <>
        {event}
        <p className="help">{id}</p>
      </>
    ),
  },
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  SELLER,
  {
    key: 'endpoint',
    header: 'Endpoint',
    cell: ({ endpoint_id, endpoint_deleted }) => (
      <div>
        {endpoint_id}
        {endpoint_deleted && <p className="help">deleted</p>}
      </div>
    ),
  },
  {
    key: 'attempts',
    header: 'Attempts',
    cell: ({ attempts }) => (
      <div>
        {plural(attempts.length, 'attempt')}
        {attempts.at(-1)?.error && <p className="help">{attempts.at(-1)?.error}</p>}
      </div>
    ),
  },
  {
    key: 'at',
    header: 'Time of the event',
    cell: ({ created_at }) => <DateTime at={created_at} />,
  },
]

const RESEND: Column<Delivery> = {
  ...ACTIONS_COLUMN,
  cell: ({ id, endpoint_deleted }) =>
    !endpoint_deleted && <ResendButton path={`deliveries/${id}`} name={`delivery ${id}`} />,
}

import { Link } from 'wouter'
import { ActionButton } from '../../ui/action-button.tsx'
import { Section } from '../../ui/section.tsx'
import { Loaded } from '../../ui/states.tsx'
import { ACTIONS_COLUMN, type Column, Table } from '../../ui/table.tsx'
import { notify } from '../../ui/toast.tsx'
import { DateTime } from '../../ui/values.tsx'
import { type Endpoint, send, useMay, useRecord } from '../api.ts'
import { StatusBadge } from '../statuses.tsx'

/** The account's webhook endpoints. A disabled one can be enabled again. */
export function Endpoints({ accountId }: { accountId: number }) {
  const path = `accounts/${accountId}/webhooks`
  const query = useRecord<Endpoint[]>(path)
  const isAllowed = useMay()('enableEndpoint')
  return (
    <Section title="Webhook endpoints">
      <Loaded query={query} lines={2}>
        {(endpoints) =>
          endpoints.length === 0 ? (
            <p className="help">None.</p>
          ) : (
            <Table
              label="Webhook endpoints"
              columns={isAllowed ? [...COLUMNS, enabling(path)] : COLUMNS}
              rows={endpoints}
            />
          )
        }
      </Loaded>
    </Section>
  )
}

const COLUMNS: Column<Endpoint>[] = [
  {
    key: 'url',
    header: 'Endpoint',
    isRowHeader: true,
    cell: ({ id, url, events }) => (
      <div className="review">
        {url}
        <p className="help">
          {id} · {events.join(', ')}
        </p>
        <p className="help">
          <Link href={`/deliveries?endpoint_id=${id}`}>Deliveries</Link>
        </p>
      </div>
    ),
  },
  {
    key: 'status',
    header: 'Status',
    cell: ({ active }) => <StatusBadge status={active ? 'active' : 'disabled'} />,
  },
  {
    key: 'failures',
    header: 'Failures in a row',
    align: 'end',
    cell: ({ consecutive_failures: failures }) => failures,
  },
  {
    key: 'disabled',
    header: 'Disabled',
    cell: ({ disabled_at }) => <DateTime at={disabled_at} />,
  },
]

const enabling = (path: string): Column<Endpoint> => ({
  ...ACTIONS_COLUMN,
  cell: ({ id, active }) =>
    !active && (
      <ActionButton
        size="small"
        aria-label={`Enable endpoint ${id}`}
        act={async () => {
          await send(`${path}/${id}/enable`)
          notify(`Endpoint ${id} is active.`)
        }}
      >
        Enable
      </ActionButton>
    ),
})

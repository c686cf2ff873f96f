import { useState } from 'react'
import { Link } from 'wouter'
import { ActionButton } from '../../ui/action-button.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Section } from '../../ui/section.tsx'
import { Loaded } from '../../ui/states.tsx'
import { ACTIONS_COLUMN, type Column, Table } from '../../ui/table.tsx'
import { notify } from '../../ui/toast.tsx'
import { DateTime } from '../../ui/values.tsx'
import { type Endpoint, send, sendDelete, useMay, useRecord } from '../api.ts'
import { StatusBadge } from '../statuses.tsx'

/** The account's webhook endpoints. A disabled one can be enabled again, and each can be deleted. */
export function Endpoints({ accountId }: { accountId: number }) {
  const path = `accounts/${accountId}/webhooks`
  const query = useRecord<Endpoint[]>(path)
  const [deleted, setDeleted] = useState<Endpoint>()
  const may = useMay()
  const actions: Column<Endpoint> = {
    ...ACTIONS_COLUMN,
    cell: (endpoint) => (
      <div className="console-actions">
        {may('enableEndpoint') && !endpoint.active && <EnableButton path={path} {...endpoint} />}
        {may('deleteEndpoint') && (
          <Button
            size="small"
            aria-label={`Delete endpoint ${endpoint.id}`}
            onPress={() => setDeleted(endpoint)}
          >
            Delete
          </Button>
        )}
      </div>
    ),
  }
  return (
    <Section title="Webhook endpoints">
      <Loaded query={query} lines={2}>
        {(endpoints) =>
          endpoints.length === 0 ? (
            <p className="help">None.</p>
          ) : (
            <Table
              label="Webhook endpoints"
              columns={may('enableEndpoint') ? [...COLUMNS, actions] : COLUMNS}
              rows={endpoints}
            />
          )
        }
      </Loaded>
      {deleted && (
        <ConfirmDialog
          title={`Delete endpoint ${deleted.id}`}
          confirm="Delete endpoint"
          onConfirm={async () => {
            await sendDelete(`${path}/${deleted.id}`)
            notify(`Endpoint ${deleted.id} was deleted.`)
          }}
          onClose={() => setDeleted(undefined)}
        >
          <p>
            {deleted.url} gets no further events, and deliveries that are waiting are not sent. Its
            secret is lost, so this can’t be undone, and the seller gets no e-mail about it.
          </p>
          <p>
            A key with the scope webhooks:manage, or a member, can add it again: revoke the keys and
            remove the members that other people may use.
          </p>
        </ConfirmDialog>
      )}
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

const EnableButton = ({ path, id }: { path: string; id: number }) => (
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
)

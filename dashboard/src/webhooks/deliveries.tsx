import { Link } from 'wouter'
import { WEBHOOK_EVENTS } from '../../../server/enums.ts'
import { Badge, type Tone } from '../ui/badge.tsx'
import { Select } from '../ui/fields.tsx'
import { Filters, PeriodFilter, useFilters } from '../ui/filters.tsx'
import { plural } from '../ui/format.ts'
import { filterOptions } from '../ui/options.ts'
import { Empty } from '../ui/states.tsx'
import { LoadedPage, Table } from '../ui/table.tsx'
import { DateTime, Missing } from '../ui/values.tsx'
import { type DeliveryRecord, useDeliveries, useEndpoints } from './api.ts'

const STATUSES: Record<DeliveryRecord['status'], { label: string; tone: Tone }> = {
  pending: { label: 'Pending', tone: 'busy' },
  delivered: { label: 'Delivered', tone: 'good' },
  failed: { label: 'Failed', tone: 'bad' },
  skipped: { label: 'Skipped', tone: 'warn' },
}

export const StatusBadge = ({ status }: { status: DeliveryRecord['status'] }) => (
  <Badge tone={STATUSES[status].tone}>{STATUSES[status].label}</Badge>
)

export function DeliveriesTab() {
  const { filters, propsOf, isFiltered, clearFilters } = useFilters({
    endpoint_id: '',
    status: '',
    event: '',
    from: '',
    to: '',
    page: '',
  })
  const deliveries = useDeliveries(filters)
  const { data: read } = useEndpoints()
  const endpoints = read ?? []
  const urls = new Map(endpoints.map(({ id, url }) => [id, url]))
  const id = filters.endpoint_id
  const isDeleted = read !== undefined && id !== '' && !urls.has(Number(id))
  return (
    <>
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select
          label="Endpoint"
          {...propsOf('endpoint_id')}
          options={[
            { value: '', label: 'All endpoints' },
            ...endpoints.map(({ id, url }) => ({ value: String(id), label: url })),
            ...(isDeleted ? [{ value: id, label: 'Deleted endpoint' }] : []),
          ]}
        />
        <Select
          label="Status"
          {...propsOf('status')}
          options={[
            { value: '', label: 'All' },
            ...Object.entries(STATUSES).map(([value, { label }]) => ({ value, label })),
          ]}
        />
        <Select label="Event" {...propsOf('event')} options={filterOptions(WEBHOOK_EVENTS)} />
        <PeriodFilter from={propsOf('from')} to={propsOf('to')} />
      </Filters>
      <LoadedPage query={deliveries} noun="deliveries">
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={isFiltered ? 'No such deliveries' : 'No deliveries yet'} icon="webhooks">
              {isFiltered
                ? 'No delivery matches these filters.'
                : 'Each event that is sent to one of your endpoints appears here, with every attempt.'}
            </Empty>
          ) : (
            <Table
              label="Deliveries"
              isWide
              rows={data}
              columns={[
                {
                  key: 'event',
                  header: 'Event',
                  isRowHeader: true,
                  cell: ({ id, event }) => (
                    <Link href={`/webhooks/deliveries/${id}`} className="event-name">
                      {event} <span className="delivery-id">#{id}</span>
                    </Link>
                  ),
                },
                {
                  key: 'status',
                  header: 'Status',
                  cell: ({ status }) => <StatusBadge status={status} />,
                },
                {
                  key: 'endpoint',
                  header: 'Endpoint',
                  cell: ({ endpoint_id: id, endpoint_deleted }) => (
                    <span className="endpoint-url">
                      {endpoint_deleted ? 'Deleted endpoint' : (urls.get(id) ?? <Missing />)}
                    </span>
                  ),
                },
                { key: 'attempts', header: 'Attempts', cell: (row) => <Attempts of={row} /> },
                {
                  key: 'created_at',
                  header: 'Time of the event',
                  cell: (row) => <DateTime at={row.created_at} />,
                },
              ]}
            />
          )
        }
      </LoadedPage>
    </>
  )
}

function Attempts({ of: { attempts, status, next_attempt_at: next } }: { of: DeliveryRecord }) {
  const last = attempts.at(-1)
  return (
    <div>
      {attempts.length === 0
        ? status === 'pending'
          ? 'None yet'
          : 'None'
        : `${plural(attempts.length, 'attempt')}, last ${last?.status_code ?? 'without response'}`}
      {next && (
        <span className="help">
          {' · next '}
          <DateTime at={next} look="relative" />
        </span>
      )}
    </div>
  )
}

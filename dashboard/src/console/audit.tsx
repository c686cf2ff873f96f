import { Select } from '../ui/fields.tsx'
import { Filters, PeriodFilter, SearchFilter, useFilters } from '../ui/filters.tsx'
import { filterOptions } from '../ui/options.ts'
import { PageHeader } from '../ui/page-header.tsx'
import type { Column } from '../ui/table.tsx'
import { DateTime, Missing } from '../ui/values.tsx'
import { type AuditEntry, useList } from './api.ts'
import { timesOf } from './days.ts'
import { RecordList } from './record-list.tsx'

const ROLES = ['root', 'admin', 'support', 'finance', 'catalog', 'seller', 'anonymous']

export default function AuditPage() {
  const { filters, propsOf, isFiltered, clearFilters } = useFilters({
    actor: '',
    role: '',
    action: '',
    record: '',
    from: '',
    to: '',
    page: '',
  })
  const query = useList<AuditEntry>('audit', { ...filters, ...timesOf(filters) })
  return (
    <>
      <PageHeader title="Audit log" />
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select label="Role" options={filterOptions(ROLES)} {...propsOf('role')} />
        <PeriodFilter from={propsOf('from')} to={propsOf('to')} />
        <SearchFilter label="Record, as order:501" {...propsOf('record')} />
        <SearchFilter label="Actor, as staff:3" {...propsOf('actor')} />
        <SearchFilter label="Action, as refundOrder" {...propsOf('action')} />
      </Filters>
      <RecordList
        query={query}
        noun="entries"
        label="Audit log"
        columns={COLUMNS}
        isFiltered={isFiltered}
      />
    </>
  )
}

const COLUMNS: Column<AuditEntry>[] = [
  {
    key: 'action',
    header: 'Action',
    isRowHeader: true,
    cell: ({ action, record }) => (
      <>
        {action}
        {record && <p className="help">{record}</p>}
      </>
    ),
  },
  {
    key: 'actor',
    header: 'Actor',
    cell: ({ actor, actor_name: name, role }) => (
      <div>
        {name ?? actor}
        <p className="help">{[name && actor, role].filter(Boolean).join(' · ')}</p>
      </div>
    ),
  },
  { key: 'at', header: 'Time', cell: ({ created_at }) => <DateTime at={created_at} /> },
  { key: 'change', header: 'Change', cell: (entry) => <Change entry={entry} /> },
]

/** Each field that differs, before and after. */
function Change({ entry: { before, after, request_id: request } }: { entry: AuditEntry }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  if (names.length === 0) return <Missing />
  return (
    <details className="change">
      <summary>{names.join(', ')}</summary>
      <dl>
        {names.map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {before && <del>{shown(before, name)}</del>}{' '}
              {after && <ins>{shown(after, name)}</ins>}
            </dd>
          </div>
        ))}
      </dl>
      {request && <p className="help">Request {request}</p>}
    </details>
  )
}

const shown = (state: object, name: string) => {
  const value = (state as Record<string, unknown>)[name]
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}

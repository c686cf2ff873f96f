import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { Badge } from '../ui/badge.tsx'
import { Select } from '../ui/fields.tsx'
import { Filters, useFilters } from '../ui/filters.tsx'
import { Empty } from '../ui/states.tsx'
import { type Column, LoadedPage, Table } from '../ui/table.tsx'
import { DateTime, Money } from '../ui/values.tsx'
import { type Dispute, listDisputes } from './api.ts'
import { outcomeOf } from './disputes.tsx'
import { DISPUTES, PROBLEMS } from './words.ts'

const STATE_OPTIONS = [
  { value: '', label: 'All' },
  ...Object.entries(DISPUTES).map(([value, { label }]) => ({ value, label })),
]

/** The disputes about the shop's orders. Each is answered on the page of its order. */
export function DisputeList() {
  const { filters, propsOf, isFiltered, clearFilters } = useFilters({ state: '', page: '' })
  const query = useQuery({
    queryKey: ['orders', 'disputes', filters],
    queryFn: () => listDisputes(filters),
    placeholderData: keepPreviousData,
  })
  return (
    <>
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select label="State" options={STATE_OPTIONS} {...propsOf('state')} />
      </Filters>
      <LoadedPage query={query} noun="disputes">
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={isFiltered ? 'No such disputes' : 'No disputes'} icon="orders">
              {isFiltered
                ? 'No dispute is in this state.'
                : 'If a buyer reports a problem with an order, it appears here.'}
            </Empty>
          ) : (
            <Table label="Disputes" columns={COLUMNS} rows={data} isWide />
          )
        }
      </LoadedPage>
    </>
  )
}

const COLUMNS: Column<Dispute>[] = [
  {
    key: 'order',
    header: 'Order',
    isRowHeader: true,
    cell: ({ order_id, item_name }) => (
      <>
        <Link href={`/orders/${order_id}`}>{item_name ?? 'Item'}</Link>
        <p className="help">{order_id}</p>
      </>
    ),
  },
  { key: 'problem', header: 'Problem', cell: ({ reason }) => PROBLEMS[reason] },
  {
    key: 'state',
    header: 'State',
    cell: (dispute) => (
      <div>
        <Badge tone={DISPUTES[dispute.state].tone}>{DISPUTES[dispute.state].label}</Badge>
        {dispute.resolution && <p className="help">{outcomeOf(dispute)}</p>}
      </div>
    ),
  },
  { key: 'reported', header: 'Reported', cell: ({ opened_at }) => <DateTime at={opened_at} /> },
  {
    key: 'answer',
    header: 'Answer by',
    cell: ({ state, answer_by }) => <DateTime at={state === 'open' ? answer_by : null} />,
  },
  {
    key: 'refund',
    header: 'Refunded',
    align: 'end',
    cell: ({ refund }) => <Money amount={refund || null} />,
  },
]

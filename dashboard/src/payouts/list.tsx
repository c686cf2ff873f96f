import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { Badge, type Tone } from '../ui/badge.tsx'
import { Select } from '../ui/fields.tsx'
import { Filters, useFilters } from '../ui/filters.tsx'
import { Notice } from '../ui/notice.tsx'
import { Empty } from '../ui/states.tsx'
import { type Column, LoadedPage, Table } from '../ui/table.tsx'
import { DateTime, Money } from '../ui/values.tsx'
import { listPayouts, type PayoutRecord } from './api.ts'
import { PayoutSetupNotice } from './setup-notice.tsx'

export const PAYOUT_STATES: Record<PayoutRecord['state'], { label: string; tone: Tone }> = {
  due: { label: 'Due', tone: 'busy' },
  sent: { label: 'Sent', tone: 'busy' },
  paid: { label: 'Paid', tone: 'good' },
  failed: { label: 'Failed', tone: 'bad' },
  held: { label: 'Held', tone: 'warn' },
}

const COLUMNS: Column<PayoutRecord>[] = [
  {
    key: 'reference',
    header: 'Reference',
    isRowHeader: true,
    cell: ({ id, reference }) => (
      <Link href={`/payouts/${id}`} className="reference code">
        {reference}
      </Link>
    ),
  },
  {
    key: 'state',
    header: 'State',
    cell: ({ state, reason }) => (
      <span className="payout-state">
        <Badge tone={PAYOUT_STATES[state].tone}>{PAYOUT_STATES[state].label}</Badge>
        {reason && <span className="help">{reason}</span>}
      </span>
    ),
  },
  {
    key: 'created',
    header: 'Date',
    cell: ({ created_at, sent_at }) => <DateTime at={sent_at ?? created_at} look="date" />,
  },
  {
    key: 'orders',
    header: 'Orders',
    cell: ({ lines }) => orderIds(lines).join(', '),
  },
  {
    key: 'amount',
    header: 'Amount',
    align: 'end',
    cell: ({ amount }) => (
      <strong>
        <Money amount={amount} />
      </strong>
    ),
  },
]

const MAX_ORDERS = 3

/** The first order rows of a payout. */
function orderIds(lines: PayoutRecord['lines']): (string | number)[] {
  const ids = lines.flatMap(({ order_id }) => (order_id === null ? [] : [order_id]))
  const more = ids.length - MAX_ORDERS
  return more > 0 ? [...ids.slice(0, MAX_ORDERS), `${more} more`] : ids
}

export function PayoutsTab() {
  const { filters, propsOf, isFiltered, clearFilters } = useFilters({ state: '', page: '1' })
  const query = useQuery({
    queryKey: ['payouts', filters],
    queryFn: () => listPayouts(filters),
    placeholderData: keepPreviousData,
  })
  return (
    <>
      <PayoutSetupNotice />
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select
          label="State"
          isLabelHidden
          {...propsOf('state')}
          options={[
            { value: '', label: 'All states' },
            ...Object.entries(PAYOUT_STATES).map(([value, { label }]) => ({ value, label })),
          ]}
        />
      </Filters>
      <LoadedPage query={query} noun="payouts">
        {({ data, owed }) => (
          <>
            {owed > 0 && (
              <Notice icon="payouts">
                <strong>
                  You owe <Money amount={owed} /> for refunds that exceeded what was left to pay
                  out.
                </strong>{' '}
                It is deducted from your next payouts.
              </Notice>
            )}
            {data.length === 0 ? (
              <Empty
                icon="payouts"
                title={isFiltered ? 'No payouts in this state' : 'No payouts yet'}
              >
                A payout appears here when all items of an order are received. That happens when the
                buyer confirms it, or 14 days after shipping.
              </Empty>
            ) : (
              <Table label="Payouts" columns={COLUMNS} rows={data} />
            )}
          </>
        )}
      </LoadedPage>
    </>
  )
}

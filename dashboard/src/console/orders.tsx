import { Link, Route, Switch } from 'wouter'
import { ORDER_STATUSES } from '../../../server/enums.ts'
import { Select } from '../ui/fields.tsx'
import { Filters, PeriodFilter, SearchFilter, useFilters } from '../ui/filters.tsx'
import { filterOptions } from '../ui/options.ts'
import { PageHeader } from '../ui/page-header.tsx'
import type { Column } from '../ui/table.tsx'
import { DateTime, Missing } from '../ui/values.tsx'
import { type Order, useMay, useOrders } from './api.ts'
import { timesOf } from './days.ts'
import { Disputes } from './disputes.tsx'
import { AccountFilter } from './filters.tsx'
import { RecordList } from './record-list.tsx'
import { SELLER } from './seller-link.tsx'
import { SlicePage, UNIT_COLUMNS } from './slice.tsx'
import { StatusBadge } from './statuses.tsx'

export default function OrdersPage() {
  return (
    <Switch>
      <Route path="/orders/disputes">
        <OrderTabs />
        <Disputes />
      </Route>
      <Route path="/orders/:sliceKey">
        {({ sliceKey }) => <SlicePage key={sliceKey} sliceKey={sliceKey} />}
      </Route>
      <Route>
        <OrderTabs />
        <OrderList />
      </Route>
    </Switch>
  )
}

function OrderTabs() {
  const may = useMay()
  const tabs = [
    { href: '/orders', label: 'Order rows' },
    { href: '/orders/disputes', label: 'Disputes' },
  ]
  return <PageHeader title="Orders" tabs={may('listDisputes') ? tabs : undefined} />
}

const COLUMNS: Column<Order>[] = [
  {
    key: 'order',
    header: 'Order row',
    isRowHeader: true,
    cell: ({ id, slice_key, item }) => (
      <>
        <Link href={`/orders/${slice_key}`}>{item.name ?? 'Item'}</Link>
        <p className="help">
          {id}
          {item.subtitle && ` · ${item.subtitle}`}
        </p>
      </>
    ),
  },
  {
    key: 'buyer',
    header: 'Buyer',
    cell: ({ buyer: { name, email } }) => (
      <div className="review">
        {name ?? <Missing />}
        {email && <p className="help">{email}</p>}
      </div>
    ),
  },
  SELLER,
  { key: 'sold', header: 'Sold', cell: ({ created_at }) => <DateTime at={created_at} /> },
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  ...UNIT_COLUMNS,
]

function OrderList() {
  const { filters, propsOf, isFiltered, clearFilters } = useFilters({
    q: '',
    account_id: '',
    status: '',
    from: '',
    to: '',
    page: '',
  })
  const query = useOrders({ ...filters, q: filters.q.trim(), ...timesOf(filters) })
  return (
    <>
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select label="Status" options={filterOptions(ORDER_STATUSES)} {...propsOf('status')} />
        <PeriodFilter from={propsOf('from')} to={propsOf('to')} />
        <AccountFilter {...propsOf('account_id')} />
        <SearchFilter label="Order, slice or e-mail" {...propsOf('q')} />
      </Filters>
      <RecordList
        query={query}
        noun="order rows"
        label="Orders"
        columns={COLUMNS}
        isFiltered={isFiltered}
      />
    </>
  )
}

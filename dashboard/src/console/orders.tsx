import { Link, Route, Switch } from 'wouter'
import { ORDER_STATUSES } from '../../../server/enums.ts'
import { Button } from '../ui/button.tsx'
import { Select } from '../ui/fields.tsx'
import { Filters, SearchFilter, useFilters } from '../ui/filters.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { type Column, Pagination, Table } from '../ui/table.tsx'
import { DateTime, Missing, Money } from '../ui/values.tsx'
import { type Order, useOrders } from './api.ts'
import { AccountFilter } from './filters.tsx'
import { SlicePage } from './slice.tsx'
import { optionsOf, StatusBadge } from './statuses.tsx'

export default function OrdersPage() {
  return (
    <Switch>
      <Route path="/orders/:sliceKey">
        {({ sliceKey }) => <SlicePage key={sliceKey} sliceKey={sliceKey} />}
      </Route>
      <Route>
        <OrderList />
      </Route>
    </Switch>
  )
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
      <div>
        {name ?? <Missing />}
        {email && <p className="help">{email}</p>}
      </div>
    ),
  },
  { key: 'seller', header: 'Seller', cell: ({ account_id }) => account_id },
  { key: 'sold', header: 'Sold', cell: ({ created_at }) => <DateTime at={created_at} /> },
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  { key: 'units', header: 'Units', align: 'end', cell: ({ quantity }) => quantity },
  {
    key: 'price',
    header: 'Unit price',
    align: 'end',
    cell: ({ price }) => <Money amount={price} />,
  },
]

function OrderList() {
  const { filters, setFilters, isFiltered, clearFilters } = useFilters({
    q: '',
    account_id: '',
    status: '',
    page: '',
  })
  const query = useOrders({ ...filters, q: filters.q.trim() })
  return (
    <>
      <PageHeader title="Orders" />
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select
          label="Status"
          options={optionsOf(ORDER_STATUSES)}
          value={filters.status}
          onChange={(status) => setFilters({ status })}
        />
        <AccountFilter
          value={filters.account_id}
          onChange={(account_id) => setFilters({ account_id }, { replace: true })}
        />
        <SearchFilter
          label="Buyer’s e-mail, order or slice key"
          value={filters.q}
          onChange={(q) => setFilters({ q }, { replace: true })}
        />
      </Filters>
      <Loaded query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty
              title={isFiltered ? 'No order matches these filters' : 'No orders yet'}
              action={isFiltered ? <Button onPress={clearFilters}>Clear filters</Button> : null}
            />
          ) : (
            <>
              <Table label="Orders" columns={COLUMNS} rows={data} keyOf={({ id }) => id} />
              <Pagination meta={meta} noun="order rows" />
            </>
          )
        }
      </Loaded>
    </>
  )
}

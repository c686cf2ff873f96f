import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, Redirect } from 'wouter'
import { ORDER_STATUSES } from '../../../server/enums.ts'
import { readAgain } from '../query-client.ts'
import { Badge } from '../ui/badge.tsx'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Select } from '../ui/fields.tsx'
import { Filters, PeriodFilter, SearchFilter, useAddressWith, useFilters } from '../ui/filters.tsx'
import { plural } from '../ui/format.ts'
import { keepBulkHeight } from '../ui/keep-height.ts'
import { Empty, HiddenStatus, Loaded } from '../ui/states.tsx'
import { type Column, Table, toTop, useSelection } from '../ui/table.tsx'
import { useAction } from '../ui/use-action.ts'
import { useIsShown } from '../ui/use-is-shown.ts'
import { DateTime, Money } from '../ui/values.tsx'
import { buyLabels, type LabelResult, listSlices, type SliceLine, type SliceList } from './api.ts'
import { ItemPicture } from './item-picture.tsx'
import { LabelResults, notifyLabels } from './label-results.tsx'
import { PrintMenu } from './print-menu.tsx'
import { buyerName, LABELS, STATUSES } from './words.ts'

const STATUS_OPTIONS = [
  { value: '', label: 'All' },
  ...ORDER_STATUSES.map((value) => ({ value, label: STATUSES[value].label })),
]

const COLUMNS: Column<SliceLine>[] = [
  {
    key: 'order',
    header: 'Order',
    isRowHeader: true,
    cell: ({ order_id, item, lines }) => (
      <div className="order-item">
        <ItemPicture url={item.image} />
        <div>
          <Link href={`/orders/${order_id}`}>{item.name ?? 'Item'}</Link>
          <p className="help">
            {order_id}
            {item.subtitle && ` · ${item.subtitle}`}
            {lines > 1 && ` · and ${lines - 1} more`}
          </p>
        </div>
      </div>
    ),
  },
  {
    key: 'buyer',
    header: 'Buyer',
    cell: ({ buyer }) => <div className="name">{buyerName(buyer)}</div>,
  },
  { key: 'sold', header: 'Sold', cell: ({ created_at }) => <DateTime at={created_at} /> },
  {
    key: 'status',
    header: 'Status',
    cell: ({ statuses, lines }) => (
      <div className="badges">
        {ORDER_STATUSES.filter((status) => statuses[status] > 0).map((status) => (
          <Badge key={status} tone={STATUSES[status].tone}>
            {STATUSES[status].label}
            {lines > statuses[status] && ` ${statuses[status]}`}
          </Badge>
        ))}
      </div>
    ),
  },
  {
    key: 'shipping',
    header: 'Shipping',
    cell: ({ shipping, label }) => (
      <div>
        {shipping.method}
        {label && (
          <p>
            <Badge tone={LABELS[label].tone}>{LABELS[label].label}</Badge>
          </p>
        )}
      </div>
    ),
  },
  { key: 'units', header: 'Units', align: 'end', cell: ({ units }) => units },
  {
    key: 'merchandise',
    header: 'Amount',
    align: 'end',
    cell: ({ merchandise }) => <Money amount={merchandise} />,
  },
]

export function OrderList() {
  const { filters, propsOf, isFiltered, clearFilters } = useFilters({
    status: '',
    from: '',
    to: '',
    buyer: '',
    after: '',
    before: '',
  })
  const addressWith = useAddressWith()
  const query = useQuery({
    queryKey: ['orders', filters],
    queryFn: () => listSlices(filters),
    placeholderData: keepPreviousData,
  })
  return (
    <>
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select label="Status" options={STATUS_OPTIONS} {...propsOf('status')} />
        <PeriodFilter from={propsOf('from')} to={propsOf('to')} />
        <SearchFilter label="Buyer’s name" maxLength={200} {...propsOf('buyer')} />
      </Filters>
      <HiddenStatus>
        {query.data && `${plural(query.data.data.length, 'order')} on this page`}
      </HiddenStatus>
      <Loaded query={query}>
        {(list) =>
          list.data.length > 0 ? (
            <Slices list={list} />
          ) : (filters.after || filters.before) && !query.isPlaceholderData ? (
            // The orders after this position have left the filter: those before it may match.
            <Redirect to={addressWith({ after: null, before: null })} replace />
          ) : (
            <Empty
              title={isFiltered ? 'No order matches these filters' : 'No orders yet'}
              action={isFiltered ? <Button onPress={clearFilters}>Clear filters</Button> : null}
            >
              {isFiltered ? null : 'An order appears here as soon as a buyer pays.'}
            </Empty>
          )
        }
      </Loaded>
    </>
  )
}

function Slices({ list: { data, meta } }: { list: SliceList }) {
  const ids = data.map(({ order_id }) => order_id)
  const selection = useSelection(ids)
  const [results, setResults] = useState<LabelResult[]>()
  const orders = ids.filter((id) => selection.keys.has(id))
  const isShown = useIsShown()
  const buy = useAction(async () => {
    try {
      const results = await buyLabels(orders)
      if (isShown.current) setResults(results)
      else notifyLabels(results)
    } finally {
      void readAgain(['orders'])
    }
  })

  return (
    <>
      <HiddenStatus>
        {orders.length > 0 && `Selected: ${plural(orders.length, 'order')}`}
      </HiddenStatus>
      {orders.length > 0 && (
        <section className="bulk-bar" aria-label="Selected orders" ref={keepBulkHeight}>
          <p>{plural(orders.length, 'order')} selected</p>
          <div className="page-actions">
            <Button look="primary" {...buy}>
              Get labels
            </Button>
            <PrintMenu label="Print" orders={orders} />
            <Button look="quiet" onPress={() => selection.onChange(new Set())}>
              Clear selection
            </Button>
          </div>
        </section>
      )}
      <Table
        label="Orders"
        columns={COLUMNS}
        rows={data.map((slice) => ({ ...slice, id: slice.order_id }))}
        nameOf={({ order_id, buyer }) => `order ${order_id} of ${buyer.name ?? 'an erased buyer'}`}
        selection={selection}
        isWide
      />
      <Positions meta={meta} />
      {results && <LabelResults results={results} onClose={() => setResults(undefined)} />}
    </>
  )
}

/** The links to newer and older orders. The list has positions instead of page numbers. */
function Positions({ meta: { newer, older } }: Pick<SliceList, 'meta'>) {
  const addressWith = useAddressWith()
  if (newer === null && older === null) return null
  return (
    <nav className="positions" aria-label="Pages">
      {newer && (
        <ButtonLink
          href={addressWith({ before: newer, after: null })}
          size="small"
          icon="left"
          onClick={toTop}
        >
          Newer
        </ButtonLink>
      )}
      {older && (
        <ButtonLink
          href={addressWith({ after: older, before: null })}
          size="small"
          icon="right"
          onClick={toTop}
        >
          Older
        </ButtonLink>
      )}
    </nav>
  )
}

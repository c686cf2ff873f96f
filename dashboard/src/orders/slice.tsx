import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient, readAgain } from '../query-client.ts'
import { ReviewPart } from '../reviews/review.tsx'
import { addressLines } from '../ui/address.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { List } from '../ui/list.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { Facts, Section } from '../ui/section.tsx'
import { Loaded } from '../ui/states.tsx'
import { ACTIONS_COLUMN, type Column, Table } from '../ui/table.tsx'
import { DateTime, Money } from '../ui/values.tsx'
import { getSlice, type OrderRow, type OwnSlice } from './api.ts'
import { CancelDialog } from './cancel-dialog.tsx'
import { Disputes } from './disputes.tsx'
import { ItemPicture } from './item-picture.tsx'
import { PrintMenu } from './print-menu.tsx'
import { hasPending, Shipping } from './shipping.tsx'
import { buyerName, STATUSES, sentenceOf } from './words.ts'

/** A slice: everything that one buyer bought from the shop in one checkout. */
export function SlicePage({ order }: { order: number }) {
  const query = useQuery({ queryKey: ['orders', order], queryFn: () => getSlice(order) })
  const orders = query.data?.orders.map(({ id }) => id)
  return (
    <>
      <PageHeader
        title={titleOf(orders ?? [order])}
        back={{ href: '/orders', label: 'Orders' }}
        actions={orders && <PrintMenu label="Print" orders={[order]} />}
      >
        {query.data && (
          <>
            {buyerName(query.data.buyer)}, <DateTime at={query.data.created_at} />
          </>
        )}
      </PageHeader>
      <Loaded query={query}>{(slice) => <Slice slice={slice} order={order} />}</Loaded>
    </>
  )
}

/** A slice can have hundreds of rows. */
const titleOf = (orders: number[]) =>
  orders.length <= 3
    ? `Order ${orders.join(', ')}`
    : `Order ${orders[0]} and ${orders.length - 1} more`

function Slice({ slice, order }: { slice: OwnSlice; order: number }) {
  const [cancelled, setCancelled] = useState<OrderRow>()
  const changed = (after: OwnSlice) => {
    queryClient.setQueryData(['orders', order], after)
    void readAgain(['orders'])
  }
  const { totals, shipping } = slice
  return (
    <div className="slice">
      <div className="slice-main">
        {slice.orders.some(({ disputed_at: at }) => at) && (
          <Disputes order={order} rows={slice.orders} />
        )}
        {slice.orders.some(({ received_at: at }) => at) && <ReviewPart order={order} />}
        <Shipping slice={slice} order={order} onChange={changed} />
        <Section
          title="Items"
          help={
            hasPending(slice) &&
            slice.actions.cancel.length === 0 &&
            'A label was bought, or may have been: only the marketplace can cancel this order.'
          }
        >
          <Table label="Items" columns={columnsFor(slice, setCancelled)} rows={slice.orders} />
        </Section>
      </div>
      <div className="slice-side">
        <AddressSection buyer={slice.buyer} />
        <Section title="Totals">
          <Facts
            facts={[
              { label: 'Items', value: <Money amount={totals.merchandise} /> },
              { label: `Shipping (${shipping.method})`, value: <Money amount={totals.shipping} /> },
              { label: 'After commission', value: <Money amount={totals.seller_net} /> },
            ]}
          />
          <p className="help">
            {shipping.paid_to === 'seller'
              ? 'Shipping is paid out to you. '
              : 'Shipping pays for the label. '}
            Cancellations and refunds are not deducted.
          </p>
        </Section>
        <Section title="History">
          <List as="ol" className="timeline">
            {slice.timeline.map((moment) => (
              <li key={`${moment.kind} ${moment.at} ${moment.orders[0]}`}>
                <strong>{sentenceOf(moment)}</strong>
                <span className="help">
                  <DateTime at={moment.at} />
                  {moment.orders.length < slice.orders.length &&
                    ` · order ${moment.orders.join(', ')}`}
                </span>
              </li>
            ))}
          </List>
        </Section>
      </div>
      {cancelled && (
        <CancelDialog
          row={cancelled}
          slice={slice}
          onChange={changed}
          onClose={() => setCancelled(undefined)}
        />
      )}
    </div>
  )
}

const columnsFor = (slice: OwnSlice, onCancel: (row: OrderRow) => void): Column<OrderRow>[] => [
  {
    key: 'item',
    header: 'Item',
    isRowHeader: true,
    cell: ({ id, item }) => (
      <div className="order-item">
        <ItemPicture url={item.image} />
        <div>
          {item.name ?? 'Item'}
          <p className="help">
            {[id, item.subtitle, item.condition, item.language].filter(Boolean).join(' · ')}
          </p>
        </div>
      </div>
    ),
  },
  { key: 'quantity', header: 'Units', align: 'end', cell: ({ quantity }) => quantity },
  { key: 'price', header: 'Price', align: 'end', cell: ({ price }) => <Money amount={price} /> },
  {
    key: 'net',
    header: 'After commission',
    align: 'end',
    cell: ({ financial }) => <Money amount={financial.seller_net} />,
  },
  {
    key: 'status',
    header: 'Status',
    cell: ({ status, financial }) => (
      <div className="badges">
        <Badge tone={STATUSES[status].tone}>{STATUSES[status].label}</Badge>
        {financial.refunded_amount > 0 && (
          <span className="help">
            Refunded <Money amount={financial.refunded_amount} />
          </span>
        )}
      </div>
    ),
  },
  ...(slice.actions.cancel.length > 0
    ? [
        {
          ...ACTIONS_COLUMN,
          cell: (row: OrderRow) =>
            slice.actions.cancel.includes(row.id) && (
              <Button
                size="small"
                aria-label={`Cancel order ${row.id}`}
                onPress={() => onCancel(row)}
              >
                Cancel
              </Button>
            ),
        },
      ]
    : []),
]

function AddressSection({ buyer: { name, address } }: { buyer: OwnSlice['buyer'] }) {
  const lines = address && [...addressLines(address), address.phone].filter(Boolean)
  return (
    <Section title="Ship to" actions={lines && <CopyButton text={lines.join('\n')} />}>
      {lines ? (
        <address>
          {lines.map((line) => (
            <span key={line}>{line}</span>
          ))}
        </address>
      ) : (
        <p>
          {name === null ? 'The buyer’s data was erased.' : `${name} gave no delivery address.`}
        </p>
      )}
    </Section>
  )
}

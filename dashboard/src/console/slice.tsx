import { useState } from 'react'
import { addressLines } from '../ui/address.ts'
import { ButtonLink, ExternalLink } from '../ui/button.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { Facts, Section } from '../ui/section.tsx'
import { Loaded } from '../ui/states.tsx'
import { ACTIONS_COLUMN, type Column, Table } from '../ui/table.tsx'
import { DateTime, Missing, Money } from '../ui/values.tsx'
import {
  type LedgerEntry,
  type Mail,
  type Order,
  type Shipment,
  type Slice,
  useMay,
  useRecord,
} from './api.ts'
import { AuditLink } from './audit-link.tsx'
import { DeliveryTable } from './delivery-table.tsx'
import { DISPUTE_COLUMNS } from './disputes.tsx'
import { type OrderAction, OrderActionDialog, OrderMenu } from './order-actions.tsx'
import { ENTRY_COLUMNS } from './payouts/ledger.tsx'
import { ResendButton } from './resend-button.tsx'
import { SellerLink } from './seller-link.tsx'
import { StatusBadge } from './statuses.tsx'
import { Times } from './times.tsx'

/** Everything about a slice: the rows of one seller in one checkout. */
export function SlicePage({ sliceKey }: { sliceKey: string }) {
  const query = useRecord<Slice>(`slices/${encodeURIComponent(sliceKey)}`)
  return (
    <>
      <PageHeader title={titleOf(query.data?.rows)} back={{ href: '/orders', label: 'Orders' }}>
        {sliceKey}
      </PageHeader>
      <Loaded query={query}>{(slice) => <SliceSections slice={slice} />}</Loaded>
    </>
  )
}

function titleOf(rows: Order[] | undefined): string {
  if (rows === undefined) return 'Slice'
  return rows.length === 1 ? `Order ${rows[0]?.id}` : `Slice of ${rows.length} orders`
}

function SliceSections({ slice }: { slice: Slice }) {
  const [open, setOpen] = useState<{ action: OrderAction; order: Order }>()
  const may = useMay()
  const { address, buyer, disputes, mails, ledger, deliveries } = slice
  return (
    <>
      <Section title="Rows">
        <Table
          label="Rows"
          isWide
          columns={rowColumns((action, order) => setOpen({ action, order }))}
          rows={slice.rows}
        />
      </Section>
      {disputes.length > 0 && (
        <Section title="Disputes">
          <Table label="Disputes" isWide columns={DISPUTE_COLUMNS} rows={disputes} />
        </Section>
      )}
      <Section title="Sale">
        <Facts
          facts={[
            { label: 'Sold', value: <DateTime at={slice.created_at} /> },
            {
              label: 'Seller',
              value: <SellerLink id={slice.account_id} />,
            },
            { label: 'Checkout', value: slice.checkout_id },
            { label: 'Buyer', value: buyer.name || <Missing /> },
            { label: 'E-mail', value: buyer.email || <Missing /> },
            { label: 'Address', value: address ? addressLines(address).join(', ') : <Missing /> },
            { label: 'Telephone', value: address?.phone ?? <Missing /> },
          ]}
        />
      </Section>
      <ShippingSection slice={slice} />
      <Section
        title="Ledger"
        actions={
          may('listPayouts') && (
            <ButtonLink size="small" href={`/payouts?slice_key=${slice.slice_key}`}>
              Payouts
            </ButtonLink>
          )
        }
      >
        {ledger.length === 0 ? (
          <p className="help">No entries.</p>
        ) : (
          <Table label="Ledger" columns={LEDGER} rows={ledger} isWide />
        )}
      </Section>
      {mails && (
        <Section title="E-mails" help="They are kept for 30 days.">
          {mails.length === 0 ? (
            <p className="help">None.</p>
          ) : (
            <Table
              label="E-mails"
              columns={may('resendMail') ? [...MAILS, RESEND_MAIL] : MAILS}
              rows={mails}
            />
          )}
        </Section>
      )}
      {deliveries && (
        <Section title="Deliveries">
          {deliveries.length === 0 ? (
            <p className="help">None.</p>
          ) : (
            <DeliveryTable deliveries={deliveries} />
          )}
        </Section>
      )}
      {open && <OrderActionDialog {...open} onClose={() => setOpen(undefined)} />}
    </>
  )
}

/** The parcel: it is the same for all rows. */
function ShippingSection({ slice: { rows, shipping, shipment } }: { slice: Slice }) {
  const { code, url, status, updated_at: updatedAt } = rows[0]!.tracking
  return (
    <Section title="Shipping">
      <Facts
        facts={[
          { label: 'Option', value: shipping.method },
          { label: 'Price', value: <Money amount={shipping.price} /> },
          { label: 'Fulfilment', value: shipping.fulfilment },
          { label: 'Tracked', value: shipping.tracked ? 'yes' : 'no' },
          { label: 'Tracking code', value: <TrackingCode code={code} url={url} /> },
          { label: 'Status of the parcel', value: status ?? <Missing /> },
          { label: 'Tracking changed', value: <DateTime at={updatedAt} /> },
          ...(shipment ? labelFacts(shipment) : []),
        ]}
      />
    </Section>
  )
}

function TrackingCode({ code, url }: { code: string | null; url: string | null }) {
  if (url) return <ExternalLink href={url}>{code ?? 'Tracking page'}</ExternalLink>
  return code ?? <Missing />
}

const labelFacts = ({ state, status, provider, bought_at, message }: Shipment) => [
  { label: 'Label', value: <StatusBadge status={state} /> },
  { label: 'Status of the label', value: status ?? <Missing /> },
  { label: 'Provider', value: provider },
  { label: 'Label bought', value: <DateTime at={bought_at} /> },
  ...(message ? [{ label: 'Message', value: message }] : []),
]

/** The units of a row and their price. */
export const UNIT_COLUMNS: Column<Pick<Order, 'quantity' | 'price'>>[] = [
  { key: 'units', header: 'Units', align: 'end', cell: ({ quantity }) => quantity },
  {
    key: 'price',
    header: 'Unit price',
    align: 'end',
    cell: ({ price }) => <Money amount={price} />,
  },
]

const rowColumns = (onAction: (action: OrderAction, order: Order) => void): Column<Order>[] => [
  {
    key: 'order',
    header: 'Order row',
    isRowHeader: true,
    cell: ({ id, item }) => (
      <>
        {item.name ?? 'Item'}
        <p className="help">
          {[id, item.subtitle, item.condition, item.language].filter(Boolean).join(' · ')}
        </p>
      </>
    ),
  },
  {
    key: 'listing',
    header: 'Listing',
    cell: ({ listing_id }) => listing_id ?? <Missing />,
  },
  {
    key: 'status',
    header: 'Status',
    cell: ({ id, status, cancelled_by: by, cancel_reason: reason }) => (
      <div>
        <StatusBadge status={status} />
        {by && <p className="help">{[`by ${by}`, reason].filter(Boolean).join(', ')}</p>}
        <p className="help">
          <AuditLink record={`order:${id}`} />
        </p>
      </div>
    ),
  },
  { key: 'times', header: 'Times', cell: (order) => <Times times={timesOf(order)} /> },
  ...UNIT_COLUMNS,
  {
    key: 'refunded',
    header: 'Refunded',
    align: 'end',
    cell: ({ financial }) => <Money amount={financial.refunded_amount} />,
  },
  {
    ...ACTIONS_COLUMN,
    cell: (order) => <OrderMenu order={order} onAction={(action) => onAction(action, order)} />,
  },
]

/** In the order of the times, because a buyer can report a problem before or after the receipt. */
const timesOf = ({ created_at, shipped_at, disputed_at, received_at, cancelled_at }: Order) =>
  (
    [
      ['Sold', created_at],
      ['Shipped', shipped_at],
      ['Disputed', disputed_at],
      ['Received', received_at],
      ['Cancelled', cancelled_at],
    ] as const
  ).toSorted(([, one], [, other]) => (one ?? '').localeCompare(other ?? ''))

const LEDGER: Column<LedgerEntry>[] = [
  { key: 'kind', header: 'Kind', isRowHeader: true, cell: ({ kind }) => kind },
  ...ENTRY_COLUMNS,
]

const MAILS: Column<Mail>[] = [
  {
    key: 'subject',
    header: 'Subject',
    isRowHeader: true,
    cell: ({ subject, text }) => (
      <details className="mail">
        <summary>{subject}</summary>
        <pre>{text}</pre>
      </details>
    ),
  },
  { key: 'to', header: 'To', cell: ({ to }) => <div className="review">{to || <Missing />}</div> },
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  { key: 'at', header: 'Written', cell: ({ created_at }) => <DateTime at={created_at} /> },
]

const RESEND_MAIL: Column<Mail> = {
  ...ACTIONS_COLUMN,
  cell: ({ id, status }) =>
    status === 'failed' && <ResendButton path={`mails/${id}`} name={`e-mail ${id}`} />,
}

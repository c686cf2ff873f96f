import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { Badge } from '../ui/badge.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { Facts, Section } from '../ui/section.tsx'
import { Loaded } from '../ui/states.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { DateTime, Money } from '../ui/values.tsx'
import { type PayoutRecord, readPayout } from './api.ts'
import { titleWithoutOrder } from './line-title.ts'
import { PAYOUT_STATES } from './list.tsx'

type Line = PayoutRecord['lines'][number]

const COLUMNS: Column<Line>[] = [
  {
    key: 'order',
    header: 'Order',
    isRowHeader: true,
    cell: (line) =>
      line.order_id === null ? (
        titleWithoutOrder(line)
      ) : (
        <Link href={`/orders/${line.order_id}`}>{line.order_id}</Link>
      ),
  },
  ...(['gross', 'commission', 'refunds', 'shipping'] as const).map(
    (name): Column<Line> => ({
      key: name,
      header: {
        gross: 'Sales',
        commission: 'Commission',
        refunds: 'Refunds',
        shipping: 'Shipping',
      }[name],
      align: 'end',
      cell: (line) => <Money amount={line[name]} />,
    }),
  ),
]

const DEDUCTION_COLUMNS: Column<PayoutRecord['deductions'][number]>[] = [
  {
    key: 'orders',
    header: 'Refunded order',
    isRowHeader: true,
    cell: ({ slice_key, order_ids }) => (
      // A debt that an earlier version recorded may name no row.
      <Link href={`/orders/${order_ids[0] ?? slice_key}`}>{order_ids.join(', ') || slice_key}</Link>
    ),
  },
  {
    key: 'amount',
    header: 'Amount',
    align: 'end',
    cell: ({ amount }) => <Money amount={amount} />,
  },
]

export function PayoutPage({ id }: { id: string }) {
  const query = useQuery({ queryKey: ['payouts', 'payout', id], queryFn: () => readPayout(id) })
  return (
    <>
      <PageHeader title="Payout" back={{ href: '/payouts', label: 'Payouts' }} />
      <Loaded query={query}>{({ data }) => <Payout payout={data} />}</Loaded>
    </>
  )
}

function Payout({ payout }: { payout: PayoutRecord }) {
  const { state, reason, amount, reference, created_at, sent_at, paid_at, lines, deductions } =
    payout
  const { tone, label } = PAYOUT_STATES[state]
  return (
    <>
      <Section title="Transfer">
        <Facts
          facts={[
            { label: 'Amount', value: <Money amount={amount} /> },
            { label: 'State', value: <Badge tone={tone}>{label}</Badge> },
            ...(reason === null ? [] : [{ label: 'Reason', value: reason }]),
            { label: 'Reference', value: <code className="reference">{reference}</code> },
            { label: 'Created', value: <DateTime at={created_at} /> },
            { label: 'Sent', value: <DateTime at={sent_at} /> },
            { label: 'Paid', value: <DateTime at={paid_at} /> },
          ]}
        />
      </Section>
      <Section title="Orders" help="Sales minus commission and refunds, plus shipping.">
        <Table
          label="Orders of this payout"
          columns={COLUMNS}
          rows={lines.map((line, id) => ({ ...line, id }))}
        />
      </Section>
      {deductions.length > 0 && (
        <Section
          title="Deductions"
          help="Refunds of these orders exceeded what was left to pay out for them."
        >
          <Table
            label="Orders that the deductions are for"
            columns={DEDUCTION_COLUMNS}
            rows={deductions.map((deduction, id) => ({ ...deduction, id }))}
          />
        </Section>
      )}
    </>
  )
}

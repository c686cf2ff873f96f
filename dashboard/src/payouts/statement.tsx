import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { useMe } from '../shell/me.ts'
import { Button } from '../ui/button.tsx'
import { DownloadLink } from '../ui/download-link.tsx'
import { Select } from '../ui/fields.tsx'
import { useFilters } from '../ui/filters.tsx'
import { formatDate, formatNumber, plural, serviceNow } from '../ui/format.ts'
import { Facts, Section } from '../ui/section.tsx'
import { Loaded } from '../ui/states.tsx'
import { Money } from '../ui/values.tsx'
import { readStatement, type StatementRecord, statementFile } from './api.ts'

export function StatementTab() {
  const me = useMe()
  const { filters, propsOf } = useFilters({ month: thisMonth() })
  const { month } = filters
  const query = useQuery({
    queryKey: ['payouts', 'statement', month],
    queryFn: () => readStatement(month),
  })
  return (
    <>
      <div className="filters">
        <Select
          label="Month"
          {...propsOf('month')}
          options={monthsFrom(me.data?.account.created_at, month).map((value) => ({
            value,
            label: nameOf(value),
          }))}
        />
      </div>
      <Loaded query={query}>
        {({ data }) => <Statement statement={data} shop={me.data?.account.shop_name ?? ''} />}
      </Loaded>
    </>
  )
}

function Statement({ statement, shop }: { statement: StatementRecord; shop: string }) {
  const { month, slices, slice_count, orders, totals, has_deductions, recipient } = statement
  return (
    <Section
      title={`Statement of ${nameOf(month)}`}
      help={`${recipient ?? shop} · ${invoiceOf(statement)}`}
      actions={
        <>
          <Button icon="print" onPress={() => window.print()}>
            Print
          </Button>
          <DownloadLink href={statementFile(month)}>Download CSV</DownloadLink>
        </>
      }
    >
      <Invoice {...statement} />
      {slices.length < slice_count && (
        <p className="help">
          Shows the first {formatNumber(slices.length)} of {plural(slice_count, 'order')}. The
          balances and the total are of all orders. The CSV file has all of them.
        </p>
      )}
      <div className="table-frame statement">
        <table className="table" aria-label={`Statement of ${nameOf(month)}`}>
          <thead>
            <tr>
              <th scope="col">Order</th>
              {HEADERS.map((header) => (
                <th key={header} scope="col" className="end">
                  {header}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Balance label="Opening balance" amount={statement.opening_balance} />
            {slices.map(({ slice_key, ...amounts }, index) => (
              <tr key={slice_key}>
                <th scope="row">
                  <div className="name">
                    <OrderLink {...orders[index]!} />
                    <p className="help code">{slice_key}</p>
                  </div>
                </th>
                <Amounts {...amounts} />
              </tr>
            ))}
            <tr className="total">
              <th scope="row">Total</th>
              <Amounts {...totals} />
            </tr>
            <Balance label="Closing balance" amount={statement.closing_balance} />
          </tbody>
        </table>
      </div>
      {has_deductions && (
        <p className="help">
          The payout of an order that owed money after a refund is reduced by it here, or negative.
          The money was deducted from the transfer of another order, whose line shows its payout
          before the deduction.
        </p>
      )}
    </Section>
  )
}

const OrderLink = ({ order_id: order, rows }: StatementRecord['orders'][number]) => (
  <>
    <Link href={`/orders/${order}`}>{order}</Link>
    {rows > 1 && ` and ${rows - 1} more`}
  </>
)

function Invoice({ invoice, issuer, recipient }: StatementRecord) {
  if (!invoice) return null
  const isCredit = invoice.commission < 0
  return (
    <Facts
      facts={[
        { label: isCredit ? 'Credit note' : 'Fee invoice', value: invoice.number },
        ...(issuer === null ? [] : [{ label: 'Issued by', value: issuer }]),
        { label: 'Issued to', value: recipient },
        { label: 'Date of issue', value: formatDate(invoice.issued_at) },
        {
          label: isCredit ? 'Amount credited' : 'Invoice amount',
          value: <Money amount={Math.abs(invoice.commission)} />,
        },
      ]}
    />
  )
}

const HEADERS = ['Sales', 'Commission', 'Shipping', 'Refunds', 'Payout']

const Amounts = ({ gross, commission, shipping, refunds, payout }: StatementRecord['totals']) =>
  [gross, commission, shipping, refunds, payout].map((amount, column) => (
    <td key={HEADERS[column]} className="end" data-label={HEADERS[column]}>
      <Money amount={amount} />
    </td>
  ))

const Balance = ({ label, amount }: { label: string; amount: number }) => (
  <tr className="total">
    <th scope="row">{label}</th>
    <td className="end" colSpan={HEADERS.length}>
      <Money amount={amount} />
    </td>
  </tr>
)

function invoiceOf({ month, totals, invoice }: StatementRecord): string {
  if (invoice) return `${invoice.commission < 0 ? 'credit note' : 'fee invoice'} ${invoice.number}`
  return month < thisMonth() && totals.commission === 0
    ? 'no fee invoice, because there was no commission'
    : 'the fee invoice is issued after the end of the month'
}

/** Months of statements are in UTC. */
const monthOf = (moment: Date) => moment.toISOString().slice(0, 7)
const thisMonth = () => monthOf(serviceNow())

const nameOf = (month: string) =>
  /^\d{4}-(0[1-9]|1[0-2])$/.test(month) ? monthFormat.format(new Date(`${month}-01`)) : month

const monthFormat = new Intl.DateTimeFormat('en-GB', {
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
})

/** The months of the account so far, newest first, and the one that is shown. */
function monthsFrom(createdAt: string | undefined, shown: string): string[] {
  const months: string[] = []
  const at = new Date(`${thisMonth()}-01T00:00:00Z`)
  const first = createdAt?.slice(0, 7) ?? thisMonth()
  for (; monthOf(at) >= first; at.setUTCMonth(at.getUTCMonth() - 1)) {
    months.push(monthOf(at))
  }
  return months.includes(shown) ? months : [shown, ...months]
}

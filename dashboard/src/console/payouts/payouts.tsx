import { useState } from 'react'
import { Link } from 'wouter'
import { titleWithoutOrder } from '../../payouts/line-title.ts'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Select } from '../../ui/fields.tsx'
import { Filters, SearchFilter, useFilters } from '../../ui/filters.tsx'
import { formatMoney } from '../../ui/format.ts'
import { Menu } from '../../ui/menu.tsx'
import { filterOptions } from '../../ui/options.ts'
import { ACTIONS_COLUMN, type Column } from '../../ui/table.tsx'
import { notify } from '../../ui/toast.tsx'
import { DateTime, Money } from '../../ui/values.tsx'
import { type Payout, send, useCurrentRecord, useList, useMay } from '../api.ts'
import { AuditLink } from '../audit-link.tsx'
import { AccountFilter, NumberFilter } from '../filters.tsx'
import { ReasonDialog } from '../reason-dialog.tsx'
import { RecordList } from '../record-list.tsx'
import { SELLER, SellerName } from '../seller-link.tsx'
import { ReasonedStatus } from '../statuses.tsx'
import { useSeen } from '../use-seen.ts'

const STATES: Payout['state'][] = ['due', 'held', 'sent', 'paid', 'failed']

type Action = {
  operation: 'releasePayout' | 'markPayoutPaid' | 'markPayoutFailed'
  label: string
  /** Whether the service accepts it. */
  isPossible: (payout: Payout) => boolean
}

/** Whether staff can have transferred it without a run: they had to check it, or the bank has returned its transfer. */
const canBePaidOutside = ({ state, amount, to_check }: Payout) =>
  to_check || (state === 'failed' && amount > 0)

const ACTIONS: Action[] = [
  {
    operation: 'releasePayout',
    label: 'Release',
    isPossible: ({ to_check }) => to_check,
  },
  {
    operation: 'markPayoutPaid',
    label: 'Mark as paid',
    isPossible: (payout) => payout.state === 'sent' || canBePaidOutside(payout),
  },
  {
    operation: 'markPayoutFailed',
    label: 'Mark as failed',
    // Without an amount there was no transfer.
    isPossible: ({ state, amount }) => (state === 'sent' || state === 'paid') && amount > 0,
  },
]

type Asked = { operation: Action['operation']; payout: Payout }

/** The payouts to all sellers, and what the bank has done with them. */
export function Payouts() {
  const { filters, propsOf, isFiltered, clearFilters } = useFilters({
    state: '',
    account_id: '',
    reference: '',
    slice_key: '',
    run_id: '',
    page: '',
  })
  const [asked, setAsked] = useState<Asked>()
  const may = useMay()
  const allowed = ACTIONS.filter(({ operation }) => may(operation))
  const query = useList<Payout>('payouts', filters)
  return (
    <>
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select label="State" options={filterOptions(STATES)} {...propsOf('state')} />
        <AccountFilter {...propsOf('account_id')} />
        <SearchFilter label="Reference" {...propsOf('reference')} />
        <SearchFilter label="Slice key" {...propsOf('slice_key')} />
        <NumberFilter label="Run’s number" {...propsOf('run_id')} />
      </Filters>
      <RecordList
        query={query}
        noun="payouts"
        label="Payouts"
        columns={allowed.length > 0 ? [...COLUMNS, actions(allowed, setAsked)] : COLUMNS}
        isFiltered={isFiltered}
      />
      {asked && <ActionDialog {...asked} onClose={() => setAsked(undefined)} />}
    </>
  )
}

/**
 * Keeps the payout as it was when the dialog opened: its reference names the transfer that staff decide about. Only the
 * amount is the current one after a refusal.
 */
function ActionDialog({ operation, payout, onClose }: Asked & { onClose: () => void }) {
  const { id, account_id, reference } = payout
  const current = useCurrentRecord<Payout>(`payouts/${id}`).data ?? payout
  const [amount, attempt] = useSeen(current.amount)
  const isOutside = canBePaidOutside(payout)
  if (operation === 'markPayoutFailed') {
    return (
      <ReasonDialog
        title={`Mark payout ${id} as failed`}
        confirm="Mark as failed"
        onConfirm={async (reason) => {
          await send(`payouts/${id}/failed`, { reason, reference })
          notify(`Payout ${id} has failed.`)
        }}
        onClose={onClose}
      >
        The bank has returned {formatMoney(amount)}, with the reference {reference}. The seller gets
        an e-mail with the reason, and the payout is due again when the seller changes the bank
        account, or at once if that has happened since the transfer.
      </ReasonDialog>
    )
  }
  if (operation === 'releasePayout') {
    return (
      <ConfirmDialog
        title={`Release payout ${id}`}
        confirm="Release"
        isDangerous={false}
        onConfirm={async () => {
          await send(`payouts/${id}/release`)
          notify(`Payout ${id} is released.`)
        }}
        onClose={onClose}
      >
        <p>
          A payout run transfers {formatMoney(amount)} to <SellerName id={account_id} />. Release
          the payout only if the seller was not paid for this order before.
        </p>
      </ConfirmDialog>
    )
  }
  return (
    <ConfirmDialog
      title={`Mark payout ${id} as paid`}
      confirm="Mark as paid"
      isDangerous={false}
      onConfirm={async () => {
        const input = { reference, amount, outside: isOutside }
        await attempt(() => send(`payouts/${id}/paid`, input))
        notify(`Payout ${id} is paid.`)
      }}
      onClose={onClose}
    >
      <p>
        {isOutside ? 'You have' : 'The bank has'} transferred {formatMoney(amount)} to{' '}
        <SellerName id={account_id} />
        {isOutside ? ' outside of the service.' : `, with the reference ${reference}.`}
      </p>
    </ConfirmDialog>
  )
}

const COLUMNS: Column<Payout>[] = [
  {
    key: 'payout',
    header: 'Payout',
    isRowHeader: true,
    cell: ({ id, slice_key, reference }) => (
      <>
        <Link href={`/orders/${slice_key}`}>{reference}</Link>
        <p className="help">
          {id} · <AuditLink record={`payout:${id}`} />
        </p>
      </>
    ),
  },
  SELLER,
  {
    key: 'state',
    header: 'State',
    cell: ({ state, reason }) => <ReasonedStatus status={state} reason={reason} />,
  },
  {
    key: 'created',
    header: 'Created',
    cell: ({ created_at, sent_at, paid_at }) => (
      <div>
        <DateTime at={created_at} />
        {sent_at && (
          <p className="help">
            sent <DateTime at={sent_at} />
          </p>
        )}
        {paid_at && (
          <p className="help">
            paid <DateTime at={paid_at} />
          </p>
        )}
      </div>
    ),
  },
  {
    key: 'amount',
    header: 'Amount',
    align: 'end',
    cell: (payout) => <Amount payout={payout} />,
  },
]

/** The amount of a payout, which opens the lines that it consists of. */
const Amount = ({ payout: { account_id, amount, lines, deductions } }: { payout: Payout }) => (
  <details className="change">
    <summary>
      <Money amount={amount} />
    </summary>
    <dl>
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: A line has no number of its own.
        <div key={index}>
          <dt>{line.order_id === null ? titleWithoutOrder(line) : `Order row ${line.order_id}`}</dt>
          {partsOf(line).map(({ name, amount }) => (
            <dd key={name}>
              {name} <Money amount={amount} />
            </dd>
          ))}
        </div>
      ))}
    </dl>
    {deductions.map((deduction) => (
      <p key={deductions.indexOf(deduction)}>
        <Money amount={deduction.amount} /> deducted for refunds of{' '}
        <Link href={`/orders/${deduction.slice_key}`}>
          {deduction.order_ids.length === 0
            ? deduction.slice_key
            : `order row ${deduction.order_ids.join(', ')}`}
        </Link>
      </p>
    ))}
    {lines.some(({ order_id, refunds }) => order_id === null && refunds !== 0) && (
      <Link href={`/payouts/ledger?account_id=${account_id}&kind=recovery`}>
        Orders that the seller owed for
      </Link>
    )}
  </details>
)

const partsOf = ({ gross, commission, refunds, shipping }: Payout['lines'][number]) =>
  [
    { name: 'sales', amount: gross },
    { name: 'commission', amount: -commission },
    { name: 'refunds', amount: -refunds },
    { name: 'shipping', amount: shipping },
  ].filter(({ amount }) => amount !== 0)

const actions = (allowed: Action[], onAsk: (asked: Asked) => void): Column<Payout> => ({
  ...ACTIONS_COLUMN,
  cell: (payout) => {
    const possible = allowed.filter(({ isPossible }) => isPossible(payout))
    if (possible.length === 0) return null
    return (
      <Menu
        label={`Actions for payout ${payout.id}`}
        entries={possible.map(({ operation, label }) => ({
          label,
          isDangerous: operation === 'markPayoutFailed',
          onAction: () => onAsk({ operation, payout }),
        }))}
      />
    )
  },
})

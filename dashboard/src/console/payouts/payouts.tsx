import { useState } from 'react'
import { Link } from 'wouter'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Select } from '../../ui/fields.tsx'
import { Filters, useFilters } from '../../ui/filters.tsx'
import { formatMoney } from '../../ui/format.ts'
import { Menu } from '../../ui/menu.tsx'
import type { Column } from '../../ui/table.tsx'
import { notify } from '../../ui/toast.tsx'
import { DateTime, Money } from '../../ui/values.tsx'
import { type Payout, send, useList, useMay } from '../api.ts'
import { AccountFilter } from '../filters.tsx'
import { ReasonDialog } from '../reason-dialog.tsx'
import { RecordList } from '../record-list.tsx'
import { SellerLink, SellerName } from '../seller-link.tsx'
import { optionsOf, StatusBadge } from '../statuses.tsx'

const STATES: Payout['state'][] = ['due', 'held', 'sent', 'paid', 'failed']

type Result = 'paid' | 'failed'

/** The states in which the service accepts a result of the bank. */
const ACCEPTED: Record<Result, Payout['state'][]> = {
  paid: ['sent', 'held'],
  failed: ['sent', 'paid'],
}

/** The payouts to all sellers, and what the bank has done with them. */
export function Payouts() {
  const { filters, setFilters, isFiltered, clearFilters } = useFilters({
    state: '',
    account_id: '',
    page: '',
  })
  const [asked, setAsked] = useState<{ result: Result; payout: Payout }>()
  const isAllowed = useMay()('markPayoutPaid')
  const query = useList<Payout>('payouts', filters)
  const close = () => setAsked(undefined)
  return (
    <>
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select
          label="State"
          options={optionsOf(STATES)}
          value={filters.state}
          onChange={(state) => setFilters({ state })}
        />
        <AccountFilter
          value={filters.account_id}
          onChange={(account_id) => setFilters({ account_id }, { replace: true })}
        />
      </Filters>
      <RecordList
        query={query}
        noun="payouts"
        label="Payouts"
        columns={isAllowed ? [...COLUMNS, actions(setAsked)] : COLUMNS}
        keyOf={({ id }) => id}
        isFiltered={isFiltered}
      />
      {asked?.result === 'paid' && (
        <ConfirmDialog
          title={`Mark payout ${asked.payout.id} as paid`}
          confirm="Mark as paid"
          isDangerous={false}
          onConfirm={async () => {
            const { reference } = asked.payout
            await send(`payouts/${asked.payout.id}/paid`, { reference })
            notify(`Payout ${asked.payout.id} is paid.`)
          }}
          onClose={close}
        >
          <p>
            The bank has transferred {formatMoney(asked.payout.amount)} to{' '}
            <SellerName id={asked.payout.account_id} />, with the reference {asked.payout.reference}
            .
          </p>
        </ConfirmDialog>
      )}
      {asked?.result === 'failed' && (
        <ReasonDialog
          title={`Mark payout ${asked.payout.id} as failed`}
          confirm="Mark as failed"
          onConfirm={async (reason) => {
            const { reference } = asked.payout
            await send(`payouts/${asked.payout.id}/failed`, { reason, reference })
            notify(`Payout ${asked.payout.id} has failed.`)
          }}
          onClose={close}
        >
          The bank has returned {formatMoney(asked.payout.amount)}, with the reference{' '}
          {asked.payout.reference}. The seller gets an e-mail with the reason, and the payout is due
          again when the seller has changed the bank account.
        </ReasonDialog>
      )}
    </>
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
        <p className="help">{id}</p>
      </>
    ),
  },
  {
    key: 'seller',
    header: 'Seller',
    cell: ({ account_id }) => <SellerLink id={account_id} />,
  },
  {
    key: 'state',
    header: 'State',
    cell: ({ state, reason }) => (
      <div>
        <StatusBadge status={state} />
        {reason && <p className="help">{reason}</p>}
      </div>
    ),
  },
  { key: 'created', header: 'Created', cell: ({ created_at }) => <DateTime at={created_at} /> },
  { key: 'sent', header: 'Sent', cell: ({ sent_at }) => <DateTime at={sent_at} /> },
  { key: 'paid', header: 'Paid', cell: ({ paid_at }) => <DateTime at={paid_at} /> },
  {
    key: 'amount',
    header: 'Amount',
    align: 'end',
    cell: ({ amount }) => <Money amount={amount} />,
  },
]

const actions = (onAsk: (asked: { result: Result; payout: Payout }) => void): Column<Payout> => ({
  key: 'actions',
  header: 'Actions',
  isHeaderHidden: true,
  align: 'end',
  cell: (payout) => {
    const possible = (['paid', 'failed'] as const).filter((result) =>
      ACCEPTED[result].includes(payout.state),
    )
    if (possible.length === 0) return null
    return (
      <Menu
        label={`Actions for payout ${payout.id}`}
        entries={possible.map((result) => ({
          label: `Mark as ${result}`,
          isDangerous: result === 'failed',
          onAction: () => onAsk({ result, payout }),
        }))}
      />
    )
  },
})

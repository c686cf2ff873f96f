import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/dialog.tsx'
import { Select } from '../ui/fields.tsx'
import { Filters, useFilters } from '../ui/filters.tsx'
import { filterOptions } from '../ui/options.ts'
import { ACTIONS_COLUMN, type Column } from '../ui/table.tsx'
import { notify } from '../ui/toast.tsx'
import { DateTime, Missing } from '../ui/values.tsx'
import { type PayoutSetup, send, useList, useMay } from './api.ts'
import { ReasonDialog } from './reason-dialog.tsx'
import { RecordList } from './record-list.tsx'
import { SELLER } from './seller-link.tsx'
import { ReasonedStatus } from './statuses.tsx'

const STATES: PayoutSetup['state'][] = ['submitted', 'verified', 'rejected']

type Decision = { verb: 'verify' | 'reject'; setup: PayoutSetup }

/** The bank accounts that sellers have submitted, with the decisions about them. */
export function PayoutSetups() {
  const { filters, propsOf, isFiltered, clearFilters } = useFilters({ state: '', page: '' })
  const [decision, setDecision] = useState<Decision>()
  const isAllowed = useMay()('verifyPayoutSetup')
  const { data: list, error, refetch } = useList<PayoutSetup>('payout-setups', filters)
  const data = list && {
    ...list,
    data: list.data.map((setup) => ({ ...setup, id: setup.account_id })),
  }
  const close = () => setDecision(undefined)
  return (
    <>
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select label="State" options={filterOptions(STATES)} {...propsOf('state')} />
      </Filters>
      <RecordList
        query={{ data, error, refetch }}
        noun="payout setups"
        label="Payout setups"
        columns={isAllowed ? [...COLUMNS, decisions(setDecision)] : COLUMNS}
        isFiltered={isFiltered}
      />
      {decision && <DecisionDialog {...decision} onClose={close} />}
    </>
  )
}

const COLUMNS: Column<PayoutSetup>[] = [
  { ...SELLER, isRowHeader: true },
  {
    key: 'state',
    header: 'State',
    cell: ({ state, reason }) => <ReasonedStatus status={state} reason={reason} />,
  },
  { key: 'holder', header: 'Holder', cell: ({ holder }) => holder ?? <Missing /> },
  {
    key: 'iban',
    header: 'IBAN',
    cell: ({ country, iban_last4: last }) => (last ? `${country} … ${last}` : <Missing />),
  },
  {
    key: 'submitted',
    header: 'Submitted',
    cell: ({ submitted_at }) => <DateTime at={submitted_at} />,
  },
]

const decisions = (onDecide: (decision: Decision) => void): Column<PayoutSetup> => ({
  ...ACTIONS_COLUMN,
  cell: (setup) => (
    <div className="console-actions">
      <Button
        size="small"
        aria-label={
          setup.state === 'verified'
            ? `Verify again: payout setup of seller ${setup.account_id}`
            : `Verify the payout setup of seller ${setup.account_id}`
        }
        onPress={() => onDecide({ verb: 'verify', setup })}
      >
        {setup.state === 'verified' ? 'Verify again' : 'Verify'}
      </Button>
      {setup.state !== 'rejected' && (
        <Button
          size="small"
          aria-label={`Reject the payout setup of seller ${setup.account_id}`}
          onPress={() => onDecide({ verb: 'reject', setup })}
        >
          Reject
        </Button>
      )}
    </div>
  ),
})

function DecisionDialog({
  verb,
  setup: { account_id: id, state, holder, iban_last4: last, submission },
  onClose,
}: Decision & { onClose: () => void }) {
  const path = `accounts/${id}/payout-setup/${verb}`
  const bank = `the bank account … ${last ?? ''} of ${holder ?? 'an unknown holder'}`
  const isRepeated = state === 'verified'
  return verb === 'verify' ? (
    <ConfirmDialog
      title={`Verify the payout setup of seller ${id}${isRepeated ? ' again' : ''}`}
      confirm={isRepeated ? 'Verify again' : 'Verify'}
      isDangerous={false}
      onConfirm={async () => {
        await send(path, { submission })
        notify(`The payout setup of seller ${id} is verified.`)
      }}
      onClose={onClose}
    >
      <p>
        {isRepeated
          ? `Failed payouts of the seller become due again, and go to ${bank}. Those that you have paid in another way must be marked as paid first.`
          : `From now on the seller can list and ship, and payouts go to ${bank}.`}
      </p>
    </ConfirmDialog>
  ) : (
    <ReasonDialog
      title={`Reject the payout setup of seller ${id}`}
      confirm="Reject"
      onConfirm={async (reason) => {
        await send(path, { reason, submission })
        notify(`The payout setup of seller ${id} is rejected.`)
      }}
      onClose={onClose}
    >
      This rejects {bank}. The seller gets an e-mail with the reason, and can neither list nor ship
      until another setup is verified.
    </ReasonDialog>
  )
}

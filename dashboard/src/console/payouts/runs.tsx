import { useState } from 'react'
import { Link } from 'wouter'
import type { Data } from '../../api.ts'
import { getFile } from '../../client.ts'
import { saveFile } from '../../save-file.ts'
import { ActionButton } from '../../ui/action-button.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { useFilters } from '../../ui/filters.tsx'
import { formatMoney, formatNumber, plural } from '../../ui/format.ts'
import { Menu } from '../../ui/menu.tsx'
import { ACTIONS_COLUMN, type Column } from '../../ui/table.tsx'
import { notify } from '../../ui/toast.tsx'
import { DateTime, Money } from '../../ui/values.tsx'
import { type PastRun, send, useList, useMay } from '../api.ts'
import { AuditLink } from '../audit-link.tsx'
import { RecordList } from '../record-list.tsx'

/** The runs that took payouts, with their files for the bank. */
export function PayoutRuns() {
  const { filters } = useFilters({ page: '' })
  const [isAsked, setIsAsked] = useState(false)
  const [executed, setExecuted] = useState<PastRun>()
  const may = useMay()
  const query = useList<PastRun>('payout-runs', filters)
  return (
    <>
      {may('runPayouts') && (
        <div className="page-actions end">
          <Button look="primary" onPress={() => setIsAsked(true)}>
            Run payouts
          </Button>
        </div>
      )}
      <RecordList
        query={query}
        noun="payout runs"
        label="Payout runs"
        columns={may('markRunPaid') ? [...COLUMNS, actions(setExecuted)] : COLUMNS}
        isFiltered={false}
      />
      {isAsked && <RunDialog onClose={() => setIsAsked(false)} />}
      {executed && <ExecutedDialog run={executed} onClose={() => setExecuted(undefined)} />}
    </>
  )
}

const RunDialog = ({ onClose }: { onClose: () => void }) => (
  <ConfirmDialog
    title="Run payouts"
    confirm="Run payouts"
    isDangerous={false}
    onConfirm={async (idempotencyKey) => {
      const { data } = await send<Data<PastRun>>('payout-runs', undefined, idempotencyKey)
      notify(
        `Run ${data.id} took ${plural(data.count, 'payout')}: ${formatMoney(data.total)} in all.`,
      )
    }}
    onClose={onClose}
  >
    <p>
      Every payout that is due and not held is marked as sent, up to 5,000 of them. Download the
      file of the run, give it to the bank, and record the result of each payout.
    </p>
  </ConfirmDialog>
)

const ExecutedDialog = ({ run: { id, total }, onClose }: { run: PastRun; onClose: () => void }) => (
  <ConfirmDialog
    title={`Mark run ${id} as paid`}
    confirm="Mark as paid"
    isDangerous={false}
    onConfirm={async () => {
      const { data } = await send<Data<{ payouts: number }>>(`payout-runs/${id}/paid`)
      notify(`${plural(data.payouts, 'payout')} of run ${id} marked as paid.`)
    }}
    onClose={onClose}
  >
    <p>
      The bank has executed the file of {formatMoney(total)}. Every payout of the run that is still
      sent is marked as paid. Mark those that the bank has returned as failed, before or afterwards.
    </p>
  </ConfirmDialog>
)

const COLUMNS: Column<PastRun>[] = [
  {
    key: 'run',
    header: 'Run',
    isRowHeader: true,
    cell: ({ id }) => (
      <>
        <Link href={`/payouts?run_id=${id}`}>Run {id}</Link>
        <p className="help">
          <AuditLink record={`payout_run:${id}`} />
        </p>
      </>
    ),
  },
  { key: 'at', header: 'Time', cell: ({ created_at }) => <DateTime at={created_at} /> },
  { key: 'count', header: 'Payouts', align: 'end', cell: ({ count }) => formatNumber(count) },
  { key: 'total', header: 'Total', align: 'end', cell: ({ total }) => <Money amount={total} /> },
]

const actions = (onExecuted: (run: PastRun) => void): Column<PastRun> => ({
  ...ACTIONS_COLUMN,
  cell: (run) =>
    run.file && (
      <div className="console-actions">
        {/* Loads the file with the token, which a link would not send. */}
        <ActionButton
          size="small"
          icon="download"
          aria-label={`Download the file of run ${run.id}`}
          act={async () =>
            saveFile(await getFile(`payout-runs/${run.id}/file`), `payouts-${run.id}.xml`)
          }
        >
          File
        </ActionButton>
        <Menu
          label={`Actions for run ${run.id}`}
          entries={[{ label: 'Mark as paid', onAction: () => onExecuted(run) }]}
        />
      </div>
    ),
})

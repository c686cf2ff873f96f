import { useState } from 'react'
import { Link } from 'wouter'
import type { Data } from '../../api.ts'
import { getFile } from '../../client.ts'
import { saveFile } from '../../save-file.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { useFilters } from '../../ui/filters.tsx'
import { formatMoney, formatNumber, plural } from '../../ui/format.ts'
import type { Column } from '../../ui/table.tsx'
import { notify } from '../../ui/toast.tsx'
import { useAction } from '../../ui/use-action.ts'
import { DateTime, Money } from '../../ui/values.tsx'
import { type PastRun, send, useList, useMay } from '../api.ts'
import { RecordList } from '../record-list.tsx'

/** The runs that took payouts, with their files for the bank. */
export function PayoutRuns() {
  const { filters } = useFilters({ page: '' })
  const [isAsked, setIsAsked] = useState(false)
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
        columns={may('getPayoutFile') ? [...COLUMNS, FILE] : COLUMNS}
        keyOf={({ id }) => id}
        isFiltered={false}
      />
      {isAsked && <RunDialog onClose={() => setIsAsked(false)} />}
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

const COLUMNS: Column<PastRun>[] = [
  {
    key: 'run',
    header: 'Run',
    isRowHeader: true,
    cell: ({ id }) => <Link href={`/payouts?run_id=${id}`}>Run {id}</Link>,
  },
  { key: 'at', header: 'Time', cell: ({ created_at }) => <DateTime at={created_at} /> },
  { key: 'count', header: 'Payouts', align: 'end', cell: ({ count }) => formatNumber(count) },
  { key: 'total', header: 'Total', align: 'end', cell: ({ total }) => <Money amount={total} /> },
]

const FILE: Column<PastRun> = {
  key: 'file',
  header: 'File',
  isHeaderHidden: true,
  align: 'end',
  cell: ({ id, file }) => file && <FileButton run={id} />,
}

/** Loads the file with the token, which a link would not send. */
function FileButton({ run }: { run: number }) {
  const save = useAction(async () => {
    saveFile(await getFile(`payout-runs/${run}/file`), `payouts-${run}.xml`)
  })
  return (
    <Button size="small" icon="download" aria-label={`Download the file of run ${run}`} {...save}>
      File
    </Button>
  )
}

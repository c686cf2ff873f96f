import { useState } from 'react'
import { failedCsv } from '../../../sdk/src/csv.ts'
import { saveFile } from '../save-file.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/dialog.tsx'
import { FormErrors } from '../ui/form.tsx'
import { formatDateTime, formatNumber, plural } from '../ui/format.ts'
import { List } from '../ui/list.tsx'
import { Section } from '../ui/section.tsx'
import { Bar } from './bulk.tsx'
import { SHOWN } from './import-preview.tsx'
import { discard, start, stop, unsentOf } from './import-run.ts'
import { type Failure, type ImportFile, type Run, rowsLeft } from './import-state.ts'

/** The progress of an import, and the rows that have failed. */
export function Running({ run, shop }: { run: Run; shop: string }) {
  const { file, progress, state, waitingS, error, warnings = [] } = run
  const left = rowsLeft(run)
  const failed = failedIn(run)
  const [isDiscarding, setIsDiscarding] = useState(false)
  const [isSaved, setIsSaved] = useState(false)
  return (
    <Section
      title={state === 'done' ? 'The import is complete' : `Importing ${file.name}`}
      help={
        state === 'running'
          ? 'It goes on while you use other pages, and after a reload.'
          : undefined
      }
    >
      <Bar label="Rows sent" done={file.items.length - left} total={file.items.length} />
      <p role="status">
        {plural(progress.created, 'row')} listed
        {failed.length > 0 && `, ${plural(failed.length, 'row')} failed`}.
        {waitingS > 0 && ` Waiting ${waitingS} s for the service.`}
      </p>
      {state === 'stopped' && (
        <p>
          {file.begunAt && `It began on ${formatDateTime(new Date(file.begunAt).toISOString())}. `}
          <strong>Continue</strong> lists the {plural(left, 'row')} left, with the prices and the
          stock of the file.
        </p>
      )}
      <FormErrors messages={[...(error ? [error] : []), ...warnings]} />
      {failed.length > 0 && (
        <>
          <List className="import-rows">
            {failed.slice(0, SHOWN).map(({ position, reason }) => (
              <li key={position}>
                <span className="row-number">Row {formatNumber(file.rows[position]!.number)}</span>
                <span className="error">{reason}</span>
              </li>
            ))}
          </List>
          <Button
            icon="download"
            onPress={() => {
              download('failed-rows.csv', file, failed)
              setIsSaved(state === 'done')
            }}
          >
            Download the failed rows
          </Button>
        </>
      )}
      <div className="form-actions">
        {state === 'running' && <Button onPress={() => stop(shop)}>Pause</Button>}
        {state === 'stopped' && (
          <Button look="primary" onPress={() => start(shop)}>
            Continue
          </Button>
        )}
        {state === 'done' && (
          <ButtonLink href="/listings" look="primary">
            Show the listings
          </ButtonLink>
        )}
        {state !== 'running' && (
          <Button
            onPress={async () => {
              // Another tab may have continued it.
              if (state === 'stopped') await stop(shop)
              else if (isSaved || failed.length === 0) return discard(shop)
              setIsDiscarding(true)
            }}
          >
            {discardLabel(run)}
          </Button>
        )}
      </div>
      {isDiscarding && (
        <DiscardDialog run={run} shop={shop} onClose={() => setIsDiscarding(false)} />
      )}
    </Section>
  )
}

const failedIn = ({ file, progress }: Run) => inOrder([...file.refused, ...progress.failed])

const inOrder = (failures: Failure[]) => failures.sort((a, b) => a.position - b.position)

const discardLabel = ({ state }: Run) =>
  state === 'done' ? 'Import another file' : 'Discard the rest'

/** Asks before the page forgets an import: nothing else knows which rows of its file are listed. */
function DiscardDialog({ run, shop, onClose }: { run: Run; shop: string; onClose: () => void }) {
  const { file, progress } = run
  const rest = inOrder([...failedIn(run), ...unsentOf(run)])
  return (
    <ConfirmDialog
      title={discardLabel(run)}
      confirm={discardLabel(run)}
      onConfirm={() => discard(shop)}
      onClose={onClose}
    >
      <p>
        This page forgets <strong>{plural(rest.length, 'row')}</strong> that it has not listed, with
        the reasons. Download them to import only these later
        {progress.created > 0 &&
          `: another import of ${file.name} would list ${plural(progress.created, 'row')} a second time`}
        .
      </p>
      <div>
        <Button icon="download" onPress={() => download('remaining-rows.csv', file, rest)}>
          Download the rows
        </Button>
      </div>
    </ConfirmDialog>
  )
}

/** Saves rows that are not listed, with the reasons, as a file. */
function download(name: string, { columns, rows, separator }: ImportFile, failed: Failure[]): void {
  const text = failedCsv(
    columns,
    failed.map(({ position, reason }) => ({ row: rows[position]!.values, reason })),
    separator,
  )
  saveFile(new Blob([text], { type: 'text/csv' }), name)
}

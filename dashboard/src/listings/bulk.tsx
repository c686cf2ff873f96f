import { useEffect, useRef, useState } from 'react'
import { ProgressBar } from 'react-aria-components'
import type { BulkEditBody, MAX_EDITED } from '../../../server/http/dashboard/listings.ts'
import { isConflict, randomName } from '../client.ts'
import { session } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { DecimalField } from '../ui/fields.tsx'
import { Form, FormErrors } from '../ui/form.tsx'
import { formatNumber, plural } from '../ui/format.ts'
import { keepBulkHeight } from '../ui/keep-height.ts'
import { readNumber } from '../ui/numbers.ts'
import { HiddenStatus, Status } from '../ui/states.tsx'
import { notify } from '../ui/toast.tsx'
import { useAction } from '../ui/use-action.ts'
import {
  bulkEdit,
  countListings,
  isCut,
  leaveReservedWrites,
  type Search,
  UnknownOutcomeError,
  untilWritten,
} from './api.ts'

type Action = Pick<BulkEditBody, 'action' | 'percent' | 'status'>
type Target = Pick<BulkEditBody, 'ids' | 'search' | 'before' | 'catalog_version'>

const EDITED_AT_ONCE: typeof MAX_EDITED = 1_000

/** The service counts a call as one write for each 100 listings. */
const WRITES_OF_A_CALL = EDITED_AT_ONCE / 100

/** A bulk edit whose dialog is open. It stays as it was when the dialog opened. */
type Asked = { action: keyof typeof TEXTS; count: number; target: Target }

/** All listings that match the search, once they are selected. */
type Matching = {
  /** The selected rows, which they replace. */
  instead: ReadonlySet<number>
  total: number
  /** The edit begins below this id, so that it leaves the listings that are created later. */
  before: number
  catalog_version: number
}

/** Progress of a bulk edit. */
type Progress = { changed: number; failed: Map<string, number>; waitingS: number }

/**
 * A bulk edit that has begun. After an error or a stop it continues with the call that has no response yet, under the key
 * of that call, so that nothing is changed twice.
 */
type Run = {
  change: Action
  /** The beginning of the keys of its calls. */
  name: string
  /** Number of calls that got a response. */
  calls: number
  /** The listing before which the next call of a search begins. */
  before: number | null
  /** When the next call was first sent (Unix milliseconds); null as long as it can't have changed anything. */
  sentAt: number | null
  progress: Progress
  /** Nothing is left to do, or an unknown outcome or another catalog prevents it. */
  isDone: boolean
}

/** Changes the selected listings, or all that the search finds, in calls of a thousand. It has the search as its key. */
export function BulkBar({
  selected,
  search,
  total,
  onDone,
  onClear,
}: {
  selected: ReadonlySet<number>
  search: Search
  /** Number of listings that the search finds; undefined until the service has reported it. */
  total: number | undefined
  onDone: () => Promise<unknown>
  onClear: () => void
}) {
  const [matching, setMatching] = useState<Matching>()
  const [asked, setAsked] = useState<Asked>()
  // A row that is unticked afterwards must not be changed: each change of the selection ends it.
  const all = matching?.instead === selected ? matching : undefined
  const selectAll = useAction(async () => {
    const { total, newest, catalog_version } = await countListings(search)
    setMatching({ instead: selected, total, before: newest + 1, catalog_version })
  })
  const count = all?.total ?? selected.size
  const ask = (action: Asked['action']) =>
    setAsked({
      action,
      count,
      target: all
        ? {
            ...searchBody(search),
            before: all.before,
            catalog_version: all.catalog_version,
          }
        : { ids: [...selected] },
    })
  return (
    <>
      <HiddenStatus>{selected.size > 0 && `Selected: ${plural(count, 'listing')}`}</HiddenStatus>
      {selected.size > 0 && (
        <section className="bulk-bar" aria-label="Selected listings" ref={keepBulkHeight}>
          <strong>{plural(count, 'listing')} selected</strong>
          {!all && total !== undefined && total > selected.size && (
            <Button size="small" look="quiet" {...selectAll}>
              Select {isCut(search, total) ? 'the newest' : 'all'} {formatNumber(total)} that match
            </Button>
          )}
          {ACTIONS.map((action) => (
            <Button
              key={action}
              size="small"
              look={action === 'delete' ? 'danger' : 'secondary'}
              isDisabled={selectAll.isPending}
              onPress={() => ask(action)}
            >
              {TEXTS[action].confirm}
            </Button>
          ))}
          <Button size="small" look="quiet" onPress={onClear}>
            Clear selection
          </Button>
        </section>
      )}
      {asked && <BulkDialog {...asked} onClose={() => setAsked(undefined)} onDone={onDone} />}
    </>
  )
}

const searchBody = ({ q, status }: Search) => ({
  search: {
    ...(q && { q }),
    ...(status && { status: status as 'active' }),
  },
})

const TEXTS = {
  price: { title: 'Change prices', confirm: 'Change prices' },
  hide: { title: 'Hide listings', confirm: 'Hide' },
  show: { title: 'Put listings on sale', confirm: 'Put on sale' },
  delete: { title: 'Delete listings', confirm: 'Delete' },
}
const ACTIONS = Object.keys(TEXTS) as Asked['action'][]

function BulkDialog({
  action,
  count,
  target,
  onClose,
  onDone,
}: Asked & { onClose: () => void; onDone: () => Promise<unknown> }) {
  const [progress, setProgress] = useState<Progress>()
  const [isRunning, setIsRunning] = useState(false)
  const run = useRef<Run>(undefined)
  const stop = useRef(new AbortController())
  const isOpen = useRef(true)
  useEffect(() => {
    isOpen.current = true
    return () => {
      isOpen.current = false
      stop.current.abort()
    }
  }, [])
  const { title, confirm } = TEXTS[action]
  const failed = progress ? failedIn(progress) : 0
  const isDone = run.current?.isDone ?? false
  const isInterrupted = run.current !== undefined && !isRunning && !isDone

  async function start(data: FormData): Promise<undefined> {
    run.current ??= {
      change: changeOf(action, data),
      name: randomName(),
      calls: 0,
      before: target.before ?? null,
      sentAt: null,
      progress: { changed: 0, failed: new Map(), waitingS: 0 },
      isDone: false,
    }
    const begun = run.current
    stop.current = new AbortController()
    setIsRunning(true)
    try {
      await editAll({ target, count }, begun, stop.current.signal, setProgress)
    } catch (error) {
      // The search may find other listings now. The selection is dropped. A session of another member is a conflict as well.
      if (isConflict(error) && session.state() === 'valid') {
        begun.isDone = true
        void onDone()
        throw new Error(`${error.message} ${doneIn(begun, count)}`)
      }
      // Nothing has been changed, so the input can be corrected.
      if (begun.calls === 0 && begun.sentAt === null) run.current = undefined
      if (error instanceof UnknownOutcomeError) {
        begun.isDone = true
        void onDone()
        throw new Error(
          `The response to the last step was lost more than 23 hours ago: up to ${unsureIn(begun, count)} of the remaining listings may be changed already. Check them before you change them again.`,
        )
      }
      if (!stop.current.signal.aborted) throw error
    } finally {
      setIsRunning(false)
      if (!isOpen.current) {
        void onDone()
        if (!begun.isDone) notify(`${title}: ${doneIn(begun, count)}`, { isFailure: true })
      }
    }
    if (!begun.isDone) return
    await onDone()
    if (begun.progress.failed.size > 0) return
    notify(`${plural(begun.progress.changed, 'listing')} changed.`)
    onClose()
  }

  /** The selection is dropped after an interrupted edit, so that another one doesn't change its first part again. */
  function close() {
    if (isRunning) return stop.current.abort()
    onClose()
    if (isInterrupted) void onDone()
  }

  return (
    <>
      {/* Not in the dialog, because Stop loses nothing. */}
      {(isRunning || isInterrupted) && (
        <span hidden data-unsaved data-loss="The change of the listings would stop half-way." />
      )}
      {/* Stop works while it runs. */}
      <Dialog title={title} onClose={close} isModalStrict isHeld={false}>
        <Form
          label={title}
          onSubmit={start}
          actions={(isSaving) =>
            isDone && !isSaving ? (
              <Button look="primary" onPress={onClose}>
                Close
              </Button>
            ) : (
              <>
                <Button
                  type="submit"
                  look={action === 'delete' ? 'danger' : 'primary'}
                  isPending={isSaving}
                >
                  {isInterrupted ? 'Continue' : confirm}
                </Button>
                <Button slot="close">
                  {isSaving ? 'Stop' : isInterrupted ? 'Close' : 'Cancel'}
                </Button>
              </>
            )
          }
        >
          <p>
            This concerns <strong>{plural(count, 'listing')}</strong>.
            {action === 'delete' &&
              ' They disappear permanently, with the reservations of buyers’ carts. Listings with an open order stay.'}
            {action === 'show' && ' Listings without stock stay sold out.'}
          </p>
          {action === 'price' && (
            <DecimalField
              label="Change in percent"
              name="percent"
              defaultValue="-5"
              isRequired
              isReadOnly={run.current !== undefined}
              help="−10 makes everything a tenth cheaper. Prices are rounded to a cent."
            />
          )}
          {progress && <Bar label="Progress" done={progress.changed + failed} total={count} />}
          <Status>
            {isInterrupted
              ? `${doneIn(run.current!, count)} Continue with the rest: no listing is changed twice. If you close this instead, the changes stay, and the selection is cleared.`
              : isRunning &&
                progress &&
                progress.waitingS > 0 &&
                `Waiting ${progress.waitingS} s for the service.`}
          </Status>
          {progress && failed > 0 && (
            <FormErrors
              messages={[...progress.failed].map(
                ([message, count]) => `${plural(count, 'listing')}: ${message}`,
              )}
            />
          )}
        </Form>
      </Dialog>
    </>
  )
}

function changeOf(action: Asked['action'], data: FormData): Action {
  if (action === 'price') {
    return { action, percent: readNumber('percent', String(data.get('percent'))) }
  }
  if (action === 'delete') return { action }
  return { action: 'status', status: action === 'hide' ? 'hidden' : 'active' }
}

/** How far a bulk edit has come. Its calls begin with the newest listings. */
function doneIn(run: Run, count: number): string {
  const { progress, sentAt } = run
  const done = progress.changed + failedIn(progress)
  const which = done > 0 && done < count ? ': the newest ones' : ''
  const unknown =
    sentAt === null ? '' : ` Up to ${unsureIn(run, count)} more may be changed already.`
  return `${formatNumber(done)} of ${plural(count, 'listing')} are done${which}.${unknown}`
}

/** Listings of the call whose response is missing. */
const unsureIn = ({ progress }: Run, count: number): string =>
  formatNumber(Math.min(EDITED_AT_ONCE, count - progress.changed - failedIn(progress)))

const failedIn = ({ failed }: Progress) => [...failed.values()].reduce((sum, n) => sum + n, 0)

/**
 * Sends one call after the other. Each has its own key, so that a repeated call changes nothing twice. A search can match
 * more listings than it counts: the edit stops at the number that its dialog has named.
 */
async function editAll(
  { target: { ids, search, catalog_version }, count }: Pick<Asked, 'target' | 'count'>,
  run: Run,
  signal: AbortSignal,
  report: (progress: Progress) => void,
): Promise<void> {
  const { change, name, progress } = run
  const calls = ids ? chunksOf(ids, EDITED_AT_ONCE).map((ids) => ({ ids })) : undefined
  const waiting = (waitingS: number) => report({ ...progress, waitingS })
  while (!run.isDone) {
    signal.throwIfAborted()
    // A person waits for the first call.
    if (run.calls > 0) await leaveReservedWrites(signal, waiting, WRITES_OF_A_CALL)
    const body: BulkEditBody = {
      ...change,
      ...(calls ? calls[run.calls] : { search, before: run.before, catalog_version }),
    }
    const { data } = await untilWritten(
      () => bulkEdit(body, `bulk-${name}-${run.calls}`),
      run.sentAt,
      (sentAt) => {
        run.sentAt = sentAt
      },
      signal,
      waiting,
    )
    progress.changed += data.changed
    for (const { message, count } of data.reasons) {
      progress.failed.set(message, (progress.failed.get(message) ?? 0) + count)
    }
    run.calls++
    run.before = data.next
    run.sentAt = null
    run.isDone = calls
      ? run.calls === calls.length
      : data.next === null || progress.changed + failedIn(progress) >= count
    report({ ...progress })
  }
}

const chunksOf = <T,>(all: T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) =>
    all.slice(i * size, (i + 1) * size),
  )

/** A progress bar with its numbers. */
export const Bar = ({ label, done, total }: { label: string; done: number; total: number }) => (
  <ProgressBar aria-label={label} value={done} maxValue={total} className="progress">
    {({ percentage }) => (
      <>
        <span className="progress-track">
          <span className="progress-fill" style={{ width: `${percentage}%` }} />
        </span>
        <span className="help">
          {formatNumber(done)} of {formatNumber(total)}
        </span>
      </>
    )}
  </ProgressBar>
)

import { useEffect, useRef, useState } from 'react'
import { DropZone, FileTrigger } from 'react-aria-components'
import {
  byRisk,
  CsvError,
  type CsvFile,
  FIELDS,
  failedCsv,
  guessMapping,
  type Item,
  inBatches,
  leftOutRows,
  type Mapping,
  messagesOf,
  otherLanguage,
  readCsv,
  readRow,
  repeatedFields,
  repeatedReferences,
  usualNote,
  withCard,
} from '../../../sdk/src/csv.ts'
import { ignoredColumns, ownExportWarning, totalsOf } from '../../../sdk/src/csv-preview.ts'
import type { MAX_CHECKED } from '../../../server/http/shapes/checked-item.ts'
import { ApiError, get, randomName } from '../client.ts'
import { saveFile } from '../save-file.ts'
import { useMe } from '../shell/me.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/dialog.tsx'
import { unlessDoubleClick } from '../ui/double-click.ts'
import { Select } from '../ui/fields.tsx'
import { FormErrors } from '../ui/form.tsx'
import { formatDateTime, formatMoney, formatNumber, plural } from '../ui/format.ts'
import { Icon } from '../ui/icons.tsx'
import { List } from '../ui/list.tsx'
import { Notice } from '../ui/notice.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { Section } from '../ui/section.tsx'
import { HiddenStatus } from '../ui/states.tsx'
import { type Checked, checkItems, untilAnswered } from './api.ts'
import { Bar } from './bulk.tsx'
import { begin, discard, resume, start, stop, unsentOf } from './import-run.ts'
import type { Failure, ImportFile, Mark } from './import-state.ts'
import { importKey, type Run, rowsLeft, useRun } from './import-state.ts'
import { readMark } from './import-store.ts'

/** Lists the rows of a CSV file: choose it, map its columns, look at the preview, and let it run. */
export default function ImportListings() {
  const { data: me } = useMe()
  const run = useRun()
  const [file, setFile] = useState<ChosenFile>()
  const shop = me && importKey(me.account)
  useEffect(() => {
    if (shop !== undefined) void resume(shop)
  }, [shop])
  if (shop === undefined) return null
  return (
    <>
      <PageHeader title="Import listings" back={{ href: '/listings', label: 'Listings' }}>
        From a CSV file of up to 100,000 rows.
      </PageHeader>
      {run && <Running run={run} shop={shop} />}
      {file && (
        // An import of another tab hides the preview, which keeps its columns and cards until that is complete.
        <div style={{ display: run ? 'none' : 'contents' }}>
          <Preview
            {...file}
            shop={shop}
            isHidden={run !== undefined}
            isPayoutVerified={me?.account.payout_verified ?? false}
            onBack={() => setFile(undefined)}
            onStart={async (items, refused) => {
              const { columns, rows, separator } = file.csv
              const hasBegun = await begin(shop, {
                id: randomName(),
                name: file.name,
                fingerprint: file.fingerprint,
                begunAt: Date.now(),
                columns,
                rows,
                separator,
                items,
                refused,
              })
              if (hasBegun) setFile(undefined)
            }}
          />
        </div>
      )}
      {!run && !file && <ChooseFile onFile={setFile} />}
    </>
  )
}

type ChosenFile = { name: string; csv: CsvFile; fingerprint: string }

/** Identifies the content of a file. It is no SHA-256, because browsers compute that only with HTTPS. */
function fingerprintOf(bytes: Uint8Array): string {
  let [a, b] = [1, 2]
  for (const byte of bytes) {
    a = Math.imul(a ^ byte, 0x01000193)
    b = Math.imul(b ^ byte, 0x9e3779b1)
  }
  return `${bytes.length} ${a} ${b}`
}

function ChooseFile({ onFile }: { onFile: (file: ChosenFile) => void }) {
  const [error, setError] = useState<string>()
  const read = async (file: File | undefined) => {
    if (!file) return
    try {
      const bytes = new Uint8Array(await file.arrayBuffer())
      onFile({ name: file.name, csv: readCsv(bytes), fingerprint: fingerprintOf(bytes) })
    } catch (error) {
      setError(error instanceof CsvError ? error.message : 'The file could not be read.')
    }
  }
  return (
    <>
      <FormErrors messages={error ? [error] : []} />
      <DropZone
        aria-label="CSV file"
        className="drop-zone"
        onDrop={async ({ items }) => {
          const dropped = items.find((item) => item.kind === 'file')
          await read(await dropped?.getFile())
        }}
      >
        <Icon name="upload" />
        <p>Drop a CSV file here</p>
        <FileTrigger
          acceptedFileTypes={['.csv', '.tsv', '.txt', 'text/csv']}
          onSelect={(files) => void read(files?.[0])}
        >
          <Button look="primary">Choose a file</Button>
        </FileTrigger>
      </DropZone>
      <Section
        title="Columns"
        help="The first row has the names of the columns. Other columns are kept for the file of rows that fail."
      >
        <dl className="facts">
          {GUIDE.map(([name, text]) => (
            <div key={name}>
              <dt className="code">{name}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      </Section>
    </>
  )
}

const GUIDE = [
  ['card or product', 'Id of the card (swsh9-18 or brs_18), or slug of the sealed product'],
  ['condition', 'M, NM, LP, MP, HP, DMG, or G with grading_company and grading_grade; for cards'],
  ['language', 'EN, NL, DE, FR, JP, ES, IT, PT, CN or KR'],
  ['price, quantity', 'Price per unit in euros, and the stock'],
  ['printing', 'standard if empty; holo, reverse_holo, first_edition …'],
  ['reference', 'Your own name, such as a SKU: unique among your listings'],
  [
    'description, photo_urls',
    'A text for buyers; addresses of photos, separated by spaces or commas',
  ],
]

/** A row of the file with all that is known about it. */
type Row = {
  position: number
  number: number
  item: Item
  warnings: string[]
  risk: number
  note: string | undefined
  reasons: string[]
  candidates: Candidate[]
  /** The name and the card that the check has found. */
  name: string | undefined
  card: string | null | undefined
}

type Candidate = { id: string; name: string; number: string; set: string; language: string }

const titleOf = ({ name, number, set, language }: Candidate) =>
  `${name} ${number}, ${set} (${language})`

/** With the id if another candidate looks the same, such as the card in another region's edition. */
const labelOf = (candidate: Candidate, all: Candidate[]) =>
  all.some((other) => other.id !== candidate.id && titleOf(other) === titleOf(candidate))
    ? `${titleOf(candidate)}, ${candidate.id}`
    : titleOf(candidate)

/** Rows that the preview shows of each kind. */
const SHOWN = 50
const CHECKED_AT_ONCE: typeof MAX_CHECKED = 500

function Preview({
  name,
  csv,
  fingerprint,
  shop,
  isHidden,
  isPayoutVerified,
  onBack,
  onStart,
}: ChosenFile & {
  shop: string
  /** By an import of another tab, which can list the same file. */
  isHidden: boolean
  isPayoutVerified: boolean
  onBack: () => void
  onStart: (items: { position: number; item: Item }[], refused: Failure[]) => Promise<void>
}) {
  const [guess] = useState(() => guessMapping(csv.columns))
  const [mapping, setMapping] = useState(guess)
  const [leftOut] = useState(() => leftOutRows(csv).size)
  /** Cards that the seller has chosen, by what makes a row ambiguous. */
  const [choices, setChoices] = useState<ReadonlyMap<string, string>>(new Map())
  const answers = useRef<Answers>(new Map())
  const [rows, setRows] = useState<Row[]>()
  const [exportWarning, setExportWarning] = useState<string>()
  const [mark, setMark] = useState<Mark>()
  const [done, setDone] = useState(0)
  const [error, setError] = useState<string>()
  const [isStarting, setIsStarting] = useState(false)

  useEffect(() => {
    const abort = new AbortController()
    setRows(undefined)
    setDone(0)
    setError(undefined)
    const check = async () => {
      const rows = await checkAll(csv, mapping, choices, answers.current, abort.signal, setDone)
      const listable = rows.filter(isListable).map(({ position }) => csv.rows[position]!)
      const warning = await ownExportWarning(csv, listable, (id) => hasListing(id, abort.signal))
      abort.signal.throwIfAborted()
      setExportWarning(warning)
      setRows(rows)
    }
    check().catch((error) => {
      if (!abort.signal.aborted) setError((error as Error).message)
    })
    return () => abort.abort()
  }, [csv, mapping, choices])
  useEffect(() => {
    if (!isHidden) void readMark(shop, fingerprint).then(setMark, () => {})
  }, [shop, fingerprint, isHidden])

  const good = rows?.filter(isListable) ?? []
  const bad = rows?.filter((row) => !isListable(row)) ?? []
  const warned = byRisk(good.filter(({ warnings }) => warnings.length > 0))
  const note = usualNote(rows ?? [])
  /** The choices of the rows that have exactly one candidate of their own language. */
  const inOwnLanguage = bad.flatMap(({ item, candidates }): [string, string][] => {
    const [own, ...others] = candidates.filter(({ language }) => language === item.language)
    return own && others.length === 0 ? [[wantedBy(item), own.id]] : []
  })
  const choose = (chosen: [string, string][]) => setChoices(new Map([...choices, ...chosen]))
  const totals = totalsOf(good.map(({ item }) => item))
  const ignored = ignoredColumns(csv, mapping)
  const options = [
    { value: '', label: 'Not in the file' },
    ...csv.columns.map((column, i, all) => {
      const isUnique = all.indexOf(column) === all.lastIndexOf(column)
      return { value: String(i), label: isUnique ? column : `${column} (column ${i + 1})` }
    }),
  ]
  return (
    <>
      <Section title="Columns" help={`${name}: ${plural(csv.rows.length, 'row')}`}>
        <div className="mapping" data-unsaved={mapping !== guess || choices.size > 0 || undefined}>
          {FIELDS.map((field) => (
            <Select
              key={field}
              label={field}
              options={options}
              value={mapping[field] === null ? '' : String(mapping[field])}
              onChange={(value) =>
                setMapping({ ...mapping, [field]: value === '' ? null : Number(value) })
              }
            />
          ))}
        </div>
      </Section>
      <FormErrors messages={error ? [error] : []} />
      <HiddenStatus>
        {rows &&
          `Preview: ${plural(good.length, 'row')} without mistakes, ${bad.length} with mistakes`}
      </HiddenStatus>
      {!rows && !error && (
        <Section title="Preview">
          <Bar label="Checking rows" done={done} total={csv.rows.length - leftOut} />
        </Section>
      )}
      {rows && (
        <Section title="Preview">
          <p>
            <strong>{plural(good.length, 'row')} can be listed</strong>
            {warned.length > 0 &&
              `, ${plural(warned.length, 'of them has a warning', 'of them have warnings')}`}
            {bad.length > 0 && `, ${plural(bad.length, 'row has mistakes', 'rows have mistakes')}`}.
            {leftOut > 0 &&
              ` ${plural(leftOut, 'row is', 'rows are')} left out, because the status is sold or hidden.`}
          </p>
          {ignored.length > 0 && <p>Ignored columns: {ignored.join(', ')}.</p>}
          {note && <p className="help">{note}</p>}
          {exportWarning && <Notice tone="warn">{exportWarning}</Notice>}
          {mark && (
            <Notice tone="warn">
              <strong>This browser has imported this file already</strong>, on{' '}
              {formatDateTime(new Date(mark.at).toISOString())}:{' '}
              {plural(mark.created, 'row was', 'rows were')} listed. Importing it again lists them a
              second time.
            </Notice>
          )}
          {inOwnLanguage.length > 0 && (
            <p>
              <Button onPress={unlessDoubleClick(() => choose(inOwnLanguage))}>
                {`Use the card of each row’s language (${plural(inOwnLanguage.length, 'row')})`}
              </Button>
            </p>
          )}
          {bad.length > 0 && (
            <RowList
              label="Rows with mistakes"
              rows={bad}
              isOpen
              onChoose={(item, card) => choose([[wantedBy(item), card]])}
            />
          )}
          {warned.length > 0 && <RowList label="Rows with warnings" rows={warned} isOpen />}
          {good.length > 0 && <RowList label="Rows that can be listed" rows={good} />}
        </Section>
      )}
      {good.length > 0 && (
        <p>
          {`${plural(good.length, 'listing')}, ${plural(totals.units, 'unit')}, total value ${formatMoney(totals.value)}.`}
        </p>
      )}
      {!isPayoutVerified && (
        <FormErrors
          messages={['Complete and verify your payout setup before you list anything.']}
        />
      )}
      <div className="form-actions">
        <Button
          look="primary"
          isDisabled={good.length === 0 || !isPayoutVerified}
          isPending={isStarting}
          onPress={async () => {
            setIsStarting(true)
            try {
              // Another tab may have imported the file since it was chosen here.
              const last = await readMark(shop, fingerprint)
              if (last?.at !== mark?.at) return setMark(last)
              await onStart(
                good.map(({ position, item, card }) => ({ position, item: withCard(item, card) })),
                bad.map(({ position, reasons }) => ({ position, reason: reasons.join(' ') })),
              )
            } catch {
              setError(
                'This browser can’t keep the file, so the import could not survive a reload.',
              )
            } finally {
              setIsStarting(false)
            }
          }}
        >
          {`List ${plural(good.length, 'row')}`}
        </Button>
        <Button onPress={onBack}>Choose another file</Button>
      </div>
    </>
  )
}

const isListable = ({ reasons }: Row) => reasons.length === 0

const hasListing = (id: number, signal: AbortSignal) =>
  untilAnswered(() => get(`listings/${id}`, { signal, isSave: true }), signal).then(
    () => true,
    (error) => {
      if (error instanceof ApiError && error.status === 404) return false
      throw error
    },
  )

/** The fields that tell a seller which card a row means: a choice applies to the rows that share them. */
const wantedBy = ({ card, language_hint: hint, language }: Item) =>
  JSON.stringify([card, hint, language])

/** The service's answers about items, by the items' JSON. */
type Answers = Map<string, Checked>

const keyOf = ({ item }: { item: Item }) => JSON.stringify(item)

/** Reads the rows of listings that were on sale, and checks those with the service that have no answer yet. */
async function checkAll(
  csv: CsvFile,
  mapping: Mapping,
  choices: ReadonlyMap<string, string>,
  answers: Answers,
  signal: AbortSignal,
  report: (done: number) => void,
): Promise<Row[]> {
  const { columns, rows } = csv
  const repeated = repeatedFields(columns).find((field) => mapping[field] === null)
  if (repeated !== undefined) {
    throw new Error(`The file has the column “${repeated}” twice. Choose the one to read.`)
  }
  const leftOut = leftOutRows(csv)
  const read = rows.flatMap(({ values }, position) =>
    leftOut.has(position) ? [] : { position, ...readRow(values, mapping, csv) },
  )
  for (const { item } of read) {
    const chosen = choices.get(wantedBy(item))
    if (chosen !== undefined) item.card = chosen
  }
  const unchecked = read.filter((row) => !answers.has(keyOf(row)))
  let done = read.length - unchecked.length
  report(done)
  const chunks = inBatches(unchecked, CHECKED_AT_ONCE, ({ item }) => item)
  const work = async () => {
    for (let chunk = chunks.shift(); chunk; chunk = chunks.shift()) {
      const { data } = await untilAnswered(() => checkItems(chunk.map(({ item }) => item)), signal)
      signal.throwIfAborted()
      for (const [i, row] of chunk.entries()) answers.set(keyOf(row), data[i]!)
      done += chunk.length
      report(done)
    }
  }
  await Promise.all([work(), work()])
  const all: Row[] = []
  for (const { position, item, errors, warnings, risk, note } of read) {
    const checked = answers.get(keyOf({ item }))!
    // A value that is no number or too long is not in the item: its own message says more.
    const merged = { ...checked.errors, ...errors }
    const warning = otherLanguage(item, checked.item)
    all[position] = {
      position,
      number: rows[position]!.number,
      item,
      warnings: warning === undefined ? warnings : [...warnings, warning],
      risk: warning === undefined ? risk : Math.max(1, risk),
      note,
      reasons: messagesOf(merged),
      // The likely ones first.
      candidates: (checked.candidates ?? []).toSorted(
        (a, b) => Number(b.language === item.language) - Number(a.language === item.language),
      ),
      name: checked.item && `${checked.item.name}, ${checked.item.details}`,
      card: checked.item?.card,
    }
  }
  // Without the positions of rows that are left out.
  const checked = all.flat()
  const listable = checked.filter(isListable)
  for (const [position, message] of repeatedReferences(listable)) {
    all[position]!.reasons.push(message)
  }
  return checked
}

/** The values that a row would list. A mistake in the columns shows here before it is on sale. */
const traitsOf = ({ card, condition, language, printing, price, quantity, ...more }: Item) =>
  [
    condition,
    condition === 'G' && `${more.grading_company ?? ''} ${more.grading_grade ?? ''}`.trim(),
    language,
    card && String(printing ?? 'standard').replaceAll('_', ' '),
    typeof price === 'number' && formatMoney(price),
    typeof quantity === 'number' && plural(quantity, 'unit'),
  ]
    .filter(Boolean)
    .join(' · ')

function RowList({
  label,
  rows,
  isOpen = false,
  onChoose,
}: {
  label: string
  rows: Row[]
  isOpen?: boolean
  onChoose?: (item: Item, card: string) => void
}) {
  return (
    <details open={isOpen}>
      <summary>
        {label} ({formatNumber(rows.length)})
      </summary>
      <List className="import-rows">
        {rows.slice(0, SHOWN).map((row) => (
          <li key={row.position}>
            <span className="row-number">Row {formatNumber(row.number)}</span>
            <span>
              <strong>{row.name ?? String(row.item.card ?? row.item.product ?? 'No card')}</strong>
              <span className="help">{traitsOf(row.item)}</span>
              {row.reasons.map((message) => (
                <span key={message} className="error">
                  {message}
                </span>
              ))}
              {row.warnings.map((message) => (
                <span key={message} className="help">
                  {message}
                </span>
              ))}
              {onChoose && row.candidates.length > 0 && (
                <span className="candidates">
                  {row.candidates.map((candidate) => (
                    <Button
                      key={candidate.id}
                      size="small"
                      onPress={unlessDoubleClick(() => onChoose(row.item, candidate.id))}
                    >
                      {`Use ${labelOf(candidate, row.candidates)}`}
                    </Button>
                  ))}
                </span>
              )}
            </span>
          </li>
        ))}
      </List>
      {rows.length > SHOWN && (
        <p className="help">…and {formatNumber(rows.length - SHOWN)} more.</p>
      )}
    </details>
  )
}

function Running({ run, shop }: { run: Run; shop: string }) {
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

import { useCallback, useEffect, useRef, useState } from 'react'
import {
  byRisk,
  type CsvFile,
  FIELDS,
  guessMapping,
  type Item,
  leftOutRows,
  type Mapping,
  usualNote,
  withCard,
} from '../../../sdk/src/csv.ts'
import { ignoredColumns, ownExportWarning, totalsOf } from '../../../sdk/src/csv-preview.ts'
import { Button } from '../ui/button.tsx'
import { unlessDoubleClick } from '../ui/double-click.ts'
import { Select } from '../ui/fields.tsx'
import { FormErrors } from '../ui/form.tsx'
import { formatDateTime, formatMoney, formatNumber, plural } from '../ui/format.ts'
import { List } from '../ui/list.tsx'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { HiddenStatus } from '../ui/states.tsx'
import { Bar } from './bulk.tsx'
import {
  type Answers,
  type Candidate,
  checkAll,
  hasListing,
  isListable,
  type Row,
  wantedBy,
} from './import-check.ts'
import type { Failure, Mark } from './import-state.ts'
import { readMark } from './import-store.ts'

/** Rows that a list shows. */
export const SHOWN = 50

export type ChosenFile = { name: string; csv: CsvFile; fingerprint: string }

type Check = {
  /** Absent until all rows are checked. */
  rows?: Row[]
  /** Says that the file looks like an export of the shop. */
  exportWarning?: string | undefined
  /** Rows that are checked. */
  done: number
  error?: string
}

/** Checks the rows again after each change. `setError` shows an error until the next check. */
function useCheck(csv: CsvFile, mapping: Mapping, choices: ReadonlyMap<string, string>) {
  const answers = useRef<Answers>(new Map())
  const [check, setCheck] = useState<Check>({ done: 0 })
  const setError = useCallback((error: string) => setCheck((check) => ({ ...check, error })), [])
  useEffect(() => {
    const abort = new AbortController()
    setCheck({ done: 0 })
    const run = async () => {
      const rows = await checkAll(csv, mapping, choices, answers.current, abort.signal, (done) =>
        setCheck((check) => ({ ...check, done })),
      )
      const listable = rows.filter(isListable).map(({ position }) => csv.rows[position]!)
      const exportWarning = await ownExportWarning(csv, listable, (id) =>
        hasListing(id, abort.signal),
      )
      abort.signal.throwIfAborted()
      setCheck((check) => ({ ...check, rows, exportWarning }))
    }
    run().catch((error) => {
      if (!abort.signal.aborted) setError((error as Error).message)
    })
    return () => abort.abort()
  }, [csv, mapping, choices, setError])
  return { ...check, setError }
}

/** The columns of the file, and the rows as they would be listed. */
export function Preview({
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
  const { rows, exportWarning, done, error, setError } = useCheck(csv, mapping, choices)
  const [mark, setMark] = useState<Mark>()
  const [isStarting, setIsStarting] = useState(false)

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

const titleOf = ({ name, number, set, language }: Candidate) =>
  `${name} ${number}, ${set} (${language})`

/** With the id if another candidate looks the same, such as the card in another region's edition. */
const labelOf = (candidate: Candidate, all: Candidate[]) =>
  all.some((other) => other.id !== candidate.id && titleOf(other) === titleOf(candidate))
    ? `${titleOf(candidate)}, ${candidate.id}`
    : titleOf(candidate)

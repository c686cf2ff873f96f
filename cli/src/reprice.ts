import { type ListingChange, NotFoundError, type OwnListing } from '@cardstall/sdk'
import type { Command } from 'commander'
import {
  type CsvFile,
  CUT_PRICE,
  FIELDS,
  guessMapping,
  isPriceCut,
  lengthError,
  messagesOf,
  readNumberField,
  tooManyValuesError,
} from '../../sdk/src/csv.ts'
import { UNREAD } from '../../sdk/src/csv-preview.ts'
import {
  createJournal,
  type Failure,
  fingerprint,
  type Journal,
  journalFile,
  readJournal,
  sendBatches,
} from './batches.ts'
import {
  checkFailedFile,
  columnTwice,
  counted,
  csvOf,
  keepFailed,
  reportFailed,
  showRows,
  showWarnings,
} from './import.ts'
import { readInput } from './input.ts'
import { plural } from './output.ts'
import { agree } from './questions.ts'
import { CommandError, EXIT, openSession, type Session } from './session.ts'

const BATCH_SIZE = 1_000

/** No column has a longer value that is valid. */
const MAX_LENGTH = 100

const NAME = 'A change with this file'
const UNKNOWN = 'It may be changed already: check it before you change it again.'

type Read = { value?: unknown; error?: string; warning?: string; note?: string }

/** Columns of the file, and how their values are read. */
const READERS: Record<string, (text: string, column: string) => Read> = {
  id: wholeNumber(/^\d+$/, 'a whole number from 1'),
  reference: (text) => ({ value: text }),
  price: (text, column) => readNumberField(column, text),
  quantity: wholeNumber(/^\d+$/, 'a whole number from 0'),
  quantity_delta: wholeNumber(/^[+-]?\d+$/, 'a whole number'),
  status: (text) => ({ value: text.toLowerCase() }),
}

const CHANGED = ['price', 'quantity', 'quantity_delta', 'status'] as const

/** Columns that change nothing, but that exports and files of failed rows have. */
const KNOWN = new Set<string>([...FIELDS, ...UNREAD])

type RepriceOptions = { failed?: string; yes?: boolean }

type Row = {
  row: number
  number: number
  change: ListingChange
  messages: string[]
  warnings: string[]
  risk: number
  note: string | undefined
}

/** `listings reprice`. */
export function repriceCommand(listings: Command): void {
  listings
    .command('reprice')
    .argument('<file>', 'CSV file; - is stdin')
    .description(
      'change listings from a CSV file with id or reference, and price, quantity, quantity_delta or status',
    )
    .option('--failed <file>', 'CSV file for the rows that failed')
    .option('--yes', 'do not ask')
    .action(async (path: string, options: RepriceOptions, command: Command) =>
      repriceFile(await openSession(command), path, options),
    )
}

async function repriceFile(session: Session, path: string, options: RepriceOptions): Promise<void> {
  const { client, out, profile } = session
  const bytes = await readInput(path)
  const { csv, rows, ignored } = readChanges(bytes)
  await checkFailedFile(options.failed, path)
  if (ignored.length > 0) out.note(`Ignored columns: ${ignored.join(', ')}.`)
  const { id } = await client.me()
  // With the columns: a journal of a version that sends whole rows must not be continued.
  const of = fingerprint(bytes, JSON.stringify([profile.url, id, CHANGED]))
  const kept = journalFile(path, 'reprice')
  let journal = await readJournal(kept, of, NAME)
  if (journal) out.note(`Continuing after ${journal.done} of ${journal.rows.length} rows.`)
  else {
    const start = await previewChanges(session, rows, options)
    journal = await createJournal(kept, NAME, { of, ...start })
  }
  const changes = changesOf(journal, rows)
  const failed = await sendChanges(session, kept, journal, changes, (failed) =>
    keepFailed('The listings are changed', options.failed, csv, failed),
  )
  finish(session, rows, { changes, failed }, { ...options, path })
}

/** Shows the effects of the rows, and asks. Returns the rows to send with their columns, and those that cannot be read. */
async function previewChanges(
  session: Session,
  all: Row[],
  options: RepriceOptions,
): Promise<Pick<Journal, 'rows' | 'columns' | 'failed'>> {
  const { out } = session
  const readable = all.filter(({ messages }) => messages.length === 0)
  const unreadable = all.filter(({ messages }) => messages.length > 0)
  const { rows, columns, listings, shown, unknown } = await rowsThatChange(session, readable)
  const same = readable.length - rows.length
  if (same > 0) out.note(`${counted(same)} would change nothing.`)
  if (unknown > 0) {
    out.note(`${counted(unknown)} ${unknown === 1 ? 'names' : 'name'} no listing of the shop.`)
  }
  showWarnings(
    out,
    rows.map((row) => all[row]!),
  )
  if (shown > 0) out.note(`${plural(shown, 'listing')} would no longer be hidden.`)
  const failed = unreadable.map(({ row, messages }): Failure => [row, messages])
  if (listings > 0 && !options.yes) {
    if (failed.length > 0) out.note(`${counted(failed.length)} cannot be read:`)
    showRows(out, all, failed, 'unreadable rows')
    await agree(`Change ${plural(listings, 'listing')}?`)
  }
  return { rows, columns, failed }
}

/** The changes to send, by row. */
type Changes = Map<number, ListingChange>

/** The changes of the rows of a journal, with the columns that it names for each. */
const changesOf = ({ rows, columns = [] }: Journal, all: Row[]): Changes =>
  new Map(rows.map((row, i) => [row, only(all[row]!.change, columns[i]!)]))

/** Sends the changes that the journal lacks. Returns all rows that failed. */
const sendChanges = (
  { client, out }: Session,
  path: string,
  journal: Journal,
  changes: Changes,
  keep: (failed: Failure[]) => Promise<void>,
): Promise<Failure[]> =>
  sendBatches(path, journal, {
    size: BATCH_SIZE,
    itemOf: (row) => changes.get(row),
    send: async (rows, options) => {
      const batch = rows.map((row) => changes.get(row)!)
      const { results } = await client.tools.listings.changeMany(batch, options)
      return results.flatMap((result): Failure[] =>
        result.status === 'failed' ? [[rows[result.index]!, messagesOf(result.errors)]] : [],
      )
    },
    unknown: UNKNOWN,
    progress: (done) => out.progress(`Changed ${done} of ${changes.size} listings`),
    keep,
  })

/** Prints the result. @throws CommandError if a row failed */
function finish(
  { out }: Session,
  rows: Row[],
  { changes, failed }: { changes: Changes; failed: Failure[] },
  options: RepriceOptions & { path: string },
): void {
  reportFailed(rows, failed)
  const changed = new Map(changes)
  for (const [row] of failed) changed.delete(row)
  const warned = rows.filter(({ row, warnings }) => changed.has(row) && warnings.length > 0)
  out.records(
    [
      {
        changed: changed.size,
        failed: failed.length,
        row_warnings: warned.map(({ number, change, warnings }) => ({
          row: number,
          reference: change.reference ?? null,
          messages: warnings,
        })),
      },
    ],
    [
      ['CHANGED', ({ changed }) => changed],
      ['FAILED', ({ failed }) => failed],
    ],
  )
  if (failed.length === 0) return
  const isAdded = [...changed.values()].some((change) => change.quantity_delta)
  const advice = isAdded
    ? ` Run only those of these rows again that were not changed: ${options.path} would apply its quantity_delta twice.`
    : ''
  const where = options.failed ? `: see ${options.failed}` : ''
  throw new CommandError(`${counted(failed.length)} failed${where}.${advice}`)
}

type Difference = {
  /** Positions of the rows to send, and the columns to send of each. */
  rows: number[]
  columns: string[][]
  /** Numbers of the listings that would change, of the hidden ones that would be shown, and of the rows without a listing. */
  listings: number
  shown: number
  unknown: number
}

/**
 * Compares the rows with their listings. It reads these listings one by one, or all pages of the shop if these are fewer
 * requests. Values that are the same are not sent: until they arrive, a sale can lower the stock, and a member can hide the
 * listing. Rows without a listing are sent: the service says what is wrong with them.
 */
async function rowsThatChange({ client, out }: Session, changes: Row[]): Promise<Difference> {
  const { listings } = client.tools
  const options = { maxRetries: 5 }
  const found = new Map<string, OwnListing>()
  const keep = (listing: OwnListing) => {
    found.set(`id ${listing.id}`, listing)
    if (listing.reference !== null) found.set(`reference ${listing.reference}`, listing)
  }
  const { meta } = await listings.list({ per_page: 1 }, options)
  if (changes.length < meta.total / 100) {
    for (const { change } of changes) {
      const { id, reference } = change
      const query = { reference: reference ?? '' }
      if (id === undefined) (await listings.list(query, options)).data.forEach(keep)
      else await listings.get(id, options).then(keep, ignoreMissing)
    }
  } else {
    let read = 0
    for await (const { data } of listings.list({}, options).pages()) {
      data.forEach(keep)
      read += data.length
      out.progress(`Comparing with ${read} of ${meta.total} listings`)
    }
  }
  const sent = new Map<OwnListing, Set<string>>()
  const shown = new Set<OwnListing>()
  const rows: number[] = []
  const columns: string[][] = []
  let unknown = 0
  for (const { row, change, warnings } of changes) {
    const { id, reference } = change
    const listing = found.get(id === undefined ? `reference ${reference}` : `id ${id}`)
    let names: string[] = CHANGED.filter((name) => name in change)
    if (listing) {
      const uncertain = sent.get(listing) ?? new Set()
      names = differing(change, listing, uncertain)
      if (names.length === 0) continue
      if (sent.has(listing)) warnings.push('An earlier row changes the same listing.')
      sent.set(listing, uncertain)
      if (listing.status === 'hidden' && change.status === 'active') shown.add(listing)
    } else {
      unknown += 1
    }
    rows.push(row)
    columns.push(names)
  }
  return { rows, columns, listings: sent.size, shown: shown.size, unknown }
}

/**
 * The columns that differ from the listing.
 *
 * @param uncertain columns that earlier rows change, to which it adds: a later row may restore them
 */
function differing(change: ListingChange, listing: OwnListing, uncertain: Set<string>): string[] {
  // Also in this row: the service refuses one that has both.
  if (change.quantity_delta) uncertain.add('quantity')
  const names = CHANGED.filter((name) => {
    if (name === 'quantity_delta') return change[name]
    return name in change && (uncertain.has(name) || change[name] !== listing[name])
  })
  for (const name of names) uncertain.add(name)
  return names
}

/** A change of these columns only. */
const only = ({ id, reference, ...change }: ListingChange, columns: string[]): ListingChange => ({
  id,
  reference,
  ...Object.fromEntries(Object.entries(change).filter(([name]) => columns.includes(name))),
})

function ignoreMissing(error: unknown): void {
  if (!(error instanceof NotFoundError)) throw error
}

/** @throws CommandError for a file that lacks a column which names the listings, or one to change, or has one twice */
function readChanges(bytes: Uint8Array): { csv: CsvFile; rows: Row[]; ignored: string[] } {
  const csv = csvOf(bytes)
  const { columns, rows } = csv
  const names = columns.map((column) => column.trim().toLowerCase())
  if (!names.includes('id') && !names.includes('reference')) {
    throw new CommandError('The file needs a column "id" or "reference".', EXIT.usage)
  }
  if (!CHANGED.some((name) => names.includes(name))) {
    throw new CommandError(
      `The file needs a column to change, ${CHANGED.join(', ')}: the columns are ${columns.join(', ')}.`,
      EXIT.usage,
    )
  }
  const repeated = names.find((name, i) => READERS[name] && names.indexOf(name) < i)
  if (repeated !== undefined) {
    throw columnTwice(repeated)
  }
  const mapping = guessMapping(columns)
  return {
    csv,
    rows: rows.map(({ number, values }, row) => ({
      row,
      number,
      ...readChange(names, values, isPriceCut(values, mapping, csv)),
    })),
    ignored: columns.filter((_, i) => !READERS[names[i]!] && !KNOWN.has(names[i]!)),
  }
}

/** Reads one row. Empty values count as absent. */
function readChange(
  names: string[],
  values: string[],
  isCut: boolean,
): Omit<Row, 'row' | 'number'> {
  const change: Record<string, unknown> = {}
  const messages = [tooManyValuesError(values, names)].filter((error) => error !== undefined)
  const warnings = isCut ? [CUT_PRICE] : []
  let risk = isCut ? 2 : 0
  let note: string | undefined
  for (const [i, name] of names.entries()) {
    const text = values[i]!.trim()
    const read = text === '' ? undefined : readValue(name, text)
    if (read?.error !== undefined) messages.push(read.error)
    else if (read) change[name] = read.value
    note ??= read?.note
    if (read?.warning === undefined) continue
    warnings.push(read.warning)
    risk ||= 1
  }
  // The service would take it for a new reference, such as one that has lost its zeros in a spreadsheet.
  if (change.id !== undefined) delete change.reference
  return { change: change as unknown as ListingChange, messages, warnings, risk, note }
}

/** Undefined for a column that changes nothing. */
function readValue(name: string, text: string): Read | undefined {
  const error = READERS[name] && lengthError(name, text, MAX_LENGTH)
  return error === undefined ? READERS[name]?.(text, name) : { error }
}

function wholeNumber(pattern: RegExp, kind: string) {
  return (text: string, column: string): Read => {
    // Spreadsheets and programs write 2 as 2.0.
    const whole = text.replace(/(?<=\d)[.,]0{1,2}$/, '')
    return pattern.test(whole)
      ? { value: Number(whole) }
      : { error: `The ${column} field must be ${kind}: “${text}”.` }
  }
}

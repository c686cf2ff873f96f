import { readFile } from 'node:fs/promises'
import { type ListingChange, NotFoundError, type OwnListing } from '@cardstall/sdk'
import type { Command } from 'commander'
import {
  FIELDS,
  lengthError,
  messagesOf,
  NO_COLUMN,
  readNumberField,
  tooManyValuesError,
} from '../../sdk/src/csv.ts'
import { createJournal, type Failure, fingerprint, readJournal, sendBatches } from './batches.ts'
import { counted, csvOf, showRows } from './import.ts'
import { endProgress, plural, printable } from './output.ts'
import { agree } from './questions.ts'
import { CommandError, EXIT, openSession, type Session } from './session.ts'

const BATCH_SIZE = 1_000

/** No column has a longer value that is valid. */
const MAX_LENGTH = 100

const NAME = 'A change with this file'
const UNKNOWN = 'It may be changed already: check it before you change it again.'

type Read = { value?: unknown; error?: string; warning?: string }

/** Columns of the file, and how their values are read. */
const READERS: Record<string, (text: string, column: string) => Read> = {
  id: wholeNumber(/^\d+$/, 'a whole number from 1'),
  reference: (text) => ({ value: text }),
  price: (text, column) => readNumberField(column, text),
  quantity: wholeNumber(/^\d+$/, 'a whole number from 0'),
  quantity_delta: wholeNumber(/^[+-]?\d+$/, 'a whole number'),
  status: (text) => ({ value: text.toLowerCase() }),
}

const CHANGED = ['price', 'quantity', 'quantity_delta', 'status']

/** Columns of an export that change nothing, and those beyond the header, whose values fail their rows. */
const KNOWN = new Set<string>([...FIELDS, 'name', NO_COLUMN])

type Row = {
  row: number
  number: number
  change: ListingChange
  messages: string[]
  warnings: string[]
}

/** `listings reprice`. */
export function repriceCommand(listings: Command): void {
  listings
    .command('reprice')
    .argument('<file>', 'CSV file')
    .description(
      'change listings from a CSV file with id or reference, and price, quantity, quantity_delta or status',
    )
    .option('--yes', 'do not ask')
    .action(async (path: string, { yes }: { yes?: boolean }, command: Command) => {
      const session = await openSession(command)
      const { client, out, profile } = session
      const bytes = await readFile(path).catch((error: Error) => {
        throw new CommandError(`${path} cannot be read: ${error.message}`, EXIT.usage)
      })
      const { rows: all, ignored } = readChanges(bytes)
      if (ignored.length > 0) out.note(`Ignored columns: ${ignored.join(', ')}.`)
      const { id } = await client.me()
      const file = `${path}.reprice`
      const of = fingerprint(bytes, JSON.stringify([profile.url, id]))
      let journal = await readJournal(file, of, NAME)
      if (journal) {
        out.note(`Continuing after ${journal.done} of ${journal.rows.length} rows.`)
      } else {
        const readable = all.filter(({ messages }) => messages.length === 0)
        const unreadable = all.filter(({ messages }) => messages.length > 0)
        const { rows, listings, unknown } = await rowsThatChange(session, readable)
        const same = readable.length - rows.length
        if (same > 0) out.note(`${counted(same)} would change nothing.`)
        if (unknown > 0) {
          out.note(
            `${counted(unknown)} ${unknown === 1 ? 'names' : 'name'} no listing of the shop.`,
          )
        }
        const adapted = rows.flatMap((row): Failure[] => {
          const { warnings } = all[row]!
          return warnings.length > 0 ? [[row, warnings]] : []
        })
        showRows(out, all, adapted, 'adapted rows')
        if (listings > 0 && !yes) await agree(`Change ${plural(listings, 'listing')}?`)
        const failed = unreadable.map(({ row, messages }): Failure => [row, messages])
        journal = await createJournal(file, NAME, { of, rows, failed })
      }
      const sent = new Set(journal.rows)
      const failed = await sendBatches(file, journal, {
        size: BATCH_SIZE,
        itemOf: (row) => all[row]!.change,
        send: async (rows, options) => {
          const batch = rows.map((row) => all[row]!.change)
          const { results } = await client.tools.listings.changeMany(batch, options)
          return results.flatMap((result): Failure[] =>
            result.status === 'failed' ? [[rows[result.index]!, messagesOf(result.errors)]] : [],
          )
        },
        unknown: UNKNOWN,
        progress: (done) => out.progress(`Changed ${done} of ${sent.size} listings`),
      })
      const refused = failed.filter(([row]) => sent.has(row))
      endProgress()
      for (const [row, messages] of failed) {
        process.stderr.write(`row ${all[row]!.number}: ${printable(messages.join(' '))}\n`)
      }
      out.records(
        [{ changed: sent.size - refused.length, failed: failed.length }],
        [
          ['CHANGED', ({ changed }) => changed],
          ['FAILED', ({ failed }) => failed],
        ],
      )
      if (failed.length > 0) throw new CommandError(`${counted(failed.length)} failed.`)
    })
}

/**
 * The rows whose listings differ from them, by their positions, and the number of these listings. It reads the listings of
 * the rows one by one, or all pages of the shop if these are fewer requests. Rows without a listing, `unknown` of them, are
 * sent: the service says what is wrong with them.
 */
async function rowsThatChange(
  { client, out }: Session,
  changes: Row[],
): Promise<{ rows: number[]; listings: number; unknown: number }> {
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
  const sent = new Set<OwnListing>()
  let unknown = 0
  const rows = changes.flatMap(({ row, change }) => {
    const { id, reference } = change
    const listing = found.get(id === undefined ? `reference ${reference}` : `id ${id}`)
    // An earlier row may have changed what a later one restores.
    if (listing && !sent.has(listing) && isSame(change, listing)) return []
    if (listing) sent.add(listing)
    else unknown += 1
    return row
  })
  return { rows, listings: sent.size, unknown }
}

const isSame = ({ quantity_delta: delta = 0, ...change }: ListingChange, listing: OwnListing) =>
  delta === 0 &&
  Object.entries(change).every(([name, value]) => listing[name as keyof OwnListing] === value)

function ignoreMissing(error: unknown): void {
  if (!(error instanceof NotFoundError)) throw error
}

/** @throws CommandError for a file that lacks a column which names the listings, or one to change */
function readChanges(bytes: Uint8Array): { rows: Row[]; ignored: string[] } {
  const { columns, rows } = csvOf(bytes)
  const names = columns.map((column) => column.trim().toLowerCase())
  if (!names.includes('id') && !names.includes('reference')) {
    throw new CommandError('The file needs a column "id" or "reference".', EXIT.usage)
  }
  if (!names.some((name) => CHANGED.includes(name))) {
    throw new CommandError(
      `The file needs a column to change, ${CHANGED.join(', ')}: the columns are ${columns.join(', ')}.`,
      EXIT.usage,
    )
  }
  return {
    rows: rows.map(({ number, values }, row) => ({ row, number, ...readChange(names, values) })),
    ignored: columns.filter((_, i) => !READERS[names[i]!] && !KNOWN.has(names[i]!)),
  }
}

/** Reads one row. Empty values count as absent. */
function readChange(names: string[], values: string[]): Omit<Row, 'row' | 'number'> {
  const change: Record<string, unknown> = {}
  const messages = [tooManyValuesError(values, names)].filter((error) => error !== undefined)
  const warnings: string[] = []
  for (const [i, name] of names.entries()) {
    const text = values[i]!.trim()
    const read = text === '' ? undefined : readValue(name, text)
    if (read?.error !== undefined) messages.push(read.error)
    else if (read) change[name] = read.value
    if (read?.warning !== undefined) warnings.push(read.warning)
  }
  // The service would take it for a new reference, such as one that has lost its zeros in a spreadsheet.
  if (change.id !== undefined) delete change.reference
  return { change: change as unknown as ListingChange, messages, warnings }
}

/** Undefined for a column that changes nothing. */
function readValue(name: string, text: string): Read | undefined {
  const error = READERS[name] && lengthError(name, text, MAX_LENGTH)
  return error === undefined ? READERS[name]?.(text, name) : { error }
}

function wholeNumber(pattern: RegExp, kind: string) {
  return (text: string, column: string): Read =>
    pattern.test(text)
      ? { value: Number(text) }
      : { error: `The ${column} field must be ${kind}: “${text}”.` }
}

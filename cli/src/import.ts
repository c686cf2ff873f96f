import { existsSync } from 'node:fs'
import { appendFile, rm, stat, writeFile } from 'node:fs/promises'
import type { CheckedItem, OwnListingItem } from '@cardstall/sdk'
import type { Command } from 'commander'
import {
  byRisk,
  CsvError,
  type CsvFile,
  type CsvRow,
  FIELDS,
  type Field,
  failedCsv,
  guessMapping,
  inBatches,
  leftOutRows,
  type Mapping,
  type Messages,
  messagesOf,
  otherLanguage,
  type ReadRow,
  readCsv,
  readRow,
  repeatedFields,
  repeatedReferences,
  usualNote,
  withCard,
} from '../../sdk/src/csv.ts'
import { ignoredColumns, ownExportWarning, totalsOf } from '../../sdk/src/csv-preview.ts'
import {
  atThePaceOfTheLimit,
  createJournal,
  type Failure,
  fingerprint,
  type Journal,
  journalFile,
  readJournal,
  sendBatches,
} from './batches.ts'
import { readInput, STDIO } from './input.ts'
import { endProgress, euros, type Output, plural, printable } from './output.ts'
import { agree } from './questions.ts'
import { CommandError, EXIT, openSession, type Session } from './session.ts'

const CHECK_SIZE = 500
const BATCH_SIZE = 100
/** Invalid rows that a preview shows. */
const MAX_SHOWN = 10
const NAME = 'An import of this file'
const UNKNOWN = 'It may be listed already: check it before you import it again.'

type ImportOptions = { dryRun?: boolean; map?: string[]; failed?: string; yes?: boolean }

/** `listings import`. */
export function importCommand(listings: Command): void {
  listings
    .command('import')
    .argument('<file>', 'CSV file; - is stdin')
    .description(
      'list stock from a CSV file; an interrupted import continues and lists nothing twice',
    )
    .option('--dry-run', 'check the rows and list nothing')
    .option('--map <column=field>', 'read a field from this column', collect)
    .option('--failed <file>', 'CSV file for the rows that failed')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      `\nFields: ${FIELDS.join(', ')
        .replace(/(.{1,70})(?: |$)/g, '$1\n  ')
        .trimEnd()}`,
    )
    .action(async (path: string, options: ImportOptions, command: Command) =>
      importFile(await openSession(command), path, options),
    )
}

async function importFile(session: Session, path: string, options: ImportOptions): Promise<void> {
  const { out } = session
  const bytes = await readInput(path)
  const file = csvOf(bytes)
  const mapping = mapped(file.columns, options.map ?? [])
  if (mapping.card === null && mapping.product === null) {
    throw new CommandError(
      `No column is "card" or "product": name it with --map "COLUMN=card"; the columns are ${file.columns.join(', ')}.`,
      EXIT.usage,
    )
  }
  const leftOut = leftOutRows(file)
  const rows = file.rows.map((row, index) => ({
    ...row,
    index,
    isLeftOut: leftOut.has(index),
    ...readRow(row.values, mapping, file),
  }))
  await checkFailedFile(options.failed, path)
  const { id } = await session.client.me()
  // With the rows that are left out: a journal of a version that lists them must not be continued.
  const settings = [mapping, session.profile.url, id, ...leftOut]
  const of = fingerprint(bytes, JSON.stringify(settings))
  const kept = journalFile(path, 'import')
  let journal = options.dryRun ? undefined : await readJournal(kept, of, NAME)
  if (journal) {
    out.note(`Continuing after ${journal.done} of ${journal.rows.length} rows.`)
    for (const [i, card] of (journal.cards ?? []).entries()) {
      const row = rows[journal.rows[i]!]!
      row.item = withCard(row.item, card)
    }
  } else {
    previewColumns(session, file, mapping)
    const failed = await check(session, rows)
    preview(session, rows, failed)
    // A key that may only write can't read listings.
    const warning = await ownExportWarning(file, without(failed, rows), (id) =>
      session.client.tools.listings.get(id).then(Boolean, () => false),
    )
    if (warning !== undefined) out.note(warning)
    if (options.dryRun) return finishDryRun(session, file, rows, failed, options)
    const valid = without(failed, rows)
    if (valid.length === 0) {
      await writeFailed(options.failed, file, failed)
      return finish(session, rows, { failed }, options)
    }
    if (!options.yes) await agree(`List ${counted(valid.length)}?`)
    journal = await createJournal(kept, NAME, {
      of,
      rows: valid.map(({ index }) => index),
      cards: valid.map(({ item: { card } }) => (card === undefined ? null : String(card))),
      failed,
    })
  }
  const listed = await list(session, kept, journal, rows, (failed) =>
    keepFailed('The rows are listed', options.failed, file, failed),
  )
  finish(session, rows, listed, options)
}

/** `warnings` are about the account; absent if no row was sent. */
type Listed = { failed: Failure[]; warnings?: string[] }

async function finishDryRun(
  { out }: Session,
  file: CsvFile,
  rows: Row[],
  failed: Failure[],
  options: ImportOptions,
): Promise<void> {
  await writeFailed(options.failed, file, failed)
  const valid = without(failed, rows).length
  out.records(
    [{ ...countsJson(rows), valid, invalid: failed.length, ...messagesJson(rows, failed) }],
    [
      ['ROWS', ({ rows }) => rows],
      ['VALID', ({ valid }) => valid],
      ['INVALID', ({ invalid }) => invalid],
    ],
  )
  if (failed.length > 0) throw new CommandError(`${counted(failed.length)} cannot be listed.`)
}

function finish(
  { out }: Session,
  rows: Row[],
  { failed, warnings }: Listed,
  options: ImportOptions,
): void {
  // A file would have them.
  if (warnings && !options.failed) reportFailed(rows, failed)
  const created = without(failed, rows).length
  out.records(
    [
      {
        ...countsJson(rows),
        created,
        failed: failed.length,
        ...messagesJson(rows, failed),
        ...(warnings?.length && { warnings }),
      },
    ],
    [
      ['ROWS', ({ rows }) => rows],
      ['LISTED', ({ created }) => created],
      ['FAILED', ({ failed }) => failed],
    ],
  )
  if (failed.length === 0) return
  let advice = '; --failed FILE.csv collects them.'
  if (options.failed) advice = `: see ${options.failed}.`
  else if (warnings) {
    advice =
      '. Import only these again, in a file of their own: this file would list the others again, unless they have a reference.'
  }
  throw new CommandError(`${counted(failed.length)} failed${advice}`)
}

/**
 * Names the rows that failed. It is an error: `--quiet` does not suppress it. After ten rows with the same message, one line
 * has the numbers of the others.
 */
export function reportFailed(rows: { number: number }[], failed: Failure[]): void {
  endProgress()
  const numbersOf = new Map<string, number[]>()
  for (const [row, messages] of failed) {
    const text = printable(messages.join(' '))
    const { number } = rows[row]!
    const numbers = numbersOf.get(text) ?? []
    numbersOf.set(text, numbers)
    numbers.push(number)
    if (numbers.length <= MAX_SHOWN) process.stderr.write(`row ${number}: ${text}\n`)
  }
  for (const [text, numbers] of numbersOf) {
    const rest = numbers.slice(MAX_SHOWN)
    if (rest.length === 0) continue
    const more = plural(rest.length, 'more row')
    process.stderr.write(`and ${more} (${rangesOf(rest)}): ${text}\n`)
  }
}

/** Ascending numbers as a short text: `3, 7 to 9`. */
function rangesOf(numbers: number[]): string {
  const ranges: [first: number, last: number][] = []
  for (const number of numbers) {
    const range = ranges.at(-1)
    if (range?.[1] === number - 1) range[1] = number
    else ranges.push([number, number])
  }
  return ranges.map(([first, last]) => (first === last ? first : `${first} to ${last}`)).join(', ')
}

const countsJson = (rows: Row[]) => ({
  rows: rows.length,
  left_out: rows.filter(({ isLeftOut }) => isLeftOut).length,
})

/** The rows that failed and the warnings about the others for programs, with the numbers of the messages. */
const messagesJson = (rows: Row[], failed: Failure[]) => ({
  failures: failed.map(([row, messages]) => messageJson(rows[row]!, messages)),
  row_warnings: without(failed, rows)
    .filter(({ warnings }) => warnings.length > 0)
    .map((row) => messageJson(row, row.warnings)),
})

const messageJson = ({ number, item }: Row, messages: string[]) => ({
  row: number,
  reference: item.reference ?? null,
  messages,
})

export const counted = (rows: number) => plural(rows, 'row')

type Row = ReadRow & CsvRow & { index: number; isLeftOut: boolean }

/** The rows to list, without those that have failed. */
function without(failed: Failure[], rows: Row[]): Row[] {
  const invalid = new Set(failed.map(([row]) => row))
  return rows.filter(({ index, isLeftOut }) => !isLeftOut && !invalid.has(index))
}

const collect = (value: string, all: string[] = []) => [...all, value]

/** @throws CommandError for a file that cannot be read as a whole */
export function csvOf(bytes: Uint8Array): CsvFile {
  try {
    return readCsv(bytes)
  } catch (error) {
    if (error instanceof CsvError) throw new CommandError(error.message, EXIT.usage)
    throw error
  }
}

/**
 * The columns that are found by their names, and those of `--map`.
 *
 * @throws CommandError also for a field that has several columns
 */
function mapped(columns: string[], given: string[]): Mapping {
  const mapping = guessMapping(columns)
  for (const text of given) {
    const at = text.lastIndexOf('=')
    const [column, field] = [text.slice(0, at), text.slice(at + 1) as Field]
    const position = columns.indexOf(column)
    if (at < 0 || position < 0 || !FIELDS.includes(field)) {
      throw new CommandError(
        `--map "${text}" must be COLUMN=FIELD, with a column of the file.`,
        EXIT.usage,
      )
    }
    if (columns.lastIndexOf(column) !== position) throw columnTwice(column)
    mapping[field] = position
  }
  const repeated = repeatedFields(columns).find((field) => mapping[field] === null)
  if (repeated !== undefined) throw columnTwice(repeated)
  return mapping
}

/** The error about a file of which one of several columns would have to be guessed. */
export const columnTwice = (name: string) =>
  new CommandError(`The file has the column "${name}" twice.`, EXIT.usage)

/**
 * Checks the rows with the service, which lists nothing, and puts the cards that it finds into their items. Returns those
 * that cannot be listed.
 */
async function check({ client, out }: Session, rows: Row[]): Promise<Failure[]> {
  const failed: Failure[] = []
  let done = 0
  const offered = without([], rows)
  // Rows that cannot be read too: all their mistakes appear at once, as in the dashboard.
  for (const batch of inBatches(offered, CHECK_SIZE, ({ item }) => item)) {
    const items = batch.map(({ item }) => item as unknown as OwnListingItem)
    const results = await atThePaceOfTheLimit(() =>
      client.tools.listings.check(items, { maxRetries: 5 }),
    )
    for (const [i, { errors, candidates, item }] of results.entries()) {
      const row = batch[i]!
      const warning = otherLanguage(row.item, item)
      if (warning !== undefined) {
        row.warnings.push(warning)
        row.risk ||= 1
      }
      row.item = withCard(row.item, item?.card)
      failed.push(...failureOf(row.index, { errors: { ...errors, ...row.errors }, candidates }))
    }
    done += batch.length
    out.progress(`Checked ${done} of ${offered.length} rows`)
  }
  const listable = without(failed, rows).map((row) => ({ ...row, position: row.index }))
  for (const [row, message] of repeatedReferences(listable)) failed.push([row, [message]])
  return failed.sort(([a], [b]) => a - b)
}

/** No failure, or one with all messages and the candidates of an ambiguous card. */
function failureOf(
  row: number,
  {
    errors,
    candidates = [],
  }: { errors?: Messages | CheckedItem['errors']; candidates?: { id: string }[] },
): Failure[] {
  const messages = messagesOf(errors)
  if (messages.length === 0) return []
  const ids = candidates.map(({ id }) => id)
  const hint = ids.length > 0 ? [`Candidates: ${ids.join(', ')}.`] : []
  return [[row, [...messages, ...hint]]]
}

/** Names the columns that are read under another name, and those that are not read. */
function previewColumns({ out }: Session, file: CsvFile, mapping: Mapping): void {
  const { columns } = file
  const renamed = FIELDS.flatMap((field) => {
    const column = columns[mapping[field] ?? -1]
    return column === undefined || column.toLowerCase() === field ? [] : `${field} from “${column}”`
  })
  const ignored = ignoredColumns(file, mapping)
  if (renamed.length > 0) out.note(`Columns: ${renamed.join(', ')}.`)
  if (ignored.length > 0) out.note(`Ignored columns: ${ignored.join(', ')}.`)
}

function preview({ out }: Session, rows: Row[], failed: Failure[]): void {
  const valid = without(failed, rows)
  const { left_out: leftOut } = countsJson(rows)
  const rest = leftOut > 0 ? `, ${leftOut} left out (status sold or hidden)` : ''
  out.note(
    `${counted(rows.length)}: ${valid.length} can be listed, ${failed.length} cannot${rest}.`,
  )
  if (valid.length > 0) {
    const { units, value } = totalsOf(valid.map(({ item }) => item))
    out.note(
      `${plural(valid.length, 'listing')}, ${plural(units, 'unit')}, total value EUR ${euros(value)}.`,
    )
  }
  showRows(out, rows, failed, 'of them; --failed FILE.csv collects all')
  showWarnings(out, valid)
}

/**
 * Shows the warnings about rows, the most important ones first, and one note about the numbers that leave no doubt. Rows with
 * the same warning share a line.
 */
export function showWarnings(
  out: Output,
  rows: { number: number; warnings: string[]; risk: number; note: string | undefined }[],
): void {
  const numbersOf = new Map<string, number[]>()
  for (const { number, warnings } of byRisk(rows)) {
    for (const text of warnings) {
      const numbers = numbersOf.get(text) ?? []
      numbersOf.set(text, numbers)
      numbers.push(number)
    }
  }
  const lines = [...numbersOf]
  for (const [text, numbers] of lines.slice(0, MAX_SHOWN)) {
    out.alert(`  ${numbers.length === 1 ? 'row' : 'rows'} ${rangesOf(numbers)}: ${text}`)
  }
  if (lines.length > MAX_SHOWN) {
    out.alert(`  and ${lines.length - MAX_SHOWN} more warnings; --json has all`)
  }
  const note = usualNote(rows)
  if (note !== undefined) out.note(note)
}

/** Shows the first rows with their messages. */
export function showRows(
  out: Output,
  rows: { number: number }[],
  lines: Failure[],
  kind: string,
): void {
  for (const [row, messages] of lines.slice(0, MAX_SHOWN)) {
    out.note(`  row ${rows[row]!.number}: ${messages.join(' ')}`)
  }
  if (lines.length > MAX_SHOWN) out.note(`  and ${lines.length - MAX_SHOWN} more ${kind}`)
}

/** Lists the rows of the journal. Returns all that failed, and the warnings of the service, which it also shows. */
async function list(
  { client, out }: Session,
  path: string,
  journal: Journal,
  rows: Row[],
  keep: (failed: Failure[]) => Promise<void>,
): Promise<Listed> {
  const warnings = new Set<string>()
  const failed = await sendBatches(path, journal, {
    size: BATCH_SIZE,
    itemOf: (row) => rows[row]!.item,
    send: async (batch, options) => {
      const items = batch.map((row) => rows[row]!.item as unknown as OwnListingItem)
      const { results, warnings: texts = [] } = await client.tools.listings.create(items, options)
      for (const text of texts) {
        if (!warnings.has(text)) out.note(text)
        warnings.add(text)
      }
      return results.flatMap((result) =>
        result.status === 'failed' ? failureOf(batch[result.index]!, result) : [],
      )
    },
    unknown: UNKNOWN,
    progress: (done) => out.progress(`Listed ${done} of ${journal.rows.length} rows`),
    keep,
  })
  return { failed, warnings: [...warnings] }
}

async function isSameFile(path: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([path, other].map((file) => stat(file).catch(() => undefined)))
  return a !== undefined && a.dev === b?.dev && a.ino === b.ino
}

/**
 * Fails before anything is sent if the file of the failed rows cannot be written.
 *
 * @param from the file with all rows
 */
export async function checkFailedFile(path: string | undefined, from: string): Promise<void> {
  if (path === undefined) return
  if (path === STDIO) throw new CommandError('--failed needs the name of a file.', EXIT.usage)
  if (await isSameFile(path, from)) {
    throw new CommandError(
      `--failed would replace ${from} by its failed rows: name another file.`,
      EXIT.usage,
    )
  }
  const isThere = await stat(path).catch(() => undefined)
  await appendFile(path, '')
  if (!isThere) await rm(path)
}

/**
 * Writes the failed rows after the others took effect.
 *
 * @param done the effect as the beginning of a sentence
 */
export async function keepFailed(
  done: string,
  path: string | undefined,
  file: CsvFile,
  failed: Failure[],
): Promise<void> {
  await writeFailed(path, file, failed).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(
      `${done}, but ${path} cannot be written (${error.code}): run the same command again with another file, which repeats nothing.`,
    )
  })
}

async function writeFailed(
  path: string | undefined,
  { columns, rows, separator }: CsvFile,
  failed: Failure[],
): Promise<void> {
  // An existing file would keep the rows of a former import.
  if (path === undefined || (failed.length === 0 && !existsSync(path))) return
  const lines = failed.map(([row, messages]) => ({
    row: rows[row]!.values,
    reason: messages.join(' '),
  }))
  await writeFile(path, failedCsv(columns, lines, separator))
}

import { readFile, writeFile } from 'node:fs/promises'
import type { BulkCreateResult, CheckedItem, OwnListingItem } from '@cardstall/sdk'
import type { Command } from 'commander'
import {
  CsvError,
  type CsvFile,
  FIELDS,
  type Field,
  failedCsv,
  guessMapping,
  type Mapping,
  type Messages,
  type ReadRow,
  readCsv,
  readRow,
} from '../../sdk/src/csv.ts'
import { atThePaceOfTheLimit, fingerprint, inBatches, openJournal, sendBatches } from './batches.ts'
import { agree } from './questions.ts'
import { CommandError, EXIT, openSession, type Session } from './session.ts'

const CHECK_SIZE = 500
const BATCH_SIZE = 100
/** Invalid rows that a preview shows. */
const MAX_SHOWN = 20

type ImportOptions = { dryRun?: boolean; map: string[]; failed?: string; yes?: boolean }

/** `listings import`. */
export function importCommand(listings: Command): void {
  listings
    .command('import')
    .argument('<file>', 'CSV file')
    .description(
      'list stock from a CSV file; an interrupted import continues and lists nothing twice',
    )
    .option('--dry-run', 'check the rows and list nothing')
    .option('--map <column=field>', 'read a field from this column', collect, [])
    .option('--failed <file>', 'CSV file for the rows that failed')
    .option('--yes', 'do not ask')
    .addHelpText('after', `\nFields: ${FIELDS.join(', ')}`)
    .action(async (path: string, options: ImportOptions, command: Command) => {
      const session = await openSession(command)
      const { out } = session
      const { bytes, file } = await open(path)
      const mapping = mapped(file.columns, options.map)
      if (mapping.card === null && mapping.product === null) {
        throw new CommandError(
          `No column is "card" or "product". Name it with --map "COLUMN=card"; the columns are: ${file.columns.join(', ')}.`,
          EXIT.usage,
        )
      }
      const rows = file.rows.map((row, index) => ({ index, row, ...readRow(row, mapping) }))
      const checked = await check(session, rows)
      const invalid = checked.filter(({ reason }) => reason !== undefined)
      const valid = checked.filter(({ reason }) => reason === undefined)
      preview(session, file, { valid, invalid })
      if (options.dryRun) {
        if (options.failed) await writeFailed(options.failed, file, invalid)
        out.records(
          [{ rows: rows.length, valid: valid.length, invalid: invalid.length }],
          [
            ['ROWS', ({ rows }) => rows],
            ['VALID', ({ valid }) => valid],
            ['INVALID', ({ invalid }) => invalid],
          ],
        )
        if (invalid.length > 0) throw new CommandError(`${invalid.length} rows are invalid.`)
        return
      }
      if (valid.length === 0) throw new CommandError('No row can be listed.')
      if (!options.yes) await agree(`List ${valid.length} rows?`)
      const of = fingerprint(bytes, JSON.stringify([mapping, session.profile.url]))
      const failed = [...invalid, ...(await list(session, `${path}.import`, of, valid))]
      const created = rows.length - failed.length
      if (options.failed && failed.length > 0) await writeFailed(options.failed, file, failed)
      out.records(
        [{ rows: rows.length, created, failed: failed.length }],
        [
          ['ROWS', ({ rows }) => rows],
          ['LISTED', ({ created }) => created],
          ['FAILED', ({ failed }) => failed],
        ],
      )
      if (failed.length > 0) {
        const where = options.failed
          ? `: see ${options.failed}`
          : '; --failed FILE.csv collects them'
        throw new CommandError(`${failed.length} rows failed${where}.`)
      }
    })
}

type Row = ReadRow & { index: number; row: string[] }
type Checked = Row & { reason?: string }

const collect = (value: string, all: string[]) => [...all, value]

async function open(path: string): Promise<{ bytes: Uint8Array; file: CsvFile }> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(
      error.code === 'ENOENT'
        ? `There is no file ${path}.`
        : `${path} cannot be read: ${error.message}`,
      EXIT.usage,
    )
  })
  try {
    return { bytes, file: readCsv(bytes) }
  } catch (error) {
    if (error instanceof CsvError) throw new CommandError(error.message, EXIT.usage)
    throw error
  }
}

/** The columns that are found by their names, and those of `--map`. */
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
    mapping[field] = position
  }
  return mapping
}

/** Checks the rows with the service, which lists nothing. */
async function check({ client, out }: Session, rows: Row[]): Promise<Checked[]> {
  const readable = rows.filter(({ errors }) => Object.keys(errors).length === 0)
  const reasons = new Map<number, string>()
  for (const { index, errors } of rows) {
    const reason = reasonOf({ errors })
    if (reason !== undefined) reasons.set(index, reason)
  }
  let done = 0
  for (const batch of inBatches(readable, CHECK_SIZE)) {
    const items = batch.map(({ item }) => item as unknown as OwnListingItem)
    const results = await atThePaceOfTheLimit(
      () => client.tools.listings.check(items, { maxRetries: 5 }),
      (seconds) => out.progress(`Checking rows: waiting ${seconds} s for the write limit`),
    )
    results.forEach((result, i) => {
      const reason = reasonOf(result)
      if (reason !== undefined) reasons.set(batch[i]!.index, reason)
    })
    done += batch.length
    out.progress(`Checked ${done} of ${readable.length} rows`)
  }
  out.endProgress()
  return rows.map((row) => {
    const reason = reasons.get(row.index)
    return reason === undefined ? row : { ...row, reason }
  })
}

function reasonOf({
  errors,
  candidates,
}: {
  errors?: Messages | CheckedItem['errors']
  candidates?: unknown[]
}) {
  const messages = Object.values(errors ?? {}).flat()
  if (messages.length === 0) return undefined
  const ids = (candidates ?? []).map((candidate) => (candidate as { id: string }).id)
  return ids.length > 0
    ? `${messages.join(' ')} Candidates: ${ids.join(', ')}.`
    : messages.join(' ')
}

function preview(
  { out }: Session,
  { rows }: CsvFile,
  { valid, invalid }: { valid: Checked[]; invalid: Checked[] },
): void {
  out.note(`${rows.length} rows: ${valid.length} can be listed, ${invalid.length} cannot.`)
  for (const { index, reason } of invalid.slice(0, MAX_SHOWN))
    out.note(`  row ${index + 2}: ${reason}`)
  if (invalid.length > MAX_SHOWN) out.note(`  and ${invalid.length - MAX_SHOWN} more`)
  const warned = valid.filter(({ warnings }) => warnings.length > 0)
  for (const { index, warnings } of warned.slice(0, MAX_SHOWN)) {
    out.note(`  row ${index + 2}: ${warnings.join(' ')}`)
  }
  if (warned.length > MAX_SHOWN) out.note(`  and ${warned.length - MAX_SHOWN} more warnings`)
}

/** Lists the rows in batches, and returns those that failed. */
async function list(
  { client, out }: Session,
  path: string,
  of: string,
  rows: Row[],
): Promise<Checked[]> {
  const journal = await openJournal(path, of)
  const batches = inBatches(rows, BATCH_SIZE)
  if (journal.results.length > 0) {
    out.note(`Continuing after ${journal.results.flat().length} rows of the interrupted import.`)
  }
  const results = await sendBatches<Row, ListingResult>(path, journal, batches, {
    send: async (batch, idempotencyKey) => {
      const items = batch.map(({ item }) => item as unknown as OwnListingItem)
      return (await client.tools.listings.create(items, { idempotencyKey })).results
    },
    unknown: (batch) =>
      batch.map((_, index) => ({ status: 'failed', index, errors: { row: [UNKNOWN] } })),
    waiting: (seconds) => out.progress(`Waiting ${seconds} s for the write limit`),
    progress: (done) =>
      out.progress(`Listed ${Math.min(done * BATCH_SIZE, rows.length)} of ${rows.length} rows`),
  })
  out.endProgress()
  return results.flatMap((ofBatch, batch) =>
    ofBatch.flatMap((result): Checked[] =>
      result.status === 'failed'
        ? [{ ...batches[batch]![result.index]!, reason: reasonOf(result) ?? 'The row failed.' }]
        : [],
    ),
  )
}

type ListingResult = BulkCreateResult['results'][number]

const UNKNOWN = 'It may be listed already: check it before you import it again.'

const writeFailed = (path: string, { columns }: CsvFile, failed: Checked[]) =>
  writeFile(
    path,
    failedCsv(
      columns,
      failed
        .toSorted((a, b) => a.index - b.index)
        .map(({ row, reason }) => ({ row, reason: reason ?? '' })),
    ),
  )

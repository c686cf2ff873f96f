import postgres from 'postgres'
import { type Context, inTransaction } from '../context.ts'
import { type HeldLock, withLock } from '../database/advisory-lock.ts'
import type { Line } from './lines.ts'
import { BadRecord, type CatalogRecord, labelOf, parseRecord } from './record.ts'
import { saveRecords } from './save-records.ts'

export type ImportContext = Pick<Context, 'db' | 'begin' | 'databaseUrl' | 'log'>

export type ImportCounts = { created: number; updated: number; unchanged: number; rejected: number }

/** Each line counts once; of the rejected ones the first hundred say why. */
export type ImportReport<Place = number> = ImportCounts & {
  errors: { line: Place; message: string }[]
}

export type ImportOptions = { onProgress?: ((soFar: ImportCounts) => void) | undefined }

/** The source broke off, as a damaged file or a lost client does. What came before it is in the catalog. */
export class ImportInterrupted extends Error {
  override name = 'ImportInterrupted'
  readonly report: ImportReport<number | string>

  constructor(report: ImportReport<number | string>, lastLine: unknown, cause: unknown) {
    const where = lastLine === undefined ? 'before the first line' : `after line ${lastLine}`
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(`The import broke off ${where}: ${reason}`, { cause })
    this.report = report
  }
}

/** Lines a batch, and so a transaction: long enough to be quick, short enough to keep nobody waiting. */
const BATCH_LINES = 1_000
const MOST_ERRORS = 100
/** Below this many changes the planner's picture of the tables stays good enough. */
const ANALYZE_ABOVE = 1_000

/**
 * Takes lines into the catalog, as if one after the other: a later line for the same key wins, a card needs
 * its set before it. One import runs at a time; another waits. What isn't in the lines stays as it is.
 *
 * @throws ImportInterrupted when the lines break off; a failing database fails the import, and so does the loss of
 * the lock that keeps another one waiting; finished batches stay
 */
export async function importCatalog<Place extends number | string>(
  ctx: ImportContext,
  lines: AsyncIterable<Line<Place>>,
  options: ImportOptions = {},
): Promise<ImportReport<Place>> {
  return withLock(ctx.databaseUrl, 'import', async (lock) => {
    const report = await importLines(ctx, lock, lines, options)
    await analyzeAfter(ctx, report)
    return report
  })
}

/** The same for a caller that holds the import lock: no batch goes in without it. In a transaction each batch is a savepoint. */
export async function importLines<Place extends number | string>(
  ctx: ImportContext,
  lock: HeldLock,
  lines: AsyncIterable<Line<Place>>,
  { onProgress }: ImportOptions = {},
): Promise<ImportReport<Place>> {
  const report: ImportReport<Place> = {
    created: 0,
    updated: 0,
    unchanged: 0,
    rejected: 0,
    errors: [],
  }
  for await (const { entries, broken } of batchesOf(lines)) {
    await saveBatch(ctx, lock, entries, report)
    if (broken) throw new ImportInterrupted(report, broken.lastLine, broken.cause)
    onProgress?.({ ...report })
  }
  return report
}

/** After a bulk load the planner would guess for minutes. Best effort: PostgreSQL gets there by itself. */
export async function analyzeAfter(ctx: ImportContext, counts: ImportCounts): Promise<void> {
  if (counts.created + counts.updated <= ANALYZE_ABOVE) return
  try {
    await ctx.db`analyze series, sets, cards, products`
  } catch (error) {
    ctx.log.warn({ err: error }, 'the catalog tables could not be analyzed after an import')
  }
}

type Entry<Place> = { line: Place; record: CatalogRecord } | { line: Place; refusal: string }

type Batch<Place> = {
  entries: Entry<Place>[]
  /** On the last batch, when the source failed after it. */
  broken?: { lastLine: Place | undefined; cause: unknown }
}

/** Gathers lines until there are enough, or one repeats a key: no statement may touch a row twice. */
async function* batchesOf<Place>(
  lines: AsyncIterable<Line<Place>>,
): AsyncGenerator<Batch<Place>, void> {
  let entries: Entry<Place>[] = []
  let keys = new Set<string>()
  let lastLine: Place | undefined
  let broken: Batch<Place>['broken']
  try {
    for await (const line of lines) {
      const entry = entryOf(line)
      const key = 'record' in entry ? keyOf(entry.record) : undefined
      if (entries.length === BATCH_LINES || (key && keys.has(key))) {
        yield { entries }
        entries = []
        keys = new Set()
      }
      entries.push(entry)
      if (key) keys.add(key)
      lastLine = line.number
    }
  } catch (cause) {
    broken = { lastLine, cause }
  }
  if (entries.length > 0 || broken) yield { entries, broken }
}

function entryOf<Place>(line: Line<Place>): Entry<Place> {
  if ('error' in line) return { line: line.number, refusal: line.error }
  try {
    return { line: line.number, record: parseRecord(line.text) }
  } catch (error) {
    if (error instanceof BadRecord) return { line: line.number, refusal: error.message }
    throw error
  }
}

function keyOf(record: CatalogRecord): string {
  switch (record.type) {
    case 'series':
      return `series ${record.name}`
    case 'product':
      return `product ${record.slug}`
    default:
      return `${record.type} ${record.id}`
  }
}

/** Saves a batch as one. When the database refuses it, halves it until only the culprit is left out. */
async function saveBatch<Place>(
  ctx: ImportContext,
  lock: HeldLock,
  entries: Entry<Place>[],
  report: ImportReport<Place>,
): Promise<void> {
  const records = entries.flatMap((entry) => ('record' in entry ? [entry.record] : []))
  let refusals = new Map<CatalogRecord, string>()
  try {
    if (records.length > 0) {
      const saved = await inTransaction(ctx, async ({ db }) => {
        await lock.guard(db)
        return saveRecords(db, records)
      })
      refusals = saved.refusals
      report.created += saved.created
      report.updated += saved.updated
      report.unchanged += records.length - refusals.size - saved.created - saved.updated
    }
  } catch (error) {
    if (!isRefusal(error)) throw error
    if (entries.length > 1) {
      const half = Math.ceil(entries.length / 2)
      await saveBatch(ctx, lock, entries.slice(0, half), report)
      await saveBatch(ctx, lock, entries.slice(half), report)
      return
    }
    ctx.log.warn({ err: error, line: entries[0]?.line }, 'the database refused a line of an import')
    refusals = new Map(
      records.map((record) => [record, `the database refused it: ${error.message}`]),
    )
  }
  for (const entry of entries) {
    const message = 'record' in entry ? refusalOf(entry.record, refusals) : entry.refusal
    if (message === undefined) continue
    report.rejected++
    if (report.errors.length < MOST_ERRORS) report.errors.push({ line: entry.line, message })
  }
}

function refusalOf(
  record: CatalogRecord,
  refusals: Map<CatalogRecord, string>,
): string | undefined {
  const reason = refusals.get(record)
  return reason && `${labelOf(record)}: ${reason}`
}

/**
 * Whether the database minds the data, by the class of its error: data exception, integrity constraint, view
 * check, program limit, raised by a trigger. Anything else, such as a lost connection, is no line's fault.
 */
const isRefusal = (error: unknown): error is postgres.PostgresError =>
  error instanceof postgres.PostgresError && /^(22|23|44|54|P0)/.test(error.code)

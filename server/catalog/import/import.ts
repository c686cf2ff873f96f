import postgres from 'postgres'
import type { Context } from '../../context.ts'
import { type AdvisoryLock, withAdvisoryLock } from '../../database/advisory-lock.ts'
import { inTransaction } from '../../database/in-transaction.ts'
import { type CatalogRecord, labelOf } from '../record.ts'
import type { Line } from './lines.ts'
import { type ImportCounts, type ImportReport, Tally } from './report.ts'
import { saveRecords } from './save-records.ts'
import { discardStaged, readBatch, type StagedRecord, stageLines } from './staged-records.ts'

export type ImportContext = Pick<Context, 'db' | 'begin' | 'log'> & {
  databaseUrl: string
}

export type ImportProgress = ImportCounts & {
  /** Number of lines read so far, without blank ones. */
  lines: number
  /** The saved share of their records, from 0 to 1. */
  saved: number
}

export type ImportOptions = {
  onProgress?: ((soFar: ImportProgress) => void) | undefined
  /** Maximum bytes of records of one import. */
  maxBytes?: number
  /** Ends the import before its next batch is saved. */
  signal?: AbortSignal
  /** Called when all lines are read. An error ends the import before any of them is saved. */
  beforeSaving?: () => Promise<void>
}

/** The source failed, because of a damaged file or a lost client. The lines before were imported. */
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

/** A signal ended the import. The earlier batches are saved; the next import discards the staged ones. */
export class ImportAborted extends Error {
  override name = 'ImportAborted'
  readonly report: ImportReport<number | string>

  constructor(report: ImportReport<number | string>) {
    super(
      'The import was interrupted: the other records were not saved. Import the same again to save them.',
    )
    this.report = report
  }
}

/** With fewer changes, the planner's statistics remain good enough. */
const ANALYZE_ABOVE = 1_000

/**
 * Imports lines into the catalog. All lines are read and staged before the first one is saved, so the last line of a key
 * wins, and a set may follow its cards. Only one import runs at a time; others wait. Records without a line remain
 * unchanged.
 *
 * @throws ImportInterrupted if the source fails. If the database fails or the import lock is lost, the import fails and
 * its finished batches remain
 */
export async function importCatalog<Place extends number | string>(
  ctx: ImportContext,
  lines: AsyncIterable<Line<Place>>,
  options: ImportOptions = {},
): Promise<ImportReport<Place>> {
  return withAdvisoryLock(ctx.databaseUrl, 'import', async (lock) => {
    const report = await importLines(ctx, lock, lines, options)
    await analyzeAfter(ctx, report)
    return report
  })
}

/**
 * Imports lines like `importCatalog`, for a caller that holds the import lock, which every batch checks. In a transaction
 * each batch is a savepoint.
 */
export async function importLines<Place extends number | string>(
  ctx: ImportContext,
  lock: AdvisoryLock,
  lines: AsyncIterable<Line<Place>>,
  { onProgress, maxBytes, signal, beforeSaving }: ImportOptions = {},
): Promise<ImportReport<Place>> {
  const tally = new Tally<Place>()
  let linesRead = 0
  const reportProgress = (saved: number) =>
    onProgress?.({ ...tally.counts, lines: linesRead, saved })

  await discardStaged(ctx, lock)
  const { batches, broken } = await stageLines(ctx, lock, lines, tally, {
    ...(maxBytes !== undefined && { maxBytes }),
    onBatch: (read) => {
      linesRead = read
      reportProgress(0)
    },
  })
  await beforeSaving?.()
  for (const [index, batch] of batches.entries()) {
    if (signal?.aborted) throw new ImportAborted(tally.report())
    await saveBatch(ctx, lock, batch, await readBatch<Place>(ctx, batch), tally)
    reportProgress((index + 1) / batches.length)
  }
  await discardStaged(ctx, lock)
  if (broken && signal?.aborted) throw new ImportAborted(tally.report())
  if (broken) throw new ImportInterrupted(tally.report(), broken.lastLine, broken.cause)
  return tally.report()
}

/** Updates the planner's statistics after a bulk load. Best effort: autovacuum does the same minutes later. */
export async function analyzeAfter(ctx: ImportContext, counts: ImportCounts): Promise<void> {
  if (counts.created + counts.updated <= ANALYZE_ABOVE) return
  try {
    await ctx.db`analyze series, sets, cards, products`
  } catch (error) {
    ctx.log.warn({ err: error }, 'cannot analyze the catalog tables after an import')
  }
}

/** Saves the records of a batch together. If the database rejects them, bisects them until only the invalid ones fail. */
async function saveBatch<Place>(
  ctx: ImportContext,
  lock: AdvisoryLock,
  batch: number,
  staged: StagedRecord<Place>[],
  tally: Tally<Place>,
): Promise<void> {
  // Later lines may have replaced all records of the batch.
  if (staged.length === 0) return
  const records = staged.map(({ record }) => record)
  let refusals: Map<CatalogRecord, string>
  try {
    const saved = await inTransaction(ctx, async ({ db }) => {
      await lock.guard(db)
      await db`
        delete from import_records
        where batch = ${batch} and position = any(${staged.map(({ position }) => position)}::bigint[])
      `
      return saveRecords(db, records)
    })
    refusals = saved.refusals
    tally.counts.created += saved.created
    tally.counts.updated += saved.updated
    tally.counts.unchanged += records.length - refusals.size - saved.created - saved.updated
  } catch (error) {
    if (!isRefusal(error)) throw error
    if (staged.length > 1) {
      const half = Math.ceil(staged.length / 2)
      await saveBatch(ctx, lock, batch, staged.slice(0, half), tally)
      await saveBatch(ctx, lock, batch, staged.slice(half), tally)
      return
    }
    ctx.log.warn({ err: error, line: staged[0]!.line }, 'the database rejected a line of an import')
    refusals = new Map([[records[0]!, `the database refused it: ${error.message}`]])
  }
  for (const { position, line, record } of staged) {
    const reason = refusals.get(record)
    if (reason !== undefined) tally.reject(position, line, `${labelOf(record)}: ${reason}`)
  }
}

/**
 * Whether the data caused the error, by its SQLSTATE class: data exception, integrity constraint, view check, program
 * limit, or raised by a trigger. Other errors, such as a lost connection, have another cause.
 */
const isRefusal = (error: unknown): error is postgres.PostgresError =>
  error instanceof postgres.PostgresError && /^(22|23|44|54|P0)/.test(error.code)

import type { Context } from '../../context.ts'
import type { AdvisoryLock } from '../../database/advisory-lock.ts'
import { inTransaction } from '../../database/in-transaction.ts'
import { BadRecord, type CatalogRecord, keyOf, labelOf, parseRecord } from '../record.ts'
import type { Line } from './lines.ts'
import type { Tally } from './report.ts'

type StagingContext = Pick<Context, 'db' | 'begin'>

/** A record to be saved. */
export type StagedRecord<Place> = { position: number; line: Place; record: CatalogRecord }

export type Staged<Place> = {
  /** In the order of saving: series and sets, then the cards and products that refer to them. */
  batches: number[]
  /** Set if the source failed; the batches contain the lines before the failure. */
  broken?: { lastLine: Place | undefined; cause: unknown } | undefined
}

/** Limits of a batch, which is one transaction: it blocks this process for a few milliseconds only. */
const BATCH_RECORDS = 1_000
const BATCH_BYTES = 256 * 1024
/** All cards ever printed are about 60 MB. */
export const MAX_STAGED_BYTES = 1024 ** 3
const BATCHES_PER_DELETE = 10

/** The source contains more records than an import allows. */
export class ImportTooLarge extends Error {
  override name = 'ImportTooLarge'

  constructor(maxBytes: number) {
    super(`an import holds at most ${maxBytes / 1024 ** 2} MiB of records; split the file`)
  }
}

/**
 * Reads all lines and writes their records to the staging table `import_records`, so that memory is bounded by the size
 * of a batch. The last line of a key replaces earlier ones.
 *
 * The caller holds the import lock and has discarded the staged records of earlier imports.
 */
export async function stageLines<Place extends number | string>(
  ctx: StagingContext,
  lock: AdvisoryLock,
  lines: AsyncIterable<Line<Place>>,
  tally: Tally<Place>,
  options: { maxBytes?: number; onBatch?: (linesRead: number) => void } = {},
): Promise<Staged<Place>> {
  const { maxBytes = MAX_STAGED_BYTES, onBatch } = options
  const owners = newGroup<Place>()
  const members = newGroup<Place>()
  let position = 0
  let lastBatch = 0
  let bytes = 0
  let lastLine: Place | undefined
  let broken: Staged<Place>['broken']

  const flush = async (group: Group<Place>) => {
    if (group.rows.size === 0) return
    lastBatch++
    group.batches.push(lastBatch)
    await writeBatch(ctx, lock, lastBatch, [...group.rows.values()], tally)
    group.rows.clear()
    group.bytes = 0
    onBatch?.(position)
  }

  async function* linesUntilBroken() {
    try {
      yield* lines
    } catch (cause) {
      broken = { lastLine, cause }
    }
  }

  for await (const line of linesUntilBroken()) {
    const row = rowOf(position + 1, line, tally)
    bytes += row?.bytes ?? 0
    if (bytes > maxBytes) {
      broken = { lastLine, cause: new ImportTooLarge(maxBytes) }
      break
    }
    position++
    lastLine = line.number
    if (!row) continue
    const group = row.type === 'series' || row.type === 'set' ? owners : members
    const id = `${row.type} ${row.key}`
    const former = group.rows.get(id)
    if (former) {
      tally.supersede(former.position, former.line, row.line, row.label)
      group.bytes -= former.bytes
      group.rows.delete(id)
    }
    group.rows.set(id, row)
    group.bytes += row.bytes
    if (group.rows.size >= BATCH_RECORDS || group.bytes >= BATCH_BYTES) await flush(group)
  }
  // A small import is saved in one transaction, so that its sets never appear without their cards.
  if (lastBatch === 0) {
    for (const [id, row] of members.rows) owners.rows.set(id, row)
    members.rows.clear()
  }
  await flush(owners)
  await flush(members)
  return { batches: [...owners.batches, ...members.batches], broken }
}

/** Series and sets, or the cards and products that refer to sets. */
type Group<Place> = {
  /** The batches written so far. */
  batches: number[]
  /** The rows of the next batch by type and key. */
  rows: Map<string, Row<Place>>
  bytes: number
}

const newGroup = <Place>(): Group<Place> => ({ batches: [], rows: new Map(), bytes: 0 })

type Row<Place> = {
  position: number
  line: Place
  type: string
  key: string
  label: string
  /** The row of `import_records` as JSON. */
  json: string
  bytes: number
}

/** Parses a line, or counts it as rejected. */
function rowOf<Place>(
  position: number,
  line: Line<Place>,
  tally: Tally<Place>,
): Row<Place> | undefined {
  if ('error' in line) {
    tally.reject(position, line.number, line.error)
    return undefined
  }
  try {
    const record = parseRecord(line.text)
    const row = { type: record.type, key: keyOf(record), position, line: line.number }
    const json = JSON.stringify({ ...row, record })
    return { ...row, label: labelOf(record), json, bytes: Buffer.byteLength(json) }
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error
    tally.reject(position, line.number, error.message)
    return undefined
  }
}

/** Writes rows with distinct keys, and counts the rows of earlier batches that they replace. */
async function writeBatch<Place>(
  ctx: StagingContext,
  lock: AdvisoryLock,
  batch: number,
  rows: Row<Place>[],
  tally: Tally<Place>,
): Promise<void> {
  const json = `[${rows.map((row) => row.json).join(',')}]`
  const replaced = await inTransaction(ctx, async ({ db }) => {
    await lock.guard(db)
    return db<{ position: number; line: Place; superseded_by: Place; type: string; key: string }[]>`
      with incoming as (
        select *
        from
          json_to_recordset(${json}::text::json) as incoming (
            type text, key text, position bigint, line json, record json
          )
      ), replaced as (
        -- This sees the table from before the statement.
        select
          import_records.position,
          import_records.line,
          incoming.line as superseded_by,
          type,
          key
        from incoming join import_records using (type, key)
      ), written as (
        insert into import_records (type, key, batch, position, line, record)
        select type, key, ${batch}, position, line, record
        from incoming
        on conflict (type, key) do update set
          batch = excluded.batch,
          position = excluded.position,
          line = excluded.line,
          record = excluded.record
      )
      select position, line, superseded_by, type, key from replaced
    `
  })
  for (const { position, line, superseded_by, type, key } of replaced) {
    tally.supersede(position, line, superseded_by, `${type} ${key}`)
  }
}

/** The records of a batch: series and sets first, each group in the order of the source. */
export async function readBatch<Place>(
  { db }: Pick<StagingContext, 'db'>,
  batch: number,
): Promise<StagedRecord<Place>[]> {
  return db<StagedRecord<Place>[]>`
    select position, line, record
    from import_records
    where batch = ${batch}
    order by type in ('card', 'product'), position
  `
}

/** Deletes all staged records: rejected ones, and those of a killed import. */
export async function discardStaged(ctx: StagingContext, lock: AdvisoryLock): Promise<void> {
  let deleted: number
  do {
    deleted = await inTransaction(ctx, async ({ db }) => {
      await lock.guard(db)
      const { count } = await db`
        delete from import_records
        where batch < (select min(batch) from import_records) + ${BATCHES_PER_DELETE}
      `
      return count
    })
  } while (deleted > 0)
}

import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { connect } from '../../database/connect.ts'
import { migrate } from '../../database/migrate.ts'
import type { Sql } from '../../database/sql.ts'
import { transactionsOn } from '../../database/transactions.ts'
import { cutLock } from '../../test/database.ts'
import { emptyDatabase, start } from '../../test/embedded-homes.ts'
import { emptyCatalog } from '../../test/empty-catalog.ts'
import { whenFileEnds } from '../../test/when-file-ends.ts'
import { type CatalogRecord, parseRecord } from '../record.ts'
import { importBundledCatalog } from './bundled.ts'
import { type ImportContext, importCatalog } from './import.ts'
import { linesOf } from './lines.ts'
import { openSource } from './sources.ts'

describe('the bundled catalog', () => {
  let db: Sql
  let ctx: ImportContext
  beforeAll(async () => {
    // On a server of its own: each import is one long transaction, which would hold back the feeds and streams of all test
    // files.
    const { url } = await start(await emptyDatabase())
    db = connect(url, { max: 5 })
    const { begin, end } = transactionsOn(url, 5)
    whenFileEnds(async () => {
      await end()
      await db.end({ timeout: 1 })
    })
    await migrate(db, url)
    ctx = { db, begin, databaseUrl: url, log: pino({ level: 'silent' }) }
  })
  beforeEach(() => emptyCatalog(db))

  const size = async () => {
    const [row] = await db`
      select
        (select count(*)::int from series) as series,
        (select count(*)::int from sets) as sets,
        (select count(*)::int from cards) as cards,
        (select count(*)::int from products) as products
    `
    return row
  }
  const WHOLE = { series: 17, sets: 172, cards: 20_106, products: 390 }
  const NOTHING = { series: 0, sets: 0, cards: 0, products: 0 }

  it('the bundled catalog is imported completely or not at all: after a failure, one of several processes imports it, and the others wait', async () => {
    const failing = importBundledCatalog(ctx, ({ created }) => {
      if (created > 10_000) throw new Error('killed')
    })
    await expect(failing).rejects.toThrow('killed')
    expect(await size()).toEqual(NOTHING)

    const seen: number[] = []
    const sizes: unknown[] = []
    const reports = await Promise.all(
      [1, 2, 3].map(async () => {
        const report = await importBundledCatalog(ctx, ({ created }) => seen.push(created))
        sizes.push(await size())
        return report
      }),
    )
    expect(reports.filter((report) => report !== undefined)).toEqual([
      {
        created: 20_685,
        updated: 0,
        unchanged: 0,
        rejected: 0,
        errors: [],
        warnings: [],
        superseded: 0,
      },
    ])
    expect(sizes).toEqual([WHOLE, WHOLE, WHOLE])
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    expect(seen.at(-1)).toBe(20_685)
  })

  it('the import of the bundled catalog is rolled back when its lock is lost', async () => {
    let lost: Promise<void> | undefined
    const failing = importBundledCatalog(ctx, () => {
      lost ??= cutLock(db)
    })
    await expect(failing).rejects.toThrow('The lock for import was lost')
    await lost
    expect(await size()).toEqual(NOTHING)
  })

  it.each([
    { type: 'set', id: 'x', name: 'X', series: 'X', language: 'EN', region: 'int' },
    { type: 'product', slug: 'x', name: 'X', category: 'tin' },
  ])('the bundled catalog is not imported when there is a $type already', async (record) => {
    async function* own() {
      yield Buffer.from(JSON.stringify(record))
    }
    await importCatalog(ctx, linesOf(own()))
    expect(await importBundledCatalog(ctx)).toBeUndefined()
  })
})

describe('the files in catalog/', () => {
  /** The records by file, which two tests read. */
  const read = new Map<string, Promise<CatalogRecord[]>>()
  const recordsOf = (file: string) => read.getOrInsertComputed(file, readRecords)
  // They are large, and the worker runs other files afterwards.
  afterAll(() => read.clear())

  async function readRecords(file: string): Promise<CatalogRecord[]> {
    const path = fileURLToPath(new URL(`../../../catalog/${file}`, import.meta.url))
    const records: CatalogRecord[] = []
    for await (const line of (await openSource(path)).lines) {
      if ('error' in line) throw new Error(`${file}, line ${line.number}: ${line.error}`)
      records.push(parseRecord(line.text))
    }
    return records
  }

  it.each([
    ['english.ndjson.gz', { series: 17, set: 172, card: 20_106 }, ['EN int']],
    ['asia.ndjson.gz', { set: 468, card: 21_518 }, ['CN cn', 'CN tw', 'JP jp', 'KR kr']],
    ['europe.ndjson.gz', { set: 101, card: 16_761 }, ['DE int', 'FR int']],
    ['products.ndjson.gz', { product: 390 }, []],
  ])('every line of catalog/%s is valid', async (file, counts, languages) => {
    const records = await recordsOf(file)
    const counted: Record<string, number> = {}
    for (const { type } of records) counted[type] = (counted[type] ?? 0) + 1
    expect(counted).toEqual(counts)
    const sets = records.filter((record) => record.type === 'set')
    expect([...new Set(sets.map((set) => `${set.language} ${set.region}`))].toSorted()).toEqual(
      languages,
    )
  })

  it('no id occurs twice in the files in catalog/', async () => {
    const ids = new Set<string>()
    let count = 0
    for (const file of ['english', 'asia', 'europe', 'products']) {
      for (const record of await recordsOf(`${file}.ndjson.gz`)) {
        if (record.type === 'series') continue
        ids.add(record.type === 'product' ? record.slug : record.id)
        count++
      }
    }
    expect(ids.size).toBe(count)
  })
})

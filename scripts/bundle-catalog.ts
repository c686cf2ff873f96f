/**
 * Writes catalog/english.ndjson.gz from a checkout of pokemon-tcg-data: `node scripts/bundle-catalog.ts FOLDER`.
 * The output is reproducible: the same folder produces the same bytes.
 */
import { writeFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { SERIES_SHORTCUTS } from '../server/catalog/import/series.ts'
import { openSource } from '../server/catalog/import/sources.ts'
import { type CatalogRecord, parseRecord } from '../server/catalog/record.ts'

const TARGET = new URL('../catalog/english.ndjson.gz', import.meta.url)
/** Offset of the operating system in a gzip header. A fixed value makes the file the same on every system. */
const GZIP_OS_OFFSET = 9
const GZIP_OS_UNIX = 3

const [folder] = process.argv.slice(2)
if (!folder) {
  console.error('Usage: node scripts/bundle-catalog.ts FOLDER (a checkout of pokemon-tcg-data)')
  process.exit(2)
}

const records: CatalogRecord[] = []
for await (const line of (await openSource(folder)).lines) {
  if ('error' in line) throw new Error(`${line.number}: ${line.error}`)
  try {
    records.push(parseRecord(line.text))
  } catch (error) {
    throw new Error(`${line.number}: ${(error as Error).message}`)
  }
}

const sets = records.filter((record) => record.type === 'set')
const seriesNames = new Set(sets.map((set) => set.series))
const series: CatalogRecord[] = [...seriesNames].map((name) => ({
  type: 'series',
  name,
  shortcut: SERIES_SHORTCUTS.get(name) ?? null,
}))

const text = [...series, ...records].map((record) => `${JSON.stringify(record)}\n`).join('')
const bytes = gzipSync(text, { level: 9 })
bytes[GZIP_OS_OFFSET] = GZIP_OS_UNIX
await writeFile(TARGET, bytes)
console.log(
  `${series.length} series, ${sets.length} sets, ${records.length - sets.length} cards: ${bytes.length} bytes`,
)

import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { CARDS, CATALOG_FIXTURE, SETS } from './catalog-fixture.ts'
import { newHome } from './embedded-homes.ts'

const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url))

/** The totals after a first start of the small program. */
export const SMALL_CATALOG = { sets: SETS.length, cards: CARDS.length }

/**
 * Copies the program and replaces its bundled catalog with the catalog fixture: a first start with the real one costs
 * seven seconds of CPU time. The copy is removed when the test file ends.
 *
 * @returns the path of its cardstall.js
 */
export function copySmallProgram(): string {
  const copy = newHome()
  for (const name of ['cardstall.js', 'package.json', 'server', 'migrations', 'docs']) {
    // With their times: the copy of the bundle stays current.
    cpSync(join(REPOSITORY, name), join(copy, name), { recursive: true, preserveTimestamps: true })
  }
  symlinkSync(join(REPOSITORY, 'node_modules'), join(copy, 'node_modules'))
  mkdirSync(join(copy, 'catalog'))
  writeSmallCatalog(copy)
  return join(copy, 'cardstall.js')
}

/** Writes the catalog fixture as the bundled catalog of a copy of the program. */
export function writeSmallCatalog(root: string): void {
  const lines = CATALOG_FIXTURE.map((record) => `${JSON.stringify(record)}\n`).join('')
  writeFileSync(join(root, 'catalog/english.ndjson.gz'), gzipSync(lines))
  writeFileSync(join(root, 'catalog/products.ndjson.gz'), gzipSync(''))
}

import { gzipSync } from 'node:zlib'
import { CARDS, CATALOG_FIXTURE, SETS } from './catalog-fixture.ts'

/** The totals after a first start with the small catalog. */
export const SMALL_CATALOG = { sets: SETS.length, cards: CARDS.length }

const base64 = (text: string) => gzipSync(text).toString('base64')

/** The files of a small bundled catalog. */
const FILES = {
  'english.ndjson.gz': base64(CATALOG_FIXTURE.map((record) => JSON.stringify(record)).join('\n')),
  'products.ndjson.gz': base64(''),
}

/**
 * The source of a module to preload. It replaces the bundled catalog by the catalog fixture: a first start with the real
 * one costs two more seconds of CPU time.
 */
export const SMALL_CATALOG_PRELOAD = `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  import { Readable } from 'node:stream'
  const files = ${JSON.stringify(FILES)}
  const { createReadStream } = fs
  fs.createReadStream = (path, ...options) => {
    const [, name] = /catalog.([^/\\\\]+)$/.exec(path) ?? []
    return name in files
      ? Readable.from([Buffer.from(files[name], 'base64')])
      : createReadStream(path, ...options)
  }
  syncBuiltinESMExports()
`

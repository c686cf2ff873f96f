import { isUtf8 } from 'node:buffer'
import { constants, createReadStream } from 'node:fs'
import { access, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createGunzip } from 'node:zlib'
import { StartError } from '../../start-error.ts'
import { type Line, linesOf } from './lines.ts'

/** A file or folder to import. It is read while its lines are consumed. */
export type Source = {
  lines: AsyncIterable<Line<number | string>>
  /** Bytes on the disk; with `bytesRead` they show the progress of an import. */
  totalBytes: number
  bytesRead(): number
}

/**
 * Opens an NDJSON file, plain or gzip, or a folder in the layout of the public pokemon-tcg-data repository.
 *
 * @throws StartError if the path cannot be imported
 */
export async function openSource(path: string): Promise<Source> {
  const found = await stat(path).catch((error) => cannotRead(path, error))
  await access(path, constants.R_OK).catch((error) => cannotRead(path, error))
  if (found.isDirectory()) return openFolder(path)
  if (found.isFile() && /\.(ndjson|gz)$/i.test(path)) return openFile(path, found.size)
  throw new StartError(
    `${path} can't be imported: it must end in .ndjson or .gz, or be a pokemon-tcg-data folder.`,
  )
}

function cannotRead(path: string, error: NodeJS.ErrnoException): never {
  if (error.code === 'ENOENT') throw new StartError(`There is no file or folder ${path}.`)
  throw new StartError(`${path} can't be read: ${error.message}`)
}

function openFile(path: string, totalBytes: number): Source {
  let bytesRead = 0
  async function* bytes() {
    for await (const chunk of createReadStream(path)) {
      bytesRead += chunk.length
      yield chunk as Buffer
    }
  }
  return {
    lines: linesOf(path.toLowerCase().endsWith('.gz') ? gunzip(bytes()) : bytes()),
    totalBytes,
    bytesRead: () => bytesRead,
  }
}

/**
 * Bytes that are decompressed at a time. Damaged data loses the output of its piece only, and a piece cannot grow to
 * more than about a thousand times its size.
 */
const GZIP_PIECE_BYTES = 256

/**
 * Decompresses a stream. A damaged or truncated one returns everything before the damage and then fails; a piped zlib
 * stream would lose its read-ahead data.
 */
export async function* gunzip(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const inflate = createGunzip()
  const inflated: Buffer[] = []
  inflate.on('data', (chunk: Buffer) => inflated.push(chunk))
  let failed: (error: Error) => void = () => {}
  inflate.on('error', (error) => failed(error))

  const settled = (begin: (done: (error?: Error | null) => void) => void) =>
    new Promise<Error | undefined>((resolve) => {
      failed = resolve
      begin((error) => resolve(error ?? undefined))
    })
  async function* handOn(error: Error | undefined) {
    yield* inflated.splice(0)
    if (error) {
      throw new Error(`the gzip data is damaged or cut off (${error.message})`, { cause: error })
    }
  }

  try {
    for await (const chunk of stream) {
      for (let start = 0; start < chunk.length; start += GZIP_PIECE_BYTES) {
        const piece = chunk.subarray(start, start + GZIP_PIECE_BYTES)
        yield* handOn(await settled((done) => inflate.write(piece, done)))
      }
    }
    // Padding after the last gzip member has already ended it.
    if (inflate.readableEnded) return
    yield* handOn(await settled((done) => inflate.once('end', done).end()))
  } finally {
    inflate.destroy()
  }
}

const SETS_FILE = 'sets/en.json'
const CARDS_FOLDER = 'cards/en'

/** Opens the published English data: a file with the sets, and for each set a file with its cards. */
async function openFolder(folder: string): Promise<Source> {
  const names = await readdir(join(folder, CARDS_FOLDER)).catch(() => undefined)
  const setsFile = await stat(join(folder, SETS_FILE)).catch(() => undefined)
  if (!names || !setsFile?.isFile()) {
    throw new StartError(
      `The folder ${folder} can't be imported: it has no ${SETS_FILE} and ${CARDS_FOLDER}/, as pokemon-tcg-data has.`,
    )
  }
  const cardFiles = new Set(names.filter((name) => name.endsWith('.json')).sort())
  let totalBytes = setsFile.size
  for (const name of cardFiles) totalBytes += (await stat(join(folder, CARDS_FOLDER, name))).size

  let bytesRead = 0
  const read = async (file: string): Promise<RawFile> => {
    const bytes = await readFile(join(folder, file))
    bytesRead += bytes.length
    return rawFile(file, bytes)
  }

  async function* cardLines(name: string) {
    if (!cardFiles.delete(name)) return
    const setId = name.slice(0, -'.json'.length)
    yield* linesOfArray(await read(`${CARDS_FOLDER}/${name}`), (card) => cardFields(card, setId))
  }

  async function* lines(): AsyncGenerator<Line<string>> {
    const sets = await read(SETS_FILE)
    for (const [index, line] of linesOfArray(sets, setFields).entries()) {
      yield line
      // Only names that were found in the folder are ever opened, whatever an id says.
      yield* cardLines(`${(sets.values[index] as Raw | null)?.id}.json`)
    }
    for (const name of cardFiles) yield* cardLines(name)
  }

  return { lines: lines(), totalBytes, bytesRead: () => bytesRead }
}

type Raw = Record<string, unknown>
type RawFile = { file: string; values: unknown[]; error?: string }

function rawFile(file: string, bytes: Buffer): RawFile {
  if (!isUtf8(bytes)) return { file, values: [], error: 'not valid UTF-8' }
  try {
    const values = JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''))
    if (Array.isArray(values)) return { file, values }
  } catch {
    return { file, values: [], error: 'not valid JSON' }
  }
  return { file, values: [], error: 'not a JSON array' }
}

function linesOfArray(
  { file, values, error }: RawFile,
  fields: (raw: Raw) => object,
): Line<string>[] {
  if (error) return [{ number: file, error }]
  return values.map((value, index) => ({
    number: `${file} #${index + 1}`,
    text: JSON.stringify(isObject(value) ? fields(value) : value),
  }))
}

const isObject = (value: unknown): value is Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const setFields = (set: Raw) => ({
  type: 'set',
  id: set.id,
  shortcut: set.ptcgoCode,
  name: set.name,
  series: set.series,
  language: 'EN',
  region: 'int',
  release_date: releaseDate(set.releaseDate),
  total_cards: set.total,
  printed_total: set.printedTotal,
  logo_url: images(set).logo,
  symbol_url: images(set).symbol,
})

/** Only the file's name contains the set's id. The number is not always the end of the card's id. */
const cardFields = (card: Raw, setId: string) => ({
  type: 'card',
  id: card.id,
  set_id: setId,
  name: card.name,
  number: collectorNumber(card.number),
  rarity: card.rarity,
  supertype: card.supertype,
  hp: card.hp,
  types: card.types,
  image_small: images(card).small,
  image_large: images(card).large,
})

/** A string in the published files. Some copies have a JSON number, which cannot have leading zeros. */
const collectorNumber = (value: unknown) => (Number.isSafeInteger(value) ? String(value) : value)

/** The source has slashes in dates, and three hyphens for an unknown date. */
const releaseDate = (value: unknown) =>
  typeof value !== 'string' ? value : value === '---' ? null : value.replaceAll('/', '-')

const images = (raw: Raw) => (raw.images ?? {}) as Raw

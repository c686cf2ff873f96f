import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { StartError } from '../../start-error.ts'
import { newDirectory } from '../../test/new-directory.ts'
import { parseRecord } from '../record.ts'
import { gunzip, openSource } from './sources.ts'

let folder: string
beforeAll(async () => {
  folder = await newDirectory()
})

async function file(name: string, content: string | Buffer | object): Promise<string> {
  const path = join(folder, name)
  await mkdir(dirname(path), { recursive: true })
  const isData = typeof content === 'string' || Buffer.isBuffer(content)
  await writeFile(path, isData ? content : JSON.stringify(content))
  return path
}

const linesIn = async (path: string) => Array.fromAsync((await openSource(path)).lines)

/** The lines of a folder as records, or their errors, by position. */
async function recordsIn(path: string): Promise<Record<string, unknown>> {
  const records: Record<string, unknown> = {}
  for (const line of await linesIn(path)) {
    try {
      records[line.number] = 'error' in line ? line.error : parseRecord(line.text)
    } catch (error) {
      records[line.number] = (error as Error).message
    }
  }
  return records
}

describe('a file of lines', () => {
  it.each(['sets.ndjson', 'SETS.NDJSON'])('the lines of %s are read unchanged', async (name) => {
    expect(await linesIn(await file(name, 'a\nb'))).toEqual([
      { number: 1, text: 'a' },
      { number: 2, text: 'b' },
    ])
  })

  it('a file of lines may be gzip with several members', async () => {
    const path = await file('two.gz', Buffer.concat([gzipSync('a\nb'), gzipSync('c\n')]))
    expect(await linesIn(path)).toEqual([
      { number: 1, text: 'a' },
      { number: 2, text: 'bc' },
    ])
  })

  it('a source of lines knows how many of its bytes have been read', async () => {
    const source = await openSource(await file('long.ndjson', 'line\n'.repeat(50_000)))
    expect([source.bytesRead(), source.totalBytes]).toEqual([0, 250_000])
    const lines = source.lines[Symbol.asyncIterator]()
    await lines.next()
    expect(source.bytesRead()).toBeGreaterThan(0)
    expect(source.bytesRead()).toBeLessThan(250_000)
    while (!(await lines.next()).done);
    expect(source.bytesRead()).toBe(250_000)
  })
})

describe('invalid paths', () => {
  it('a missing path to import is a start error', async () => {
    const path = join(folder, 'missing.ndjson')
    await expect(openSource(path)).rejects.toEqual(
      new StartError(`There is no file or folder ${path}.`),
    )
  })

  it('a path with another extension is a start error', async () => {
    const path = await file('cards.json', '[]')
    await expect(openSource(path)).rejects.toEqual(
      new StartError(
        `${path} can't be imported: it must end in .ndjson or .gz, or be a pokemon-tcg-data folder.`,
      ),
    )
  })

  it('a folder without pokemon-tcg-data is a start error', async () => {
    await file('other/sets/de.json', '[]')
    const path = join(folder, 'other')
    await expect(openSource(path)).rejects.toEqual(
      new StartError(
        `The folder ${path} can't be imported: it has no sets/en.json and cards/en/, as pokemon-tcg-data has.`,
      ),
    )
  })
})

/** The bytes of all reachable buffers. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  collect()
  // Another thread frees the buffers that a collection has found unreachable. The next collection waits for it.
  collect()
  return process.memoryUsage().arrayBuffers
}

describe('gunzip', () => {
  const text = Array.from({ length: 20_000 }, (_, index) => `line ${index * 7919}\n`).join('')
  const whole = gzipSync(text)

  async function unpack(bytes: Uint8Array, chunkBytes = 10_000) {
    async function* chunks() {
      for (let start = 0; start < bytes.length; start += chunkBytes) {
        yield bytes.subarray(start, start + chunkBytes)
      }
    }
    const unpacked: Buffer[] = []
    let error: string | undefined
    try {
      for await (const chunk of gunzip(chunks())) unpacked.push(chunk)
    } catch (failure) {
      error = (failure as Error).message
    }
    return { text: Buffer.concat(unpacked).toString(), error }
  }

  it.each([37, 256, 1000, 10_000_000])(
    'gunzip restores the text from chunks of %i bytes',
    async (chunkBytes) => {
      expect(await unpack(whole, chunkBytes)).toEqual({ text, error: undefined })
    },
  )

  it('gunzip ignores zeros after the end', async () => {
    expect(await unpack(Buffer.concat([whole, Buffer.alloc(500)]))).toEqual({
      text,
      error: undefined,
    })
  })

  it.each([0.1, 0.5, 0.99])(
    'gunzip of the first %f of a file yields what it contains, then fails',
    async (share) => {
      const unpacked = await unpack(whole.subarray(0, Math.floor(whole.length * share)))
      expect(unpacked.error).toBe('the gzip data is damaged or cut off (unexpected end of file)')
      expect(text.startsWith(unpacked.text)).toBe(true)
      expect(unpacked.text.length).toBeGreaterThan(text.length * (share - 0.05))
    },
  )

  it('gunzip yields the text before damage, then fails', async () => {
    const stored = gzipSync(text, { level: 0 })
    // Overwrites the length of the second stored block.
    const damaged = Buffer.from(stored)
    damaged.fill(0xff, 100_000)
    const unpacked = await unpack(damaged)
    expect(unpacked.error).toMatch(/^the gzip data is damaged or cut off \(/)
    expect(unpacked.text.slice(0, 90_000)).toBe(text.slice(0, 90_000))
  })

  it('gunzip fails on a wrong checksum after yielding nearly everything', async () => {
    const damaged = Buffer.from(whole)
    damaged[damaged.length - 5]! ^= 1
    const unpacked = await unpack(damaged)
    expect(unpacked.error).toBe('the gzip data is damaged or cut off (incorrect data check)')
    expect(text.startsWith(unpacked.text)).toBe(true)
    expect(unpacked.text.length).toBeGreaterThan(text.length - 1_000)
  })

  it('gunzip fails on data that is not gzip', async () => {
    expect(await unpack(Buffer.from('{"type":"set"}\n'))).toEqual({
      text: '',
      error: 'the gzip data is damaged or cut off (incorrect header check)',
    })
  })

  it('gunzip passes on the error of its source', async () => {
    async function* chunks() {
      yield whole.subarray(0, 1000)
      throw new Error('the client has gone')
    }
    await expect(Array.fromAsync(gunzip(chunks()))).rejects.toThrow('the client has gone')
  })

  it('gunzip of a thousandfold compression uses little memory', async () => {
    const bomb = gzipSync(Buffer.alloc(100_000_000))
    async function* chunks() {
      yield bomb
    }
    const heldBefore = heldBytes()
    let maxHeld = 0
    let bytes = 0
    let sampledAt = 0
    for await (const chunk of gunzip(chunks())) {
      bytes += chunk.length
      if (bytes - sampledAt < 20_000_000) continue
      sampledAt = bytes
      maxHeld = Math.max(maxHeld, heldBytes())
    }
    expect(bytes).toBe(100_000_000)
    expect(maxHeld - heldBefore).toBeLessThan(10_000_000)
  })
})

describe('a pokemon-tcg-data folder', () => {
  const pikachu = {
    id: 'bp-1',
    name: 'Pikachu',
    supertype: 'Pokémon',
    subtypes: ['Basic'],
    hp: '50',
    types: ['Lightning'],
    attacks: [{ name: 'Gnaw', cost: ['Lightning'] }],
    number: '1',
    rarity: 'Promo',
    images: {
      small: 'https://images.example/bp/1.png',
      large: 'https://images.example/bp/1_hires.png',
    },
  }

  it('a pokemon-tcg-data folder yields each set and its cards as import records', async () => {
    await file('data/sets/en.json', [
      {
        id: 'mep',
        name: 'Mega Evolution Promos',
        series: 'Mega Evolution',
        printedTotal: 13,
        total: 28,
        legalities: { unlimited: 'Legal' },
        ptcgoCode: 'MEP',
        releaseDate: '---',
        updatedAt: '---',
        images: {
          symbol: 'https://images.example/mep/symbol.png',
          logo: 'https://images.example/mep.png',
        },
      },
      {
        id: 'bp',
        name: 'Best of Game',
        series: 'Other',
        printedTotal: 9,
        total: 9,
        releaseDate: '2002/12/01',
      },
      { id: 'empty', name: 'Not Yet Out', series: 'Other' },
    ])
    await file('data/cards/en/bp.json', [
      pikachu,
      {
        ...pikachu,
        id: 'bp-2_A',
        supertype: 'Trainer',
        hp: undefined,
        types: undefined,
        rarity: undefined,
      },
    ])
    await file('data/cards/en/mep.json', [{ ...pikachu, id: 'mep-1', hp: 160, types: [] }])
    await file('data/cards/en/readme.txt', 'not cards')

    const records = await recordsIn(join(folder, 'data'))
    expect(Object.keys(records)).toEqual([
      'sets/en.json #1',
      'cards/en/mep.json #1',
      'sets/en.json #2',
      'cards/en/bp.json #1',
      'cards/en/bp.json #2',
      'sets/en.json #3',
    ])
    expect(records['sets/en.json #1']).toEqual({
      type: 'set',
      id: 'mep',
      shortcut: 'mep',
      name: 'Mega Evolution Promos',
      series: 'Mega Evolution',
      language: 'EN',
      region: 'int',
      release_date: null,
      total_cards: 28,
      printed_total: 13,
      logo_url: 'https://images.example/mep.png',
      symbol_url: 'https://images.example/mep/symbol.png',
    })
    expect(records['cards/en/mep.json #1']).toMatchObject({ set_id: 'mep', hp: '160', types: null })
    expect(records['sets/en.json #2']).toMatchObject({ shortcut: null, release_date: '2002-12-01' })
    expect(records['cards/en/bp.json #1']).toEqual({
      type: 'card',
      id: 'bp-1',
      set_id: 'bp',
      name: 'Pikachu',
      number: '1',
      rarity: 'Promo',
      supertype: 'Pokemon',
      hp: '50',
      types: ['Lightning'],
      image_small: 'https://images.example/bp/1.png',
      image_large: 'https://images.example/bp/1_hires.png',
    })
    expect(records['cards/en/bp.json #2']).toMatchObject({
      id: 'bp-2_A',
      number: '1',
      rarity: null,
      supertype: 'Trainer',
      hp: null,
      types: null,
    })
  })

  it.each([
    [4, '4'],
    [0, '0'],
    ['004', '004'],
    [1.5, 'card bp-1: number must be a string'],
    [true, 'card bp-1: number must be a string'],
  ])('a pokemon-tcg-data card may have a JSON number as its number: %j', async (number, read) => {
    await file('numbers/sets/en.json', [])
    await file('numbers/cards/en/bp.json', [{ ...pikachu, number }])
    const record = (await recordsIn(join(folder, 'numbers')))['cards/en/bp.json #1']
    expect((record as { number?: string }).number ?? record).toBe(read)
  })

  it('a pokemon-tcg-data folder yields cards without a set last', async () => {
    await file('stray/sets/en.json', [{ id: 'b', name: 'B', series: 'Other' }])
    for (const set of ['a', 'b', 'c']) await file(`stray/cards/en/${set}.json`, [pikachu])
    expect(Object.keys(await recordsIn(join(folder, 'stray')))).toEqual([
      'sets/en.json #1',
      'cards/en/b.json #1',
      'cards/en/a.json #1',
      'cards/en/c.json #1',
    ])
  })

  it('invalid entries and files of a pokemon-tcg-data folder do not affect the valid ones', async () => {
    await file('bad/sets/en.json', [
      { id: 'a', name: 'A', series: 'Other', releaseDate: '2002/13/01' },
      null,
      { id: '../../secret', name: 'B', series: 'Other' },
      { id: 'd', name: 'D', series: 'Other', images: 'none' },
    ])
    await file('bad/secret.json', [pikachu])
    await file('bad/cards/en/a.json', [pikachu, 'Pikachu', [pikachu], { ...pikachu, images: null }])
    await file('bad/cards/en/b.json', '[{"id":"b-1"')
    await file('bad/cards/en/c.json', { data: [] })
    await file('bad/cards/en/d.json', Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]))
    expect(await recordsIn(join(folder, 'bad'))).toEqual({
      'sets/en.json #1': 'set a: release_date must be a day as YYYY-MM-DD',
      'cards/en/a.json #1': expect.objectContaining({ id: 'bp-1', set_id: 'a' }),
      'cards/en/a.json #2': 'not a JSON object',
      'cards/en/a.json #3': 'not a JSON object',
      'cards/en/a.json #4': expect.objectContaining({ image_small: null, image_large: null }),
      'sets/en.json #2': 'not a JSON object',
      'sets/en.json #3': expect.objectContaining({ id: '../../secret' }),
      'sets/en.json #4': expect.objectContaining({ id: 'd', logo_url: null }),
      'cards/en/d.json': 'not valid UTF-8',
      'cards/en/b.json': 'not valid JSON',
      'cards/en/c.json': 'not a JSON array',
    })
  })

  it('a pokemon-tcg-data folder knows how many of its bytes have been read', async () => {
    await file('sized/sets/en.json', [{ id: 'a', name: 'A', series: 'Other' }])
    await file('sized/cards/en/a.json', [pikachu])
    const source = await openSource(join(folder, 'sized'))
    expect(source.bytesRead()).toBe(0)
    await Array.fromAsync(source.lines)
    expect(source.bytesRead()).toBe(source.totalBytes)
    expect(source.totalBytes).toBe(
      JSON.stringify([{ id: 'a', name: 'A', series: 'Other' }]).length +
        Buffer.byteLength(JSON.stringify([pikachu])),
    )
  })
})

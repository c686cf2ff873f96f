import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { SLICE_MS, timeSlices } from '../../time/time-slices.ts'
import { type Line, linesOf, MAX_LINE_BYTES } from './lines.ts'

const KIB = 1024
const TOO_LONG = 'longer than 64 KiB'
const NOT_UTF8 = 'not valid UTF-8'

/** The lines of a source that arrives in chunks of this size. */
async function lines(source: string | Buffer, chunkBytes = 64 * KIB): Promise<Line[]> {
  const bytes = Buffer.from(source)
  async function* chunks() {
    for (let start = 0; start < bytes.length; start += chunkBytes) {
      yield bytes.subarray(start, start + chunkBytes)
    }
  }
  return Array.fromAsync(linesOf(chunks()))
}

describe('lines', () => {
  it('the lines of an import are numbered from 1', async () => {
    expect(await lines('a\nb\n')).toEqual([
      { number: 1, text: 'a' },
      { number: 2, text: 'b' },
    ])
  })

  it('the last line of an import needs no newline', async () => {
    expect(await lines('a\nb')).toEqual(await lines('a\nb\n'))
  })

  it('a line of an import may end in \\r\\n', async () => {
    expect(await lines('a\r\nb\r')).toEqual(await lines('a\nb\n'))
  })

  it('an empty source has no lines to import', async () => {
    expect(await lines('')).toEqual([])
  })

  it('blank lines of an import are skipped but counted', async () => {
    expect(await lines('\n \t\r\na\n\n\nb\n\n')).toEqual([
      { number: 3, text: 'a' },
      { number: 6, text: 'b' },
    ])
  })

  it('a byte order mark is removed at the start of the source only', async () => {
    expect(await lines('\uFEFFa\n\uFEFFb\n')).toEqual([
      { number: 1, text: 'a' },
      { number: 2, text: '\uFEFFb' },
    ])
  })

  it.each([1, 2, 3, 4, 5, 7, 11])(
    'lines are the same in chunks of %i bytes',
    async (chunkBytes) => {
      const text = '\uFEFFゲッコウガ\r\n\nPokémon 🌟\n馬'
      expect(await lines(text, chunkBytes)).toEqual([
        { number: 1, text: 'ゲッコウガ' },
        { number: 3, text: 'Pokémon 🌟' },
        { number: 4, text: '馬' },
      ])
    },
  )

  it('a source may reuse the memory of its chunks', async () => {
    async function* chunks() {
      const chunk = Buffer.alloc(2)
      for (const text of ['ab', 'cd', 'e\n']) {
        chunk.write(text)
        yield chunk
      }
    }
    expect(await Array.fromAsync(linesOf(chunks()))).toEqual([{ number: 1, text: 'abcde' }])
  })

  it('lines that are not UTF-8 are errors and do not affect others', async () => {
    const bad = Buffer.from([
      0xff, 0xfe, 0x0a, 0x61, 0x0a, 0xc3, 0x0a, 0xed, 0xa0, 0x80, 0x0a, 0x62,
    ])
    expect(await lines(bad)).toEqual([
      { number: 1, error: NOT_UTF8 },
      { number: 2, text: 'a' },
      { number: 3, error: NOT_UTF8 },
      { number: 4, error: NOT_UTF8 },
      { number: 5, text: 'b' },
    ])
  })

  it('a failing source ends the lines without its incomplete last line', async () => {
    async function* chunks() {
      yield Buffer.from('a\n{"type":')
      throw new Error('cut off')
    }
    const seen: Line[] = []
    const reading = (async () => {
      for await (const line of linesOf(chunks())) seen.push(line)
    })()
    await expect(reading).rejects.toThrow('cut off')
    expect(seen).toEqual([{ number: 1, text: 'a' }])
  })
})

describe('the maximum length of lines', () => {
  const longest = 'x'.repeat(MAX_LINE_BYTES)

  it.each([100, 64 * KIB, 300 * KIB])(
    'a line may have 64 KiB, in chunks of %i bytes',
    async (chunkBytes) => {
      const all = await lines(`a\n${longest}\n${longest}x\nb\n${longest}`, chunkBytes)
      expect(all).toEqual([
        { number: 1, text: 'a' },
        { number: 2, text: longest },
        { number: 3, error: TOO_LONG },
        { number: 4, text: 'b' },
        { number: 5, text: longest },
      ])
    },
  )

  it.each([100, 64 * KIB, 300 * KIB])(
    'byte order mark and \\r do not count towards the length of a line, in chunks of %i bytes',
    async (chunkBytes) => {
      expect(await lines(`\uFEFF${longest}\r\n${longest}\r`, chunkBytes)).toEqual([
        { number: 1, text: longest },
        { number: 2, text: longest },
      ])
      expect(await lines(`\uFEFF${longest}x\r\n${longest}xxx\n`, chunkBytes)).toEqual([
        { number: 1, error: TOO_LONG },
        { number: 2, error: TOO_LONG },
      ])
    },
  )

  it('the length of a line is measured in bytes', async () => {
    expect(await lines('馬'.repeat(22_000))).toEqual([{ number: 1, error: TOO_LONG }])
  })

  it('reading an endless line uses little memory', async () => {
    const megabyte = Buffer.alloc(1024 * KIB, 'x')
    const heldBefore = process.memoryUsage().arrayBuffers
    let mostHeld = 0
    async function* endless() {
      for (let count = 0; count < 500; count++) {
        yield megabyte
        mostHeld = Math.max(mostHeld, process.memoryUsage().arrayBuffers)
      }
      yield Buffer.from('\nlast')
    }
    expect(await Array.fromAsync(linesOf(endless()))).toEqual([
      { number: 1, error: TOO_LONG },
      { number: 2, text: 'last' },
    ])
    expect(mostHeld - heldBefore).toBeLessThan(32 * 1024 * KIB)
  })
})

describe('lines from a source that is always ready', () => {
  /** Reads the lines; returns the maximum number of steps between two turns of the event loop. */
  async function maxStepsPerTurn(chunks: Buffer[], msPerStep: number): Promise<number> {
    let steps = 0
    let max = 0
    let reading = true
    const otherWork = (async () => {
      while (reading) {
        await setImmediate()
        max = Math.max(max, steps)
        steps = 0
      }
    })()
    let time = 0
    // The clock is read once per step, so it counts steps instead of measuring time.
    const slices = timeSlices(() => (time += msPerStep))
    async function* source() {
      yield* chunks
    }
    const lines = linesOf(source(), () => {
      steps++
      return slices()
    })
    while (!(await lines.next()).done);
    reading = false
    await otherWork
    return max
  }

  it.each([
    ['bad lines', [Buffer.from('{]\n'.repeat(10_000))]],
    ['blank lines', [Buffer.from('\n'.repeat(10_000))]],
    ['chunks of one endless line', Array<Buffer>(10_000).fill(Buffer.from('x'))],
    ['lines that are not UTF-8', [Buffer.alloc(20_000, '\xff\n', 'latin1')]],
  ])('reading %s yields to the event loop after each time slice', async (_what, chunks) => {
    const max = await maxStepsPerTurn(chunks, 0.5)
    expect(max).toBeGreaterThan(1)
    expect(max).toBeLessThanOrEqual(SLICE_MS / 0.5 + 1)
  })
})

import { isUtf8 } from 'node:buffer'
import { timeSlices, type YieldToEventLoop } from '../../time/time-slices.ts'

/** One line of a source and its location: a number in a stream, a description in a folder. */
export type Line<Place = number> = { number: Place } & ({ text: string } | { error: string })

export const MAX_LINE_BYTES = 64 * 1024

const NEWLINE = 0x0a
const RETURN = 0x0d
const BYTE_ORDER_MARK = Buffer.from('\uFEFF')

/**
 * Splits a stream of bytes into lines, numbered from 1. Blank lines are counted and skipped. A line that is too long or
 * not UTF-8 is returned as an error. At most one line is held in memory.
 *
 * A few KiB of gzip can contain millions of lines, which are read without waiting. Therefore the generator yields to the
 * event loop at the end of each time slice, which includes the consumer's time for each line.
 */
export async function* linesOf(
  stream: AsyncIterable<Uint8Array>,
  yieldToEventLoop: YieldToEventLoop = timeSlices(),
): AsyncGenerator<Line> {
  let number = 0
  /** The current line's bytes in earlier chunks, until it is too long. */
  let begun: Buffer[] = []
  let begunBytes = 0

  const finish = (end: Buffer): Line | undefined => {
    number++
    const whole = begun.length === 0 ? end : Buffer.concat([...begun, end])
    const tooLong = begunBytes > UNTRIMMED_LIMIT
    begun = []
    begunBytes = 0
    return tooLong ? tooLongLine(number) : readLine(number, whole)
  }

  for await (const bytes of stream) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = finish(chunk.subarray(start, end))
      if (line) yield line
      start = end + 1
      const pause = yieldToEventLoop()
      if (pause) await pause
    }
    if (start === chunk.length) continue
    begunBytes += chunk.length - start
    // A copy, because a stream may reuse the chunk's memory.
    if (begunBytes <= UNTRIMMED_LIMIT) begun.push(Buffer.from(chunk.subarray(start)))
    const pause = yieldToEventLoop()
    if (pause) await pause
  }
  if (begunBytes > 0) {
    const line = finish(Buffer.alloc(0))
    if (line) yield line
  }
}

/** Includes the bytes that don't count towards the length: the byte order mark, and `\r`. */
const UNTRIMMED_LIMIT = MAX_LINE_BYTES + BYTE_ORDER_MARK.length + 1

function readLine(number: number, untrimmed: Buffer): Line | undefined {
  let line = untrimmed
  if (line.at(-1) === RETURN) line = line.subarray(0, -1)
  if (number === 1 && line.subarray(0, 3).equals(BYTE_ORDER_MARK)) line = line.subarray(3)
  if (line.length > MAX_LINE_BYTES) return tooLongLine(number)
  if (!isUtf8(line)) return { number, error: 'not valid UTF-8' }
  const text = line.toString('utf8')
  return text.trim() === '' ? undefined : { number, text }
}

const tooLongLine = (number: number): Line => ({
  number,
  error: `longer than ${MAX_LINE_BYTES / 1024} KiB`,
})

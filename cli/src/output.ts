import { styleText } from 'node:util'

export type OutputOptions = { json?: boolean; ndjson?: boolean; quiet?: boolean }

/** A column of a table: its title, and the text of a record. */
export type Column<T> = [title: string, text: (record: T) => string | number | null | undefined]

/** Results go to stdout; progress, questions and errors go to stderr. */
export function openOutput({ json, ndjson, quiet }: OutputOptions) {
  const hasColors = !process.env.NO_COLOR && process.stdout.isTTY === true
  const write = (text: string) => {
    endProgress()
    process.stdout.write(`${text}\n`)
  }
  const bold = (text: string) => (hasColors ? styleText('bold', text) : text)
  // Some terminals say that they have no columns.
  const columnsOfTerminal = process.stdout.columns || Infinity

  /** Lines of a name and a value. A long value continues below itself. */
  const block = (lines: [name: string, value: string][]) => {
    const width = Math.max(...lines.map(([name]) => name.length))
    const indent = ' '.repeat(width + GAP.length)
    for (const [name, value] of lines) {
      const [first, ...more] = wrapped(value, columnsOfTerminal - indent.length)
      write(`${bold(name.padEnd(width))}${GAP}${first}`)
      for (const line of more) write(`${indent}${line}`)
    }
  }

  return {
    /** One record, as lines of a name and a value. */
    record(record: object, lines: [name: string, value: string | number | null | undefined][]) {
      if (json || ndjson) return write(jsonText(record))
      const texts = lines.map(([name, value]): [string, string] => [name, oneLine(value)])
      if (process.stdout.isTTY) return block(texts)
      for (const [name, text] of texts) write(`${name}\t${text}`)
    },

    /** Records: a table on a terminal, or blocks on a narrow one; otherwise values separated by tabs. */
    records<T extends object>(records: T[], columns: Column<T>[]) {
      if (ndjson) {
        for (const record of records) write(jsonText(record))
        return
      }
      if (json) return write(jsonText(records))
      const rows = records.map((record) => columns.map(([, text]) => oneLine(text(record))))
      if (!process.stdout.isTTY) {
        for (const row of rows) write(row.join('\t'))
        return
      }
      if (rows.length === 0) return this.note('There are none.')
      const titles = columns.map(([title]) => title)
      const room = columnsOfTerminal - GAP.length * (titles.length - 1)
      const widths = fitted(
        titles.map((title, i) =>
          rows.reduce((widest, row) => Math.max(widest, widthOf(row[i]!)), widthOf(title)),
        ),
        room,
      )
      if (sum(widths) > room) {
        for (const [i, row] of rows.entries()) {
          if (i > 0) write('')
          const lines = titles.map((title, i): [string, string] => [title, row[i]!])
          block(lines.filter(([, text]) => text !== ''))
        }
        return
      }
      const line = (row: string[]) =>
        row
          .map((text, i) => padded(text, widths[i]!))
          .join(GAP)
          .trimEnd()
      write(bold(line(titles)))
      for (const row of rows) write(line(row))
    },

    /** Records that a table shows in groups, and JSON one by one. */
    groups<T extends object>(groups: T[][], columns: Column<T[]>[]) {
      if (json || ndjson) return this.records(groups.flat(), [])
      this.records(groups, columns)
    },

    /** One record of an endless list. */
    line(record: object, texts: (string | number | null | undefined)[]) {
      if (json || ndjson) return write(jsonText(record))
      write(texts.map(oneLine).join(process.stdout.isTTY ? '  ' : '\t'))
    },

    /** The result of a command that tells people with a note: JSON has it too. */
    json(result: object) {
      if (ndjson) for (const record of [result].flat()) write(jsonText(record))
      else if (json) write(jsonText(result))
    },

    /** A sentence about a success, which scripts don't need. */
    note(text: string) {
      if (!json && !ndjson) this.warn(text)
    },

    /** A sentence that people must see also with `--quiet`. JSON has it in the result. */
    alert(text: string) {
      if (json || ndjson) return
      endProgress()
      process.stderr.write(`${printable(text)}\n`)
    },

    /** A note that scripts need as well. */
    warn(text: string) {
      if (quiet) return
      endProgress()
      process.stderr.write(`${printable(text)}\n`)
    },

    /** Replaces the progress line of a terminal. The next result, note or error replaces it. */
    progress(text: string) {
      if (quiet || !process.stderr.isTTY) return
      process.stderr.write(`\r\u001b[2K${text}`)
      hasProgress = true
    },
  }
}

let hasProgress = false

/** Empties the progress line, before anything else is printed. */
export function endProgress(): void {
  if (hasProgress) process.stderr.write('\r\u001b[2K')
  hasProgress = false
}

export type Output = ReturnType<typeof openOutput>

const GAP = '  '
const MIN_WIDTH = 6

const sum = (numbers: number[]) => numbers.reduce((sum, number) => sum + number, 0)

/** Shortens the widest columns until the table fits on the terminal, except for the id that people copy. */
function fitted(widths: number[], room: number): number[] {
  const shown = [...widths]
  for (let left = sum(widths) - room; left > 0; left--) {
    const widest = Math.max(...shown.slice(1))
    if (widest <= MIN_WIDTH) break
    shown[shown.indexOf(widest, 1)] = widest - 1
  }
  return shown
}

/** Characters of East Asian scripts and emoji fill two cells. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u

const cellsOf = (character: string) =>
  /[\p{M}\u200c\u200d]/u.test(character) ? 0 : WIDE.test(character) ? 2 : 1

const widthOf = (text: string) => [...text].reduce((sum, character) => sum + cellsOf(character), 0)

/** Lines of whole words. A word longer than a line stays whole, because a secret or an address is copied. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`
    if (lines.length > 0 && widthOf(longer) <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

/** Text that fills a column exactly. */
function padded(text: string, width: number): string {
  if (widthOf(text) <= width) return text + ' '.repeat(width - widthOf(text))
  let begin = ''
  for (const character of text) {
    if (widthOf(begin + character) >= width) break
    begin += character
  }
  return padded(`${begin}…`, width)
}

/**
 * Control characters of texts from the catalog, sellers and files must not reach the terminal. Lines stay lines, and joiners
 * stay between the parts of an emoji and of words.
 */
export const printable = (text: string) =>
  text.replace(/[[\p{Cc}\p{Cf}]--[\n\u200c\u200d]]+/gv, ' ')

/** JSON that says the same without the controls and changes of direction that `JSON.stringify` leaves as they are. */
const jsonText = (value: object) =>
  JSON.stringify(value).replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

const oneLine = (value: string | number | null | undefined) =>
  String(value ?? '').replace(/[[\p{Cc}\p{Cf}]--[\u200c\u200d]]+/gv, ' ')

export const plural = (count: number, one: string, many = `${one}s`) =>
  `${count} ${count === 1 ? one : many}`

export const euros = (amount: number) => amount.toFixed(2)

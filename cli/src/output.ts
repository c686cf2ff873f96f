import { styleText } from 'node:util'

export type OutputOptions = { json?: boolean; ndjson?: boolean; quiet?: boolean; color?: boolean }

/** A column of a table: its title, and the text of a record. */
export type Column<T> = [title: string, text: (record: T) => string | number | null | undefined]

/** Results go to stdout; progress, questions and errors go to stderr. */
export function openOutput({ json, ndjson, quiet, color = true }: OutputOptions) {
  const hasColors = color && !process.env.NO_COLOR && process.stdout.isTTY === true
  const write = (text: string) => void process.stdout.write(`${text}\n`)
  const bold = (text: string) => (hasColors ? styleText('bold', text) : text)

  return {
    /** One record, as lines of a name and a value. */
    record(record: object, lines: [name: string, value: string | number | null | undefined][]) {
      if (json || ndjson) return write(JSON.stringify(record))
      const width = Math.max(...lines.map(([name]) => name.length))
      for (const [name, value] of lines) {
        write(
          process.stdout.isTTY
            ? `${bold(name.padEnd(width))}  ${value ?? ''}`
            : `${name}\t${oneLine(value)}`,
        )
      }
    },

    /** Records: a table on a terminal, otherwise values separated by tabs. */
    records<T extends object>(records: T[], columns: Column<T>[]) {
      if (ndjson) {
        for (const record of records) write(JSON.stringify(record))
        return
      }
      if (json) return write(JSON.stringify(records))
      const rows = records.map((record) => columns.map(([, text]) => oneLine(text(record))))
      if (!process.stdout.isTTY) {
        for (const row of rows) write(row.join('\t'))
        return
      }
      if (rows.length === 0) return
      const titles = columns.map(([title]) => title)
      const widths = titles.map((title, i) =>
        Math.min(MAX_WIDTH, Math.max(title.length, ...rows.map((row) => row[i]!.length))),
      )
      const line = (row: string[]) =>
        row
          .map((text, i) => shortened(text, widths[i]!).padEnd(widths[i]!))
          .join('  ')
          .trimEnd()
      write(bold(line(titles)))
      for (const row of rows) write(line(row))
    },

    /** One record of an endless list. */
    line(record: object, texts: (string | number | null | undefined)[]) {
      if (json || ndjson) return write(JSON.stringify(record))
      write(texts.map(oneLine).join(process.stdout.isTTY ? '  ' : '\t'))
    },

    /** A sentence about a success, which scripts don't need. */
    note(text: string) {
      if (!quiet && !json && !ndjson) process.stderr.write(`${text}\n`)
    },

    /** Replaces the progress line of a terminal; elsewhere only the last one counts. */
    progress(text: string) {
      if (!quiet && process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${text}`)
    },

    endProgress() {
      if (!quiet && process.stderr.isTTY) process.stderr.write('\r\u001b[2K')
    },
  }
}

export type Output = ReturnType<typeof openOutput>

const MAX_WIDTH = 48

const shortened = (text: string, width: number) =>
  text.length > width ? `${text.slice(0, width - 1)}…` : text

/** Control characters of catalog and seller texts must not reach the terminal. */
const oneLine = (value: string | number | null | undefined) =>
  String(value ?? '').replace(/[\p{Cc}\p{Cf}]+/gu, ' ')

export const euros = (amount: number) => amount.toFixed(2)

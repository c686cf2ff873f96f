import { availableParallelism, cpus, loadavg, release, type } from 'node:os'

/** Describes the machine and its load. */
export function machine(): string {
  const load = loadavg().map((figure) => figure.toFixed(1))
  return `${availableParallelism()} cores of ${cpus()[0]?.model.trim()}, Node ${process.versions.node}, ${type()} ${release()}; load before: ${load.join(', ')}`
}

/** Formats text as a table in Markdown: the first column left-aligned, the others right-aligned. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((_, i) => Math.max(4, ...[head, ...rows].map((row) => widthOf(row[i]!))))
  const line = (row: string[]) =>
    `| ${row.map((cell, i) => (i === 0 ? padEnd(cell, widths[i]!) : padStart(cell, widths[i]!))).join(' | ')} |`
  const rule = `| ${widths.map((width, i) => '-'.repeat(width - (i ? 1 : 0)) + (i ? ':' : '')).join(' | ')} |`
  return [line(head), rule, ...rows.map(line)].join('\n')
}

const widthOf = (text: string) => [...text].length
const padEnd = (text: string, width: number) => text + ' '.repeat(width - widthOf(text))
const padStart = (text: string, width: number) => ' '.repeat(width - widthOf(text)) + text

/** The value at this quantile, from 0 to 1. */
export function quantile(values: ArrayLike<number>, share: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN
}

export const median = (values: number[]) => quantile(values, 0.5)

/** A number with about three digits; nothing for NaN, which is null in JSON. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return ''
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

import { availableParallelism, cpus, loadavg, release, type } from 'node:os'

/** A measured value, and its upper limit. */
export type Figure = { name: string; value: number; unit: string; below?: number }

/** Describes the machine and its load. */
export function machine(): string {
  const load = loadavg().map((figure) => figure.toFixed(1))
  return `${availableParallelism()} cores of ${cpus()[0]?.model.trim()}, Node ${process.versions.node}, ${type()} ${release()}; load before: ${load.join(', ')}`
}

export function showFigures(figures: Figure[]): string {
  return table(
    [['figure', '', 'aim', 'holds']],
    figures.map(({ name, value, unit, below }) => [
      name,
      `${digits(value)} ${unit}`,
      below === undefined ? '' : `< ${below} ${unit}`,
      below === undefined ? '' : verdict(value < below),
    ]),
  )
}

/** Formats text in columns: the first one left-aligned, the others right-aligned. */
export function table(heads: string[][], rows: string[][]): string {
  const widths = heads[0]!.map((_, i) =>
    Math.max(...[...heads, ...rows].map((row) => row[i]!.length)),
  )
  const line = (row: string[]) =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join('  ')
      .trimEnd()
  const rule = '-'.repeat(widths.reduce((sum, width) => sum + width + 2, -2))
  return [...heads.map(line), rule, ...rows.map(line)].join('\n')
}

/** The value at this quantile, from 0 to 1. */
export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN
}

export const median = (values: number[]) => quantile(values, 0.5)

export const verdict = (holds: boolean) => (holds ? 'yes' : 'NO')
export const count = (value: number) => Math.round(value).toLocaleString('en-US')
export const percent = (share: number) => (Number.isNaN(share) ? '' : `${Math.round(share * 100)}%`)

const digits = (value: number) =>
  value >= 100 ? count(value) : value >= 1 ? value.toFixed(1) : value.toPrecision(2)

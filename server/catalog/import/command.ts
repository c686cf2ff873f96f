import { StartError } from '../../start-error.ts'
import { groupDigits } from '../../text/formats.ts'
import {
  ImportAborted,
  type ImportContext,
  ImportInterrupted,
  type ImportProgress,
  importCatalog,
} from './import.ts'
import type { ImportCounts, ImportReport } from './report.ts'
import { openSource, type Source } from './sources.ts'

type Output = { write(text: string): unknown; isTTY?: boolean }

/** A path as it was given, and what it contains. */
export type NamedSource = [path: string, source: Source]

/**
 * Opens the paths of an import. They are read while they are imported.
 *
 * @throws StartError if there is none, or one cannot be imported
 */
export async function openSources(paths: string[]): Promise<NamedSource[]> {
  if (paths.length === 0) {
    throw new StartError('No path was given. Usage: npm run catalog:import -- PATH [PATH…]')
  }
  const sources: NamedSource[] = []
  for (const path of paths) sources.push([path, await openSource(path)])
  return sources
}

/**
 * `npm run catalog:import -- PATH [PATH…]`: prints a summary for each path, with the rejected and superseded lines. After
 * an interruption the saved batches remain, and the summary counts them; later paths are skipped.
 *
 * @returns the exit code: 1 if a line was rejected, a file was truncated, or the import was interrupted
 * @throws StartError if interrupted before the first line
 */
export async function runImportCommand(
  ctx: ImportContext,
  sources: NamedSource[],
  interrupted: AbortSignal,
  { stdout, stderr, now }: { stdout: Output; stderr: Output; now?: () => number } = process,
): Promise<number> {
  let exitCode = 0
  for (const [path, source] of sources) {
    if (interrupted.aborted) {
      stdout.write(`${printable(path)}: skipped, because the import was interrupted\n`)
      exitCode = 1
      continue
    }
    const progress = showProgress(stderr, path, source, now)
    const began = performance.now()
    let brokeOff: string | undefined
    let report: ImportReport<number | string>
    try {
      const lines = endingWith(interrupted, source.lines)
      report = await Promise.race([
        importCatalog(ctx, lines, { onProgress: progress.show, signal: interrupted }),
        lines.interruptedBefore,
      ])
    } catch (error) {
      if (!(error instanceof ImportInterrupted || error instanceof ImportAborted)) throw error
      brokeOff = error.message
      report = error.report
    } finally {
      progress.end()
    }
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    const lines = [`${path}: ${inWords(report)} in ${seconds} s`, ...remarks(report)]
    if (brokeOff !== undefined) lines.push(`  ${brokeOff}`)
    for (const line of lines) stdout.write(`${printable(line)}\n`)
    if (brokeOff !== undefined || report.rejected > 0) exitCode = 1
  }
  return exitCode
}

type Lines = Source['lines']

/**
 * The same lines, which end with an error when the signal aborts. `interruptedBefore` rejects if it aborts before the
 * first line is read, while the import waits for another one.
 */
function endingWith(
  interrupted: AbortSignal,
  lines: Lines,
): Lines & { interruptedBefore: Promise<never> } {
  const { promise: interruptedBefore, reject } = Promise.withResolvers<never>()
  interruptedBefore.catch(() => {})
  const rejectNow = () => reject(interrupted.reason)
  interrupted.addEventListener('abort', rejectNow)
  return {
    interruptedBefore,
    async *[Symbol.asyncIterator]() {
      interrupted.removeEventListener('abort', rejectNow)
      for await (const line of lines) {
        interrupted.throwIfAborted()
        yield line
      }
    },
  }
}

const inWords = ({ created, updated, unchanged, rejected }: ImportCounts) =>
  `${groupDigits(created)} created, ${groupDigits(updated)} updated, ${groupDigits(unchanged)} unchanged, ${groupDigits(rejected)} rejected`

type Remark = { line: number | string; message: string }

const remarks = ({ rejected, errors, superseded, warnings }: ImportReport<number | string>) => [
  ...listed(errors, rejected, ({ line, message }) => `${placeOf(line)}: ${message}`),
  ...listed(warnings, superseded, ({ message }) => `warning: ${message}`),
]

function listed<T extends Remark>(all: T[], total: number, inWords: (remark: T) => string) {
  const lines = all.map((remark) => `  ${inWords(remark)}`)
  if (total > all.length) lines.push(`  and ${groupDigits(total - all.length)} more`)
  return lines
}

const placeOf = (line: number | string) => (typeof line === 'number' ? `line ${line}` : line)

const REDRAW_INTERVAL_MS = 100
const REPORT_INTERVAL_MS = 5_000
const BAR_WIDTH = 30

/** Shows the progress: as one line that is redrawn on a terminal, otherwise as a new line every few seconds. */
function showProgress(stderr: Output, path: string, source: Source, now = () => performance.now()) {
  const every = stderr.isTTY ? REDRAW_INTERVAL_MS : REPORT_INTERVAL_MS
  let last = now()
  let drawn = false
  const show = ({ lines, saved }: ImportProgress) => {
    if (now() - last < every) return
    last = now()
    // Reading the source and saving its records take about the same time.
    const read = source.totalBytes === 0 ? 1 : Math.min(1, source.bytesRead() / source.totalBytes)
    const share = (read + saved) / 2
    const percent = `${Math.floor(share * 100)}%`
    if (stderr.isTTY) {
      const bar = '#'.repeat(Math.round(share * BAR_WIDTH)).padEnd(BAR_WIDTH, '.')
      stderr.write(`\r\x1b[K[${bar}]${percent.padStart(5)}  ${groupDigits(lines)} lines`)
      drawn = true
    } else {
      stderr.write(`${printable(path)}: ${percent}, ${groupDigits(lines)} lines\n`)
    }
  }
  return { show, end: () => drawn && stderr.write('\r\x1b[K') }
}

/** Without control characters: names in files must not move the cursor. */
const printable = (line: string) => line.replace(/\p{Cc}/gu, '?')

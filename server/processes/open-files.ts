import { readFileSync } from 'node:fs'

/** Enough for several hundred connections. */
const FEW = 1_024

/** A line for the log if this process may open few files. Node has already raised its limit as far as it may. */
export function openFilesWarnings(): string[] {
  const limit = openFilesLimit()
  if (limit >= FEW) return []
  return [
    `this process may open only ${limit} files and connections; the system closes further connections without a line in the log. Raise the limit: LimitNOFILE, ulimit -n (docs/operating.md#open-files)`,
  ]
}

/** Infinite without a limit, and on systems without /proc. */
function openFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

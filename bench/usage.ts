import { readFileSync } from 'node:fs'

/** What a process has used so far. */
export type Usage = { cpuMs: number; rssMiB: number }

const MS_PER_TICK = 10
const UNKNOWN: Usage = { cpuMs: Number.NaN, rssMiB: Number.NaN }

/** As Linux tells it; no figures elsewhere. */
export function usageOf(pid: number): Usage {
  if (process.platform !== 'linux') return UNKNOWN
  // The name stands in parentheses and may hold anything; the 14th and 15th fields are user and system time.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
  const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return {
    cpuMs: (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK,
    rssMiB: Number(resident?.[1]) / 1024,
  }
}

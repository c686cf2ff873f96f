import { readFileSync } from 'node:fs'

/** CPU time since the start of a process, and its current memory. */
export type Usage = { cpuMs: number; rssMiB: number }

const MS_PER_TICK = 10
const UNKNOWN: Usage = { cpuMs: Number.NaN, rssMiB: Number.NaN }

/** Reads /proc; on other systems than Linux the figures are NaN. */
export function usageOf(pid: number): Usage {
  if (process.platform !== 'linux') return UNKNOWN
  // The second field is the name in parentheses, which may contain spaces. Fields 14 and 15 are user and system time.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
  const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return {
    cpuMs: (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK,
    rssMiB: Number(resident?.[1]) / 1024,
  }
}

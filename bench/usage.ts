import { readdirSync, readFileSync } from 'node:fs'

/** CPU time and memory of processes, from /proc: on other systems than Linux the figures are NaN. */

const MICROSECONDS_PER_TICK = 10_000
const isLinux = process.platform === 'linux'

/** CPU time of these processes in microseconds: all threads, and children that have exited. */
export function cpuOf(pids: number[]): number {
  if (!isLinux) return Number.NaN
  return pids.reduce((sum, pid) => sum + cpuOfOne(pid), 0)
}

function cpuOfOne(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`).map((id) =>
      Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]),
    )
    const [exitedUser, exitedSystem] = statOf(pid).slice(13, 15)
    const exited = (Number(exitedUser) + Number(exitedSystem)) * MICROSECONDS_PER_TICK
    return threads.reduce((sum, ns) => sum + ns, 0) / 1000 + exited
  } catch {
    // The process has exited. Its parent has its CPU time now.
    return 0
  }
}

/** The fields after the name, which is in parentheses and may contain spaces: state, parent, … */
const statOf = (pid: number) =>
  readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')

/** A process and all processes below it, without those of `except`. */
export function treeOf(root: number, except?: number): number[] {
  if (!isLinux) return [root]
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      parents.set(Number(name), Number(statOf(Number(name))[1]))
    } catch {
      // The process has exited.
    }
  }
  const below = (pid: number): number[] =>
    pid === except
      ? []
      : [pid, ...[...parents].filter(([, parent]) => parent === pid).flatMap(([id]) => below(id))]
  return below(root)
}

/** Resident memory of these processes in MB now (VmRSS), or at its highest (VmHWM). */
export const residentOf = (pids: number[], which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number =>
  sumOf(pids, (pid) => megabytesOf(`/proc/${pid}/status`, which))

/** Memory of these processes in MB, in which each counts its share of pages that several use. */
export const proportionalOf = (pids: number[]): number =>
  sumOf(pids, (pid) => megabytesOf(`/proc/${pid}/smaps_rollup`, 'Pss'))

const sumOf = (pids: number[], read: (pid: number) => number) =>
  isLinux ? pids.reduce((sum, pid) => sum + read(pid), 0) : Number.NaN

function megabytesOf(file: string, name: string): number {
  const kibibytes = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(file, 'utf8'))
  return (Number(kibibytes?.[1] ?? 0) * 1024) / 1e6
}

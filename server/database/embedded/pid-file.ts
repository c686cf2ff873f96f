import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** What a server writes about itself into its cluster, while it runs; a killed one's stays there. */
export type PidFile = { pid: number; port: number; status: string }

const pathOf = (directory: string) => join(directory, 'postmaster.pid')

/** Reads it: one fact per line, the later ones missing in a server's first moments. */
export async function readPidFile(directory: string): Promise<PidFile | undefined> {
  try {
    const lines = (await readFile(pathOf(directory), 'utf8')).split('\n')
    const number = (line: number) => Number(lines[line - 1]) || 0
    return { pid: number(1), port: number(4), status: lines[7]?.trim() ?? '' }
  } catch {
    return undefined
  }
}

/** Takes it away. A server whose file is gone stops by itself, safely and within a minute. */
export function removePidFile(directory: string): Promise<void> {
  return rm(pathOf(directory), { force: true })
}

/** Whether there is such a process, ours or not; it need not be the one that the pid once meant. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Contents of `postmaster.pid`, which a server writes into its cluster. The file of a killed server remains. */
export type PidFile = { pid: number; port: number; status: string }

const pathOf = (directory: string) => join(directory, 'postmaster.pid')

/** Reads the pid file. The later lines are missing while the server starts. */
export async function readPidFile(directory: string): Promise<PidFile | undefined> {
  try {
    const lines = (await readFile(pathOf(directory), 'utf8')).split('\n')
    const number = (line: number) => Number(lines[line - 1]) || 0
    return { pid: number(1), port: number(4), status: lines[7]?.trim() ?? '' }
  } catch {
    return undefined
  }
}

/** Removes the pid file. A running server then shuts down within a minute. */
export function removePidFile(directory: string): Promise<void> {
  return rm(pathOf(directory), { force: true })
}

/** Whether a process with this pid exists. It can be another process than before, because pids are reused. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Whether this process has exited, although its parent has not noticed. False on systems without /proc. */
export async function isZombie(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name of the program, in parentheses, may contain anything.
  return stat.slice(stat.lastIndexOf(')')).startsWith(') Z')
}

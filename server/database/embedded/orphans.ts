import { readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { waitUntil } from '../../time/wait-until.ts'
import { isAlive } from './pid-file.ts'

const QUIT_TIMEOUT_MS = 1_000

/**
 * Ends the backends of a killed server. They notice its death only between two statements, and until then they hold its
 * shared memory, which prevents a new server from starting. Must only be called for a cluster without a server, because
 * it ends every postgres process in the cluster's directory. Does nothing on systems without /proc.
 */
export async function endOrphans(directory: string): Promise<void> {
  const pids = await processesIn(directory)
  send(pids, 'SIGQUIT')
  const areGone = () => !pids.some(isAlive) || undefined
  if (!(await waitUntil(QUIT_TIMEOUT_MS, areGone))) send(pids, 'SIGKILL')
}

async function processesIn(directory: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => [])
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(pids.map((pid) => worksIn(pid, directory)))
  return pids.filter((_, index) => found[index])
}

async function worksIn(pid: number, directory: string): Promise<boolean> {
  const [cwd, program] = await Promise.all(
    ['cwd', 'exe'].map((name) => readlink(join('/proc', String(pid), name)).catch(() => '')),
  )
  return cwd === directory && /\/postgres( \(deleted\))?$/.test(program ?? '')
}

function send(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // The process has already ended.
    }
  }
}

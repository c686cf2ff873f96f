import { readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { poll } from '../../time/wait-until.ts'
import { isAlive } from './pid-file.ts'

const QUIT_TIMEOUT_MS = 1_000

/**
 * Ends the processes of a server that was killed. They notice that it's gone only between two statements, and until then
 * they hold its shared memory, so that no other server starts. Only for a cluster without a server: each of them works in
 * the cluster's directory. Where the system doesn't tell that (there is no /proc), they are left to end by themselves.
 */
export async function endOrphans(directory: string): Promise<void> {
  const pids = await processesIn(directory)
  send(pids, 'SIGQUIT')
  const areGone = () => !pids.some(isAlive) || undefined
  if (!(await poll(QUIT_TIMEOUT_MS, areGone))) send(pids, 'SIGKILL')
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
      // It has ended meanwhile.
    }
  }
}

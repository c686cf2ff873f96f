import { StartError } from '../../start-error.ts'
import { poll } from '../../time/wait-until.ts'
import type { Cluster } from './cluster.ts'
import { isAlive, readPidFile, removePidFile } from './pid-file.ts'
import { type Answer, ask, type Server } from './session.ts'

/** For a server found in the middle of starting, recovering or shutting down. */
const FOUND_TIMEOUT_MS = 30_000
/** A live server listens from its first moments to its last: where nobody does for so long, there is none. */
const SILENCE_MS = 2_000
/** It said that it was ready, so it would have listened ever since. */
const SILENCE_WHEN_READY_MS = 200
const SHUTDOWN_TIMEOUT_MS = 20_000
const QUIT_TIMEOUT_MS = 10_000
const LAST_BREATH_MS = 200

/**
 * The server that already runs on the cluster, if there is one, with us as its user. One that is just
 * starting or stopping is waited for. That a pid file's process is alive means little, for pids are
 * reused: what counts is who answers at the port.
 */
export async function findRunning(
  cluster: Cluster,
  timeoutMs = FOUND_TIMEOUT_MS,
): Promise<Server | undefined> {
  let silentSince: number | undefined
  let reason = 'it does not answer'
  const found = await poll(timeoutMs, async (): Promise<Server | 'none' | undefined> => {
    const file = await readPidFile(cluster.directory)
    if (!file || (file.pid && !isAlive(file.pid))) return 'none'
    const answer: Answer = file.port ? await ask(file.port, cluster) : { from: 'nobody' }
    if (answer.from === 'ours') return answer.server
    // PostgreSQL looks at the pid file itself when we start it, and refuses if it must.
    if (answer.from === 'stranger') return 'none'
    if (answer.from === 'busy') {
      reason = answer.reason
      silentSince = undefined
      return undefined
    }
    silentSince ??= performance.now()
    const silence = file.status === 'ready' ? SILENCE_WHEN_READY_MS : SILENCE_MS
    if (performance.now() - silentSince < silence) return undefined
    // The pid is somebody else's by now, or a zombie's, and would make PostgreSQL refuse to start. Should
    // a server be there all the same, its shared memory still keeps a second one out.
    await removePidFile(cluster.directory)
    return 'none'
  })
  if (found) return found === 'none' ? undefined : found
  throw new StartError(
    `the database in ${cluster.directory} is not ready after ${timeoutMs / 1000} s: ${reason}`,
  )
}

/** Turns the server off: clients are sent away, everything is written, and it's gone when this returns. */
export async function shutDown(cluster: Cluster, { pid }: Server): Promise<void> {
  signal(pid, 'SIGINT')
  if (await isGone(cluster, pid, SHUTDOWN_TIMEOUT_MS)) return
  // Without the last writing: the next start recovers what was committed.
  signal(pid, 'SIGQUIT')
  if (await isGone(cluster, pid, QUIT_TIMEOUT_MS)) return
  throw new Error(`PostgreSQL (process ${pid}) does not stop, see ${cluster.log}`)
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function isGone(cluster: Cluster, pid: number, timeoutMs: number): Promise<true | undefined> {
  let unlistedSince: number | undefined
  return poll(timeoutMs, async () => {
    if (!isAlive(pid)) return true
    if ((await readPidFile(cluster.directory))?.pid === pid) return undefined
    // It took its pid file away, its last deed but for exiting. One whose parent is gone can stay on as a
    // zombie: the first process of a container may be slow to bury it, or never do.
    unlistedSince ??= performance.now()
    return performance.now() - unlistedSince > LAST_BREATH_MS || undefined
  })
}

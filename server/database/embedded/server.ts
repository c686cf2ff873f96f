import { StartError } from '../../start-error.ts'
import { waitUntil } from '../../time/wait-until.ts'
import type { Cluster } from './cluster.ts'
import { isAlive, isZombie, readPidFile, removePidFile } from './pid-file.ts'
import { type ProbeResult, probe, type Server } from './session.ts'

/** A running server listens all the time: if its port refuses connections for this long, it is dead. */
const SILENCE_MS = 2_000
/** The same for a server whose pid file says that it is ready. */
const SILENCE_WHEN_READY_MS = 200
const SHUTDOWN_TIMEOUT_MS = 20_000
const QUIT_TIMEOUT_MS = 10_000
/** Time from the removal of its pid file to the exit of a server, where a zombie can't be recognised (no /proc). */
const EXIT_TIMEOUT_MS = 5_000

/**
 * Finds the server that runs on the cluster, waits while it starts or stops, and makes this process its user. The pid
 * file alone proves nothing, because pids are reused: the server that responds on the port decides.
 */
export async function findRunning(
  cluster: Cluster,
  timeoutMs: number,
): Promise<Server | undefined> {
  let silentSince: number | undefined
  let reason = 'it does not respond'
  const found = await waitUntil(timeoutMs, async (): Promise<Server | 'none' | undefined> => {
    const file = await readPidFile(cluster.directory)
    if (!file || (file.pid && !isAlive(file.pid))) return 'none'
    const result: ProbeResult = file.port ? await probe(file.port, cluster) : { found: 'none' }
    if (result.found === 'ours') return result.server
    // PostgreSQL checks the pid file itself at its start, and refuses to start if another server runs.
    if (result.found === 'foreign') return 'none'
    if (result.found === 'busy') {
      reason = result.reason
      silentSince = undefined
      return undefined
    }
    silentSince ??= performance.now()
    const silence = file.status === 'ready' ? SILENCE_WHEN_READY_MS : SILENCE_MS
    if (performance.now() - silentSince < silence) return undefined
    // The pid now belongs to another process or a zombie, and would prevent PostgreSQL from starting. If a server
    // runs after all, its shared memory still prevents a second one.
    await removePidFile(cluster.directory)
    return 'none'
  })
  if (found) return found === 'none' ? undefined : found
  throw new StartError(
    `the database in ${cluster.directory} is not ready after ${timeoutMs / 1000} s: ${reason}`,
  )
}

/** Shuts the server down: disconnects its clients, writes a checkpoint, and waits for its exit. */
export async function shutDown(cluster: Cluster, { pid }: Pick<Server, 'pid'>): Promise<void> {
  signal(pid, 'SIGINT')
  if (await isGone(cluster, pid, SHUTDOWN_TIMEOUT_MS)) return
  // An immediate shutdown, without a checkpoint: the next start recovers the committed transactions.
  signal(pid, 'SIGQUIT')
  if (await isGone(cluster, pid, QUIT_TIMEOUT_MS)) return
  // PostgreSQL's other processes notice the death of this one, and exit.
  signal(pid, 'SIGKILL')
  if (await isGone(cluster, pid, QUIT_TIMEOUT_MS)) return
  throw new Error(`PostgreSQL (process ${pid}) does not stop; see ${cluster.log}`)
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
  return waitUntil(timeoutMs, async () => {
    // If its parent has exited, it can remain as a zombie: the init process of a container may reap it late or never.
    if (!isAlive(pid) || (await isZombie(pid))) return true
    // It removes its pid file right before its exit.
    if ((await readPidFile(cluster.directory))?.pid === pid) return undefined
    unlistedSince ??= performance.now()
    return performance.now() - unlistedSince > EXIT_TIMEOUT_MS || undefined
  })
}

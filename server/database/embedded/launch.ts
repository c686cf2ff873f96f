import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartError } from '../../start-error.ts'
import { waitUntil } from '../../time/wait-until.ts'
import { fitsSocket, removeSockets } from '../socket.ts'
import type { Cluster } from './cluster.ts'
import { failureLine, logSince, openLog } from './log.ts'
import { type OsUser, spawnEnvironment } from './os-user.ts'
import { readPidFile } from './pid-file.ts'
import { probe, type Server } from './session.ts'
import { sharedBuffers } from './shared-buffers.ts'

/** Wait for the backends of a killed server, which keep its shared memory for a moment, and for its port. */
const RETRY_TIMEOUT_MS = 15_000
const RETRY_INTERVAL_MS = 100
/** Wait for crash recovery on a slow disk. Aborting it only means that the next start begins it again. */
export const RECOVERY_TIMEOUT_MS = 300_000
const QUIT_TIMEOUT_MS = 10_000

/**
 * Below the ports that the system gives to outgoing connections: one of these could take the port of a server that died,
 * which starts again on the same.
 */
const MIN_PORT = 20_000
const MAX_PORT = 32_767
const MAX_PICKS = 100

const PASSING =
  /could not bind .*Address already in use|pre-existing shared memory block|lock file ".*" already exists/

/** The cluster to start, the folder of PostgreSQL's programs, and the OS user to run them as. */
export type Launch = {
  cluster: Cluster
  native: string
  osUser: OsUser | undefined
  settings: Record<string, string>
  /** Called while the server becomes ready, which takes a tenth of a second of another core. */
  meanwhile?: (() => void) | undefined
}

/**
 * Starts a server on the cluster and makes this process its user. Retries if the port was taken in the meantime, and while
 * the backends of a killed server are still running.
 */
export async function startServer(launch: Launch, pickPort = freePort): Promise<Server> {
  const deadline = performance.now() + RETRY_TIMEOUT_MS
  for (;;) {
    const outcome = await tryStart(launch, await pickPort())
    if ('server' in outcome) return outcome.server
    if (PASSING.test(outcome.failure) && performance.now() < deadline) {
      await sleep(RETRY_INTERVAL_MS)
      continue
    }
    const reason = failureLine(outcome.failure) ?? 'no error was logged'
    throw new StartError(`PostgreSQL does not start: ${reason} (see ${launch.cluster.log})`)
  }
}

async function freePort(): Promise<number> {
  for (let pick = 0; pick < MAX_PICKS; pick++) {
    const port = randomInt(MIN_PORT, MAX_PORT + 1)
    if (await isFree(port)) return port
  }
  throw new StartError(`no port between ${MIN_PORT} and ${MAX_PORT} is free for PostgreSQL`)
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRNOTAVAIL') return false
    throw new StartError(
      'the embedded database needs 127.0.0.1, which this machine does not have: turn IPv4 on for its loopback interface, or set DATABASE_URL',
      { cause: error },
    )
  }
  await once(server.close(), 'close')
  return true
}

/** Starts a server. Returns it once it is ready, or its log if it exits before. */
async function tryStart(
  launch: Launch,
  port: number,
): Promise<{ server: Server } | { failure: string }> {
  const log = await openLog(launch.cluster.log)
  try {
    // The lock file of a socket names the pid of a killed server. Once that is reused, PostgreSQL would not start.
    await removeSockets(launch.cluster.directory)
    const { size } = await log.stat()
    const postmaster = spawnPostmaster(launch, port, log.fd)
    try {
      launch.meanwhile?.()
      const server = await whenReady(postmaster, launch.cluster, port)
      return server ? { server } : { failure: postmaster.error ?? (await logSince(log, size)) }
    } catch (error) {
      await discard(postmaster)
      throw error
    }
  } finally {
    await log.close()
  }
}

type Postmaster = { child: ChildProcess; exited: boolean; error?: string }

function spawnPostmaster(launch: Launch, port: number, log: number): Postmaster {
  const { cluster, native, osUser } = launch
  const settings = {
    // Enough for 16 processes.
    max_connections: '200',
    shared_buffers: sharedBuffers(),
    // After a crash of one of its processes the server exits, and the supervisor starts it again. PostgreSQL's own
    // restart can hang on a full disk.
    restart_after_crash: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...launch.settings,
    listen_addresses: '127.0.0.1',
    port: String(port),
    // In the cluster's folder, which only its owner can enter. In a deep DATA_DIR there is TCP only.
    unix_socket_directories: fitsSocket(cluster.directory, port) ? listOf(cluster.directory) : '',
  }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(join(native, 'bin/postgres'), ['-D', cluster.directory, ...options], {
    ...osUser,
    ...spawnEnvironment(),
    // In its own session: otherwise Ctrl-C in the terminal would stop it before its clients.
    detached: true,
    stdio: ['ignore', log, log],
  })
  child.unref()
  const postmaster: Postmaster = { child, exited: false }
  child.once('exit', () => {
    postmaster.exited = true
  })
  child.once('error', (error) => {
    postmaster.exited = true
    postmaster.error = error.message
  })
  return postmaster
}

/** A PostgreSQL list of one path, which may contain commas. */
const listOf = (path: string) => `"${path.replaceAll('"', '""')}"`

/** The server once it is ready; undefined if it exits before. */
async function whenReady(
  postmaster: Postmaster,
  cluster: Cluster,
  port: number,
): Promise<Server | undefined> {
  let reason = 'it does not become ready'
  const outcome = await waitUntil(
    RECOVERY_TIMEOUT_MS,
    async (): Promise<Server | 'exited' | undefined> => {
      if (postmaster.exited) return 'exited'
      // The pid file tells when the server is ready: earlier connections would only fill its log with errors.
      const file = await readPidFile(cluster.directory)
      if (file?.pid !== postmaster.child.pid || file?.status !== 'ready') return undefined
      const result = await probe(port, cluster)
      if (result.found === 'ours') return result.server
      if (result.found === 'foreign') {
        throw new StartError(
          `the database in ${cluster.directory} refuses the connection: ${result.reason} (is postgres.password still the right one?)`,
        )
      }
      if (result.found === 'busy') reason = result.reason
      return undefined
    },
  )
  if (outcome) return outcome === 'exited' ? undefined : outcome
  throw new StartError(`PostgreSQL does not start: ${reason} (see ${cluster.log})`)
}

/** Ends the server of a failed start. */
async function discard(postmaster: Postmaster): Promise<void> {
  if (postmaster.exited) return
  postmaster.child.kill('SIGQUIT')
  const gone = await waitUntil(QUIT_TIMEOUT_MS, () => postmaster.exited || undefined)
  if (!gone) postmaster.child.kill('SIGKILL')
}

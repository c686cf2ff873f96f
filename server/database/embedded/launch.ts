import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartError } from '../../start-error.ts'
import { poll } from '../../time/wait-until.ts'
import type { Cluster } from './cluster.ts'
import { logSince, openLog, tellingLine } from './log.ts'
import { type OsUser, surroundings } from './os-user.ts'
import { readPidFile } from './pid-file.ts'
import { ask, type Server } from './session.ts'

/** For what a killed server leaves behind for a moment: its backends and their shared memory. */
const REMAINS_TIMEOUT_MS = 15_000
const REMAINS_INTERVAL_MS = 100
/** For recovery on a slow disk. Giving up half-way only means beginning again at the next start. */
export const RECOVERY_TIMEOUT_MS = 300_000
const QUIT_TIMEOUT_MS = 10_000
const PORT_ATTEMPTS = 5

const PORT_TAKEN = /could not bind .*Address already in use/
const REMAINS = /pre-existing shared memory block|lock file ".*" already exists/

/** Which cluster to start, with the programs in `native`, and as whom. */
export type Launch = {
  cluster: Cluster
  native: string
  osUser: OsUser | undefined
  settings: Record<string, string>
}

/**
 * Starts a server on the cluster and makes us its user. A port that somebody takes in the meantime is
 * exchanged for another, and the remains of a killed server are waited for.
 */
export async function startServer(launch: Launch, pickPort = freePort): Promise<Server> {
  const deadline = performance.now() + REMAINS_TIMEOUT_MS
  for (let attempt = 1; ; attempt++) {
    const outcome = await tryStart(launch, await pickPort())
    if ('server' in outcome) return outcome.server
    if (PORT_TAKEN.test(outcome.failure) && attempt < PORT_ATTEMPTS) continue
    if (REMAINS.test(outcome.failure) && performance.now() < deadline) {
      await sleep(REMAINS_INTERVAL_MS)
      continue
    }
    const reason = tellingLine(outcome.failure) ?? 'it said nothing'
    throw new StartError(`PostgreSQL does not start: ${reason} (see ${launch.cluster.log})`)
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await once(server.close(), 'close')
  return port
}

/** A server that is ready, or all that it said before it exited. */
async function tryStart(
  launch: Launch,
  port: number,
): Promise<{ server: Server } | { failure: string }> {
  const log = await openLog(launch.cluster.log)
  try {
    const { size } = await log.stat()
    const postmaster = spawnPostmaster(launch, port, log.fd)
    try {
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
    max_connections: '100',
    shared_buffers: '128MB',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...launch.settings,
    listen_addresses: '127.0.0.1',
    port: String(port),
    // TCP is enough, and the path of a socket has a limit that a deep DATA_DIR exceeds.
    unix_socket_directories: '',
  }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(join(native, 'bin/postgres'), ['-D', cluster.directory, ...options], {
    ...osUser,
    ...surroundings(),
    // In a session of its own, or a Ctrl-C in the terminal would reach it before we let go of it.
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

/** Undefined when it exits instead. */
async function whenReady(
  postmaster: Postmaster,
  cluster: Cluster,
  port: number,
): Promise<Server | undefined> {
  let reason = 'it does not become ready'
  const outcome = await poll(
    RECOVERY_TIMEOUT_MS,
    async (): Promise<Server | 'exited' | undefined> => {
      if (postmaster.exited) return 'exited'
      // Its pid file says when to come: earlier visits would only fill the log with refusals.
      const file = await readPidFile(cluster.directory)
      if (file?.pid !== postmaster.child.pid || file?.status !== 'ready') return undefined
      const answer = await ask(port, cluster)
      if (answer.from === 'ours') return answer.server
      if (answer.from === 'stranger') {
        throw new StartError(
          `the database in ${cluster.directory} does not let us in: ${answer.reason} (is postgres.password still the right one?)`,
        )
      }
      if (answer.from === 'busy') reason = answer.reason
      return undefined
    },
  )
  if (outcome) return outcome === 'exited' ? undefined : outcome
  throw new StartError(`PostgreSQL does not start: ${reason} (see ${cluster.log})`)
}

/** No server stays behind from a start that failed. */
async function discard(postmaster: Postmaster): Promise<void> {
  if (postmaster.exited) return
  postmaster.child.kill('SIGQUIT')
  const gone = await poll(QUIT_TIMEOUT_MS, () => postmaster.exited || undefined)
  if (!gone) postmaster.child.kill('SIGKILL')
}

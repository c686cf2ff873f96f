import { access, constants } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { lockExclusive } from '../../files/lock.ts'
import { makeDataDir } from '../../files/make-directory.ts'
import { StartError } from '../../start-error.ts'
import { withSocket } from '../socket.ts'
import { findBinaries, reachableBinaries } from './binaries.ts'
import {
  type Cluster,
  createCluster,
  findCluster,
  locationNotice,
  readOrCreatePassword,
} from './cluster.ts'
import { type Launch, RECOVERY_TIMEOUT_MS, startServer } from './launch.ts'
import { diskFullLine, readSince, rotateRegularly, sizeOf } from './log.ts'
import { endOrphans } from './orphans.ts'
import { osUserFor } from './os-user.ts'
import { claimCluster } from './owner.ts'
import { START_LOCK } from './remove.ts'
import { findRunning, shutDown } from './server.ts'
import type { Server } from './session.ts'
import { supervise } from './supervisor.ts'

/** The running embedded PostgreSQL, with this process as one of its users. */
export type EmbeddedDatabase = {
  /** `postgres://cardstall:<password>@127.0.0.1:<port>/<database>?host=<folder of its Unix socket>` */
  url: string
  /** Real path of the cluster. */
  directory: string
  /** A line to print if the cluster is not in `DATA_DIR/postgres`. */
  notice?: string
  /** Whether the server was left running by a killed process. */
  adopted: boolean
  /** The server's latest log line about a full disk, if any. */
  diskFull(): Promise<string | undefined>
  /** Resolves when the server died and could not be restarted. */
  failed: Promise<Error>
  /** Ends this process's use; the last user shuts the server down. May be called twice. */
  stop(): Promise<void>
}

/**
 * Starts the embedded PostgreSQL on `dataDir`, or joins the one that already runs there. Several processes may do so at
 * the same time: one of them creates and starts it, all of them use it, and the last one to stop shuts it down. A server
 * that dies while it is in use is restarted on the same port.
 *
 * Files in `dataDir`: `postgres` (the cluster, or a link to it), `postgres.password`, `postgres.log`, `postgres.lock`.
 *
 * @param options.settings PostgreSQL's settings (`fsync`, `shared_buffers`), if this call starts the server
 * @param options.meanwhile called while PostgreSQL becomes ready, if this call starts the server
 */
export async function startEmbedded(options: {
  dataDir: string
  databaseName?: string
  settings?: Record<string, string>
  logError?: (message: string, error?: unknown) => void
  meanwhile?: (() => void) | undefined
}): Promise<EmbeddedDatabase> {
  const dataDir = await writable(resolve(options.dataDir))
  const databaseName = options.databaseName ?? 'cardstall'
  // Finding, creating, starting and stopping all hold this lock, so that no process finds a server that another one is
  // shutting down.
  const release = await lockExclusive(lockOf(dataDir))
  if (!release) throw new StartError(`another process is still starting or stopping ${dataDir}`)
  try {
    const { cluster, server, running } = await findOrStart(dataDir, options)
    try {
      await ensureDatabase(server, databaseName)
      const logged = await sizeOf(cluster.log)
      const stopRotation = rotateRegularly(cluster.log, () => lockExclusive(lockOf(dataDir), 0))
      const settings = options.settings ?? {}
      const supervisor = supervise(server, {
        lock: () => lockExclusive(lockOf(dataDir)),
        find: () => findRunning(cluster, RECOVERY_TIMEOUT_MS),
        start: () => restart(dataDir, cluster, settings, server.port),
        logError: options.logError ?? (() => {}),
      })
      return {
        url: urlOf(server, cluster, databaseName),
        directory: cluster.directory,
        notice: await locationNotice(dataDir, cluster.directory),
        adopted: running && server.user.wasAlone,
        diskFull: async () => diskFullLine(await readSince(cluster.log, logged)),
        failed: supervisor.failed,
        stop: once(() => {
          stopRotation()
          supervisor.stop()
          return leave(dataDir, cluster, () => supervisor.server)
        }),
      }
    } catch (error) {
      await server.session.close()
      if (!running) await shutDown(cluster, server)
      throw error
    }
  } catch (error) {
    throw asStartError(error, dataDir)
  } finally {
    release()
  }
}

async function writable(dataDir: string): Promise<string> {
  try {
    await makeDataDir(dataDir)
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
    return dataDir
  } catch (cause) {
    const { message } = cause as Error
    throw new StartError(`the data directory ${dataDir} is not writable: ${message}`, { cause })
  }
}

const lockOf = (dataDir: string) => join(dataDir, START_LOCK)

async function findOrStart(
  dataDir: string,
  { settings = {}, meanwhile }: { settings?: Launch['settings']; meanwhile?: Launch['meanwhile'] },
): Promise<{ cluster: Cluster; running: boolean; server: Server }> {
  const binaries = await findBinaries()
  const found = await findCluster(dataDir, binaries)
  if (found) await claimCluster(dataDir, found)
  const password = await readOrCreatePassword(dataDir, found)
  const log = join(dataDir, 'postgres.log')

  const running =
    found && (await findRunning({ directory: found, password, log }, RECOVERY_TIMEOUT_MS))
  if (running) {
    return { cluster: { directory: found, password, log }, running: true, server: running }
  }

  const osUser = await osUserFor(found)
  const native = await reachableBinaries(binaries, osUser, dataDir)
  const directory = found ?? (await createCluster({ dataDir, native, osUser, password }))
  if (!found) await claimCluster(dataDir, directory)
  const cluster = { directory, password, log }
  const server = await startServer({ cluster, native, osUser, settings, meanwhile })
  return { cluster, running: false, server }
}

async function ensureDatabase({ session: { sql } }: Server, name: string): Promise<void> {
  const [existing] = await sql`select from pg_database where datname = ${name}`
  if (!existing) await sql`create database ${sql(name)}`
}

function urlOf(server: Server, cluster: Cluster, databaseName: string): string {
  const password = encodeURIComponent(cluster.password)
  const url = `postgres://cardstall:${password}@127.0.0.1:${server.port}/${databaseName}`
  return server.hasSocket ? withSocket(url, cluster.directory) : url
}

/** Restarts a server that died, on the port that the pools already use. */
async function restart(
  dataDir: string,
  cluster: Cluster,
  settings: Record<string, string>,
  port: number,
): Promise<Server> {
  await endOrphans(cluster.directory)
  const osUser = await osUserFor(cluster.directory)
  const native = await reachableBinaries(await findBinaries(), osUser, dataDir)
  return startServer({ cluster, native, osUser, settings }, async () => port)
}

/** @param current returns the current server; called under the lock, because a restart replaces it */
async function leave(dataDir: string, cluster: Cluster, current: () => Server): Promise<void> {
  try {
    // If DATA_DIR was deleted, there is no lock file and no process to coordinate with.
    const release = await lockExclusive(lockOf(dataDir)).catch(() => () => {})
    // After the timeout, another process is starting the server and will be its last user instead.
    if (!release) return
    try {
      const server = current()
      if (await server.user.leave()) await shutDown(cluster, server)
    } finally {
      release()
    }
  } finally {
    await current().session.close()
  }
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= work()
    return done
  }
}

/** Converts errors of the file system and of PostgreSQL, whose messages are clear enough, to start errors. */
function asStartError(error: unknown, dataDir: string): unknown {
  if (error instanceof StartError || !(error instanceof Error)) return error
  if (!('syscall' in error) && error.name !== 'PostgresError') return error
  const message = `cannot prepare the database in ${dataDir}: ${error.message}`
  return new StartError(message, { cause: error })
}

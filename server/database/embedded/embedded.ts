import { access, constants } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { takeLock } from '../../files/lock.ts'
import { makeDirectory } from '../../files/make-directory.ts'
import { StartError } from '../../start-error.ts'
import { findBinaries, reachableBinaries } from './binaries.ts'
import { type Cluster, createCluster, findCluster, keptPassword, whereItIs } from './cluster.ts'
import { RECOVERY_TIMEOUT_MS, startServer } from './launch.ts'
import { diskFullLine, readSince, rotateRegularly, sizeOf } from './log.ts'
import { endOrphans } from './orphans.ts'
import { osUserFor } from './os-user.ts'
import { START_LOCK } from './remove.ts'
import { findRunning, shutDown } from './server.ts'
import type { Server } from './session.ts'
import { supervise } from './supervisor.ts'

/** The PostgreSQL that comes with Cardstall, running, and one of its users: us. */
export type EmbeddedDatabase = {
  /** `postgres://cardstall:<password>@127.0.0.1:<port>/<database>` */
  url: string
  /** Where the cluster really is. */
  directory: string
  /** One line to print when that isn't simply `DATA_DIR/postgres`. */
  notice?: string
  /** True when a server that a killed process had left alive was taken over. */
  adopted: boolean
  /** The server's latest log line about a full disk; undefined when there is none. */
  diskFull(): Promise<string | undefined>
  /** Resolves when the server died and could not be started again. */
  failed: Promise<Error>
  /** Gives up our use; the last user turns the server off. May be called twice. */
  stop(): Promise<void>
}

/**
 * Starts the embedded PostgreSQL on `dataDir`, or joins the one that is already running there. Several
 * processes may do so at once: one of them creates and starts it, all of them use it, and the last to
 * stop turns it off. `settings` are PostgreSQL's own (`fsync`, `shared_buffers`) and count when this call
 * is the one that starts the server. A server that dies while it's in use is started again on the same port; `tell`
 * hears of it.
 *
 * What lies in `dataDir`: `postgres` (the cluster, or a link to it), `postgres.password`, `postgres.log`
 * and `postgres.lock`.
 */
export async function startEmbedded(options: {
  dataDir: string
  databaseName?: string
  settings?: Record<string, string>
  tell?: (message: string, error?: unknown) => void
}): Promise<EmbeddedDatabase> {
  const dataDir = await writable(resolve(options.dataDir))
  const databaseName = options.databaseName ?? 'cardstall'
  // Finding, creating, starting and stopping all happen under this lock, so that nobody finds a server
  // in the instant in which somebody else turns it off.
  const release = await takeLock(lockOf(dataDir))
  if (!release) throw new StartError(`another process is still starting or stopping ${dataDir}`)
  try {
    const { cluster, server, running } = await findOrStart(dataDir, options.settings ?? {})
    try {
      await ensureDatabase(server, databaseName)
      const logged = await sizeOf(cluster.log)
      const stopRotation = rotateRegularly(cluster.log, () => takeLock(lockOf(dataDir), 0))
      const settings = options.settings ?? {}
      const supervisor = supervise(server, {
        takeLock: () => takeLock(lockOf(dataDir)),
        find: () => findRunning(cluster, RECOVERY_TIMEOUT_MS),
        start: () => startAgain(dataDir, cluster, settings, server.port),
        tell: options.tell ?? (() => {}),
      })
      return {
        url: urlOf(server, cluster, databaseName),
        directory: cluster.directory,
        notice: await whereItIs(dataDir, cluster.directory),
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
    await makeDirectory(dataDir)
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
  settings: Record<string, string>,
): Promise<{ cluster: Cluster; running: boolean; server: Server }> {
  const binaries = await findBinaries()
  const found = await findCluster(dataDir, binaries)
  const password = await keptPassword(dataDir, found)
  const log = join(dataDir, 'postgres.log')

  const running = found && (await findRunning({ directory: found, password, log }))
  if (running) {
    return { cluster: { directory: found, password, log }, running: true, server: running }
  }

  const osUser = await osUserFor(found)
  const native = await reachableBinaries(binaries, osUser, dataDir)
  const directory = found ?? (await createCluster({ dataDir, native, osUser, password }))
  const cluster = { directory, password, log }
  const server = await startServer({ cluster, native, osUser, settings })
  return { cluster, running: false, server }
}

async function ensureDatabase({ session: { sql } }: Server, name: string): Promise<void> {
  const [existing] = await sql`select from pg_database where datname = ${name}`
  if (!existing) await sql`create database ${sql(name)}`
}

function urlOf(server: Server, cluster: Cluster, databaseName: string): string {
  const password = encodeURIComponent(cluster.password)
  return `postgres://cardstall:${password}@127.0.0.1:${server.port}/${databaseName}`
}

/** Starts a server that died. Pools know its port: there it's found again. */
async function startAgain(
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

/** @param current the server that is used now, asked once nobody starts or stops one */
async function leave(dataDir: string, cluster: Cluster, current: () => Server): Promise<void> {
  try {
    // Where even the lock is gone, somebody deleted DATA_DIR under us: there is no one to agree with.
    const release = await takeLock(lockOf(dataDir)).catch(() => () => {})
    // No lock in all that time: another process is starting on it, and will be its last user instead.
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

/** A full disk, a read-only or a vanished directory: the words of whoever met it are clear enough. */
function asStartError(error: unknown, dataDir: string): unknown {
  if (error instanceof StartError || !(error instanceof Error)) return error
  if (!('syscall' in error) && error.name !== 'PostgresError') return error
  const message = `cannot prepare the database in ${dataDir}: ${error.message}`
  return new StartError(message, { cause: error })
}

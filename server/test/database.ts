import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { BUNDLED_FILES } from '../catalog/import/bundled.ts'
import { type ImportContext, importCatalog } from '../catalog/import/import.ts'
import type { Line } from '../catalog/import/lines.ts'
import { openSource } from '../catalog/import/sources.ts'
import { connect, connectAlone } from '../database/connect.ts'
import { createMigrationsTable, migrationFiles, readMigration } from '../database/migrate.ts'
import type { Sql } from '../database/sql.ts'
import { type Begin, transactionsOn } from '../database/transactions.ts'
import { CATALOG_FIXTURE } from './catalog-fixture.ts'
import { databaseUrl, EMPTY_TEMPLATE } from './global-setup.ts'
import { until } from './until.ts'
import { whenFileEnds } from './when-file-ends.ts'

/**
 * The initial content of a test's database, in addition to the migrated schema.
 * - `empty`: nothing
 * - `product`: one product, the smallest catalog with which a service has nothing to import when it starts
 * - `fixture`: the catalog fixture
 * - `catalog`: the bundled catalog
 */
export type Template = 'empty' | 'product' | keyof typeof PREPARED

/** Templates that are prepared by the first test file that needs them: an import takes seconds of CPU time. */
const PREPARED = {
  fixture: async (ctx: ImportContext) => {
    await importCatalog(ctx, fixtureLines())
  },
  catalog: async (ctx: ImportContext) => {
    // Unlike a first start, not in one transaction: it would hold back the feeds and streams of all test files.
    for (const path of BUNDLED_FILES) await importCatalog(ctx, (await openSource(path)).lines)
  },
}

/** A database for one test file. Call it in `beforeAll` or in a test; the database is dropped when the file ends. */
export async function testDatabase(
  template: Template = 'empty',
): Promise<{ db: Sql; begin: Begin; url: string }> {
  const server = inject('databaseServer')
  // Without time limits: it waits while another worker prepares a template, and copies whole databases.
  const admin = connectAlone(server)
  const isPrepared = template === 'fixture' || template === 'catalog'
  const cloned = isPrepared ? await prepared(template, admin, server) : EMPTY_TEMPLATE
  // Copying files takes less CPU time than the default, which logs every block.
  const url = await newDatabase(admin, `template ${cloned} strategy file_copy`)
  const db = connect(url, { max: 5 })
  const { begin, end } = transactionsOn(url, 5)
  whenFileEnds(async () => {
    await end()
    await db.end({ timeout: 1 })
  })
  if (template === 'product') {
    await db`insert into products (slug, name, category, version) values ('tin', 'Tin', 'tin', 1)`
  }
  return { db, begin, url }
}

/**
 * A new database with the schema of an earlier version.
 *
 * @param options of `create database`
 */
export async function databaseAtVersion(version: number, options = ''): Promise<string> {
  const url = await newDatabase(connectAlone(inject('databaseServer')), options)
  const db = connect(url, { max: 1 })
  await createMigrationsTable(db)
  for (const [i, file] of (await migrationFiles()).slice(0, version).entries()) {
    await db.unsafe(await readMigration(file))
    await db`insert into migrations (version, name) values (${i + 1}, ${file})`
  }
  await db.end()
  return url
}

/** Creates a database, which is dropped when the file ends, after the clean-ups that are registered later. */
async function newDatabase(admin: Sql, options = ''): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await admin.unsafe(`create database ${name} ${options}`)
  whenFileEnds(async () => {
    await admin.unsafe(`drop database ${name} with (force)`)
    await admin.end({ timeout: 1 })
  })
  return databaseUrl(inject('databaseServer'), name)
}

/** The database to clone for a template. Test files run in several processes: an advisory lock lets one of them make it. */
async function prepared(
  template: keyof typeof PREPARED,
  admin: Sql,
  server: string,
): Promise<string> {
  const name = `template_${template}`
  await admin`select pg_advisory_lock(hashtext(${name}))`
  try {
    const found = await admin`select from pg_database where datname = ${name}`
    if (found.length > 0) return name
    const unfinished = `${name}_unfinished`
    await admin.unsafe(`drop database if exists ${unfinished} with (force)`)
    await admin.unsafe(
      `create database ${unfinished} template ${EMPTY_TEMPLATE} strategy file_copy`,
    )
    const url = databaseUrl(server, unfinished)
    const db = connect(url, { max: 2 })
    const { begin, end } = transactionsOn(url, 1)
    try {
      await PREPARED[template]({ db, begin, databaseUrl: url, log: console as never })
    } finally {
      await end()
      await db.end()
    }
    // A server with much work ends sessions later than their clients, and PostgreSQL waits for them for five seconds only.
    await until('nobody uses the template', async () => {
      const sessions = await admin`select from pg_stat_activity where datname = ${unfinished}`
      return sessions.length === 0
    })
    await admin.unsafe(`alter database ${unfinished} rename to ${name}`)
    return name
  } finally {
    await admin`select pg_advisory_unlock(hashtext(${name}))`
  }
}

async function* fixtureLines(): AsyncGenerator<Line> {
  for (const [i, record] of CATALOG_FIXTURE.entries()) {
    yield { number: i + 1, text: JSON.stringify(record) }
  }
}

/** Terminates the session that holds an advisory lock on this database, as a broken network would. */
export async function cutLock(db: Sql): Promise<void> {
  const cut = await db`
    select pid, pg_terminate_backend(pid, 5000)
    from pg_locks
    where locktype = 'advisory' and granted and objsubid = 2 and classid = ${0x63617264}::int::oid
      and database = (select oid from pg_database where datname = current_database())
  `
  if (cut.length !== 1) throw new Error(`${cut.length} sessions hold a lock`)
}

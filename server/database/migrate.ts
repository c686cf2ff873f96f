import { readdir, readFile } from 'node:fs/promises'
import postgres from 'postgres'
import { StartError } from '../start-error.ts'
import { HOURS } from '../time/units.ts'
import { type AdvisoryLock, withAdvisoryLock } from './advisory-lock.ts'
import { recognizeServer } from './server-epoch.ts'
import type { Sql } from './sql.ts'
import { transactionsOn } from './transactions.ts'
import { isDeadlock } from './unavailable.ts'

const MIGRATIONS = new URL('../../migrations/', import.meta.url)
const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/
const OLDEST_SERVER = 15

/**
 * A statement without a response for this long fails. It covers an index on the largest table, and is far above the limit
 * of other statements: with that, a large database could never be migrated.
 */
const STATEMENT_TIMEOUT_MS = 6 * HOURS

/**
 * Applies the pending migrations in order, each in its own transaction. If several processes start at the same time,
 * one of them migrates and the others wait. Then it recognizes a database that was moved to another server.
 *
 * @param willUpdate called with the names of the files before they are applied, unless the database is new
 * @returns the names of the applied files
 * @throws StartError if the server is too old, the schema is newer than this program or another program's, or the role
 *   may not change it
 */
export async function migrate(
  sql: Sql,
  url: string,
  willUpdate: (files: string[]) => void = () => {},
): Promise<string[]> {
  try {
    await refuseUnusableServer(sql)
    const files = await migrationFiles()
    const isCurrent = (await appliedVersion(sql)) === files.length
    const applied = isCurrent
      ? []
      : await withAdvisoryLock(url, 'migrate', (lock) =>
          applyMissing(sql, url, lock, files, willUpdate),
        )
    await recognizeServer(sql)
    return applied
  } catch (error) {
    if (!(error instanceof postgres.PostgresError)) throw error
    const remedy = REMEDIES[error.code]
    if (remedy === undefined) throw error
    throw new StartError(`Cannot migrate the database: ${error.message}.${remedy}`)
  }
}

async function applyMissing(
  sql: Sql,
  url: string,
  lock: AdvisoryLock,
  files: string[],
  willUpdate: (files: string[]) => void,
): Promise<string[]> {
  await refuseTablesOfOthers(sql, files)
  await createMigrationsTable(sql)
  const done = await appliedVersion(sql)
  if (done > files.length) {
    throw new StartError(
      `The database is at migration ${done}, but this version of Cardstall only has ${files.length}: start the newer version.`,
    )
  }
  const names = files.slice(done)
  if (done > 0 && names.length > 0) willUpdate(names)
  const { begin, end } = transactionsOn(url, 1, { silenceMs: STATEMENT_TIMEOUT_MS })
  try {
    for (const file of names) {
      const text = await readMigration(file)
      const version = Number(file.slice(0, 4))
      const apply = () =>
        begin(async (tx) => {
          // Before the guard, which waits for the transaction of a process that was killed during a migration.
          await tx.unsafe(
            `set local statement_timeout = ${STATEMENT_TIMEOUT_MS}; set local lock_timeout = 0`,
          )
          await lock.guard(tx)
          await tx.unsafe(text)
          await tx`insert into migrations (version, name) values (${version}, ${file})`
        }, 'unboundedWrite')
      await repeatAfterDeadlocks(apply)
    }
  } finally {
    await end()
  }
  return names
}

const MAX_ATTEMPTS = 10

/**
 * Applies a file again if PostgreSQL has rolled it back because of a deadlock with another session, such as a process of
 * an earlier version that an operator forgot to stop.
 */
async function repeatAfterDeadlocks(apply: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await apply()
    } catch (error) {
      if (!isDeadlock(error) || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

const OTHER_DATABASE = ' Use a database without the tables of other applications.'

/** The errors that an operator can fix, with an additional sentence. */
const REMEDIES: Record<string, string> = {
  '40P01': ' Stop all other processes that use the database.', // deadlock detected
  '42501': '', // insufficient privilege
  // read-only transaction
  '25006': ' Use the primary server, not a standby, and turn default_transaction_read_only off.',
  '42P07': OTHER_DATABASE, // duplicate table or index
  '42710': OTHER_DATABASE, // duplicate type
  '42723': OTHER_DATABASE, // duplicate function
}

type Server = {
  version: number
  encoding: string
  database: string
  role: string
  schema: string | null
  searchPath: string
}

async function refuseUnusableServer(sql: Sql): Promise<void> {
  const [row] = await sql<Server[]>`
    select current_setting('server_version_num')::int as version,
           current_setting('server_encoding') as encoding,
           current_database() as database,
           current_user as role,
           current_schema() as schema,
           current_setting('search_path') as "searchPath"
  `
  const { version, encoding, database, role, schema, searchPath } = row!
  const major = Math.floor(version / 10_000)
  if (major < OLDEST_SERVER) {
    throw new StartError(
      `Cardstall needs PostgreSQL ${OLDEST_SERVER} or later; this server runs ${major}.`,
    )
  }
  if (encoding !== 'UTF8') {
    throw new StartError(
      `DATABASE_URL: the encoding of the database ${database} is ${encoding}; create one with ENCODING 'UTF8'.`,
    )
  }
  if (schema === null) {
    throw new StartError(
      `DATABASE_URL: the role ${role} can use no schema of its search_path (${searchPath}): create one, or grant it USAGE and CREATE on one.`,
    )
  }
}

const CREATED_TABLE = /^create (?:unlogged )?table (\w+)/gim

/** Refuses a new database that already has one of our tables, because a migration would fail or change that one. */
async function refuseTablesOfOthers(sql: Sql, files: string[]): Promise<void> {
  if ((await migrationsTable(sql)) === 'ours') return
  const texts = await Promise.all(files.map(readMigration))
  const names = texts.flatMap((text) => [...text.matchAll(CREATED_TABLE)].map(([, name]) => name!))
  const [taken] = await sql<{ name: string }[]>`
    select name
    from unnest(${names}::text[]) as name
    where to_regclass(format('%I.%I', current_schema(), name)) is not null
    limit 1
  `
  if (taken) throw await tableOfOthers(sql, taken.name)
}

async function tableOfOthers(sql: Sql, table: string): Promise<StartError> {
  const [row] = await sql<{ database: string }[]>`select current_database() as database`
  return new StartError(
    `DATABASE_URL: the database ${row!.database} already has a table ${table} of another application; use an empty database.`,
  )
}

/** The names of the files in their order. */
export async function migrationFiles(): Promise<string[]> {
  const files = (await readdir(MIGRATIONS)).filter((name) => FILE_NAME.test(name)).sort()
  for (const [index, file] of files.entries()) {
    if (Number(file.slice(0, 4)) !== index + 1) {
      throw new Error(`migrations/: ${file} should be number ${index + 1}`)
    }
  }
  return files
}

export const readMigration = (file: string) => readFile(new URL(file, MIGRATIONS), 'utf8')

/** Creates the table of the applied migrations, unless it exists. */
export const createMigrationsTable = (sql: Sql) => sql`
  create table if not exists migrations (
    version integer primary key,
    name text not null,
    applied_at timestamptz not null default clock_timestamp()
  )
`

async function appliedVersion(sql: Sql): Promise<number> {
  const table = await migrationsTable(sql)
  if (table === 'none') return 0
  if (table === 'other') throw await tableOfOthers(sql, 'migrations')
  const [row] = await sql<{ version: number }[]>`
    select coalesce(max(version), 0)::int as version from migrations
  `
  return row?.version ?? 0
}

/** Other applications also have a table of this name, with other columns. */
async function migrationsTable(sql: Sql): Promise<'ours' | 'other' | 'none'> {
  const [row] = await sql<{ exists: boolean; columns: number }[]>`
    select to_regclass('migrations') is not null as exists,
           count(*)::int as columns
    from pg_attribute
    where attrelid = to_regclass('migrations')
      and attname in ('version', 'name', 'applied_at')
  `
  if (!row!.exists) return 'none'
  return row!.columns === 3 ? 'ours' : 'other'
}

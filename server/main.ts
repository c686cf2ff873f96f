import path from 'node:path'
import { runImportCommand } from './catalog/import-command.ts'
import { type Config, readConfig } from './config.ts'
import { connect } from './database/connect.ts'
import { migrate } from './database/migrate.ts'
import { openDatabase } from './database/open.ts'
import { transactionsOn } from './database/transactions.ts'
import { listen } from './listen/listen.ts'
import { createLog } from './log.ts'
import { serve } from './serve.ts'
import { StartError } from './start-error.ts'

/** What the program can do: one verb per role. */
const VERBS: Record<string, (config: Config, parameters: string[]) => Promise<number>> = {
  serve: (config) => serve(config),
  migrate: migrateOnly,
  'catalog:import': importCatalogFiles,
  listen,
}

/** Runs one verb and exits. What the caller can mend is told in one line, without a stack trace. */
export async function run([verb = 'serve', ...parameters]: string[]): Promise<void> {
  try {
    const work = VERBS[verb]
    if (!work) {
      throw new StartError(`There is no "${verb}". Possible: ${Object.keys(VERBS).join(', ')}.`)
    }
    process.exitCode = await work(readConfig(process.env), parameters)
  } catch (error) {
    const text = error instanceof StartError ? error.message : String((error as Error).stack)
    process.stderr.write(`${text}\n`)
    process.exitCode = 1
  }
  // Nothing may keep the process once its verb is done; what's left to write is written first.
  process.stdout.write('', () => process.exit())
}

async function migrateOnly(config: Config): Promise<number> {
  const database = await openDatabase(config)
  const sql = connect(database.url, { max: 1 })
  try {
    const applied = await migrate(sql, database.url)
    process.stdout.write(`${applied.length === 0 ? 'Nothing to do.' : applied.join('\n')}\n`)
    return 0
  } finally {
    await sql.end({ timeout: 1 })
    await database.close()
  }
}

async function importCatalogFiles(config: Config, paths: string[]): Promise<number> {
  const { log, flush } = createLog(config.logLevel)
  const database = await openDatabase(config)
  const sql = connect(database.url, { max: 2 })
  const { begin, end } = transactionsOn(database.url, 1)
  // npm runs its scripts in the project's folder; a path means what it means where the command was given.
  const from = process.env.INIT_CWD ?? '.'
  try {
    await migrate(sql, database.url)
    const ctx = { db: sql, begin, databaseUrl: database.url, log }
    return await runImportCommand(
      ctx,
      paths.map((file) => path.resolve(from, file)),
    )
  } finally {
    await end()
    await sql.end({ timeout: 1 })
    await database.close()
    flush()
  }
}

import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { buildApp } from '../server/app.ts'
import { readConfig } from '../server/config.ts'
import { startEmbedded } from '../server/database/embedded/embedded.ts'
import type { Closers } from '../server/processes/lifecycle.ts'
import { openService, unopened } from '../server/service.ts'
import { settingsTable } from '../server/settings/settings.ts'
import { DESCRIPTIONS } from '../server/test/descriptions.ts'
import { schemaSql } from './schema-sql.ts'
import { sdkTypes } from './sdk-types.ts'
import { temporaryFolder } from './temporary-folder.ts'

/**
 * Writes the generated files: the OpenAPI descriptions, the types of the SDK, the command reference, the database's
 * schema, and the table of settings in docs/configuration.md. With `--check` it writes nothing, and exits with code 1 if
 * a file is out of date.
 */
const ROOT = path.join(import.meta.dirname, '..')
const check = process.argv.includes('--check')

const dataDir = await temporaryFolder('generate')
const database = await startEmbedded({ dataDir })
const closers: Closers = []
try {
  // Fixed example values: the output must not depend on the machine.
  const config = readConfig({
    SANDBOX: 'true',
    PUBLIC_URL: 'https://cardstall.example',
    OPERATOR_TOKEN: 'not-used',
    SECRET_KEY: 'not-used',
    DATA_DIR: dataDir,
  })
  const service = unopened(config, pino({ level: 'silent' }))
  const ctx = await openService(service, database.url, closers)
  const app = await buildApp(ctx)
  closers.push(() => app.close())
  const fetchJson = async (url: string) => (await app.inject(url)).json()

  for (const { file, path } of DESCRIPTIONS) {
    await writeOrCheck(file, `${JSON.stringify(await fetchJson(path), null, 2)}\n`)
  }
  const described = await Promise.all(['/openapi.json', '/tools/openapi.json'].map(fetchJson))
  await writeOrCheck('sdk/src/types.ts', await sdkTypes(described))
  await writeOrCheck('migrations/schema.sql', await schemaSql(ctx.db))
  await writeTable('docs/configuration.md', settingsTable())
  const reference = ['--conditions=cardstall', 'cli/src/main.ts', 'reference']
  const { stdout } = await promisify(execFile)(process.execPath, reference, { cwd: ROOT })
  await writeOrCheck('cli/COMMANDS.md', stdout)
} finally {
  for (const close of closers.reverse()) await close()
  await database.stop()
  await rm(database.directory, { recursive: true, force: true })
  await rm(dataDir, { recursive: true, force: true })
}

async function writeOrCheck(file: string, text: string): Promise<void> {
  const target = path.join(ROOT, file)
  const current = await readFile(target, 'utf8').catch(() => '')
  if (current === text) return
  if (check) {
    process.stderr.write(`${file} is out of date: run "npm run generate".\n`)
    process.exitCode = 1
  } else {
    await writeFile(target, text)
    process.stdout.write(`${file} written\n`)
  }
}

/** Replaces the table between its two marker comments. */
async function writeTable(file: string, table: string): Promise<void> {
  const text = await readFile(path.join(ROOT, file), 'utf8')
  const marked = /(<!-- settings.*?-->\n).*?(<!-- end of settings -->)/s
  await writeOrCheck(
    file,
    text.replace(marked, (_, begin, end) => `${begin}\n${table}\n\n${end}`),
  )
}

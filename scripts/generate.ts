import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pino } from 'pino'
import { buildApp } from '../server/app.ts'
import { readConfig } from '../server/config.ts'
import { startEmbedded } from '../server/database/embedded/embedded.ts'
import { type Closers, openService } from '../server/service.ts'
import { settingsTable } from '../server/settings/settings.ts'
import { schemaSql } from './schema-sql.ts'

/**
 * Writes the files that are made from the code: both OpenAPI descriptions, the dump of the database's schema and the
 * table of settings in docs/configuration.md.
 * With `--check` nothing is written; a file that isn't up to date ends with exit code 1.
 */
const ROOT = path.join(import.meta.dirname, '..')
const check = process.argv.includes('--check')

const dataDir = await mkdtemp(path.join(tmpdir(), 'cardstall-generate-'))
await chmod(dataDir, 0o755)
const database = await startEmbedded({ dataDir })
const closers: Closers = []
try {
  // The address of an example: what is published must not depend on where it was made.
  const config = readConfig({
    SANDBOX: 'true',
    PUBLIC_URL: 'https://cardstall.example',
    OPERATOR_TOKEN: 'not-used',
    SECRET_KEY: 'not-used',
    DATA_DIR: dataDir,
  })
  const ctx = await openService(config, database.url, pino({ level: 'silent' }), closers)
  const app = await buildApp(ctx)
  closers.push(() => app.close())
  const described = async (address: string) =>
    `${JSON.stringify((await app.inject(address)).json(), null, 2)}\n`

  await settle('openapi/seller.json', await described('/openapi.json'))
  await settle('openapi/operator.json', await described('/operator/openapi.json'))
  await settle('migrations/schema.sql', await schemaSql(ctx.db))
  await settleTable('docs/configuration.md', settingsTable())
} finally {
  for (const close of closers.reverse()) await close()
  await database.stop()
  await rm(database.directory, { recursive: true, force: true })
  await rm(dataDir, { recursive: true, force: true })
}

async function settle(file: string, text: string): Promise<void> {
  const at = path.join(ROOT, file)
  const present = await readFile(at, 'utf8').catch(() => '')
  if (present === text) return
  if (check) {
    process.stderr.write(`${file} is not up to date: run "npm run generate".\n`)
    process.exitCode = 1
  } else {
    await writeFile(at, text)
    process.stdout.write(`${file} written\n`)
  }
}

/** Replaces what stands between the two comments that mark the table. */
async function settleTable(file: string, table: string): Promise<void> {
  const text = await readFile(path.join(ROOT, file), 'utf8')
  const marked = /(<!-- settings.*?-->\n).*?(<!-- end of settings -->)/s
  await settle(
    file,
    text.replace(marked, (_, begin, end) => `${begin}\n${table}\n\n${end}`),
  )
}

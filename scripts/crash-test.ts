import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { crashTest } from './crash-test/run.ts'

/**
 * `npm run crash-test -- [--minutes 2] [--kills N] [--processes 1|2] [--seed N]`: sells under load while the service is
 * killed with `kill -9` again and again, and tells whether everything that was committed was announced, and nothing
 * else. The service runs on an embedded PostgreSQL in a temporary folder, or on DATABASE_URL: an empty database, which
 * is left as it is afterwards.
 */

const MAX_WRONGS_SHOWN = 50

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    kills: { type: 'string', default: 'Infinity' },
    processes: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
  },
})
const { minutes, kills, processes, seed } = numbersIn(values)

// So that nothing of what was started stays behind.
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))

const folder = await mkdtemp(join(await realpath(tmpdir()), 'cardstall-crash-'))
// Started by root, PostgreSQL runs as another user, who has to reach its files.
await chmod(folder, 0o755)
console.log(`crash test: ${minutes} min, processes: ${processes}, seed: ${seed}, in ${folder}`)

const { figures, wrong } = await crashTest({
  seconds: minutes * 60,
  kills,
  processes,
  seed,
  folder,
  databaseUrl: process.env.DATABASE_URL,
  sellers: 4,
  buyers: 16,
  secondsBetweenKills: [1, 4],
})
for (const [what, count] of Object.entries(figures)) {
  console.log(`${count.toLocaleString('en-US').padStart(10)}  ${what}`)
}
if (wrong.length > 0) {
  console.log(`\n${wrong.length} things are wrong; the logs and the database are in ${folder}:`)
  for (const sentence of wrong.slice(0, MAX_WRONGS_SHOWN)) console.log(`- ${sentence}`)
  process.exit(1)
}
await rm(folder, { recursive: true, force: true })
console.log('\nEverything that was committed was announced, nothing else was, and stock adds up.')

function numbersIn<Name extends string>(texts: Record<Name, string>): Record<Name, number> {
  const numbers = Object.entries<string>(texts).map(([name, text]) => {
    if (!(Number(text) > 0)) throw new Error(`--${name} must be a number above 0, not "${text}".`)
    return [name, Number(text)]
  })
  return Object.fromEntries(numbers)
}

import { rm } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { crashTest } from './crash-test/run.ts'
import { temporaryFolder } from './temporary-folder.ts'

/**
 * `npm run crash-test -- [--minutes 2] [--kills N] [--processes 1|2] [--seed N]`: sells under load while it kills the
 * service repeatedly with `kill -9`, and checks that every committed order was announced and nothing else was. The
 * service runs on an embedded PostgreSQL in a temporary folder, or on DATABASE_URL, an empty database that is not
 * cleaned up afterwards.
 */

const MAX_VIOLATIONS_SHOWN = 50

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    kills: { type: 'string', default: 'Infinity' },
    processes: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
  },
})
const { minutes, kills, processes, seed } = numbersIn(values)

// `exit` handlers kill the processes that this script started.
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))

const folder = await temporaryFolder('crash')
console.log(`crash test: ${minutes} min, processes: ${processes}, seed: ${seed}, in ${folder}`)

const { figures, violations } = await crashTest({
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
for (const [name, count] of Object.entries(figures)) {
  console.log(`${count.toLocaleString('en-US').padStart(10)}  ${name}`)
}
if (violations.length > 0) {
  console.log(`\n${violations.length} violations. The logs and the database are in ${folder}.`)
  for (const violation of violations.slice(0, MAX_VIOLATIONS_SHOWN)) console.log(`- ${violation}`)
  process.exit(1)
}
await rm(folder, { recursive: true, force: true })
console.log('\nEvery committed order was announced, nothing else was, and the stock adds up.')

function numbersIn<Name extends string>(texts: Record<Name, string>): Record<Name, number> {
  const numbers = Object.entries<string>(texts).map(([name, text]) => {
    if (!(Number(text) > 0)) throw new Error(`--${name} must be a number above 0, not "${text}".`)
    return [name, Number(text)]
  })
  return Object.fromEntries(numbers)
}

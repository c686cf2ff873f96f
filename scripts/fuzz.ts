import { rm } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { commandFor } from './fuzz/request.ts'
import { fuzz } from './fuzz/run.ts'
import { temporaryFolder } from './temporary-folder.ts'

/**
 * `npm run fuzz -- [--seconds 60] [--minutes N] [--seed N] [--connections 4] [--operations REGEX]`: sends a service of
 * its own valid, nearly valid and hostile requests, generated from the OpenAPI descriptions, the routes of the
 * dashboard’s API, the tools of both tool servers, the OAuth endpoints, and the public pages. Exits with 1 when a response breaks a rule,
 * the process fails, or its log has an error.
 */

const MAX_PROBLEMS_SHOWN = 5
const MAX_CHARACTERS_SHOWN = 2_000

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    minutes: { type: 'string' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    connections: { type: 'string', default: '4' },
    operations: { type: 'string', default: '' },
  },
})
const seconds = values.minutes ? positive('minutes') * 60 : positive('seconds')
const seed = Number(values.seed)
const connections = positive('connections')

// `exit` handlers stop the service that this script started.
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))

const folder = await temporaryFolder('fuzz')
console.log(`fuzz: seed ${seed}, ${seconds} s, connections: ${connections}, in ${folder}`)

const operations = new RegExp(values.operations, 'i')
const { figures, failure, problems } = await fuzz({
  seconds,
  seed,
  connections,
  operations,
  folder,
})
for (const [name, count] of Object.entries(figures)) {
  console.log(`${count.toLocaleString('en-US').padStart(10)}  ${name}`)
}
if (failure) {
  const { faults, bytes, response, earlier, port } = failure
  console.log(`\nSeed ${seed}, request ${figures.requests}:`)
  for (const fault of faults) console.log(`- ${fault}`)
  if (response) {
    const { status, headers, body } = response
    console.log(
      `\nThe response was ${status} ${JSON.stringify(headers)}\n${body.toString('utf8', 0, MAX_CHARACTERS_SHOWN)}`,
    )
  }
  console.log('\nTo reproduce this:\n')
  if (earlier.length > 0) {
    console.log(
      `The request does not fail alone. Repeat the whole run with --seed ${seed} --connections 1.`,
    )
    console.log('Earlier requests on the same connection, then the request itself:\n')
  }
  for (const request of earlier) console.log(`${commandFor(request, port)}\n`)
  console.log(commandFor(bytes, port))
}
for (const problem of problems.slice(0, MAX_PROBLEMS_SHOWN)) {
  console.log(`\n${problem.slice(0, MAX_CHARACTERS_SHOWN)}`)
}
if (failure || problems.length > 0) {
  console.log(`\nThe log and the database are in ${folder}.`)
  process.exit(1)
}
await rm(folder, { recursive: true, force: true })
console.log(
  '\nEvery response matched its description, the process stopped cleanly, and its log has no errors.',
)

function positive(name: 'seconds' | 'minutes' | 'connections'): number {
  const number = Number(values[name])
  if (!(number > 0)) throw new Error(`--${name} must be a number above 0, not "${values[name]}".`)
  return number
}

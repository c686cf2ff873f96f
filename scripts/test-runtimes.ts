import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

/**
 * Runs the packed SDK and the packed command line in other runtimes, which npm downloads: too much for every test run.
 */
const RUNTIMES = [
  ['node@20', 'node'],
  ['node@22', 'node'],
  ['node@26', 'node'],
  ['bun', 'bun'],
  ['bun@1.2', 'bun'],
  ['deno', 'deno', 'run', '--allow-env', '--allow-read', '--allow-net'],
] as const

const PROGRAM = `
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { Cardstall, NotFoundError } from '@cardstall/sdk'
import { sign, verify } from '@cardstall/sdk/webhooks'
const { event } = await verify('{"event":"order.created"}', await sign('{"event":"order.created"}', 's'), 's')
const respond = (status, body) => async () =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } })
const client = (fetch) => new Cardstall({ key: 'k', baseUrl: 'https://cards.example/v1', fetch })
const { id } = await client(respond(200, { data: { id: 7 } })).me()
const error = await client(respond(404, { error: { type: 'not_found', message: 'No.' } })).me().catch((e) => e)
const closed = createServer().listen(0, '127.0.0.1')
await new Promise((resolve) => closed.once('listening', resolve))
const { port } = closed.address()
await new Promise((resolve) => closed.close(resolve))
let attempts = 0
const unreachable = new Cardstall({
  key: 'k', baseUrl: 'http://127.0.0.1:' + port + '/v1', maxRetries: 1, onRequest: () => attempts++,
})
await unreachable.orders.ship(1).catch(() => {})
let writes = 0
const cutting = createHttpServer((request, response) => {
  if (request.method === 'GET') response.setHeader('content-type', 'application/json').end('{"data":{}}')
  else request.resume().on('end', () => { writes++; request.socket.destroy() })
}).listen(0, '127.0.0.1')
await new Promise((resolve) => cutting.once('listening', resolve))
const cut = new Cardstall({ key: 'k', baseUrl: 'http://127.0.0.1:' + cutting.address().port + '/v1' })
// The write uses the connection of the read: some runtimes repeat it then.
await cut.me()
await cut.orders.ship(1).catch(() => {})
cutting.close()
console.log(event, id, error instanceof NotFoundError, attempts, writes)
`

/** Runs a command with a package of npm, and prints whether its output is right. */
async function expectOutput(name: string, command: string[], expected: string): Promise<void> {
  const outcome = await run('npx', ['--yes', '-p', name, ...command], { cwd: folder }).then(
    ({ stdout }) => stdout.trim(),
    (error: Error) => error.message,
  )
  const isRight = outcome === expected
  const shown = [name, ...command].join(' ')
  process.stdout.write(`${shown}: ${isRight ? 'passed' : `FAILED\n${outcome}`}\n`)
  if (!isRight) process.exitCode = 1
}

const run = promisify(execFile)
const folder = await mkdtemp(path.join(tmpdir(), 'cardstall-runtimes-'))
try {
  const root = path.join(import.meta.dirname, '..')
  await run('npm', ['pack', '-w', 'sdk', '-w', 'cli', '--pack-destination', folder], { cwd: root })
  const archives = (await readdir(folder)).filter((name) => name.endsWith('.tgz'))
  await writeFile(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  await run('npm', ['install', '--no-audit', '--no-fund', ...archives], { cwd: folder })
  await writeFile(path.join(folder, 'program.mjs'), PROGRAM)
  for (const [name, ...command] of RUNTIMES) {
    // Deno doesn't say that a connection was refused, so a write is not repeated there.
    const attempts = name === 'deno' ? 1 : 2
    await expectOutput(name, [...command, 'program.mjs'], `order.created 7 true ${attempts} 1`)
  }
  const { version } = JSON.parse(await readFile(path.join(root, 'cli/package.json'), 'utf8'))
  for (const name of ['node@22', 'node@26']) {
    await expectOutput(name, ['node', 'node_modules/.bin/cardstall', '--version'], version)
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}

import { execFile, spawn, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify, stripVTControlCharacters } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { guessMapping } from '../sdk/src/csv.ts'
import { sign, verify } from '../sdk/src/webhooks.ts'
import { startTestApp, type TestApp } from '../server/test/app.ts'
import { mismatchesOf } from '../server/test/described-responses.ts'
import { startWebServer } from '../server/test/fakes/network.ts'
import { startReceiver, subscribe } from '../server/test/fakes/receiver.ts'
import {
  cardItem,
  createListings,
  items,
  list,
  NO_LIMITS,
} from '../server/test/fixtures/listings.ts'
import { form } from '../server/test/fixtures/members.ts'
import { allowing } from '../server/test/fixtures/oauth.ts'
import {
  act,
  buy,
  LABEL,
  LETTER,
  openShop,
  PARCEL,
  sellEach,
  ship,
} from '../server/test/fixtures/orders.ts'
import { freePort } from '../server/test/free-port.ts'
import { until } from '../server/test/until.ts'
import { whenFileEnds } from '../server/test/when-file-ends.ts'

const execute = promisify(execFile)

const isThere = (shell: string) => spawnSync(shell, ['--version']).status === 0
for (const shell of ['fish', 'zsh']) {
  if (!isThere(shell)) console.warn(`SKIPPED: completion in ${shell}. It is not on PATH.`)
}

let app: TestApp
let seller: Awaited<ReturnType<typeof openShop>>
let url: string
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'cardstall-cli-'))
  whenFileEnds(() => rm(folder, { recursive: true, force: true }))
  // The packed program, in a folder without anything else.
  await execute('npm', ['pack', '--pack-destination', folder], { cwd: import.meta.dirname })
  const [archive] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'))
  await execute('tar', ['-xzf', archive!], { cwd: folder })
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  app = await startTestApp({ template: 'fixture', settings: { ...NO_LIMITS, PUBLIC_URL: url } })
  await app.app.listen({ port, host: '127.0.0.1' })
  seller = await openShop(app, PARCEL, LABEL, LETTER)
})

type Result = { code: number | null; stdout: string; stderr: string }

function start(args: string[], { input = '', env = {} }: { input?: string; env?: object } = {}) {
  const child = spawn(process.execPath, [path.join(folder, 'package/dist/cardstall.js'), ...args], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      XDG_CONFIG_HOME: path.join(folder, 'config'),
      CARDSTALL_URL: url,
      CARDSTALL_KEY: seller.key,
      ...env,
    },
  })
  // A command may end before it has read its input.
  child.stdin.on('error', () => {}).end(input)
  const ended = new Promise<Result>((resolve) => {
    const result = { stdout: '', stderr: '' }
    child.stdout.on('data', (data) => {
      result.stdout += data
    })
    child.stderr.on('data', (data) => {
      result.stderr += data
    })
    child.on('close', (code) => resolve({ code, ...result }))
  })
  return { child, ended }
}

const run = (args: string | string[], options: Parameters<typeof start>[1] = {}) =>
  start(typeof args === 'string' ? args.split(' ') : args, options).ended

/** Runs a command that succeeds, and returns its output. */
async function succeed(args: string, options: Parameters<typeof start>[1] = {}): Promise<string> {
  const { code, stdout, stderr } = await run(args, options)
  expect([code, stderr.match(/.*(error|failed).*/i)?.[0]], stderr).toEqual([0, undefined])
  return stdout
}

async function sold(option = PARCEL): Promise<number> {
  const [id] = await list(seller, cardItem())
  const shipping = [{ account_id: seller.accountId, option: option.code }]
  return (await buy(app, [[id!, 1]], { shipping })).orderIds[0]!
}

/** Answers a request as the service does. */
async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { authorization, 'content-type': type, 'idempotency-key': key } = request.headers
  const answer = await fetch(`${url}${request.url}`, {
    method: request.method!,
    headers: {
      ...(authorization && { authorization }),
      ...(type && { 'content-type': type }),
      ...(key && { 'idempotency-key': String(key) }),
    },
    ...(request.method === 'POST' && { body: await text(request) }),
  })
  response.writeHead(answer.status, {
    'content-type': answer.headers.get('content-type') ?? 'application/json',
  })
  response.end(Buffer.from(await answer.arrayBuffer()))
}

const CARD = cardItem().card
const file = (name: string) => path.join(folder, name)
const totalOf = async (status = 'active') =>
  (await seller.get(`/v1/listings?status=${status}`)).body.meta.total as number

/** Makes the waits of a program a hundred times shorter: a login polls every five seconds. */
const FAST_CLOCK = `data:text/javascript,${encodeURIComponent(`
  import { syncBuiltinESMExports } from 'node:module'
  import timers from 'node:timers/promises'
  const { setTimeout } = timers
  timers.setTimeout = (ms, ...others) => setTimeout(ms / 100, ...others)
  syncBuiltinESMExports()
`)}`

/** Moves the clock of a program by 25 hours after each request whose response is lost. */
const SLEEP_AFTER_A_LOST_RESPONSE = `data:text/javascript,${encodeURIComponent(`
  const { now } = Date
  let sleptMs = 0
  Date.now = () => now() + sleptMs
  const { fetch } = globalThis
  globalThis.fetch = (...request) =>
    fetch(...request).catch((error) => {
      sleptMs += 25 * 60 * 60 * 1000
      throw error
    })
`)}`

/** Refuses to create a directory that exists with the code that Windows has for the root of a drive. */
const REFUSE_EXISTING_DIRECTORIES = `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs/promises'
  import { syncBuiltinESMExports } from 'node:module'
  const { mkdir } = fs
  fs.mkdir = (...args) =>
    mkdir(...args).catch((error) => {
      if (error.code === 'EEXIST') error.code = 'EPERM'
      throw error
    })
  syncBuiltinESMExports()
`)}`

/** Resolves when the member has allowed the login that runs. */
let allowed: Promise<void>

/**
 * Starts a proxy of the service and returns its address. The polls of a login wait until the member has allowed it.
 *
 * @param answer answers a request instead of the service, or returns undefined
 */
async function startProxy(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown = () => undefined,
): Promise<string> {
  const { port } = await startWebServer(async (request, response) => {
    if (request.url === '/oauth/token') await allowed
    if (!answer(request, response)) await forward(request, response)
  })
  return `http://127.0.0.1:${port}`
}

/** A device login to the shop that its member allows, through a proxy. */
async function login(env: object, address: string): Promise<Result> {
  const { promise, resolve } = Promise.withResolvers<void>()
  allowed = promise
  const { child, ended } = start(
    ['login', '--no-browser', '--scopes', 'orders:read', '--url', address],
    { env: { ...env, NODE_OPTIONS: `--import ${FAST_CLOCK}` } },
  )
  let shown = ''
  child.stderr.on('data', (data) => {
    shown += data
  })
  const code = await until('a code', async () => /code ([A-Z-]{9})/.exec(shown)?.[1])
  const member = await app.member(seller.accountId)
  await member.post('/device', form({ user_code: code, ...allowing(['orders:read']) }, {}, url))
  resolve()
  return ended
}

const storedKey = async (home: string): Promise<string> =>
  JSON.parse(await readFile(path.join(home, 'cardstall/config.json'), 'utf8')).profiles.default.key

describe('accounts and profiles', () => {
  it('login waits until a member allows it; logout then revokes the key', async () => {
    const env = { CARDSTALL_URL: '', CARDSTALL_KEY: '', XDG_CONFIG_HOME: file('device') }
    const { child, ended } = start(
      ['login', '--no-browser', '--scopes', 'orders:read,listings:read', '--url', url],
      { env },
    )
    let shown = ''
    child.stderr.on('data', (data) => {
      shown += data
    })
    const code = await until('a code', async () => /code ([A-Z-]{9})/.exec(shown)?.[1])
    const member = await app.member(seller.accountId)
    const allowed = { user_code: code, ...allowing(['orders:read']) }
    expect((await member.post('/device', form(allowed, {}, url))).status).toBe(200)
    expect((await ended).code).toBe(0)
    expect(await succeed('whoami', { env })).toContain('Scopes\torders:read\n')
    const key = await storedKey(file('device'))
    expect((await run('logout', { env })).stderr).toContain('its key is revoked')
    expect((await app.withKey(key).get('/v1/me')).status).toBe(401)
  })

  it('login goes on while the service is down for a moment, or limits the requests of its network', async () => {
    let polls = 0
    const answers = [
      [503, '{"error":{"type":"service_unavailable","message":"Later."}}'],
      [429, '{"error":"temporarily_unavailable","error_description":"Too many requests."}'],
    ] as const
    const address = await startProxy((request, response) => {
      const answer = request.url === '/oauth/token' ? answers[polls++] : undefined
      if (!answer) return undefined
      return response.writeHead(answer[0], { 'content-type': 'application/json' }).end(answer[1])
    })
    const env = { CARDSTALL_URL: '', CARDSTALL_KEY: '', XDG_CONFIG_HOME: file('unsteady') }
    const { code, stderr } = await login(env, address)
    expect([code, polls], stderr).toEqual([0, 3])
  })

  it('login revokes the key that the former login created, but keeps that key if it is entered again; logout then revokes it', async () => {
    const env = { CARDSTALL_URL: '', CARDSTALL_KEY: '', XDG_CONFIG_HOME: file('again') }
    const statusOf = async (key: string) => (await app.withKey(key).get('/v1/me')).status
    const address = await startProxy()
    expect((await login(env, address)).code).toBe(0)
    const former = await storedKey(file('again'))
    expect((await login(env, address)).code).toBe(0)
    const key = await storedKey(file('again'))
    expect([await statusOf(former), await statusOf(key)]).toEqual([401, 200])
    await succeed(`login --with-key --url ${address}`, { env, input: key })
    expect(await statusOf(key)).toBe(200)
    await succeed('logout', { env })
    expect(await statusOf(key)).toBe(401)
  })

  it('a login that cannot use the key that it has created revokes it', async () => {
    const address = await startProxy(
      ({ url }, response) => url === '/v1/me' && response.writeHead(500).end(),
    )
    const validKeys = async () => {
      const { body } = await app.operator.get(`/operator/v1/accounts/${seller.accountId}/keys`)
      return body.data.filter((key: { revoked_at: string | null }) => key.revoked_at === null)
    }
    const before = await validKeys()
    const env = { CARDSTALL_URL: '', CARDSTALL_KEY: '', XDG_CONFIG_HOME: file('useless') }
    expect((await login(env, address)).code).toBe(1)
    expect(await validKeys()).toEqual(before)
    expect((await run('whoami', { env })).code).toBe(3)
  })

  it('login stores the key readable by its owner only; whoami uses it, logout deletes it', async () => {
    const env = { CARDSTALL_URL: '', CARDSTALL_KEY: '', XDG_CONFIG_HOME: file('home') }
    const { code, stderr } = await run('whoami', { env })
    expect([code, stderr]).toEqual([3, expect.stringContaining('cardstall login')])
    await succeed(`login --with-key --url ${url}`, { env, input: `${seller.key}\n` })
    const stored = path.join(file('home'), 'cardstall/config.json')
    expect((await stat(stored)).mode & 0o777).toBe(0o600)
    expect(await succeed('whoami', { env })).toContain(`Marketplace\t${url}/v1`)
    expect(await succeed('profiles', { env })).toBe(`default\t${url}/v1\tcurrent\n`)
    // The profile has the address.
    await succeed('login --with-key', { env, input: seller.key })
    await succeed('logout', { env })
    expect((await run('whoami', { env })).code).toBe(3)
  })

  it('the key of a profile is sent to its marketplace only', async () => {
    const env = { CARDSTALL_KEY: '', XDG_CONFIG_HOME: file('theirs') }
    await succeed('login --with-key', { env, input: seller.key })
    let requests = 0
    const { port } = await startWebServer((_request, response) => {
      requests++
      response.writeHead(503).end()
    })
    const other = `http://127.0.0.1:${port}`
    for (const [args, address] of [
      [`whoami --url ${other}`, url],
      [`whoami --url ${other} --profile default`, url],
      ['whoami', other],
    ] as const) {
      const { code, stderr } = await run(args, { env: { ...env, CARDSTALL_URL: address } })
      expect([code, stderr]).toEqual([
        3,
        expect.stringMatching(/^The profile "default" is for [^\n]+\n$/),
      ])
    }
    expect(requests).toBe(0)
    expect(await succeed(`whoami --url ${url}/v1/`, { env })).toContain(`${url}/v1`)
  })

  it('a wrong key is refused before it is stored, with exit code 3, and is never printed', async () => {
    const key = `svc_live_${'x'.repeat(40)}`
    const env = { CARDSTALL_KEY: '', XDG_CONFIG_HOME: file('nobody') }
    const result = await run('login --with-key', { env, input: key })
    expect([result.code, result.stderr]).toEqual([3, expect.stringContaining('unknown')])
    expect(JSON.stringify(result)).not.toContain(key)
    expect((await run('whoami', { env })).code).toBe(3)
  })

  it.each([
    ['lstings', /Did you mean listings/],
    ['listings imprt x', /Did you mean import.*"cardstall listings --help"/],
    ['disputes anwser 815 x', /Did you mean answer.*"cardstall disputes --help"/],
    ['orders ship x', /whole number from 1/],
    ['webhooks listen --events order.lost', /There is no event "order.lost"/],
    ['webhooks listen --after zz', /^--after "zz" is not a position .*: give "now".*continue/],
    ['whoami --key svc_live_€', /special character/],
    ['listings set 1', /--price, --quantity/],
    ['listings set 1 --price free', /amount in euros:/],
    ['listings set 1 --price=-5', /amount in euros above 0:/],
    ['shipping set letter --price=-5', /amount in euros from 0:/],
    ['listings set x --price 1', /whole number from 1/],
    ['listings show 0x1', /whole number from 1/],
    ['cards search x --limit 1e2', /whole number from 1/],
    ['listings set 1 --price 1,234', /can mean two amounts: write 1234 or 1.23/],
    ['shipping set letter --price 1,234', /can mean two amounts/],
    ['orders list --status lost', /Allowed choices are pending/],
    ['listings import missing.csv', /There is no file/],
    ['whoami --url ftp://x', /address/],
  ])('"%s" is a usage error with exit code 2', async (args, message) => {
    const { code, stderr, stdout } = await run(args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(/^[^\n]+\n$/)
  })

  it.each(['', ' ', '0x10', '1e2', '+5', '1.5', '-1'])(
    'a quantity consists of digits: "%s" is a usage error, and changes nothing',
    async (value) => {
      const { code, stderr } = await run(['listings', 'set', '1', '--quantity', value])
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining('It must be a whole number from 0'),
      ])
    },
  )

  it.each(['', ' ', '0x10', '1e2', '+5', '-1', '0'])(
    'a price is written in digits: "%s" is a usage error, and changes nothing',
    async (value) => {
      const { code, stderr } = await run(['listings', 'set', '1', '--price', value])
      expect([code, stderr]).toEqual([2, expect.stringContaining('It must be an amount in euros')])
    },
  )

  it('help fits on a screen of 24 lines and 80 columns, and names every command', async () => {
    const help = await succeed('--help')
    expect(help.trimEnd().split('\n').length).toBeLessThanOrEqual(24)
    expect(Math.max(...help.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80)
    const reference = await succeed('reference')
    const paths = [...reference.matchAll(/^## cardstall (.+)$/gm)].map(([, path]) => path!)
    expect(paths.length).toBeGreaterThan(40)
    for (const path of paths.filter((path) => !path.startsWith('webhooks '))) {
      for (const name of path.split(' ')) expect(help, path).toMatch(new RegExp(`\\b${name}\\b`))
    }
  })

  it('each command has examples, which use its arguments and options', async () => {
    const reference = await succeed('reference')
    const [, ...sections] = reference.split(/^## /m)
    const shared = sections.pop()!.match(/--[\w-]+/g)!
    for (const section of sections) {
      const [path, usage] = section.split('\n\n') as [string, string]
      const examples = /```sh\n([^`]+)```/.exec(section)?.[1]?.trim().split('\n') ?? []
      expect(examples, path).not.toEqual([])
      const lines = section.split('\n')
      const ofValues = lines.filter((line) => /^- `--[\w-]+ </.test(line))
      const names = [...lines.join(' ').matchAll(/- `(--[\w-]+)/g)].map(([, name]) => name!)
      for (const example of examples) {
        expect(example.startsWith(path), example).toBe(true)
        const [command] = example.slice(path.length).split(/ [<>] /) as [string]
        const words = command.match(/"[^"]*"|\S+/g) ?? []
        const options = words.filter((word) => word.startsWith('--'))
        expect([...names, ...shared], example).toEqual(expect.arrayContaining(options))
        const values = options.filter(
          (name) =>
            ofValues.some((line) => line.startsWith(`- \`${name} `)) ||
            ['--url', '--key', '--profile'].includes(name),
        )
        const given = words.length - options.length - values.length
        const wanted = usage.slice(path.length + 2, -1).match(/\S+/g) ?? []
        const required = wanted.filter((name) => !name.startsWith('[')).length
        const most = usage.includes('…') ? Number.POSITIVE_INFINITY : wanted.length
        expect(given, example).toBeGreaterThanOrEqual(required)
        expect(given, example).toBeLessThanOrEqual(most)
        const missing = lines.flatMap(
          (line) => /^- `(--[\w-]+).*\(required\)$/.exec(line)?.[1] ?? [],
        )
        expect(options, example).toEqual(expect.arrayContaining(missing))
      }
    }
  })

  it('the example of a resend has the whole period that the command needs', async () => {
    const [, example] = /cardstall (.*--endpoint.*)\n/.exec(
      await succeed('webhooks resend --help'),
    )!
    const { code, stderr } = await run(example!)
    expect([code, stderr]).toEqual([1, expect.stringMatching(/\(request req_\w+\)\n$/)])
  })

  it('the help of a command ends with its examples', async () => {
    const help = await succeed('orders ship --help')
    expect(help).toMatch(/\nExamples:\n {2}cardstall orders ship 815 816\n.*--tracking \w+\n$/)
  })

  it.each([
    ['another site', { CARDSTALL_URL: 'SITE' }, /not of the API: check the address/],
    ['a host without a service', { CARDSTALL_URL: 'NOWHERE' }, /ECONNREFUSED.*: check the address/],
    [
      'a damaged configuration',
      { XDG_CONFIG_HOME: 'damaged' },
      /config.json is damaged: delete it/,
    ],
    ['a configuration that cannot be opened', { XDG_CONFIG_HOME: '/dev/null' }, /not a directory/],
  ])('%s is an error of one sentence that says what to do', async (_, env, message) => {
    await mkdir(file('damaged/cardstall'), { recursive: true })
    await writeFile(file('damaged/cardstall/config.json'), '{')
    const { port } = await startWebServer((_request, response) => response.end('<html>'))
    const places: Record<string, string> = {
      SITE: `http://127.0.0.1:${port}`,
      NOWHERE: `http://127.0.0.1:${await freePort()}`,
      damaged: file('damaged'),
    }
    const [[name, value]] = Object.entries(env) as [[string, string]]
    const { code, stderr } = await run('whoami', { env: { [name]: places[value] ?? value } })
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^[^\n]+\n$/)])
    expect(stderr).toMatch(message)
  })

  it.each([
    ['null', 'whoami'],
    ['{"profiles":{"default":"x"}}', 'logout'],
    ['{"profiles":{"default":{"url":5,"key":"svc_live_x"}}}', 'logout'],
    ['{"profiles":{"default":null}}', 'whoami'],
    ['{"profiles":"x"}', 'profiles'],
  ])(
    'the configuration %s is damaged, and "%s" says in one sentence what to do',
    async (text, args) => {
      await mkdir(file('wrong/cardstall'), { recursive: true })
      await writeFile(file('wrong/cardstall/config.json'), text)
      const { code, stdout, stderr } = await run(args, { env: { XDG_CONFIG_HOME: file('wrong') } })
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(/^[^\n]+config.json is damaged: delete it, and [^\n]+\n$/)
    },
  )

  it('logout of another profile than the current one leaves the current one', async () => {
    const env = { CARDSTALL_URL: '', CARDSTALL_KEY: '', XDG_CONFIG_HOME: file('several') }
    for (const profile of ['first', 'second', 'third']) {
      const login = `login --with-key --url ${url} --profile ${profile}`
      await succeed(login, { env, input: seller.key })
    }
    await succeed('logout --profile second', { env })
    expect(await succeed('profiles', { env })).toBe(
      `first\t${url}/v1\t\nthird\t${url}/v1\tcurrent\n`,
    )
    const { stderr } = await run('logout', { env })
    expect(stderr).toMatch(/\nThe current profile is "first"\.\n$/)
    expect(await succeed('profiles', { env })).toBe(`first\t${url}/v1\tcurrent\n`)
  })

  /** Stores two profiles. The service refuses the key of the second one, which is the current one. */
  const storeRefused = async () => {
    const config = await mkdtemp(file('config-'))
    const env = { CARDSTALL_URL: '', CARDSTALL_KEY: '', XDG_CONFIG_HOME: config }
    const refused = await app.seller()
    await succeed(`login --with-key --url ${url}`, { env, input: seller.key })
    await succeed(`login --with-key --url ${url} --profile second`, { env, input: refused.key })
    await refused.delete('/tools/v1/key')
    const keys = async () => {
      const stored = await readFile(path.join(config, 'cardstall/config.json'), 'utf8')
      const { profiles } = JSON.parse(stored)
      return [profiles.default.key, profiles.second.key]
    }
    return { env, keys, former: refused.key }
  }

  it('the error about a refused key advises a login with the profile that the command names', async () => {
    const { env } = await storeRefused()
    const advice = (profile: string) => `run "cardstall login${profile}", or check --key`
    for (const [args, profile] of [
      ['whoami', ''],
      ['whoami --profile second', ' --profile second'],
    ] as const) {
      const { code, stderr } = await run(args, { env })
      expect([code, stderr]).toEqual([3, expect.stringContaining(advice(profile))])
    }
  })

  it('login renews the key of the current profile, or of the named one also if the environment has the address of another marketplace', async () => {
    const otherUrl = { CARDSTALL_URL: 'http://localhost:9' }
    for (const [args, settings] of [
      ['', {}],
      [` --url ${url}/`, {}],
      [' --profile second', otherUrl],
    ] as const) {
      const { env, keys } = await storeRefused()
      const renewed = await app.seller()
      await succeed(`login --with-key${args}`, { env: { ...env, ...settings }, input: renewed.key })
      expect(await keys(), args).toEqual([seller.key, renewed.key])
    }
  })

  it('login does not replace the key of the current profile by that of another marketplace', async () => {
    const { env, keys, former } = await storeRefused()
    const elsewhere = 'login --with-key --url http://localhost:9'
    const refused = await run(elsewhere, { env, input: seller.key })
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(
        /^The profile "second" is for [^\n]+ add --profile second to [^\n]+\n$/,
      ),
    ])
    expect((await run(`${elsewhere} --profile second`, { env, input: seller.key })).code).toBe(1)
    expect(await keys()).toEqual([seller.key, former])
  })

  it('a name that every object has is no profile', async () => {
    for (const args of ['logout --profile constructor', 'whoami --profile toString']) {
      const { code, stderr } = await run(args)
      expect([code, stderr]).toEqual([3, expect.stringMatching(/^There is no profile "[^\n]+\n$/)])
    }
  })

  it('a value that the service refuses is named by its option', async () => {
    for (const args of ['listings list --since x', 'orders list --since=x']) {
      const { code, stderr } = await run(args)
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/^--since must be an ISO 8601 date/),
      ])
    }
    const other = await app.seller()
    const { id } = await subscribe(other, 'https://hooks.example/')
    const { stderr } = await run(`webhooks resend --endpoint ${id} --from x --to 2026-01-01`, {
      env: { CARDSTALL_KEY: other.key },
    })
    expect(stderr).toMatch(/^--from must be/)
  })

  it('a reader that closes the pipe ends a command, and a full disk is an error', async () => {
    const shell = async (script: string) => {
      const env = { PATH: process.env.PATH, CARDSTALL_URL: url, CARDSTALL_KEY: seller.key }
      const program = `${process.execPath} package/dist/cardstall.js`
      const command = `set -o pipefail; ${script.replace('cardstall', program)}`
      return execute('bash', ['--norc', '-c', command], { cwd: folder, env }).then(
        ({ stdout, stderr }) => [0, stdout, stderr],
        ({ code, stdout, stderr }) => [code, stdout, stderr],
      )
    }
    expect(await shell('cardstall sets | head -n 0')).toEqual([0, '', ''])
    if (!existsSync('/dev/full')) return
    const full = [1, '', expect.stringMatching(/^[^\n]+: no space left on device\.\n$/)]
    expect(await shell('cardstall sets > /dev/full')).toEqual(full)
    expect(await shell('cardstall listings export /dev/full')).toEqual(full)
  })

  /** The lines of a command on a terminal of this width. */
  const onTerminal = async (columns: number, args: string, key = seller.key) => {
    const command = `stty cols ${columns}; ${process.execPath} package/dist/cardstall.js ${args}`
    const env = { PATH: process.env.PATH, CARDSTALL_URL: url, CARDSTALL_KEY: key }
    const { stdout } = await execute('script', ['-qec', command, '/dev/null'], { cwd: folder, env })
    return stripVTControlCharacters(stdout).trim().split('\r\n')
  }
  const hasScript = existsSync('/usr/bin/script')

  it.skipIf(!hasScript)('a terminal gets a table that fits on it', async () => {
    const lines = await onTerminal(60, 'cards search charizard')
    expect(lines[0]).toMatch(/^ID +FRIEND.* +NAME +SET +NUMBER +RARITY$/)
    expect(lines.some((line) => line.includes('…'))).toBe(true)
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60)
  })

  it.skipIf(!hasScript)(
    'a table with emoji, rare ideographs and accents fits on a terminal',
    async () => {
      const shop = await app.seller()
      for (const reference of ['👍'.repeat(60), '𠮷'.repeat(60), 'e\u0301'.repeat(10)]) {
        const payload = { items: [{ ...cardItem(), reference }] }
        await shop.post('/tools/v1/listings', { payload })
      }
      const lines = await onTerminal(80, 'listings list', shop.key)
      const widths = lines.map(
        (line) => [...line.replaceAll(/\u0301/g, '').replaceAll(/👍|𠮷/gu, 'ww')].length,
      )
      expect(Math.max(...widths)).toBeLessThanOrEqual(80)
      expect(widths[1]).toBe(lines[0]!.indexOf('REFERENCE') + 10)
    },
  )

  it.skipIf(!hasScript)(
    'the pick list shows the whole set and number of each card on a terminal',
    async () => {
      const shop = await openShop(app, LETTER)
      await sellEach(app, shop, cardItem())
      const [, line] = await onTerminal(66, 'orders pick', shop.key)
      expect(line).toMatch(/Obsidian Flames 125 .*…/)
    },
  )

  it.skipIf(!hasScript)(
    'an order that cannot be shipped is an error, and no empty list',
    async () => {
      const shop = await openShop(app, LETTER)
      const [order] = await sellEach(app, shop, cardItem())
      await ship(shop, order!)
      const lines = await onTerminal(80, `orders ship ${order} || true`, shop.key)
      expect(lines).toEqual([expect.stringMatching(/^This order has nothing left to ship\./)])
      const labels = await onTerminal(80, 'labels buy 9999999 || true', shop.key)
      expect(labels).toEqual([
        expect.stringMatching(/^(Label of order \d+\r)?There is no such order\./),
      ])
    },
  )

  it.skipIf(!hasScript)('a slice of a thousand rows fits on a terminal', async () => {
    const shop = await openShop(app, LETTER)
    const orderIds = await sellEach(app, shop, ...Array(1_000).fill(cardItem()))
    const [titles, slice, ...others] = await onTerminal(100, 'orders list', shop.key)
    expect(titles).toMatch(/^ORDER +STATUS +ITEMS/)
    expect(slice).toMatch(new RegExp(`^${orderIds.at(-1)} .*1 × Charizard ex, .*…`))
    expect(others).toEqual([])
  })

  it.skipIf(!hasScript)(
    'a result replaces the progress, which also says that a command waits for the limit of its key',
    async () => {
      let left = 1
      const { port } = await startWebServer(async (request, response) => {
        if (--left < 0) return forward(request, response)
        const headers = { 'content-type': 'application/json', 'retry-after': '1' }
        return response.writeHead(429, headers).end('{"error":{"type":"rate_limited"}}')
      })
      const address = `http://127.0.0.1:${port}`
      const [limited] = await onTerminal(80, `--url ${address} whoami`)
      expect(limited).toMatch(/^Waiting 1 s for the limit of the key\rShop /)

      const shop = await app.seller()
      await list(shop, ...Array(101).fill(cardItem()))
      const exported = await onTerminal(200, 'listings export', shop.key)
      expect(exported.filter((line) => /\d listings\d/.test(line))).toEqual([])
    },
  )

  it.skipIf(!hasScript)('an error replaces the progress on a terminal', async () => {
    await writeFile(file('progress.csv'), csvOf(101))
    const { port } = await startWebServer(async (request, response) => {
      const isSecond = request.url === '/tools/v1/listings' && --left < 0
      if (isSecond) return response.writeHead(409).end()
      await forward(request, response)
    })
    let left = 1
    const command = `stty cols 80; ${process.execPath} package/dist/cardstall.js listings import progress.csv --yes`
    const env = {
      PATH: process.env.PATH,
      CARDSTALL_URL: `http://127.0.0.1:${port}`,
      CARDSTALL_KEY: seller.key,
    }
    const { stdout } = await execute('script', ['-qec', command, '/dev/null'], {
      cwd: folder,
      env,
    }).catch((error) => error)
    expect(stdout).toMatch(
      /Listed 100 of 101 rows\r\u001b\[2KThe service responded with status 409/,
    )
  })

  it.skipIf(!hasScript)(
    'a question and its answer have colours, unless --no-color is given',
    async () => {
      const coloursIn = async (options: string) => {
        const program = `${process.execPath} package/dist/cardstall.js`
        const command = `stty cols 80; ${program} ${options} listings delete 60 61`
        const env = {
          PATH: process.env.PATH,
          CARDSTALL_URL: url,
          CARDSTALL_KEY: seller.key,
          TERM: 'xterm',
        }
        const call = execute('script', ['-qec', command, '/dev/null'], { cwd: folder, env })
        call.child.stdin!.end('n')
        const { stdout } = await call.catch((error) => error)
        expect(stripVTControlCharacters(stdout)).toMatch(
          /Delete 2 listings\?[\s\S]*Nothing was changed/,
        )
        return stdout.includes('\u001b[3')
      }
      expect(await coloursIn('')).toBe(true)
      expect(await coloursIn('--no-color')).toBe(false)
    },
  )

  it.skipIf(!hasScript)('on a terminal, login asks for a key and does not show it', async () => {
    const program = `${process.execPath} package/dist/cardstall.js`
    const command = `stty cols 80; ${program} login --with-key --url ${url}`
    const env = { PATH: process.env.PATH, XDG_CONFIG_HOME: file('typed'), TERM: 'xterm' }
    const call = execute('script', ['-qec', command, '/dev/null'], { cwd: folder, env })
    let shown = ''
    call.child.stdout!.on('data', (data) => {
      shown += data
    })
    await until('the question', () => shown.includes('API key') || undefined)
    call.child.stdin!.end(`${seller.key}\r`)
    const { stdout } = await call
    expect(stdout).toContain('Signed in to')
    expect(stdout).not.toContain(seller.key)
  })

  it.skipIf(!hasScript)(
    'a terminal that is too narrow for a table gets blocks of lines',
    async () => {
      const cards = await onTerminal(40, 'cards search charizard --limit 2')
      expect(cards.slice(0, 2)).toEqual([
        expect.stringMatching(/^ID {11}\S+$/),
        expect.stringMatching(/^FRIENDLY ID/),
      ])
      expect(cards.filter((line) => line === '')).toHaveLength(1)
      for (const columns of [40, 60]) {
        for (const line of await onTerminal(columns, 'shipping')) {
          expect(line.length, line).toBeLessThanOrEqual(columns)
        }
      }
    },
  )

  it.skipIf(!hasScript)(
    'a record continues below a value that is longer than the terminal, and keeps words whole',
    async () => {
      const lines = await onTerminal(40, 'whoami')
      for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(40)
      const values = lines.map((line) => line.slice('Marketplace  '.length))
      expect(values.join(' ')).toContain((await succeed('whoami')).match(/^Scopes\t(.*)$/m)![1])
      expect(await onTerminal(20, 'whoami')).toContain(`Marketplace  ${url}/v1`)
    },
  )

  it('npx runs a command of the packed file in a folder with nothing else', async () => {
    await mkdir(file('empty'))
    await writeFile(file('empty/stock.csv'), csvOf(2))
    const [archive] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'))
    const args = ['--yes', '--offline', '-p', file(archive!), 'cardstall']
    const { stdout } = await execute(
      'npx',
      [...args, 'listings', 'import', 'stock.csv', '--dry-run'],
      {
        cwd: file('empty'),
        env: {
          PATH: process.env.PATH,
          HOME: file('empty'),
          CARDSTALL_URL: url,
          CARDSTALL_KEY: seller.key,
        },
      },
    )
    expect(stdout).toBe('2\t2\t0\n')
  })
})

describe('the catalog', () => {
  it('cards are printed as values with tabs, as JSON, or as lines of JSON', async () => {
    expect(await succeed('cards search charizard --set sv3 --limit 1')).toMatch(/^sv3-125\t/)
    const json = JSON.parse(await succeed('cards search charizard --set sv3 --limit 1 --json'))
    expect(json).toMatchObject([{ id: 'sv3-125' }])
    const lines = (await succeed('sets --ndjson')).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).id)).toContain('sv3')
    expect(await succeed('sets --language en')).toMatch(/^sv3\t/m)
    expect(await succeed('cards search charizard --language en')).toMatch(/^sv3-125\t/m)
  })

  it('offers of a card are listed with --offers', async () => {
    await list(seller, cardItem({ price: 7.5 }))
    expect(await succeed(`cards show ${CARD} --offers`)).toMatch(/^7\.50\t/m)
  })

  it('an ambiguous card is an error that names the canonical ids', async () => {
    const { code, stderr } = await run('cards show brs_1')
    expect(code).toBe(1)
    expect(stderr).toMatch(/canonical id: swsh9-1, swsh9-de-1\. \(request req_\w+\)\n$/)
  })

  it('an unknown card is an error of one sentence with the request id', async () => {
    const { code, stderr } = await run('cards show nothing-1')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^[^\n]+ \(request req_\w+\)\n$/)
  })
})

const csvOf = (rows: number, price = '1.50') =>
  [
    'card,condition,language,price,quantity,shelf',
    ...Array(rows).fill(`${CARD},NM,EN,${price},2,A4`),
  ].join('\n')

describe('listings', () => {
  it('a dry run lists nothing, and shows invalid rows with their reasons', async () => {
    await writeFile(
      file('dry.csv'),
      `${csvOf(3)}\nnothing-9,NM,EN,1,1,B\n${CARD},NM,EN,free,1,C\n${CARD},NM,EN,-5,1,D\n`,
    )
    const before = await totalOf()
    const { code, stdout, stderr } = await run('listings import dry.csv --dry-run --failed bad.csv')
    expect([code, stdout]).toEqual([1, '6\t3\t3\n'])
    expect(stderr).toMatch(/row 5: .*card[\s\S]*row 6: The price field must be a number: “free”/)
    expect(stderr).toContain('row 7: The price field must be at least 0.01.')
    expect(await totalOf()).toBe(before)
    const failed = await readFile(file('bad.csv'), 'utf8')
    expect(failed).toMatch(/card,condition,language,price,quantity,shelf,reason\r\n/)
    expect(failed.trim().split('\r\n')).toHaveLength(4)
  })

  it('an import lists the valid rows and writes the others with their reasons to a file', async () => {
    await writeFile(
      file('stock.csv'),
      `\ufeff${csvOf(120).replaceAll(',', ';')}\n${CARD};XX;EN;1;1;B\n`,
    )
    const before = await totalOf()
    const { code, stdout } = await run('listings import stock.csv --yes --failed left.csv')
    expect([code, stdout]).toEqual([1, '121\t120\t1\n'])
    expect(await totalOf()).toBe(before + 120)
    expect(await readFile(file('left.csv'), 'utf8')).toMatch(/XX,EN,1,1,B,.*condition/)
  })

  it('an import refuses to replace its own file by the failed rows', async () => {
    const content = csvOf(2)
    await writeFile(file('own.csv'), content)
    for (const options of ['--dry-run', '--yes']) {
      const { code, stderr } = await run(`listings import own.csv ${options} --failed ./own.csv`)
      expect([code, stderr]).toEqual([2, expect.stringContaining('would replace own.csv')])
    }
    expect(await readFile(file('own.csv'), 'utf8')).toBe(content)
  })

  it('an import lists nothing if the file of the failed rows cannot be written, nothing twice if that fails later, and leaves no rows of a former import in it', async () => {
    const before = await totalOf()
    await writeFile(file('lost.csv'), `${csvOf(2)}\n${CARD},XX,EN,1,1,B\n`)
    const nowhere = await run('listings import lost.csv --yes --failed missing/left.csv')
    expect([nowhere.code, nowhere.stdout]).toEqual([1, ''])
    expect(nowhere.stderr).toMatch(/missing\/left.csv cannot be opened or written: [^\n]+\n$/)
    expect(await totalOf()).toBe(before)
    if (!existsSync('/dev/full')) return
    const full = await run('listings import lost.csv --yes --failed /dev/full')
    expect([full.code, full.stdout]).toEqual([1, ''])
    expect(full.stderr).toMatch(/The rows are listed, but \/dev\/full cannot be written \(ENOSPC\)/)
    expect(await totalOf()).toBe(before + 2)
    const again = await run('listings import lost.csv --yes --failed kept.csv')
    expect([again.code, again.stdout]).toEqual([1, '3\t2\t1\n'])
    expect(await totalOf()).toBe(before + 2)
    expect(await readFile(file('kept.csv'), 'utf8')).toMatch(/XX,EN,1,1,B,.*condition/)
    expect(existsSync(file('lost.csv.import'))).toBe(false)
    await writeFile(file('fine.csv'), csvOf(1))
    await succeed('listings import fine.csv --yes --failed none.left')
    expect(existsSync(file('none.left'))).toBe(false)
    await writeFile(file('fine-too.csv'), csvOf(1, '1.51'))
    await succeed('listings import fine-too.csv --yes --failed kept.csv')
    expect(await readFile(file('kept.csv'), 'utf8')).toMatch(/^\ufeffcard,[^\n]*,reason\r\n$/)
  })

  it.skipIf(!existsSync('/dev/full'))(
    'an interrupted import and a feed continue if the address is written in another way',
    async () => {
      const shop = await app.seller()
      const as = (address: string) => ({
        env: { CARDSTALL_KEY: shop.key, CARDSTALL_URL: address, XDG_CONFIG_HOME: file('written') },
      })
      await succeed('sync --once', as(url))
      await writeFile(file('address.csv'), `${csvOf(2)}\n${CARD},XX,EN,1,1,B\n`)
      const full = await run('listings import address.csv --yes --failed /dev/full', as(url))
      expect(full.stderr).toContain('The rows are listed')
      const again = await run('listings import address.csv --yes', as(`${url}/v1/`))
      expect([again.code, again.stdout]).toEqual([1, '3\t2\t1\n'])
      expect((await shop.get('/v1/listings')).body.meta.total).toBe(2)
      const printed = await until('the changes can be read', () =>
        succeed('sync --once', as(`${url}/`)),
      )
      expect(printed.trim().split('\n')).toHaveLength(2)
    },
  )

  it.skipIf(!existsSync('/dev/full'))(
    'a file that was changed after an interrupted import is not imported without a decision',
    async () => {
      const shop = await app.seller()
      const env = { CARDSTALL_KEY: shop.key }
      const rows = `${csvOf(2)}\n${CARD},XX,EN,1,1,B\n`
      await writeFile(file('edited.csv'), rows)
      await run('listings import edited.csv --yes --failed /dev/full', { env })
      await writeFile(file('edited.csv'), rows.replace('XX', 'NM'))
      const edited = await run('listings import edited.csv --yes', { env })
      expect([edited.code, edited.stdout]).toEqual([1, ''])
      expect(edited.stderr).toMatch(/^An import .* after 2 of 2 rows.* edited.csv.import [^\n]+\n$/)
      expect((await shop.get('/v1/listings')).body.meta.total).toBe(2)
      await rm(file('edited.csv.import'))
      expect(await succeed('listings import edited.csv --yes', { env })).toBe('3\t3\t0\n')
    },
  )

  it('an import that the service has refused lists all rows a day after the refusal', async () => {
    const shop = await app.seller({ account: { payoutVerified: false } })
    const env = { CARDSTALL_KEY: shop.key }
    await writeFile(file('early.csv'), csvOf(2))
    const refused = await run('listings import early.csv --yes', { env })
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('payout setup')])
    const journal = JSON.parse(await readFile(file('early.csv.import'), 'utf8'))
    if (journal.sentAt) journal.sentAt -= 24 * 60 * 60 * 1000
    await writeFile(file('early.csv.import'), JSON.stringify(journal))
    await app.operator.patch(`/operator/v1/accounts/${shop.accountId}`, {
      payload: { payout_verified: true },
    })
    expect(await succeed('listings import early.csv --yes', { env })).toBe('2\t2\t0\n')
  })

  it('rows that the write limit has refused count as not sent, also if the import is interrupted while it waits', async () => {
    const shop = await app.seller()
    let isLimited = true
    let refusals = 0
    const address = await startProxy((request, response) => {
      if (!isLimited || request.url !== '/tools/v1/listings') return
      refusals++
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '60' })
      return response.end('{"error":{"type":"rate_limited","message":"Wait."}}')
    })
    const env = { CARDSTALL_KEY: shop.key, CARDSTALL_URL: address }
    const readJournal = async () => JSON.parse(await readFile(file('waits.csv.import'), 'utf8'))
    await writeFile(file('waits.csv'), csvOf(2))
    const { child, ended } = start(['listings', 'import', 'waits.csv', '--yes'], { env })
    await until('the refusal is noted', async () => refusals > 0 && !(await readJournal()).sentAt)
    child.kill('SIGINT')
    expect((await ended).code).toBe(130)
    isLimited = false
    expect(await succeed('listings import waits.csv --yes', { env })).toBe('2\t2\t0\n')
  })

  it('rows whose response was lost before the computer slept for a day are not sent again, and count as failed', async () => {
    const shop = await app.seller()
    let sent = 0
    const address = await startProxy((request, response) => {
      if (request.url !== '/tools/v1/listings' || ++sent > 1) return
      return text(request)
        .then((body) => createListings(shop, JSON.parse(body).items))
        .then(() => response.destroy())
    })
    const env = {
      CARDSTALL_KEY: shop.key,
      CARDSTALL_URL: address,
      NODE_OPTIONS: `--import ${SLEEP_AFTER_A_LOST_RESPONSE}`,
    }
    await writeFile(file('slept.csv'), csvOf(2))
    const { code, stdout, stderr } = await run('listings import slept.csv --yes --json', { env })
    expect([code, sent], stderr).toEqual([1, 1])
    const messages = [expect.stringContaining('It may be listed already')]
    expect(JSON.parse(stdout)[0]).toMatchObject({
      created: 0,
      failures: [{ messages }, { messages }],
    })
    expect((await shop.get('/v1/listings')).body.meta.total).toBe(2)
  })

  it('an import says so if no shipping option of the shop is enabled, because nobody can order then', async () => {
    const { key } = await app.seller()
    await writeFile(file('unshippable.csv'), csvOf(101))
    const options = { env: { CARDSTALL_KEY: key } }
    const { code, stderr } = await run('listings import unshippable.csv --yes', options)
    expect([code, stderr.match(/No shipping option/g)?.length]).toEqual([0, 1])
    const json = await run('listings import unshippable.csv --yes --json', options)
    expect(JSON.parse(json.stdout)).toMatchObject([
      { created: 101, warnings: [expect.stringContaining('No shipping option')] },
    ])
  })

  it('the JSON of an import has the row, the reference and the messages of each row that failed', async () => {
    const rows = [`${CARD},XX,EN,1,1,taken`, ',NM,EN,1,1,', `${CARD},NM,EN,free,1,`]
    const csv = ['card,condition,language,price,quantity,reference', ...rows].join('\n')
    await writeFile(file('refused.csv'), csv)
    const failures = [
      { row: 2, reference: 'taken', messages: [expect.stringContaining('condition')] },
      { row: 3, reference: null, messages: [expect.stringMatching(/card.*product/)] },
      { row: 4, reference: null, messages: ['The price field must be a number: “free”.'] },
    ]
    const dry = await run('listings import refused.csv --dry-run --json')
    expect([dry.code, JSON.parse(dry.stdout)]).toEqual([
      1,
      [{ rows: 3, left_out: 0, valid: 0, invalid: 3, failures }],
    ])
    const { code, stdout } = await run('listings import refused.csv --yes --json')
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      [{ rows: 3, left_out: 0, created: 0, failed: 3, failures }],
    ])
  })

  it('the preview of an import has the messages about a row of the reader and of the service', async () => {
    await writeFile(
      file('both.csv'),
      'card;condition;language;price;quantity\nnope;NM;EN;1,234;1\n',
    )
    const { stdout } = await run('listings import both.csv --dry-run --json')
    const [{ failures }] = JSON.parse(stdout)
    expect(failures).toEqual([
      {
        row: 2,
        reference: null,
        messages: [
          'The price field can mean two numbers: “1,234”. Write 1234 or 1.23.',
          'There is no card "nope".',
        ],
      },
    ])
  })

  it('control characters of a file do not reach the terminal with the messages about its rows', async () => {
    const row = '"\u001b]0;owned\u0007\u009b2J\u202e",NM,EN,1,1'
    await writeFile(file('escapes.csv'), `card,condition,language,price,quantity\n${row}\n`)
    const { stderr } = await run('listings import escapes.csv --dry-run')
    expect(stderr).toContain('row 2: There is no card " ]0;owned 2J ".\n')
    expect(stderr).not.toMatch(/[\p{Cc}--\n]/v)
    const shown = await run(['cards', 'show', '\u001b[2Jx'])
    expect(shown.stderr).toMatch(/^There is no card " \[2Jx"\. \(request \w+\)\n$/)
  })

  it('the preview of an import refuses a reference that an earlier row takes', async () => {
    const rows = ['XX', 'NM', 'NM', 'LP'].map((condition) => `${CARD},${condition},EN,1,1,twice`)
    const csv = ['card,condition,language,price,quantity,reference', ...rows].join('\n')
    await writeFile(file('twice.csv'), csv)
    const { stdout, stderr } = await run('listings import twice.csv --dry-run')
    expect(stdout).toBe('4\t1\t3\n')
    expect(stderr).toMatch(/row 4: Row 3 has the same reference “twice”[\s\S]*row 5: Row 3 has/)
    expect((await run('listings import twice.csv --yes')).stdout).toBe('4\t1\t3\n')
    const again = await run('listings import twice.csv --yes --json')
    expect(JSON.parse(again.stdout)[0]).toMatchObject({
      created: 0,
      failures: [2, 3, 4, 5].map((row) => ({ row, reference: 'twice' })),
    })
  })

  it('failed rows have the numbers that a spreadsheet shows, after empty rows and line breaks in quotes', async () => {
    const rows = [
      '',
      `${CARD},NM,EN,1,1,"two\n\nlines",again`,
      ',,,,,,',
      '',
      `${CARD},NM,EN,free,1,,`,
      `${CARD},NM,EN,1,1,,again`,
      `${CARD},NM,EN,"2,50",1,,other`,
    ]
    const header = 'card,condition,language,price,quantity,description,reference'
    await writeFile(file('gaps.csv'), [header, ...rows].join('\n'))
    const failed = [6, 7].map((row) => expect.objectContaining({ row }))
    const dry = await run('listings import gaps.csv --dry-run --json')
    expect(JSON.parse(dry.stdout)).toMatchObject([{ rows: 4, failures: failed }])
    const preview = (await run('listings import gaps.csv --dry-run')).stderr
    expect(preview).toMatch(/row 6: The price[\s\S]*row 7: Row 3 has the same reference/)
    expect(preview).toContain('row 8: price “2,50” was read as 2.5.')
    const { stdout } = await run('listings import gaps.csv --yes --json --failed gaps-left.csv')
    expect(JSON.parse(stdout)).toMatchObject([{ created: 2, failures: failed }])
    expect(await readFile(file('gaps-left.csv'), 'utf8')).toContain('Row 3 has the same reference')

    await writeFile(file('gaps-prices.csv'), 'id,price\n\n"\n",\n1,free\n\n2,"2,50"\n999999,1\n')
    const { stderr } = await run('listings reprice gaps-prices.csv --yes')
    expect(stderr).toMatch(/row 6: price “2,50” was[\s\S]*row 4: The price[\s\S]*row 7: /)
  })

  it('rows of any valid size are imported, and a value that is too long fails with its row and column', async () => {
    // Four bytes for each character: a hundred such rows would not fit into a request.
    const url = (i: number) =>
      `https://photos.example/${i}/`.padEnd(1_000, 'x') + '😀'.repeat(1_048)
    const urls = Array.from({ length: 10 }, (_, i) => url(i)).join(' ')
    const row = (reference: string, photos = '', description = '') =>
      `${CARD},NM,EN,1,1,${reference},${photos},${description}`
    const rows = [
      ...Array.from({ length: 100 }, (_, i) => row(`large-${i}`, urls)),
      row('long', '', 'x'.repeat(6 * 1024 * 1024)),
    ]
    const header = 'card,condition,language,price,quantity,reference,photo_urls,description'
    await writeFile(file('large.csv'), [header, ...rows].join('\n'))
    const before = await totalOf()
    const { stdout, stderr } = await run('listings import large.csv --yes --json')
    expect(JSON.parse(stdout), stderr).toEqual([
      {
        rows: 101,
        left_out: 0,
        created: 100,
        failed: 1,
        failures: [
          {
            row: 102,
            reference: 'long',
            messages: ['The description field must not be longer than 1000 characters.'],
          },
        ],
      },
    ])
    expect(await totalOf()).toBe(before + 100)

    const prices = [
      'reference,price',
      'large-0,7.77',
      `${'x'.repeat(5 * 1024 * 1024)},1`,
      'large-1,8.88',
    ]
    await writeFile(file('large-prices.csv'), prices.join('\n'))
    const repriced = await run('listings reprice large-prices.csv --yes')
    expect([repriced.stdout, repriced.stderr]).toEqual([
      '2\t1\n',
      'row 3: The reference field must not be longer than 100 characters.\n1 row failed.\n',
    ])
  })

  it('columns with other names are mapped with --map', async () => {
    await writeFile(file('own.csv'), `Which,State,language,quantity,EUR\n${CARD},LP,EN,1,"2,50"\n`)
    const args = ['listings', 'import', 'own.csv', '--yes', '--json']
    const maps = ['Which=card', 'State=condition', 'EUR=price'].flatMap((map) => ['--map', map])
    const { code, stdout } = await start([...args, ...maps]).ended
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      [{ rows: 1, left_out: 0, created: 1, failed: 0, failures: [] }],
    ])
    expect((await run('listings import own.csv --yes')).stderr).toContain('--map')
  })

  it('an import that is killed midway and started again lists each row once', async () => {
    await writeFile(file('killed.csv'), csvOf(900, '3.33'))
    const before = await totalOf()
    const { child, ended } = start(['listings', 'import', 'killed.csv', '--yes'])
    await until('some rows are listed', async () => (await totalOf()) > before)
    child.kill('SIGKILL')
    await ended
    const { code, stdout, stderr } = await run('listings import killed.csv --yes')
    expect([code, stdout], stderr).toEqual([0, '900\t900\t0\n'])
    expect(await totalOf()).toBe(before + 900)
    expect((await stat(file('killed.csv.import')).catch(() => undefined)) === undefined).toBe(true)
  })

  it.each([
    ['import', '/tools/v1/listings/checks', '/tools/v1/listings'],
    ['reprice', '/tools/v1/listings?per_page=1', '/tools/v1/listings/changes'],
  ])(
    'two runs of %s that begin at the same moment send the rows of the file once',
    async (command, before, write) => {
      const shop = await app.seller()
      const [listing] = await list(shop, cardItem({ quantity: 1 }))
      const { promise: bothBegan, resolve: begin } = Promise.withResolvers<void>()
      let began = 0
      let sent = 0
      let ends: Promise<Result>[] = []
      const { port } = await startWebServer(async (request, response) => {
        if (request.url === before) {
          if (++began === 2) begin()
          await bothBegan
        }
        if (request.url === write && ++sent === 1) await Promise.race(ends)
        await forward(request, response)
      })
      const env = { CARDSTALL_KEY: shop.key, CARDSTALL_URL: `http://127.0.0.1:${port}` }
      const args = ['listings', command, `both-${command}.csv`, '--yes']
      const rows = command === 'import' ? csvOf(2) : `id,quantity_delta\n${listing},1\n`
      await writeFile(file(`both-${command}.csv`), rows)
      ends = [start(args, { env }).ended, start(args, { env }).ended]
      const results = await Promise.all(ends)
      expect(results.map(({ code }) => code).sort()).toEqual([0, 1])
      expect(results.find(({ code }) => code === 1)?.stderr).toMatch(
        /this file has begun meanwhile: wait until it ends\. [^\n]+\n$/,
      )
      const { data, meta } = (await shop.get('/v1/listings')).body
      expect([meta.total, data.at(-1).quantity]).toEqual(command === 'import' ? [3, 1] : [1, 2])
    },
  )

  it('listings list --since skips no listing while another one changes', async () => {
    const shop = await app.seller()
    const ids = await list(shop, ...items(250))
    let isChanged = false
    const address = await startProxy((request, response) => {
      if (isChanged || !/[?&]page=2(&|$)/.test(request.url!)) return
      isChanged = true
      const changed = shop.patch(`/v1/listings/${ids[5]}`, { payload: { price: 9 } })
      return changed.then(() => forward(request, response))
    })
    const env = { CARDSTALL_URL: address, CARDSTALL_KEY: shop.key }
    const listedIds = async (limit: number) => {
      const text = await succeed(`listings list --since 1970-01-01 --limit ${limit} --json`, {
        env,
      })
      return JSON.parse(text).map(({ id }: { id: number }) => id)
    }
    // The changed one has moved to the end, which is read by then.
    const others = ids.filter((id) => id !== ids[5])
    expect(await listedIds(100_000)).toEqual(others)
    expect(isChanged).toBe(true)
    expect(await listedIds(100_000)).toEqual([...others, ids[5]])
    expect(await listedIds(120)).toEqual(others.slice(0, 120))
    expect(await listedIds(2)).toEqual(others.slice(0, 2))
  })

  it('an exported file can be imported, with its photos, and spreadsheets read it as UTF-8', async () => {
    const other = await app.seller()
    const env = { CARDSTALL_KEY: other.key }
    await list(
      other,
      cardItem({ price: 4, quantity: 3, description: 'a "quoted", text, très bien' }),
    )
    const photo = 'bU3mJ0Kc2rQe9XnYw1sZ5A'
    await app.ctx.db`update listings set photos = ${[photo]} where account_id = ${other.accountId}`
    await succeed('listings export out.csv', { env })
    const exported = await readFile(file('out.csv'), 'utf8')
    expect(exported).toMatch(/^\ufeffid,/)
    // The service accepts no photos at private addresses.
    await writeFile(
      file('out.csv'),
      exported.replace(`${url}/photos`, 'http://shop.example/photos'),
    )
    await succeed('listings import out.csv --yes', { env })
    const { body } = await other.get('/v1/listings')
    const [copy, original] = body.data
    const { id, created_at, updated_at, photos, ...fields } = original
    expect(copy).toMatchObject(fields)
    const imported = await app.operator.get(`/operator/v1/listings/${copy.id}/photos`)
    expect(imported.body.data).toMatchObject([
      { photo_url: `http://shop.example/photos/${photo}.jpg` },
    ])
    const piped = await succeed('listings export', { env })
    expect(piped).toMatch(/^id,/)
    expect(piped).toContain('"a ""quoted"", text, très bien"')
  })

  it('an import of an exported file lists what was on sale, and leaves out sold and hidden rows', async () => {
    const [shop, other] = [await app.seller(), await openShop(app)]
    const [sold, hidden] = await list(shop, cardItem(), cardItem(), cardItem({ price: 8 }))
    await shop.patch(`/v1/listings/${sold}`, { payload: { quantity: 0 } })
    await shop.patch(`/v1/listings/${hidden}`, { payload: { status: 'hidden' } })
    await succeed('listings export shop.csv', { env: { CARDSTALL_KEY: shop.key } })
    const env = { CARDSTALL_KEY: other.key }
    const dry = await run('listings import shop.csv --dry-run --json', { env })
    expect([dry.code, JSON.parse(dry.stdout)]).toEqual([
      0,
      [{ rows: 3, left_out: 2, valid: 1, invalid: 0, failures: [] }],
    ])
    const { code, stdout, stderr } = await run('listings import shop.csv --yes', { env })
    expect([code, stdout, stderr]).toEqual([
      0,
      '3\t1\t0\n',
      '3 rows: 1 can be listed, 0 cannot, 2 left out (status sold or hidden).\n',
    ])
    const { data } = (await other.get('/v1/listings')).body
    expect(data).toMatchObject([{ price: 8, status: 'active' }])
  })

  it('an interrupted import of a version that left no rows out is not continued with them', async () => {
    const shop = await app.seller()
    const content = `card,condition,language,price,quantity,status\n${CARD},NM,EN,1,1,hidden\n`
    await writeFile(file('former.csv'), content)
    const mapping = guessMapping(content.split('\n')[0]!.split(','))
    const settings = JSON.stringify([mapping, `${url}/v1`, shop.accountId])
    const of = hash('sha256', hash('sha256', content) + hash('sha256', settings))
    const journal = { of, key: 'former', rows: [0], done: 0, failed: [], sentAt: Date.now() }
    await writeFile(file('former.csv.import'), JSON.stringify(journal))
    const env = { CARDSTALL_KEY: shop.key }
    const { code, stdout, stderr } = await run('listings import former.csv --yes', { env })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(
      'the version of cardstall have changed since: delete former.csv.import',
    )
    expect((await shop.get('/v1/listings')).body.meta.total).toBe(0)
  })

  it('an export of one status skips no listing while others get and lose this status', async () => {
    const shop = await app.seller()
    const ids = await list(shop, ...items(201))
    const change = (id: number, payload: object) => shop.patch(`/v1/listings/${id}`, { payload })
    await change(ids[20]!, { status: 'hidden' })
    let isChanged = false
    const address = await startProxy((request, response) => {
      if (isChanged || !/[?&]page=2(&|$)/.test(request.url!)) return
      isChanged = true
      // The newest listings come first: one of page 1 leaves, one of page 2 enters, and the total stays the same.
      const changed = change(ids[150]!, { quantity: 0 })
      return changed
        .then(() => change(ids[20]!, { status: 'active' }))
        .then(() => forward(request, response))
    })
    const env = { CARDSTALL_URL: address, CARDSTALL_KEY: shop.key }
    const csv = await succeed('listings export --status active', { env })
    expect(isChanged).toBe(true)
    const exported = [...csv.matchAll(/^\d+/gm)].map(Number)
    expect(exported).toEqual(ids.toReversed())
    await succeed('listings export sold.csv --status sold', { env })
    expect(await readFile(file('sold.csv'), 'utf8')).toMatch(
      new RegExp(`^\ufeffid,[^\n]+\n${ids[150]},[^\n]+\n$`),
    )
  })

  it('an export that the service refuses, also after some pages, leaves the former file', async () => {
    await writeFile(file('former.csv'), 'former')
    const env = { CARDSTALL_KEY: 'svc_live_unknown' }
    expect((await run('listings export former.csv', { env })).code).toBe(3)
    expect(await readFile(file('former.csv'), 'utf8')).toBe('former')

    const shop = await app.seller()
    await list(shop, ...items(101))
    const address = await startProxy((request, response) => {
      if (!/[?&]page=2(&|$)/.test(request.url!)) return
      response.writeHead(401, { 'content-type': 'application/json' })
      return response.end('{"error":{"type":"unauthenticated","message":"It is revoked."}}')
    })
    const revoked = { CARDSTALL_KEY: shop.key, CARDSTALL_URL: address }
    expect((await run('listings export former.csv', { env: revoked })).code).toBe(3)
    expect(await readFile(file('former.csv'), 'utf8')).toBe('former')
  })

  it('reprice finds listings by id or reference, leaves their references, and reports the rows that fail', async () => {
    const [id] = await list(seller, cardItem())
    const { body } = await seller.post('/tools/v1/listings', {
      payload: { items: [{ ...cardItem(), reference: 'SHELF-1' }] },
    })
    const named = body.results[0].listing.id
    await writeFile(
      file('prices.csv'),
      `id,reference,price,quantity_delta\n${id},,9.99,\n,SHELF-1,"8,5",1\n999999,,1,\n`,
    )
    const { code, stdout, stderr } = await run('listings reprice prices.csv --yes')
    expect([code, stdout]).toEqual([1, '2\t1\n'])
    expect(stderr).toMatch(/row 4: /)
    // A spreadsheet may have changed the references of an export.
    await writeFile(file('mangled.csv'), `id,reference,price\n${named},1,8.6\n`)
    expect(await succeed('listings reprice mangled.csv --yes')).toBe('1\t0\n')
    await writeFile(file('back.csv'), `id,reference,price\n,SHELF-1,8.50\n`)
    expect(await succeed('listings reprice back.csv --yes')).toBe('1\t0\n')
    await writeFile(file('same.csv'), `id,price,quantity\n${id},9.99,\n${named},8.50,\n`)
    const same = await run('listings reprice same.csv --yes')
    expect([same.code, same.stdout, same.stderr]).toEqual([
      0,
      '0\t0\n',
      '2 rows would change nothing.\n',
    ])
    expect((await seller.get(`/tools/v1/listings/${id}`)).body.data.price).toBe(9.99)
    expect((await seller.get(`/tools/v1/listings/${named}`)).body.data.price).toBe(8.5)
  })

  it('reprice refuses a price that can mean two, sends the other rows, and shows decimal commas', async () => {
    const [id, other] = await list(seller, cardItem(), cardItem())
    const rows = [`${id},"1,234",`, `${other},"12,50",`, `${id},2,+5`, `${id},2,`]
    await writeFile(file('commas.csv'), ['id,price,quantity', ...rows].join('\n'))
    const { code, stdout, stderr } = await run('listings reprice commas.csv --yes')
    expect([code, stdout]).toEqual([1, '2\t2\n'])
    expect(stderr).toContain('row 3: price “12,50” was read as 12.5.\n')
    expect(stderr).toContain(
      'row 2: The price field can mean two numbers: “1,234”. Write 1234 or 1.23.\nrow 4: The quantity field must be a whole number from 0: “+5”.\n',
    )
    expect((await seller.get(`/tools/v1/listings/${id}`)).body.data.price).toBe(2)
    expect((await seller.get(`/tools/v1/listings/${other}`)).body.data.price).toBe(12.5)
    await writeFile(file('none.csv'), `id,price\n${id},free\n`)
    const none = await run('listings reprice none.csv --yes')
    expect([none.code, none.stdout]).toEqual([1, '0\t1\n'])
    await writeFile(file('negative.csv'), `id,price\n${id},-5\n`)
    const negative = await run('listings reprice negative.csv --yes')
    expect([negative.code, negative.stdout]).toEqual([1, '0\t1\n'])
    expect(negative.stderr).toContain('row 2: The price field must be at least 0.01.')
  })

  it('a row with a decimal comma outside quotes, which has more values than columns, is neither imported nor repriced', async () => {
    const rows = [`${CARD},NM,EN,12,50,3`, `${CARD},NM,EN,"12,50",3`]
    const csv = ['card,condition,language,price,quantity', ...rows].join('\n')
    await writeFile(file('shifted.csv'), csv)
    const imported = await run('listings import shifted.csv --yes --failed shifted-left.csv')
    expect([imported.code, imported.stdout]).toEqual([1, '2\t1\t1\n'])
    const again = await run('listings import shifted-left.csv --yes --failed shifted-again.csv')
    expect([again.code, again.stdout]).toEqual([1, '1\t0\t1\n'])
    expect(again.stderr).toContain('row 2: The row has more values than the header has columns')
    expect(await readFile(file('shifted-again.csv'), 'utf8')).toBe(
      await readFile(file('shifted-left.csv'), 'utf8'),
    )

    const [id, other] = await list(seller, cardItem({ price: 9 }), cardItem({ price: 9 }))
    await writeFile(file('cents.csv'), `id,price\n${id},4,50\n${other},5,\n`)
    const { code, stdout, stderr } = await run('listings reprice cents.csv --yes')
    expect([code, stdout]).toEqual([1, '1\t1\n'])
    expect(stderr).toMatch(/^row 2: The row has more values than the header has columns.*\n.*\n$/)
    expect((await seller.get(`/tools/v1/listings/${id}`)).body.data.price).toBe(9)
  })

  it('reprice refuses a file without a column to change, and names the columns that it ignores', async () => {
    const [id] = await list(seller, cardItem())
    await writeFile(file('misspelt.csv'), `id,prise\n${id},5\n`)
    const { code, stderr } = await run('listings reprice misspelt.csv --yes')
    expect([code, stderr]).toEqual([2, expect.stringContaining('the columns are id, prise.')])
    await writeFile(file('further.csv'), `id,card,name,price,shelf\n${id},x,y,5,B\n`)
    const further = await run('listings reprice further.csv --yes')
    expect([further.code, further.stderr]).toEqual([0, 'Ignored columns: shelf.\n'])
  })

  it('a question names one row or listing in the singular', async () => {
    const [id] = await list(seller, cardItem())
    await writeFile(file('one.csv'), csvOf(1))
    expect((await run('listings import one.csv')).stderr).toContain('List 1 row:')
    await writeFile(file('one-price.csv'), `id,price\n${id},5\n`)
    expect((await run('listings reprice one-price.csv')).stderr).toContain('Change 1 listing:')
  })

  it('reprice asks about the listings that it would change, and counts the rows that name none', async () => {
    const [id, other] = await list(seller, cardItem(), cardItem())
    const rows = [`${id},,5`, `${id},,6`, `${other},,7`, '999998,,5', ',NOWHERE,5']
    await writeFile(file('unknown.csv'), ['id,reference,price', ...rows].join('\n'))
    const { code, stderr } = await run('listings reprice unknown.csv')
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^2 rows name no listing of the shop\.\nChange 2 listings: /),
    ])
    await writeFile(file('nowhere.csv'), 'id,price\n999998,5\n')
    const nowhere = await run('listings reprice nowhere.csv')
    expect([nowhere.code, nowhere.stdout]).toEqual([1, '0\t1\n'])
    expect(nowhere.stderr).toMatch(/^1 row names no listing of the shop\.\nrow 2: /)
  })

  it('several listings are deleted after a question, which --yes answers', async () => {
    const [first, second] = await list(seller, cardItem(), cardItem())
    expect((await run(`listings delete ${first} ${second}`)).code).toBe(2)
    await succeed(`listings delete ${first} ${second} --yes`)
    for (const id of [first, second]) {
      expect((await seller.get(`/tools/v1/listings/${id}`)).status).toBe(404)
    }
    const { code, stderr } = await run(`listings delete ${first} ${second} --yes`)
    const each = (id?: number) => `${id}: [^\\n]+ \\(request req_\\w+\\)\\n`
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(new RegExp(`^${each(first)}${each(second)}2 of 2 failed\\.\\n$`)),
    ])
  })

  it('reprice sends only the values that differ: a sale and a listing that is hidden before they are sent stay, also if it is continued later', async () => {
    const shop = await openShop(app, PARCEL)
    const item = cardItem({ price: 4, quantity: 3 })
    const [sold, hidden, stocked] = await list(shop, item, item, item)
    let isDown = true
    const address = await startProxy((request, response) => {
      if (!isDown || request.url !== '/tools/v1/listings/changes') return
      response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '0' })
      return response.end('{"error":{"type":"service_unavailable","message":"Later."}}')
    })
    const env = { CARDSTALL_KEY: shop.key, CARDSTALL_URL: address }
    const rows = [
      `${sold},5,3,,active`,
      `${hidden},5,3,,active`,
      `${sold},4,,,`,
      // The second row restores the stock from before the first one.
      `${stocked},5,2,,active`,
      `${stocked},5,3,,active`,
      `${hidden},,3,-1,`,
    ]
    await writeFile(
      file('only.csv'),
      ['id,price,quantity,quantity_delta,status', ...rows].join('\n'),
    )
    const down = await run('listings reprice only.csv --yes', { env })
    expect([down.code, down.stderr]).toEqual([1, expect.stringContaining('Later.')])
    const shipping = [{ account_id: shop.accountId, option: PARCEL.code }]
    await buy(app, [[sold!, 1]], { shipping })
    await shop.patch(`/v1/listings/${hidden}`, { payload: { status: 'hidden' } })
    isDown = false
    const { code, stdout, stderr } = await run('listings reprice only.csv --yes', { env })
    expect([code, stdout], stderr).toEqual([1, '5\t1\n'])
    expect(stderr).toMatch(/row 7: [^\n]*quantity_delta/)
    const { data } = (await shop.get('/v1/listings')).body
    expect(data.toReversed()).toMatchObject([
      { id: sold, price: 4, quantity: 2, status: 'active' },
      { id: hidden, price: 5, quantity: 3, status: 'hidden' },
      { id: stocked, price: 5, quantity: 3, status: 'active' },
    ])
  })

  it('reprice counts the hidden listings that it would show again, before its question', async () => {
    const [id, other] = await list(seller, cardItem(), cardItem())
    await seller.patch(`/v1/listings/${id}`, { payload: { status: 'hidden' } })
    const rows = [`${id},active`, `${id},active`, `${other},hidden`]
    await writeFile(file('shown.csv'), ['id,status', ...rows].join('\n'))
    const { stderr } = await run('listings reprice shown.csv')
    expect(stderr).toMatch(/^1 listing would no longer be hidden\.\nChange 2 listings: /)
  })

  it('an import works in the root of a drive, which Windows refuses to create with another code than EEXIST', async () => {
    const env = { NODE_OPTIONS: `--import ${REFUSE_EXISTING_DIRECTORIES}` }
    await writeFile(file('drive.csv'), csvOf(2))
    expect(await succeed('listings import drive.csv --yes', { env })).toBe('2\t2\t0\n')
  })
})

describe('orders', () => {
  it('a slice is listed once, shown with its address, and shipped once whichever rows are named', async () => {
    const listings = await list(seller, cardItem(), cardItem())
    const shipping = [{ account_id: seller.accountId, option: LETTER.code }]
    const lines = listings.map((id): [number, number] => [id, 1])
    const { orderIds } = await buy(app, lines, { shipping })
    const [id, other] = orderIds as [number, number]
    const pending = (await succeed('orders list --status pending')).trim().split('\n')
    const item = '1 × Charizard ex'
    expect(pending.filter((line) => line.includes(`${item}, ${item}`))).toHaveLength(1)
    expect(await succeed(`orders show ${id}`)).toMatch(
      /Address\tCape Road 25B, 1234 AB Cerulean City, NL/,
    )
    expect(await succeed(`orders ship ${id} ${other}`)).toMatch(/^slc_\S+\t2\n$/)
    expect((await seller.get(`/v1/orders/${id}`)).body.data.orders[0].status).toBe('shipped')
    expect((await run(`orders ship ${id} --tracking CODE`)).code).toBe(1)
  })

  it('the net amount of a slice in a list leaves out cancelled rows', async () => {
    const shop = await openShop(app, PARCEL)
    const env = { CARDSTALL_KEY: shop.key }
    const [, other] = await sellEach(app, shop, cardItem({ price: 10 }), cardItem({ price: 20 }))
    await act(app, other!, 'cancel', { cancelled_by: 'buyer' })
    const netOf = async (options: string) =>
      (await succeed(`orders list${options}`, { env })).split('\t')[3]
    expect(await netOf('')).toBe('9.50')
    expect(await netOf(' --status pending')).toBe('9.50')
    expect(await netOf(' --status cancelled')).toBe('0.00')
  })

  it('an order is cancelled with a reason, a dispute is answered, and a review gets a reply', async () => {
    const id = await sold()
    await succeed(`orders cancel ${id} --reason buyer_asked --yes`)
    expect((await seller.get(`/v1/orders/${id}`)).body.data.orders[0].status).toBe('cancelled')
    const order = await sold()
    await ship(seller, order, { tracking_code: 'CODE' })
    await act(app, order, 'dispute')
    const [dispute] = JSON.parse(await succeed('disputes --json'))
    const row = `${order}\t${dispute.id}`
    expect(await succeed('disputes --state open')).toContain(`${row}\topen\t`)
    expect(await succeed(`disputes answer ${order} Sent. --dispute ${dispute.id}`)).toContain(
      `${row}\tanswered\t`,
    )
    const reviewed = await sold()
    await ship(seller, reviewed, { tracking_code: 'CODE' })
    await act(app, reviewed, 'receive')
    await app.operator.post(`/operator/v1/orders/${reviewed}/review`, { payload: { stars: 4 } })
    const [review] = (await succeed('reviews --stars 4')).split('\t')
    expect(await succeed(`reviews reply ${review} Thanks!`)).toContain('\tThanks!\t')
  })

  it.each([
    ['buyer_asked', 1],
    ['buyer_asked --no-restock', 0],
    ['out_of_stock', 0],
  ])('a row that is cancelled for %s puts %i units back on sale', async (options, restocked) => {
    const id = await sold()
    const { listing_id } = JSON.parse(await succeed(`orders list --limit 1 --json`))[0]
    await succeed(`orders cancel ${id} --reason ${options} --yes`)
    const listing = JSON.parse(await succeed(`listings show ${listing_id} --json`))
    expect(listing.quantity).toBe(cardItem().quantity - 1 + restocked)
  })

  it('an answer that names its dispute does not go to a later dispute of the order', async () => {
    const order = await sold()
    await ship(seller, order, { tracking_code: 'CODE' })
    await act(app, order, 'dispute')
    const [read] = JSON.parse(await succeed('disputes --json'))
    await act(app, order, 'resolve', { in_favour_of: 'seller' })
    await act(app, order, 'dispute')
    const { code, stderr } = await run(`disputes answer ${order} Sent. --dispute ${read.id}`)
    expect([code, stderr]).toEqual([1, expect.stringContaining('dispute')])
    expect(JSON.parse(await succeed('disputes --json'))[0]).toMatchObject({
      order_id: order,
      state: 'open',
    })
  })

  it('the pick list names what to pick, and is written as a page to print', async () => {
    await sold()
    expect(await succeed('orders pick')).toMatch(
      /^Obsidian Flames 125\t\d+\tCharizard ex\tNM\tEN\t$/m,
    )
    await succeed('orders pick --html pick.html')
    expect(await readFile(file('pick.html'), 'utf8')).toMatch(/<html[\s\S]*Charizard ex/)
  })

  it('labels are bought once, and saved one by one or as one PDF', async () => {
    const orders = `${await sold(LABEL)} ${await sold(LABEL)}`
    const [first, second] = orders.split(' ')
    expect(await succeed(`labels buy ${orders} --out labels`)).toBe(
      `${first}\tready\tlabels/label-${first}.pdf\t\n${second}\tready\tlabels/label-${second}.pdf\t\n`,
    )
    const { code, stderr } = await run(`labels buy ${orders} --out /proc/labels`)
    expect([code, stderr]).toEqual([1, expect.stringContaining('/proc/labels cannot be opened')])
    expect(await succeed(`labels buy ${orders} --merge all.pdf`)).toContain('\tall.pdf\t')
    for (const name of ['all.pdf', `labels/label-${first}.pdf`]) {
      expect(await readFile(file(name), 'latin1')).toMatch(/^%PDF-/)
    }
    const { body } = await seller.post(`/v1/orders/${first}/label`)
    expect(body.data.tracking_code).toMatch(/^SIM/)
  })

  it('a label that is missing in the merged PDF has no file, and the command says how to get it', async () => {
    const [first, lost] = [await sold(LABEL), await sold(LABEL)]
    const { body } = await seller.post(`/v1/orders/${lost}/label`)
    await app.ctx.files.delete(new URL(body.data.label_url).pathname.slice(1))
    const { code, stdout, stderr } = await run(
      `labels buy ${first} ${lost} --merge some.pdf --json`,
    )
    expect(JSON.parse(stdout)).toMatchObject([
      { order_id: first, file: 'some.pdf' },
      { order_id: lost, file: null },
    ])
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`run "cardstall labels buy ${lost}"`),
    ])
    expect(await succeed(`labels buy ${lost}`)).toContain(`\tlabel-${lost}.pdf\t`)
  })

  it('a label whose download breaks off is bought, and the command says so', async () => {
    const order = await sold(LABEL)
    const { port } = await startWebServer(async (request, response) => {
      if (request.url === '/broken') {
        response.writeHead(200, { 'content-length': 1_000 }).write('%PDF-')
        return setImmediate(() => response.destroy())
      }
      const { body } = await seller.post(`/v1/orders/${order}/label`)
      body.data.label_url = `http://127.0.0.1:${port}/broken`
      return response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
    })
    const env = { CARDSTALL_URL: `http://127.0.0.1:${port}` }
    const { code, stderr } = await run(`labels buy ${order} --out broken`, { env })
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The label is bought, but [^\n]+: run the same command again\.\n$/),
    ])
    expect(existsSync(file(`broken/label-${order}.pdf`))).toBe(false)
  })

  it('labels that were bought are printed, also if they are too many for one PDF or it cannot be written', async () => {
    const orders: number[] = []
    while (orders.length <= 50) orders.push(await sold(LABEL))
    const many = await run(`labels buy ${orders.join(' ')} --merge many.pdf`)
    expect([many.code, many.stderr]).toEqual([1, expect.stringContaining('at most 50 labels')])
    expect(many.stdout).toBe(orders.map((id) => `${id}\tready\t\t\n`).join(''))
    const unwritable = await run(`labels buy ${orders[0]} --merge missing/one.pdf`)
    expect([unwritable.code, unwritable.stdout]).toEqual([1, `${orders[0]}\tready\t\t\n`])
    expect(unwritable.stderr).toContain('missing/one.pdf cannot be opened or written')
  })
})

describe('the README', () => {
  it('every command of the first example works', async () => {
    const readme = await readFile(path.join(import.meta.dirname, 'README.md'), 'utf8')
    const [, block] = /^```sh\n(.*?)^```$/ms.exec(readme)!
    await writeFile(file('stock.csv'), csvOf(2))
    const order = await sold(LABEL)
    const commands = block!.matchAll(/^cardstall (.+?)(?: +#.*)?$/gm)
    const ended: string[] = []
    for (const [, command] of commands) {
      // Another test signs in. Here nobody answers questions.
      if (command === 'login') continue
      await succeed(command!.replace('501', String(order)).replace('--failed', '--yes --failed'))
      ended.push(command!.split(' ')[0]!)
    }
    expect(ended).toEqual(['cards', 'listings', 'listings', 'orders', 'labels'])
  })
})

describe('the shop', () => {
  it('payouts, the statement, disputes and shipping options are listed; a holiday begins and ends', async () => {
    expect(await succeed('shipping')).toContain(
      'parcel\tTracked parcel\t6.95\town\tyes\tyes\tall\tany value\n',
    )
    expect(await succeed('shipping set parcel --price 7,25')).toContain('\t7.25\t')
    expect(await succeed('shipping set letter --price 0')).toContain('\t0.00\t')
    expect((await run('shipping set parcl --price 1')).stderr).toContain('There is no option')
    expect(JSON.parse(await succeed('payouts --state paid --json'))).toEqual([])
    const month = app.ctx.now().toISOString().slice(0, 7)
    expect(await succeed(`statement ${month}`)).toMatch(/^Closing balance\t-?\d+\.\d\d$/m)
    expect(await succeed(`statement ${month} --csv`)).toContain(month)
    expect((await run('statement 2026-13')).code).toBe(2)
    for (const state of ['on', 'off']) {
      expect(await succeed(`holiday ${state}`)).toBe(`Holiday\t${state}\n`)
      expect(await succeed('holiday --json')).toBe(`{"on":${state === 'on'}}\n`)
    }
  })

  it('a command that changes something or writes a file has its result as JSON', async () => {
    const [first, second] = await list(seller, cardItem(), cardItem())
    const json = async (args: string, options?: object) =>
      JSON.parse(await succeed(`${args} --json`, options))
    expect(await json(`listings delete ${first} --yes`)).toEqual([{ id: first }])
    const partly = await run(`listings delete ${first} ${second} --yes --json`)
    expect([partly.code, JSON.parse(partly.stdout)]).toEqual([1, [{ id: second }]])
    const others = await list(seller, cardItem(), cardItem())
    expect(await succeed(`listings delete ${others.join(' ')} --yes --ndjson`)).toBe(
      others.map((id) => `{"id":${id}}\n`).join(''),
    )
    const { id } = await json('webhooks create https://hooks.example/ order.created')
    const delivery = await json(`webhooks test ${id} order.created`)
    expect(await json(`webhooks resend ${delivery[0].id}`)).toEqual([{ id: delivery[0].id }])
    expect(await json(`webhooks delete ${id}`)).toEqual([{ id }])
    expect(await json('orders pick --html json.html')).toEqual({ file: 'json.html' })
    const exported = await json('listings export json.csv --status hidden')
    expect(exported).toEqual({ file: 'json.csv', listings: expect.any(Number) })
    const env = { XDG_CONFIG_HOME: file('json') }
    expect(await json('login --with-key', { env, input: seller.key })).toMatchObject({
      profile: 'default',
      url: `${url}/v1`,
    })
    expect(await json('logout', { env })).toEqual({
      profile: 'default',
      key_revoked: false,
      current_profile: null,
    })
  })

  it('a command that prints CSV refuses --json and --ndjson', async () => {
    for (const args of ['statement 2026-03 --csv --json', 'listings export --ndjson']) {
      const { code, stdout, stderr } = await run(args)
      const message = expect.stringMatching(/^The output is CSV, not JSON: [^\n]+\n$/)
      expect([code, stdout, stderr]).toEqual([2, '', message])
    }
  })

  it('JSON is what the description of the API says', async () => {
    await sold()
    const month = app.ctx.now().toISOString().slice(0, 7)
    for (const [api, schemas] of Object.entries({
      seller: {
        Account: 'whoami',
        Card: 'cards search charizard',
        Set: 'sets',
        SealedProduct: 'products',
        Order: 'orders list',
        WebhookEndpoint: 'webhooks list',
      },
      tools: {
        OwnListing: 'listings list --limit 5',
        OwnShippingOption: 'shipping',
        Statement: `statement ${month}`,
      },
    })) {
      const description = await readFile(
        path.join(import.meta.dirname, `../openapi/${api}.json`),
        'utf8',
      )
      const mismatch = mismatchesOf(JSON.parse(description))
      for (const [schema, command] of Object.entries(schemas)) {
        const records = [JSON.parse(await succeed(`${command} --json`))].flat()
        if (schema !== 'WebhookEndpoint') expect(records.length, command).toBeGreaterThan(0)
        for (const record of records) {
          expect(mismatch(`#/components/schemas/${schema}`, record), command).toBeNull()
        }
      }
    }
  })

  it('open prints the address of a page, and bash completes commands and options', async () => {
    expect(await succeed('open orders')).toBe(`Dashboard\t${url}/dashboard/orders\n`)
    await writeFile(file('completion.bash'), await succeed('completion bash'))
    const complete = async (...words: string[]) => {
      const typed = words.map((word) => `'${word}'`).join(' ')
      const script = `. ./completion.bash; COMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; _cardstall; echo "\${COMPREPLY[@]}"`
      return (await execute('bash', ['-c', script], { cwd: folder })).stdout.trim()
    }
    expect(await complete('cardstall', 'list')).toBe('listings')
    expect(await complete('cardstall', 'webhooks', 're')).toBe('resend')
    expect(await complete('cardstall', 'listings', 'import', '--dry')).toBe('--dry-run')
    expect(await complete('cardstall', 'holiday', 'of')).toBe('off')
    expect(await complete('cardstall', 'listings', 'list', '--status', '')).toBe(
      'active sold hidden',
    )
    expect(await complete('cardstall', 'listings', 'list', '--js')).toBe('--json')
    const ids = Array.from({ length: 10 }, () => '7')
    expect(await complete('cardstall', 'listings', 'delete', ...ids, '--js')).toBe('--json')
    expect(await complete('cardstall', 'sets', ...ids, '--lim')).toBe('--limit')
    expect(await complete('cardstall', '--json', '--profile', 'orders', 'list')).toBe('listings')
    expect(await complete('cardstall', '--key', '7', 'webhooks', '--quiet', 're')).toBe('resend')
    // bash splits words at : and =.
    const address = ['http', ':', '//localhost', ':', '4131']
    expect(await complete('cardstall', '--url', ...address, 'listings', 'im')).toBe('import')
    expect(await complete('cardstall', '--url', '=', ...address, 'listings', 'im')).toBe('import')
    const option = ['cardstall', 'listings', 'list', '--status', '=']
    expect(await complete(...option)).toBe('active sold hidden')
    expect(await complete(...option, 'a')).toBe('active')
    expect(await complete('cardstall', 'disputes', '--state', '')).toBe('open answered resolved')
    expect(await complete('cardstall', 'disputes', '--sta')).toBe('--state')
  })

  it.skipIf(!isThere('fish'))('fish completes commands, options and their values', async () => {
    await writeFile(file('completion.fish'), await succeed('completion fish'))
    const complete = async (line: string) => {
      const script = `source completion.fish; complete -C '${line}'`
      const { stdout } = await execute('fish', ['--no-config', '-c', script], { cwd: folder })
      return stdout.split('\n').flatMap((each) => each.split('\t')[0] || [])
    }
    expect(await complete('cardstall list')).toEqual(['listings'])
    expect(await complete('cardstall webhooks re')).toEqual(['resend'])
    expect(await complete('cardstall listings import --dry')).toEqual(['--dry-run'])
    expect(await complete('cardstall holiday of')).toEqual(['off'])
    expect(await complete('cardstall listings list --status ')).toEqual([
      'active',
      'hidden',
      'sold',
    ])
    expect(await complete('cardstall listings list --js')).toEqual(['--json'])
    expect(await complete('cardstall --json --profile orders list')).toEqual(['listings'])
    expect(await complete('cardstall --key 7 webhooks --quiet re')).toEqual(['resend'])
    expect(await complete('cardstall disputes --state ')).toEqual(['answered', 'open', 'resolved'])
  })

  it.skipIf(!isThere('zsh'))('zsh completes commands, options and their values', async () => {
    await writeFile(file('completion.zsh'), await succeed('completion zsh'))
    // The shell prints the line that it has completed.
    await writeFile(
      file('set-up.zsh'),
      `PROMPT= HOME=$PWD
       source ./completion.zsh
       cardstall() { print -r -- "<$*>" }`,
    )
    await writeFile(
      file('type.zsh'),
      `zmodload zsh/zpty
       zpty shell zsh -f -i
       zpty -w shell 'source ./set-up.zsh'
       for line; do
         zpty -w shell "$line"$'\\t'
         zpty -r shell output '*<*>*' && print -r -- "\${\${output##*<}%%>*}"
       done
       zpty -d shell`,
    )
    const lines = {
      'cardstall listi': 'listings',
      'cardstall webhooks re': 'webhooks resend',
      'cardstall listings import --dry': 'listings import --dry-run',
      'cardstall holiday of': 'holiday off',
      'cardstall listings list --status hid': 'listings list --status hidden',
      'cardstall listings list --js': 'listings list --json',
      'cardstall --json --profile orders listi': '--json --profile orders listings',
      'cardstall --key 7 webhooks --quiet re': '--key 7 webhooks --quiet resend',
      'cardstall --url http://localhost:4131 listings im':
        '--url http://localhost:4131 listings import',
      'cardstall listings list --status=a': 'listings list --status=active',
      'cardstall disputes --state ans': 'disputes --state answered',
    }
    const { stdout } = await execute('zsh', ['-f', 'type.zsh', ...Object.keys(lines)], {
      cwd: folder,
      timeout: 30_000,
    })
    expect(stdout.trimEnd().split('\n')).toEqual(Object.values(lines))
  })
})

describe('sync and webhooks', () => {
  it('listen forwards each event once, also after lost connections and between two runs', async () => {
    const receiver = await startReceiver()
    const events = ['order.created', 'listing.sold'] as const
    const listen = async () => {
      const args = ['--forward', receiver.url, '--events', events.join(',')]
      const { child, ended } = start(['webhooks', 'listen', ...args])
      let notes = ''
      child.stderr.on('data', (data) => {
        notes += data
      })
      await until('it listens', () => notes.includes('Waiting for events.'))
      return { child, ended, notes }
    }
    const send = (event: string) => seller.post('/tools/v1/events', { payload: { event } })
    const arrived = (n: number) =>
      until(`event ${n} arrives`, () => receiver.arrived.length >= n || undefined)
    const first = await listen()
    await send(events[0])
    await arrived(1)
    app.app.server.closeAllConnections()
    await send('order.cancelled')
    await send(events[1])
    await arrived(2)
    first.child.kill('SIGINT')
    const { code, stdout } = await first.ended
    expect([code, stdout.split('\n').length]).toEqual([130, 3])
    expect(stdout).toMatch(/^\S+Z\torder\.created\t#\d+\t204$/m)

    for (const event of events) await send(event)
    const second = await listen()
    expect(second.notes).toContain('Continuing after the last run')
    await arrived(4)
    second.child.kill('SIGTERM')
    expect((await second.ended).code).toBe(130)
    const third = await listen()
    await send(events[0])
    await arrived(5)
    third.child.kill('SIGKILL')
    await third.ended
    const ids = receiver.arrived.map(({ json }) => json.delivery_id)
    expect(new Set(ids).size).toBe(5)
    expect(receiver.arrived.map(({ json }) => json.event)).toEqual([
      ...events,
      ...events,
      events[0],
    ])
    const [secret] = /svc_whsec_\w+/.exec(first.notes)!
    for (const { body, headers } of receiver.arrived) await verify(body, headers, secret)
  })

  it.each(['--json', '--ndjson', '--quiet'])('listen with %s shows its secret', async (option) => {
    const { child, ended } = start(['webhooks', 'listen', '--forward', 'http://x.example', option])
    let text = ''
    child.stderr.on('data', (data) => {
      text += data
    })
    await until('the secret is shown', () => /secret is svc_whsec_\w{40}\n/.test(text))
    child.kill('SIGKILL')
    expect((await ended).stdout).toBe('')
  })

  it('listen prints resends, and begins now if its place is of another database', async () => {
    const env = { XDG_CONFIG_HOME: file('place') }
    const listen = async () => {
      const { child, ended } = start(['webhooks', 'listen'], { env })
      let text = ''
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (data) => {
          text += data
        })
      }
      await until('it listens', () => text.includes('Waiting for events.'))
      return { child, ended, text: () => text }
    }
    const created = await subscribe(seller, 'https://hooks.example/', ['order.created'])
    const { child, ended, text } = await listen()
    await succeed('webhooks trigger order.created')
    const [delivery] = JSON.parse(
      await succeed(`webhooks deliveries --endpoint ${created.id} --json`),
    )
    await succeed(`webhooks resend ${delivery.id}`)
    await until('the resend is printed', () => text().match(/order\.created/g)?.length === 2)
    child.kill('SIGINT')
    await ended
    const [name] = await readdir(file('place/cardstall/positions'))
    await writeFile(file(`place/cardstall/positions/${name}`), '999999999999-0\n')
    const again = await listen()
    expect(again.text()).toContain('to another database')
    again.child.kill('SIGINT')
    await again.ended
    expect((await run('webhooks resend')).code).toBe(2)
    const { secret } = JSON.parse(await succeed(`webhooks rotate-secret ${created.id} --json`))
    expect(secret).not.toBe(created.secret)
    expect(await succeed(`webhooks test ${created.id} listing.sold`)).toContain('listing.sold')
    await succeed(`webhooks delete ${created.id}`)
  })

  it('listen forwards events with the user and password of the address, and does not print them', async () => {
    const receiver = await startReceiver()
    const address = receiver.url.replace('//', '//ash:p%40ss@')
    const env = { XDG_CONFIG_HOME: file('user') }
    const { child, ended } = start(['webhooks', 'listen', '--forward', address], { env })
    let text = ''
    child.stderr.on('data', (data) => {
      text += data
    })
    await until('it listens', () => text.includes('Waiting for events.'))
    await succeed('webhooks trigger order.created')
    await until('the event is forwarded', () => receiver.arrived.length === 1)
    child.kill('SIGINT')
    const { stdout, stderr } = await ended
    const { authorization } = receiver.arrived[0]!.headers
    expect(authorization).toBe(`Basic ${Buffer.from('ash:p@ss').toString('base64')}`)
    expect(stdout).toMatch(/\t204\n$/)
    expect(stderr).toContain(`Forwarding to ${receiver.url}.`)
  })

  it('sync prints the changes since its last run', async () => {
    await succeed('sync --once')
    const [id] = await list(seller, cardItem())
    const printed = await until('the change can be read', () => succeed('sync --once'))
    expect(printed).toContain(`listing\t${id}\tcreated\tactive\n`)
    expect(await succeed('sync --once')).toBe('')
    // A file of its own has a place of its own.
    expect((await run('sync --once --cursor mine')).stderr).toContain('Starting now')
    expect(await readFile(file('mine'), 'utf8')).toMatch(/^\S+\n$/)
  })

  it('a place that cannot be read is an error, because a run without it would skip changes', async () => {
    await symlink(file('unreadable'), file('unreadable'))
    const { code, stderr } = await run('sync --once --cursor unreadable')
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^unreadable cannot be opened/)])
  })

  it.each([
    ['sync --once --after zz', '--after "zz"'],
    ['sync --once --cursor other.txt', 'other.txt'],
  ])('"%s" names the value that is no position', async (args, name) => {
    await writeFile(file('other.txt'), 'zz\n')
    const { code, stderr } = await run(args)
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`${name} is not a position in the changes`),
    ])
  })

  it('an endpoint is added with its secret, listed and deleted', async () => {
    const created = JSON.parse(
      await succeed('webhooks create https://hooks.example/ order.created --json'),
    )
    expect(created.secret).toMatch(/^svc_whsec_/)
    expect(await succeed('webhooks list')).toContain(`${created.id}\thttps://hooks.example/`)
    await succeed(`webhooks delete ${created.id}`)
    expect(await succeed('webhooks list')).toBe('')
  })

  it('webhooks verify tells a genuine delivery from another', async () => {
    const input = '{"event":"order.created"}'
    const headers = await sign(input, 'svc_whsec_a', 1_700_000_000)
    const signed = `--timestamp 1700000000 --signature ${headers['x-service-signature']}`
    const genuine = await succeed(`webhooks verify --secret svc_whsec_a ${signed}`, { input })
    expect(genuine).toBe('Genuine\tyes\nEvent\torder.created\n')
    expect((await run(`webhooks verify --secret svc_whsec_b ${signed}`, { input })).code).toBe(1)
    for (const body of ['x', 'null', '{}']) {
      const { 'x-service-signature': hash } = await sign(body, 'svc_whsec_a', 1_700_000_000)
      const args = `--secret svc_whsec_a --timestamp 1700000000 --signature ${hash}`
      const { code, stdout, stderr } = await run(`webhooks verify ${args}`, { input: body })
      const message = 'The signature is genuine, but the body is not an event.\n'
      expect([code, stdout, stderr]).toEqual([1, '', message])
    }
  })
})

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { startWebServer } from '../server/test/fakes/network.ts'
import { subscribe } from '../server/test/fakes/receiver.ts'
import { cardItem, list } from '../server/test/fixtures/listings.ts'
import { form } from '../server/test/fixtures/members.ts'
import { allowing } from '../server/test/fixtures/oauth.ts'
import { LETTER, openShop, PARCEL, sellEach, ship } from '../server/test/fixtures/orders.ts'
import { freePort } from '../server/test/free-port.ts'
import { until } from '../server/test/until.ts'
import {
  type Answer,
  app,
  csvOf,
  file,
  folder,
  forward,
  type Result,
  run,
  seller,
  start,
  startProxy,
  startShop,
  succeed,
  url,
} from './test/packed.ts'

const execute = promisify(execFile)

/** Makes the waits of a program a hundred times shorter: a login polls every five seconds. */
const FAST_CLOCK = `data:text/javascript,${encodeURIComponent(`
  import { syncBuiltinESMExports } from 'node:module'
  import timers from 'node:timers/promises'
  const { setTimeout } = timers
  timers.setTimeout = (ms, ...others) => setTimeout(ms / 100, ...others)
  syncBuiltinESMExports()
`)}`

/** Resolves when the member has allowed the login that runs. */
let allowed: Promise<void>

/** Starts a proxy, at which the polls of a login wait until the member has allowed it. */
const startLoginProxy = (answer: Answer = () => undefined) =>
  startProxy((request, response) =>
    request.url === '/oauth/token'
      ? allowed.then(() => answer(request, response) || forward(request, response))
      : answer(request, response),
  )

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

beforeAll(startShop)

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
    const address = await startLoginProxy((request, response) => {
      const answer = request.url === '/oauth/token' ? answers[polls++] : undefined
      if (!answer) return undefined
      return response.writeHead(answer[0], { 'content-type': 'application/json' }).end(answer[1])
    })
    const env = { CARDSTALL_URL: '', CARDSTALL_KEY: '', XDG_CONFIG_HOME: file('unsteady') }
    const { code, stderr } = await login(env, address)
    expect([code, polls], stderr).toEqual([0, 3])
  })

  it('login follows no redirect, which would send its code elsewhere', async () => {
    let followed = 0
    const elsewhere = await startWebServer((_request, response) => {
      followed++
      response.writeHead(503).end()
    })
    const { port } = await startWebServer((_request, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${elsewhere.port}/oauth/device` }).end()
    })
    const env = { CARDSTALL_URL: '', CARDSTALL_KEY: '', XDG_CONFIG_HOME: file('redirected') }
    const { code, stderr } = await run(`login --no-browser --url http://127.0.0.1:${port}`, { env })
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot be reached')])
    expect(followed).toBe(0)
  })

  it('login revokes the key that the former login created, but keeps that key if it is entered again; logout then revokes it', async () => {
    const env = { CARDSTALL_URL: '', CARDSTALL_KEY: '', XDG_CONFIG_HOME: file('again') }
    const statusOf = async (key: string) => (await app.withKey(key).get('/v1/me')).status
    const address = await startLoginProxy()
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
    const address = await startLoginProxy(
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
    ['listings set 1 --price=', /amount in euros:/],
    ['listings set 1 --quantity=', /whole number from 0:/],
    ['shipping set letter --price=-5', /amount in euros from 0:/],
    ['listings set x --price 1', /whole number from 1/],
    ['listings show 0x1', /whole number from 1/],
    ['cards search x --limit 1e2', /whole number from 1/],
    ['listings set 1 --price 1,234', /can mean two amounts: write 1234 or 1.23/],
    ['listings set 1 --price 1.234', /can mean two amounts: write 1234 or 1.23/],
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
    // With an address and a key of the environment, the configuration isn't read.
    const needed = name === 'XDG_CONFIG_HOME' ? { CARDSTALL_KEY: '' } : {}
    const { code, stderr } = await run('whoami', {
      env: { ...needed, [name]: places[value] ?? value },
    })
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^[^\n]+\n$/)])
    expect(stderr).toMatch(message)
  })

  it('a command that is given an address and a key needs no configuration that can be read', async () => {
    await mkdir(file('broken/cardstall'), { recursive: true })
    await writeFile(file('broken/cardstall/config.json'), '{')
    for (const folder of [file('broken'), '/dev/null']) {
      const env = { XDG_CONFIG_HOME: folder }
      expect(await succeed('whoami', { env })).toContain(url)
      const without = { ...env, CARDSTALL_URL: '', CARDSTALL_KEY: '' }
      const given = `whoami --url ${url} --key ${seller.key}`
      expect(await succeed(given, { env: without })).toContain(url)
      // A named profile is read.
      expect((await run('whoami --profile shop', { env })).code).toBe(1)
      expect((await run(`whoami --url ${url}`, { env: without })).code).toBe(1)
    }
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
      const { code, stdout, stderr } = await run(args, {
        env: { XDG_CONFIG_HOME: file('wrong'), CARDSTALL_KEY: '' },
      })
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
    const other = 'http://localhost:9'
    for (const [args, settings] of [
      [` --url ${other}`, {}],
      ['', { CARDSTALL_URL: other }],
    ] as const) {
      const refused = await run(`login --with-key${args}`, {
        env: { ...env, ...settings },
        input: seller.key,
      })
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringMatching(
          /^The profile "second" is for [^\n]+ add --url http:\/\/localhost:9 --profile second to [^\n]+\n$/,
        ),
      ])
    }
    const named = `login --with-key --url ${other} --profile second`
    expect((await run(named, { env, input: seller.key })).code).toBe(1)
    expect(await keys()).toEqual([seller.key, former])
  })

  it('a name that every object has is not a profile', async () => {
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

  it.skipIf(!hasScript)(
    'Enter alone confirms an import, but no deletion and no cancellation',
    async () => {
      const shop = await openShop(app, PARCEL)
      const [order] = await sellEach(app, shop, cardItem())
      const [first, second] = await list(shop, cardItem(), cardItem())
      await writeFile(file('entered.csv'), csvOf(1))
      const env = {
        PATH: process.env.PATH,
        CARDSTALL_URL: url,
        CARDSTALL_KEY: shop.key,
        TERM: 'xterm',
      }
      const answerWithEnter = async (args: string) => {
        const command = `stty cols 80; ${process.execPath} package/dist/cardstall.js ${args}`
        const call = execute('script', ['-qec', command, '/dev/null'], { cwd: folder, env })
        let shown = ''
        call.child.stdout!.on('data', (data) => {
          shown += data
        })
        await until('the question', () => /\?[\s\S]*Yes[\s\S]*No/.test(shown) || undefined)
        call.child.stdin!.end('\r')
        await call.catch(() => {})
        return shown.includes('Nothing was changed.')
      }
      expect(await answerWithEnter(`listings delete ${first} ${second}`)).toBe(true)
      expect(await answerWithEnter(`orders cancel ${order} --reason out_of_stock`)).toBe(true)
      expect(await answerWithEnter('listings import entered.csv')).toBe(false)
      expect((await shop.get('/v1/listings')).body.meta.total).toBe(4)
      expect((await shop.get(`/v1/orders/${order}`)).body.data.orders[0].status).toBe('pending')
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

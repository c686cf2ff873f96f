import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { sign, verify } from '../sdk/src/webhooks.ts'
import { startTestApp, type TestApp } from '../server/test/app.ts'
import { startReceiver } from '../server/test/fakes/receiver.ts'
import { cardItem, list, NO_LIMITS } from '../server/test/fixtures/listings.ts'
import { form } from '../server/test/fixtures/members.ts'
import { allowing } from '../server/test/fixtures/oauth.ts'
import { buy, LABEL, openShop, PARCEL } from '../server/test/fixtures/orders.ts'
import { until } from '../server/test/until.ts'
import { whenFileEnds } from '../server/test/when-file-ends.ts'

const execute = promisify(execFile)

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
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  await app.app.listen({ port: 0, host: '127.0.0.1' })
  url = `http://127.0.0.1:${(app.app.server.address() as AddressInfo).port}`
  seller = await openShop(app, PARCEL, LABEL)
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
  child.stdin.end(input)
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

const run = (args: string, options: Parameters<typeof start>[1] = {}) =>
  start(args.split(' '), options).ended

/** Runs a command that succeeds, and returns its output. */
async function succeed(args: string, options: Parameters<typeof start>[1] = {}): Promise<string> {
  const { code, stdout, stderr } = await run(args, options)
  expect([code, stderr.match(/.*(error|failed).*/i)?.[0]], stderr).toEqual([0, undefined])
  return stdout
}

const CARD = cardItem().card
const file = (name: string) => path.join(folder, name)
const totalOf = async (status = 'active') =>
  (await seller.get(`/v1/listings?status=${status}`)).body.meta.total as number

describe('accounts and profiles', () => {
  it('login waits until a member allows it in a browser; logout then revokes the key', async () => {
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
    expect((await member.post('/device', form(allowed))).status).toBe(200)
    expect((await ended).code).toBe(0)
    expect(await succeed('whoami', { env })).toContain('Scopes\torders:read\n')
    const stored = JSON.parse(
      await readFile(path.join(file('device'), 'cardstall/config.json'), 'utf8'),
    )
    const { key } = stored.profiles.default
    expect((await run('logout', { env })).stderr).toContain('its key is revoked')
    expect((await app.withKey(key).get('/v1/me')).status).toBe(401)
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
    await succeed('logout', { env })
    expect((await run('whoami', { env })).code).toBe(3)
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
    ['listings set 1', /--price, --quantity/],
    ['listings set 1 --price free', /amount in euros/],
    ['listings set x --price 1', /number from 1/],
    ['orders list --status lost', /Allowed choices are pending/],
    ['listings import missing.csv', /There is no file/],
    ['whoami --url ftp://x', /address/],
  ])('"%s" is a usage error with exit code 2', async (args, message) => {
    const { code, stderr, stdout } = await run(args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(message)
  })

  it('help fits on one screen', async () => {
    const help = await succeed('--help')
    expect(help.split('\n').length).toBeLessThan(50)
    expect(Math.max(...help.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80)
  })
})

describe('the catalog', () => {
  it('cards are printed as values with tabs, as JSON, or as lines of JSON', async () => {
    expect(await succeed('cards search charizard --set sv3 --limit 1')).toMatch(/^sv3-125\t/)
    const json = JSON.parse(await succeed('cards search charizard --set sv3 --limit 1 --json'))
    expect(json).toMatchObject([{ id: 'sv3-125' }])
    const lines = (await succeed('sets --ndjson')).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).id)).toContain('sv3')
  })

  it('offers of a card are listed with --offers', async () => {
    await list(seller, cardItem({ price: 7.5 }))
    expect(await succeed(`cards show ${CARD} --offers`)).toMatch(/^7\.50\t/m)
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
    await writeFile(file('dry.csv'), `${csvOf(3)}\nnothing-9,NM,EN,1,1,B\n${CARD},NM,EN,free,1,C\n`)
    const before = await totalOf()
    const { code, stdout, stderr } = await run('listings import dry.csv --dry-run --failed bad.csv')
    expect([code, stdout]).toEqual([1, '5\t3\t2\n'])
    expect(stderr).toMatch(/row 5: .*card[\s\S]*row 6: The price field must be a number: “free”/)
    expect(await totalOf()).toBe(before)
    const failed = await readFile(file('bad.csv'), 'utf8')
    expect(failed).toMatch(/card,condition,language,price,quantity,shelf,reason\r\n/)
    expect(failed.trim().split('\r\n')).toHaveLength(3)
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

  it('columns with other names are mapped with --map', async () => {
    await writeFile(file('own.csv'), `Which,State,language,quantity,EUR\n${CARD},LP,EN,1,"2,50"\n`)
    const args = ['listings', 'import', 'own.csv', '--yes', '--json']
    const maps = ['Which=card', 'State=condition', 'EUR=price'].flatMap((map) => ['--map', map])
    const { code, stdout } = await start([...args, ...maps]).ended
    expect([code, JSON.parse(stdout)]).toEqual([0, [{ rows: 1, created: 1, failed: 0 }]])
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

  it('an exported file can be imported', async () => {
    const other = await app.seller()
    const env = { CARDSTALL_KEY: other.key }
    await list(other, cardItem({ price: 4, quantity: 3, description: 'a "quoted", text' }))
    await succeed('listings export out.csv', { env })
    await succeed('listings import out.csv --yes', { env })
    const { body } = await other.get('/v1/listings')
    const [copy, original] = body.data
    const { id, created_at, updated_at, ...fields } = original
    expect(copy).toMatchObject(fields)
    expect(await succeed('listings export', { env })).toContain('"a ""quoted"", text"')
  })

  it('reprice changes listings by id and reference, and reports the rows that fail', async () => {
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
    expect((await seller.get(`/tools/v1/listings/${id}`)).body.data.price).toBe(9.99)
    expect((await seller.get(`/tools/v1/listings/${named}`)).body.data.price).toBe(8.5)
  })

  it('several listings are deleted after a question, which --yes answers', async () => {
    const [first, second] = await list(seller, cardItem(), cardItem())
    expect((await run(`listings delete ${first} ${second}`)).code).toBe(2)
    await succeed(`listings delete ${first} ${second} --yes`)
    for (const id of [first, second]) {
      expect((await seller.get(`/tools/v1/listings/${id}`)).status).toBe(404)
    }
    const { code, stderr } = await run(`listings delete ${first} ${second} --yes`)
    expect([code, stderr]).toEqual([1, expect.stringMatching(/2 of 2 failed/)])
  })
})

describe('orders', () => {
  const sold = async (option = PARCEL) => {
    const [id] = await list(seller, cardItem())
    const shipping = [{ account_id: seller.accountId, option: option.code }]
    return (await buy(app, [[id!, 1]], { shipping })).orderIds[0]!
  }

  it('an order is listed, shown with its address, and shipped', async () => {
    const id = await sold()
    expect(await succeed('orders list --status pending')).toMatch(new RegExp(`^${id}\t`, 'm'))
    expect(await succeed(`orders show ${id}`)).toMatch(
      /Address\tCape Road 25B, 1234 AB Cerulean City, NL/,
    )
    await succeed(`orders ship ${id} --tracking CODE`)
    expect((await seller.get(`/v1/orders/${id}`)).body.data.orders[0].status).toBe('shipped')
    expect((await run(`orders ship ${id} --tracking CODE`)).code).toBe(1)
  })

  it('the pick list names what to pick, and is written as a page to print', async () => {
    await sold()
    expect(await succeed('orders pick')).toMatch(
      /^\d+\tObsidian Flames 125\tCharizard ex\tNM\tEN\t$/m,
    )
    await succeed('orders pick --html pick.html')
    expect(await readFile(file('pick.html'), 'utf8')).toMatch(/<html[\s\S]*Charizard ex/)
  })

  it('labels are saved as PDFs, and bought once', async () => {
    const id = await sold(LABEL)
    // The address of the labels is that of the test app's PUBLIC_URL.
    const { stdout, stderr } = await run(`labels buy ${id} --out labels --json`)
    expect(stdout + stderr).toMatch(/ready|could not be downloaded|failed/)
    const { body } = await seller.post(`/v1/orders/${id}/label`)
    expect(body.data.status).toBe('ready')
  })
})

describe('the shop', () => {
  it('payouts, the statement, disputes and shipping options are listed; a holiday begins and ends', async () => {
    expect(await succeed('shipping')).toContain(
      'parcel\tTracked parcel\t6.95\town\tyes\tyes\tall\tany value\n',
    )
    for (const command of ['payouts --state due', 'disputes --state open']) {
      expect(JSON.parse(await succeed(`${command} --json`))).toEqual([])
    }
    const month = app.ctx.now().toISOString().slice(0, 7)
    expect(await succeed(`statement ${month}`)).toMatch(/^Closing balance\t-?\d+\.\d\d$/m)
    expect(await succeed(`statement ${month} --csv`)).toContain(month)
    expect((await run('statement 2026-13')).code).toBe(2)
    for (const state of ['on', 'off']) {
      expect(await succeed(`holiday ${state}`)).toBe(`Holiday\t${state}\n`)
      expect(await succeed('holiday --json')).toBe(`{"on":${state === 'on'}}\n`)
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
    expect(await succeed('completion fish')).toContain("__fish_use_subcommand' -f -a holiday")
  })
})

describe('sync and webhooks', () => {
  it('listen forwards events and resends, signed with a stable secret', async () => {
    const receiver = await startReceiver()
    const { child, ended } = start([
      ...['webhooks', 'listen', '--forward', receiver.url],
      ...['--events', 'order.created'],
    ])
    let notes = ''
    child.stderr.on('data', (data) => {
      notes += data
    })
    await until('it listens', () => /svc_whsec_\w+/.test(notes))
    const id = JSON.parse(
      await succeed('webhooks create https://hooks.example/ order.created --json'),
    ).id
    await until('an event arrives', async () => {
      await succeed('webhooks trigger order.created')
      return receiver.arrived.length > 0
    })
    await succeed('webhooks trigger listing.sold')
    const [delivery] = JSON.parse(await succeed(`webhooks deliveries --endpoint ${id} --json`))
    const before = receiver.arrived.length
    await succeed(`webhooks resend ${delivery.id}`)
    await until('the resend arrives', () => receiver.arrived.length > before)
    child.kill('SIGINT')
    const { code, stdout } = await ended
    expect([code, new Set(receiver.arrived.map(({ json }) => json.event))]).toEqual([
      130,
      new Set(['order.created']),
    ])
    expect(stdout).toMatch(/^\S+Z\torder\.created\t#\d+\t204$/m)
    const [secret] = /svc_whsec_\w+/.exec(notes)!
    for (const { body, headers } of receiver.arrived) await verify(body, headers, secret)
    expect((await run('webhooks resend')).code).toBe(2)
    await succeed(`webhooks delete ${id}`)
  })

  it('sync prints the changes since its last run', async () => {
    await succeed('sync --once --cursor place')
    const [id] = await list(seller, cardItem())
    const printed = await until('the change can be read', async () => {
      const stdout = await succeed('sync --once --cursor place')
      return stdout !== '' && stdout
    })
    expect(printed).toContain(`listing\t${id}\tcreated\tactive\n`)
    expect(await succeed('sync --once --cursor place')).toBe('')
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
  })
})

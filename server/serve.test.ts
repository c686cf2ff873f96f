import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { readConfig } from './config.ts'
import { LOCKS } from './database/advisory-lock.ts'
import type { Sql } from './database/sql.ts'
import { refuseTakenPort } from './processes/installation.ts'
import { welcome } from './serve.ts'
import { testDatabase } from './test/database.ts'
import { emptyDatabase, isAlive, logOf, newHome, query } from './test/embedded-homes.ts'
import { freePort } from './test/free-port.ts'
import {
  type Ended,
  embedded,
  isOff,
  jsonLines,
  newDataDir,
  oldNode,
  runToEnd,
  type Service,
  type Settings,
  startService,
  type TestResponse,
} from './test/process.ts'
import { SMALL_CATALOG, SMALL_CATALOG_PRELOAD } from './test/small-catalog.ts'
import { until } from './test/until.ts'

const BUNDLED_CATALOG = { sets: 172, cards: 20_106 }
/** Undoes the migrations of a test database. */
const EMPTIED = 'drop schema public cascade; create schema public'

const FIRST_START_MS = 100_000

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
)

describe('the first start on an empty DATA_DIR', () => {
  it('a first start is live before it is ready, and ready only with the whole catalog', async () => {
    const { whileImporting, atReady } = await firstStart()
    expect(whileImporting).toMatchObject({
      live: { status: 200 },
      ready: {
        status: 503,
        body: { error: { type: 'service_unavailable', message: 'The service is starting.' } },
      },
    })
    expect(atReady).toEqual(BUNDLED_CATALOG)
  })

  it('a first start prints a base URL, a demo key, an operator token, and addresses of the docs, the console and the e-mail that work', async () => {
    const { service } = await firstStart()
    const { baseUrl, key, token, docs, console } = service.printed()
    expect(baseUrl).toBe(`http://localhost:${service.port}/v1`)
    const me = await fetch(`${baseUrl}/me`, { headers: { authorization: `Bearer ${key}` } })
    expect(await me.json()).toMatchObject({ data: { shop_name: 'Demo Cards' } })
    const accounts = await service.get('/operator/v1/accounts', token)
    expect(accounts.body.meta.total).toBe(1)
    expect((await fetch(docs)).headers.get('content-type')).toContain('text/html')
    // 503 while its page is being built.
    expect([200, 503]).toContain((await fetch(console)).status)
    const [, mail] = /^ {2}e-mail .*GET (\S+), /m.exec(service.stdout())!
    const headers = { authorization: `Bearer ${token}` }
    expect((await fetch(mail!, { headers })).status).toBe(200)
  })

  it('a first start prints a curl command that works as pasted', async () => {
    const { service } = await firstStart()
    const { curl } = service.printed()
    const { data } = JSON.parse(await runCurl(curl))
    expect(data).toHaveLength(3)
    expect(data[0].name).toContain('Charizard')
  })

  it('the service writes text to standard output and JSON to standard error', async () => {
    const { service } = await firstStart()
    await service.get('/health/live')
    await until('the request is logged', () =>
      service.log().some((line) => line.path === '/health/live'),
    )
    for (const line of service.log()) {
      expect(line).toMatchObject({ level: expect.any(Number), time: expect.any(String) })
    }
    expect(service.stdout()).toMatch(/^Importing the bundled catalog: [\d,]+ records\n/)
    expect(service.stdout()).not.toMatch(/[{}\x1b]/)
  })

  it('a first start prints the progress of the import only when its number has changed', async () => {
    const { service } = await firstStart()
    const lines = service.stdout().match(/^Importing the bundled catalog: .*$/gm)
    expect(lines).toEqual([...new Set(lines)])
  })

  it('a start takes settings for less memory, and restarts itself once after the program was compiled', async () => {
    const { service } = await firstStart()
    expect(initialOf(service, 'cmdline')).toContain('--max-semi-space-size=8')
    expect(initialOf(service, 'environ')).toContain('MALLOC_ARENA_MAX=1')
    expect(initialOf(service, 'environ')).toContain('COMPILED_BY_CARDSTALL=1')
  })

  it('only their owner can read the files with the service’s secrets', async () => {
    const { service } = await firstStart()
    const secrets = join(service.dataDir, 'secrets')
    const modes = ['.', ...readdirSync(secrets)].map((name) => [
      name,
      (statSync(join(secrets, name)).mode & 0o777).toString(8),
    ])
    expect(Object.fromEntries(modes)).toEqual({
      '.': '700',
      'demo-key': '600',
      'demo-password': '600',
      'demo-password-proof': '600',
      'operator-token': '600',
      'secret-key': '600',
    })
    expect(statSync(join(service.dataDir, 'postgres.password')).mode & 0o777).toBe(0o600)
  })

  it('a start that finds its port in use leaves the running service’s database alone', async () => {
    const { service } = await firstStart()
    const second = await runToEnd(['serve'], {
      PORT: String(service.port),
      DATA_DIR: service.dataDir,
    })
    expectOneLine(second, `Port ${service.port} on 127.0.0.1 is in use: set PORT to another one.`)
    expect((await service.get('/health/ready')).status).toBe(200)
  })

  it.skipIf(!hasIpv6)(
    'a start that finds another program on [::1] at its port fails with one line, because localhost leads to that program',
    async () => {
      const port = await freePort()
      const other = createServer((socket) => socket.on('error', () => {}))
      await once(other.listen(port, '::1'), 'listening')
      const PORT = String(port)
      expectOneLine(
        await runToEnd(['serve'], { PORT, DATA_DIR: newDataDir() }),
        `Port ${PORT} on [::1] is in use by another program, which gets the requests to http://localhost:${PORT}: set PORT to another one.`,
      )
      const host = '127.0.0.1'
      await refuseTakenPort({ port, host, publicUrl: `http://${host}:${port}` })
      other.close()
    },
  )

  it('the next start compiles and imports nothing and prints the same key and token', async () => {
    const { service } = await firstStart()
    expect(await service.stop()).toMatchObject({ code: 0 })
    const next = await started({
      DATA_DIR: service.dataDir,
      PORT: String(service.port),
      NODE_COMPILE_CACHE: emptyCache,
    })
    expect(initialOf(next, 'environ')).not.toContain('COMPILED_BY_CARDSTALL=1')
    expect(next.printed()).toEqual(service.printed())
    expect(next.stdout()).toMatch(/^\nCardstall is ready\.\n/)
    expect(await totals(next, next.printed().key)).toEqual(BUNDLED_CATALOG)
    await next.stop()
  })
})

describe('after a kill', () => {
  it('after kill -9 the next start adopts the database that was left running, or starts it, and nothing that was acknowledged is lost', async () => {
    const killed = await startedOnCopy()
    const { dataDir } = killed
    const { pid } = embedded(dataDir)
    const ids = [await openAccount(killed)]
    expect(await killed.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' })
    expect(isAlive(pid)).toBe(true)

    const second = await started({ DATA_DIR: dataDir })
    expect(embedded(dataDir).pid).toBe(pid)
    ids.push(await openAccount(second))
    process.kill(pid, 'SIGKILL')
    await second.stop('SIGKILL')

    const third = await started({ DATA_DIR: dataDir })
    for (const id of ids) await expectWhole(third, id)
    const { pid: thirdPid } = embedded(dataDir)
    expect(await third.stop()).toMatchObject({ code: 0 })
    expect(isOff(dataDir, thirdPid)).toBe(true)
  })

  it('after kill -9 during the first import, the next start imports the whole catalog', async () => {
    const { url } = await testDatabase('empty')
    const killed = await startService(onDatabase(url))
    await killed.prints('Importing the bundled catalog')
    expect(await killed.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' })
    expect(killed.stdout()).not.toContain('Imported')

    const settings = { ...onDatabase(url), DATA_DIR: killed.dataDir }
    const next = await started(settings, SMALL)
    expect(next.stdout()).toContain('Imported the bundled catalog: ')
    expect(await totals(next, next.printed().key)).toEqual(SMALL_CATALOG)
    await next.stop()
  })
})

describe('a signal to a service with a database of its own', () => {
  it('Ctrl-C lets a running request finish, then stops the embedded database', async () => {
    const service = await startedOnCopy({ group: true })
    const { pid, url } = embedded(service.dataDir)
    const importing = await openImport(service, (text) => query(url, text))
    service.signal('SIGINT')
    await refusesConnections(service)
    const response = await importing.finish()
    expect(response).toMatchObject({ status: 200, body: { data: { created: 2, rejected: 0 } } })

    expect(await service.ended).toMatchObject({ code: 0, signal: null })
    expect(isOff(service.dataDir, pid)).toBe(true)
    expect(service.log().map(({ msg }) => msg)).toContain('stopping')
  })

  it('a signal while the embedded database starts stops it again', async () => {
    // The process signals itself: its next step is the import, and a signal of this process could arrive during that.
    const preload = `
      import processes from 'node:child_process'
      import { syncBuiltinESMExports } from 'node:module'
      const { spawn } = processes
      processes.spawn = (program, ...others) => {
        const child = spawn(program, ...others)
        if (program.endsWith('/bin/postgres')) process.kill(process.pid, 'SIGINT')
        return child
      }
      syncBuiltinESMExports()
    `
    const { dataDir, ended } = await startService({}, { preload })
    expect(await ended).toMatchObject({ code: 0, stdout: '' })
    expect(logOf(dataDir)).toContain('database system is shut down')
    expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false)
  })

  it('a signal during the first import ends it, and the next start imports the whole catalog', async () => {
    const interrupted = await startService()
    await interrupted.prints('Importing the bundled catalog')
    const { pid } = embedded(interrupted.dataDir)
    const { code, stdout } = await interrupted.stop('SIGINT')
    expect(code).toBe(0)
    expect(stdout).not.toContain('ready')
    expect(isOff(interrupted.dataDir, pid)).toBe(true)

    const settings = { DATA_DIR: interrupted.dataDir }
    const next = await started(settings, SMALL)
    expect(await totals(next, next.printed().key)).toEqual(SMALL_CATALOG)
    await next.stop()
  })
})

describe('an uncaught exception', () => {
  it('a service whose output nobody reads serves requests, and stops its embedded database after an uncaught exception', async () => {
    const preload = `process.once('SIGUSR2', () => { throw new Error('out of the blue') })`
    const service = await startService({ DATA_DIR: await copyOfUsedDataDir() }, { preload })
    service.closeOutput()
    await until('it is ready', async () => {
      const { status } = await service.get('/health/ready').catch(() => ({ status: 0 }))
      return status === 200
    })
    const { pid } = embedded(service.dataDir)
    expect((await service.get('/v1/me')).status).toBe(401)
    expect((await service.stop('SIGUSR2')).code).toBe(1)
    expect(isOff(service.dataDir, pid)).toBe(true)
  })

  it('an uncaught exception is logged, stops the embedded database, and ends the process with code 1', async () => {
    const preload = `process.once('SIGUSR2', () => { throw new Error('out of the blue') })`
    const service = await startedOnCopy({ preload })
    const { pid } = embedded(service.dataDir)
    const { code, stderr } = await service.stop('SIGUSR2')
    expect(code).toBe(1)
    expect(jsonLines(stderr)).toContainEqual(
      expect.objectContaining({
        level: 60,
        msg: 'uncaughtException',
        err: expect.objectContaining({ message: 'out of the blue' }),
      }),
    )
    expect(isOff(service.dataDir, pid)).toBe(true)
  })
})

describe.concurrent('a signal', () => {
  it('a shutdown waits ten seconds for a stalled request, then cuts it off', async () => {
    const { db, url } = await testDatabase('product')
    const service = await started(onDatabase(url))
    const importing = await openImport(service, (text) => db.unsafe(text))
    const began = performance.now()
    service.signal('SIGTERM')
    expect(await service.ended).toMatchObject({ code: 0, signal: null })
    expect(performance.now() - began).toBeGreaterThan(9_000)
    expect(service.log().map(({ msg }) => msg)).toContain(INTERRUPTED)
    const cutOff = await importing.response.catch((error) => error)
    expect(cutOff.message).toBe('socket hang up')
  })

  it('a signal ends a start at once that waits for a silent database', async () => {
    const silent = createServer((socket) => socket.on('error', () => {}))
    await once(silent.listen(0, '127.0.0.1'), 'listening')
    const { port } = silent.address() as AddressInfo
    const service = await startService(onDatabase(`postgres://me@127.0.0.1:${port}/cards`))
    await once(silent, 'connection')
    service.signal('SIGTERM')
    await endsByItself(service)
    silent.close()
  })

  it('a shutdown closes idle connections at once and finishes the others, whatever further signals arrive', async () => {
    const { db, url } = await testDatabase('product')
    const service = await started(onDatabase(url))
    // Browsers open connections ahead of any request.
    const ahead = await connectionTo(service)
    const idle = await connectionTo(service)
    idle.write(requestFor('/health/live'))
    await once(idle, 'data')
    const { text } = await service.get('/docs/scalar.js')
    const readers: [Socket, asked: number][] = []
    // One response may fit into the socket buffers; several don't.
    for (const asked of [1, 4]) {
      const reader = await connectionTo(service)
      reader.write(requestFor('/docs/scalar.js').repeat(asked))
      await once(reader, 'readable')
      readers.push([reader, asked])
    }
    const agent = new Agent({ keepAlive: true })
    const importing = await openImport(service, (text) => db.unsafe(text), agent)

    service.signal('SIGTERM')
    await Promise.all([ahead, idle].map((socket) => once(socket.resume(), 'close')))
    for (const [index, signal] of (['SIGTERM', 'SIGINT', 'SIGHUP'] as const).entries()) {
      service.signal(signal)
      const arrived = () => service.log().filter(({ msg }) => msg === 'stopping')
      await until(`${signal} has arrived`, () => arrived().length === index + 2)
    }
    for (const [reader, asked] of readers) {
      let length = 0
      for await (const chunk of reader) length += (chunk as Buffer).length
      expect(length).toBeGreaterThan(asked * Buffer.byteLength(text))
    }
    const response = await importing.finish()
    expect(response).toMatchObject({ status: 200, body: { data: { created: 2 } } })
    expect(response.headers.connection).toBe('close')
    await endsByItself(service)
    expect(await db`select from sets where id = 'late'`).toHaveLength(1)
    agent.destroy()
  })
})

describe.concurrent('a start that cannot succeed', () => {
  const database = (change: (url: URL) => void = () => {}) => {
    const url = new URL(inject('databaseServer'))
    url.search = ''
    change(url)
    return { DATABASE_URL: url.href, ...PRODUCTION }
  }

  it('a command on a database that does not speak PostgreSQL’s protocol fails with one line', async () => {
    const nobody = createServer((socket) =>
      socket.on('error', () => {}).end('HTTP/1.1 400\r\n\r\n'),
    )
    await once(nobody.listen(0, '127.0.0.1'), 'listening')
    const { port } = nobody.address() as AddressInfo
    const settings = database((url) => {
      url.port = String(port)
      url.password = 'geheim'
    })
    const line = `DATABASE_URL: 127.0.0.1:${port} does not respond.`
    expectOneLine(await runToEnd(['migrate'], settings), line)
    nobody.close()
  })

  it.for<[Settings, string | RegExp]>([
    [{ HOST: 'nowhere.invalid' }, /^Cannot listen on HOST nowhere\.invalid: /],
    [{ HOST: '192.0.2.1' }, /^Cannot listen on HOST 192\.0\.2\.1: /],
    [{ DATA_DIR: '/dev/null' }, /^DATA_DIR \/dev\/null can't be used: /],
    [{ DATA_DIR: '/proc/x' }, /^DATA_DIR \/proc\/x can't be used: ENOENT/],
  ])('a start with %j fails with one line', async ([settings, line]) => {
    const ended = await runToEnd(['serve'], { PORT: String(await freePort()), ...settings })
    expectOneLine(ended, line)
  })

  it.runIf(process.platform === 'linux')(
    'a start that may open few files warns of connections that are closed without a line in the log',
    async () => {
      const node = join(newHome(), 'node')
      writeFileSync(node, `#!/bin/sh\nulimit -n 500\nexec '${process.execPath}' "$@"`, {
        mode: 0o755,
      })
      const settings = { PORT: String(await freePort()), DATA_DIR: '/dev/null' }
      const { stderr } = await runToEnd(['serve'], settings, { node })
      expect(stderr).toMatch(/^\{"level":40,.*only 500 files.*ulimit -n/)
    },
  )

  it('a start with invalid settings fails with one line for each', async () => {
    const { code, stdout, stderr } = await runToEnd(['serve'], {
      PORT: '0',
      PUBLIC_URL: 'https://me:geheim@cards.example',
      SANDBOX: 'perhaps',
      LOG_LEVEL: 'loud',
    })
    expect([code, stdout]).toEqual([1, ''])
    const names = stderr
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ')[0])
    expect(names).toEqual(['PORT', 'PUBLIC_URL', 'SANDBOX', 'LOG_LEVEL'])
    expect(stderr).not.toMatch(/geheim|^ +at /)
  })

  it('a command without a database server fails with one line', async () => {
    const port = String(await freePort())
    const settings = database((url) => {
      url.port = port
      url.password = 'geheim'
    })
    const line = `DATABASE_URL: no server listens on 127.0.0.1:${port}.`
    expectOneLine(await runToEnd(['migrate'], settings), line)
  })

  it('a command with DATABASE_URL=postgres:// names the address that it tried', async () => {
    const PGPORT = String(await freePort())
    const settings = { ...database(), DATABASE_URL: 'postgres://', PGPORT }
    const { stderr } = await runToEnd(['migrate'], settings)
    expect(stderr).toContain(`DATABASE_URL: no server listens on localhost:${PGPORT}.\n`)
  })

  it('a start with a wrong database password fails with one line', async () => {
    const settings = database((url) => {
      url.password = 'geheim'
    })
    expectOneLine(
      await runToEnd(['serve'], settings),
      /^DATABASE_URL: .* password authentication failed for user "cardstall"/,
    )
  })

  it.each([1, 2])(
    'a command whose role may have %i connections fails with one line',
    async (limit) => {
      const { db, url } = await testDatabase('empty')
      const role = `few_${randomBytes(6).toString('hex')}`
      await db.unsafe(`${EMPTIED}; grant all on schema public to public`)
      await db.unsafe(`create role ${role} login password 'geheim' connection limit ${limit}`)
      const asRole = new URL(url)
      asRole.username = role
      asRole.password = 'geheim'
      try {
        expectOneLine(
          await runToEnd(['migrate'], { ...database(), DATABASE_URL: asRole.href }),
          `DATABASE_URL: too many connections for role "${role}"; allow as many as docs/operating.md lists under "Several processes".`,
        )
      } finally {
        await db.unsafe(`drop owned by ${role}; drop role ${role}`)
      }
    },
  )

  it('an unknown command fails with one line that names the commands', async () => {
    expectOneLine(
      await runToEnd(['nonsense'], {}),
      /^Unknown command "nonsense"\. The commands are serve, migrate, catalog:import, .*, listen\. Sellers have another program: cli\/README\.md\.$/,
    )
  })

  it.skipIf(!oldNode)('a start with an older Node fails with one line', async () => {
    const version = execFileSync(oldNode!, ['--version'], { encoding: 'utf8' }).trim().slice(1)
    const ended = await runToEnd(['serve'], {}, { node: oldNode! })
    expectOneLine(
      ended,
      `Cardstall needs Node 26 or later, but this is ${version}. Use "npm start", which runs the Node that "npm ci" installed. If you did, it installed none, because it was told to leave out development dependencies or install scripts: run it without these options.`,
    )
  })
})

describe.concurrent('outside the sandbox', () => {
  it('outside the sandbox there is no operator API without a token, no demo seller, and no printed secret, and later no sandbox', async () => {
    const { db, url } = await testDatabase('product')
    const service = await started({ DATABASE_URL: url, ...PRODUCTION })
    const { baseUrl, docs } = service.printed()
    expect(service.printed()).toEqual({
      baseUrl,
      docs,
      key: '',
      token: '',
      console: '',
      curl: '',
    })
    expect(service.stdout()).not.toMatch(/token|key|geheim|undefined/)
    expect(readdirSync(service.dataDir).sort()).toEqual(['files', 'in-use.lock'])

    const paths = ['/operator/v1/accounts', '/operator/v1/sandbox/clock', '/operator/openapi.json']
    for (const path of [...paths, '/metrics']) {
      const { status, body } = await service.get(path, 'geheim')
      expect([path, status, body?.error?.type]).toEqual([path, 404, 'not_found'])
    }
    expect(await db`select from accounts`).toHaveLength(0)
    expect(await service.stop()).toMatchObject({ code: 0 })

    expectOneLine(
      await runToEnd(['serve'], {
        ...onDatabase(url),
        PORT: String(await freePort()),
        LOG_LEVEL: 'silent',
      }),
      /^SANDBOX is true, but the database belongs to a marketplace: /,
    )
  })
})

describe.concurrent('the lines of a sandbox about its settings', () => {
  it('a start with all settings of a marketplace but DATABASE_URL warns in the log and in its printed lines', async () => {
    const DATA_DIR = await emptyDatabase()
    const settings = { ...PRODUCTION, OPERATOR_TOKEN: PRODUCTION.SECRET_KEY, DATA_DIR }
    const service = await started(settings, SMALL)
    await service.stop()
    expect(service.stdout()).toMatch(/^ {2}sandbox +because DATABASE_URL is missing;/m)
    const msg = expect.stringMatching(/^DATABASE_URL is missing/)
    expect(service.log()).toContainEqual(expect.objectContaining({ level: 40, msg }))
  })

  const linesFor = (settings: Settings) =>
    welcome(readConfig({ DATABASE_URL: 'postgres://db/cards', SANDBOX: 'true', ...settings }))

  it('a sandbox for other devices without PUBLIC_URL prints that they need it', () => {
    const line = /^ {2}other devices +can't sign in: set PUBLIC_URL /m
    expect(linesFor({ HOST: '0.0.0.0' })).toMatch(line)
    expect(linesFor({})).not.toMatch(line)
  })

  it('a sandbox with a real carrier and mail server prints that labels are charged and e-mails are sent', () => {
    const lines = linesFor({
      CARRIER: 'sendcloud',
      SENDCLOUD_PUBLIC_KEY: 'public',
      SENDCLOUD_SECRET_KEY: 'secret',
      SENDCLOUD_METHODS: '*=8',
      SMTP_URL: 'smtp://mail.invalid',
      MAIL_FROM: 'shop@cards.example',
    })
    expect(lines).toMatch(/^ {2}labels +are real, /m)
    expect(lines).toMatch(/^ {2}e-mail +is really sent, /m)
    expect(lines).not.toContain('DATABASE_URL')
  })
})

describe.concurrent('the demo seller', () => {
  it('a sandbox whose demo shop was closed starts without its login, and prints one again once the shop is open', async () => {
    const { url } = await testDatabase('product')
    const first = await started(onDatabase(url))
    const { token } = first.printed()
    const [account] = (await first.get('/operator/v1/accounts', token)).body.data
    const path = `/operator/v1/accounts/${account.id}`
    expect((await first.call('POST', `${path}/close`, { token })).status).toBe(200)
    await first.stop()

    const settings = { ...onDatabase(url), DATA_DIR: first.dataDir }
    const second = await started(settings)
    expect(second.printed()).toMatchObject({ key: '', curl: '', token })
    const opened = await second.call('PATCH', path, { token, body: { api_access: 'enabled' } })
    expect(opened.status).toBe(200)
    await second.stop()
    const reason = expect.objectContaining({ message: expect.stringContaining('is closed') })
    expect(second.log()).toContainEqual(expect.objectContaining({ level: 40, err: reason }))

    const third = await started(settings)
    const { key } = third.printed()
    expect((await third.get('/v1/me', key)).body.data.id).toBe(account.id)
    await third.stop()
  })
})

describe.concurrent('HOST=localhost', () => {
  it('HOST=localhost listens on one address, even if it resolves to two', async () => {
    const preload = `
      import dns from 'node:dns'
      const { lookup } = dns
      const both = [{ address: '127.0.0.1', family: 4 }, { address: '::1', family: 6 }]
      dns.lookup = (host, options, done) =>
        host === 'localhost' && options.all ? done(null, both) : lookup(host, options, done)
    `
    const { url } = await testDatabase('product')
    const service = await started({ ...onDatabase(url), HOST: 'localhost' }, { preload })
    expect((await service.get('/health/ready')).status).toBe(200)
    const listening = service.log().filter(({ msg }) => String(msg).startsWith('listening'))
    expect(listening).toHaveLength(1)
    await service.stop()
  })
})

describe.concurrent('migrate', () => {
  it('migrate brings an empty database up to date, and the next run finds nothing to do', async () => {
    const { db, url } = await testDatabase('empty')
    await db.unsafe(EMPTIED)
    const first = await runToEnd(['migrate'], { DATABASE_URL: url, PORT: 'any' })
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toBe(`${migrationFiles().join('\n')}\n`)
    const second = await runToEnd(['migrate'], { DATABASE_URL: url })
    expect(second).toMatchObject({ code: 0, stdout: 'No migrations are pending.\n', stderr: '' })
  })
})

describe('several processes', () => {
  let db: Sql
  let url: string
  let a: Service
  let b: Service
  let atReady: Totals[]
  beforeAll(async () => {
    ;({ db, url } = await testDatabase('empty'))
    await db.unsafe(EMPTIED)
    // Each process would make a key of its own, and the second could not read the demo seller's bank account.
    const settings = { ...onDatabase(url), SECRET_KEY: PRODUCTION.SECRET_KEY }
    const starting = [1, 2].map(() => startService(settings, SMALL))
    ;[a, b] = (await Promise.all(starting)) as [Service, Service]
    atReady = await Promise.all(
      [a, b].map(async (service) => totals(service, (await service.ready()).printed().key)),
    )
  })

  it('two processes that start together on one empty database import the catalog once, and both serve it', async () => {
    const migrations = await db`select version from migrations order by version`
    expect(migrations.length).toBe(migrationFiles().length)
    const [found] = await db`
      select
        (select count(*)::int from sets) as sets,
        (select count(*)::int from cards) as cards,
        (select count(*)::int from accounts) as accounts
    `
    expect(found).toEqual({ ...SMALL_CATALOG, accounts: 1 })
    expect(atReady).toEqual(Array(2).fill(SMALL_CATALOG))
    const imports = [a, b].filter((service) => service.stdout().includes('Imported the bundled'))
    expect(imports).toHaveLength(1)
    const warnings = [...a.log(), ...b.log()].filter(({ level }) => Number(level) > 30)
    expect(warnings).toEqual([])
  })

  it('two processes accept each other’s demo key', async () => {
    for (const key of [a.printed().key, b.printed().key]) {
      for (const service of [a, b]) {
        expect(await totals(service, key)).toEqual(SMALL_CATALOG)
      }
    }
  })

  it('a key that one process revokes is refused by the other', async () => {
    const id = await openAccount(a)
    const keys = `/operator/v1/accounts/${id}/keys`
    const made = await a.call('POST', keys, {
      token: a.printed().token,
      body: { scopes: ['catalog:read'] },
    })
    const { key, data } = made.body
    expect((await b.get('/v1/sets', key)).status).toBe(200)
    await a.call('DELETE', `${keys}/${data.id}`, { token: a.printed().token })
    await until('B refuses it', async () => (await b.get('/v1/sets', key)).status === 401)
  })

  it('a card that one process imports is served by the other', async () => {
    const { finish } = await openImport(a, (text) => db.unsafe(text))
    expect(await finish()).toMatchObject({ status: 200 })
    const read = (service: Service) => service.get('/v1/cards/late-1', service.printed().key)
    expect((await read(a)).status).toBe(200)
    await until('B serves it', async () => (await read(b)).status === 200)
  })

  it('a card that the command line imports is served by running processes', async () => {
    const file = join(newHome(), 'cards.ndjson')
    writeFileSync(file, setAndCard('command-line').join('\n'))
    const imported = await runToEnd(['catalog:import', file], { DATABASE_URL: url, PORT: 'any' })
    expect(imported).toMatchObject({ code: 0, stderr: '' })
    expect(imported.stdout).toContain('2 created, 0 updated, 0 unchanged, 0 rejected')
    for (const service of [a, b]) {
      await until('it is served', async () => {
        const { key } = service.printed()
        return (await service.get('/v1/cards/command-line-1', key)).status === 200
      })
    }
  })

  it('a clock that one process moves is moved for the other', async () => {
    const clock = '/operator/v1/sandbox/clock'
    const time = async (service: Service) =>
      Date.parse((await service.get(clock, service.printed().token)).body.data.now)
    const before = await time(b)
    const day = 24 * 60 * 60
    await a.call('POST', clock, { token: a.printed().token, body: { advance_seconds: day } })
    expect(await time(a)).toBeGreaterThanOrEqual(before + day * 1000)
    await until('B agrees', async () => (await time(b)) >= before + day * 1000)
  })

  it('two processes that start together on one empty DATA_DIR share a database until the last one stops', async () => {
    const dataDir = newDataDir()
    const [first, second] = await Promise.all([
      started({ DATA_DIR: dataDir }, SMALL),
      started({ DATA_DIR: dataDir }, SMALL),
    ])
    const { pid } = embedded(dataDir)
    expect(logOf(dataDir).match(/starting PostgreSQL/g)).toHaveLength(1)
    expect(second.printed().token).toBe(first.printed().token)
    expect(second.printed().key).toBe(first.printed().key)

    expect(await first.stop()).toMatchObject({ code: 0 })
    expect(await totals(second, first.printed().key)).toEqual(SMALL_CATALOG)
    expect(embedded(dataDir).pid).toBe(pid)
    expect(await second.stop()).toMatchObject({ code: 0 })
    expect(isOff(dataDir, pid)).toBe(true)
  })
})

/** The least settings outside the sandbox. */
const PRODUCTION = { PUBLIC_URL: 'https://cards.example', SECRET_KEY: 'geheim'.padEnd(32, '-') }

const onDatabase = (url: string): Settings => ({ DATABASE_URL: url, SANDBOX: 'true' })

const started = async (...options: Parameters<typeof startService>) =>
  (await startService(...options)).ready()

type Watched = {
  service: Service
  /** Its health before the end of the import. */
  whileImporting: { live: TestResponse; ready: TestResponse } | undefined
  /** The totals at the moment when it became ready. */
  atReady: Totals
}

let first: Promise<Watched> | undefined

/** The first start on an empty directory, shared by the tests: it imports the whole bundled catalog. */
function firstStart(): Promise<Watched> {
  first ??= watchFirstStart()
  return first
}

/** Node's cache of compiled code is empty before the first start. */
const emptyCache = newHome()

/** The parameters or variables with which a process was started. */
const initialOf = ({ pid }: Service, what: 'cmdline' | 'environ') =>
  readFileSync(`/proc/${pid}/${what}`, 'utf8').split('\0')

async function watchFirstStart(): Promise<Watched> {
  const service = await startService({ NODE_COMPILE_CACHE: emptyCache })
  let whileImporting: Watched['whileImporting']
  await until(
    'the service is ready',
    async () => {
      const live = await service.get('/health/live').catch(() => undefined)
      const ready = await service.get('/health/ready').catch(() => undefined)
      if (ready?.status === 200) return true
      if (live && ready && !service.stdout().includes('Imported')) whileImporting = { live, ready }
      return false
    },
    FIRST_START_MS,
  )
  const key = readFileSync(join(service.dataDir, 'secrets/demo-key'), 'utf8').trim()
  const atReady = await totals(service, key)
  return { service: await service.ready(), whileImporting, atReady }
}

/** The options of a start that imports the small catalog. */
const SMALL = { preload: SMALL_CATALOG_PRELOAD }

let template: Promise<string> | undefined

/** A DATA_DIR after a first start with the small catalog. It is made once, and copied by the tests. */
function usedDataDir(): Promise<string> {
  template ??= (async () => {
    const service = await started({ DATA_DIR: await emptyDatabase() }, SMALL)
    await service.stop()
    return service.dataDir
  })()
  return template
}

async function copyOfUsedDataDir(): Promise<string> {
  const dataDir = newDataDir()
  execFileSync('cp', ['-a', await usedDataDir(), dataDir])
  return dataDir
}

/** A service on a copy of a used DATA_DIR. */
const startedOnCopy = async (options: Parameters<typeof startService>[1] = {}) =>
  started({ DATA_DIR: await copyOfUsedDataDir() }, options)

type Totals = { sets: number; cards: number }

async function totals(service: Service, key: string): Promise<Totals> {
  const [sets, cards] = await Promise.all([
    service.get('/v1/sets?per_page=1', key),
    service.get('/v1/cards?per_page=1', key),
  ])
  return { sets: sets.body.meta?.total, cards: cards.body.meta?.total }
}

let accounts = 0

async function openAccount(service: Service): Promise<number> {
  const { status, text, body } = await service.call('POST', '/operator/v1/accounts', {
    token: service.printed().token,
    body: {
      shop_name: `Shop ${++accounts}`,
      email: `shop-${accounts}@shops.example`,
      api_access: 'enabled',
    },
  })
  if (status !== 201) throw new Error(text)
  return body.data.id
}

/** The service has the whole catalog and the account. */
async function expectWhole(service: Service, accountId: number): Promise<void> {
  const { key, token } = service.printed()
  expect(await totals(service, key)).toEqual(SMALL_CATALOG)
  const account = await service.get(`/operator/v1/accounts/${accountId}`, token)
  expect(account.status).toBe(200)
}

type Received = { status: number; headers: IncomingMessage['headers']; body: unknown }

/** Sends the first line of an import and waits until the service has begun to import. */
async function openImport(
  service: Service,
  sql: (text: string) => Promise<unknown[]>,
  agent?: Agent,
): Promise<{ response: Promise<Received>; finish(): Promise<Received> }> {
  const sent = ask(service, agent, '/operator/v1/catalog/import', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.printed().token}`,
      'content-type': 'application/x-ndjson',
    },
  })
  const response = responseTo(sent)
  response.catch(() => {})
  const [set, card] = setAndCard('late')
  sent.write(`${set}\n`)
  await until('the import has begun', async () => {
    const locks = await sql(
      `select from pg_locks
       where locktype = 'advisory' and granted and objid = ${LOCKS.import}
         and database = (select oid from pg_database where datname = current_database())`,
    )
    return locks.length > 0
  })
  return {
    response,
    finish() {
      sent.end(card)
      return response
    },
  }
}

const setAndCard = (id: string) =>
  [
    { type: 'set', id, name: id, series: 'Late', language: 'EN', region: 'int' },
    { type: 'card', id: `${id}-1`, set_id: id, name: 'Latios', number: '1' },
  ].map((record) => JSON.stringify(record))

const ask = (
  { port }: Service,
  agent: Agent | undefined,
  path: string,
  options: { method?: string; headers?: Record<string, string> } = {},
) => request({ host: '127.0.0.1', port, path, agent, ...options })

function responseTo(sent: ClientRequest): Promise<Received> {
  return new Promise((resolve, reject) => {
    sent.once('error', reject)
    sent.once('response', async (response: IncomingMessage) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: JSON.parse(text),
      })
    })
  })
}

const requestFor = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`

async function connectionTo({ port }: Service): Promise<Socket> {
  const socket = connectTcp(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.on('error', () => {})
  return socket
}

/** The service has begun its shutdown. */
async function refusesConnections(service: Service): Promise<void> {
  await until('new connections are refused', () =>
    connectionTo(service).then(
      (socket) => void socket.destroy(),
      (error) => error.code === 'ECONNREFUSED',
    ),
  )
}

const INTERRUPTED = 'shutdown timeout: closing connections with requests in progress'

/** The service ends without cutting off a request. */
async function endsByItself(service: Service): Promise<void> {
  expect(await service.ended).toMatchObject({ code: 0, signal: null })
  expect(service.log().filter(({ level }) => Number(level) > 30)).toEqual([])
}

function expectOneLine({ code, signal, stdout, stderr }: Ended, line: string | RegExp): void {
  const [said, ...rest] = stderr.split('\n')
  expect({ code, signal, stdout, rest }).toEqual({ code: 1, signal: null, stdout: '', rest: [''] })
  if (typeof line === 'string') expect(said).toBe(line)
  else expect(said).toMatch(line)
  expect(said).not.toMatch(/geheim|^ +at /)
}

const migrationFiles = () =>
  readdirSync(new URL('../migrations', import.meta.url))
    .filter((name) => /^\d{4}_/.test(name))
    .sort()

/** The output of a printed curl command; without curl, the response to the same request. */
async function runCurl(line: string): Promise<string> {
  if (spawnSync('curl', ['--version']).status === 0) {
    const { stdout } = await promisify(execFile)('sh', ['-c', line])
    return stdout
  }
  const [, header = '', value = '', url = ''] = line.match(/-H "(.*?): (.*?)" "(.*?)"/) ?? []
  return (await fetch(url, { headers: { [header]: value } })).text()
}

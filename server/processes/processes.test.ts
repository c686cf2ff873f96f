import { once } from 'node:events'
import { appendFileSync, readFileSync } from 'node:fs'
import { Agent, request as sendRequest } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { transactionsOn } from '../database/transactions.ts'
import { testDatabase } from '../test/database.ts'
import { databaseProxy } from '../test/database-proxy.ts'
import { isAlive, newHome, ps } from '../test/embedded-homes.ts'
import { NO_LIMITS } from '../test/fixtures/listings.ts'
import { untilLockWaiters, whileLocked } from '../test/lock-waiters.ts'
import { sampleValue } from '../test/metrics.ts'
import {
  embedded,
  isOff,
  runToEnd,
  type Service,
  type Settings,
  startService,
} from '../test/process.ts'
import { SMALL_CATALOG_PRELOAD } from '../test/small-catalog.ts'
import { until } from '../test/until.ts'

const CONNECTIONS = 8
const KILLED = 'a process of the service was killed during its start'

const started = async (settings: Settings = {}, preload?: string) =>
  (await startService({ PROCESSES: '2', ...NO_LIMITS, ...settings }, { preload })).ready()

/** The processes that run and listen. */
const listening = (service: Service) =>
  [...service.stderr().matchAll(/"pid":(\d+),"msg":"listening on/g)]
    .map(([, pid]) => Number(pid))
    .filter(isAlive)

const childrenOf = ({ pid }: Service) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)

/** Waits until two processes listen, and returns their pids. */
const bothListen = (service: Service) =>
  until('two processes listen', () => listening(service).length === 2 && listening(service))

/** The processes that have responded to requests. */
const serving = (service: Service) =>
  new Set(service.log().flatMap((line) => ('reqId' in line ? [Number(line.pid)] : [])))

/** The failures of processes that /metrics counts. */
async function failures(service: Service, kind: string) {
  const { text } = await service.get('/metrics', service.printed().token)
  return sampleValue(text, `cardstall_process_failures_total{kind="${kind}"}`)
}

type Response = { status: number | undefined; remaining: number; reset: number }

/** Sends one request on each of `count` new connections, all at the same time. */
const onConnections = (service: Service, count: number, path: string, key = '', method = 'GET') =>
  Promise.all(Array.from({ length: count }, () => request(service, path, { key, method })))

function request(
  { port }: Service,
  path: string,
  {
    key = '',
    agent = new Agent(),
    method = 'GET',
  }: { key?: string; agent?: Agent; method?: string },
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      path,
      method,
      agent,
      headers: { authorization: `Bearer ${key}` },
    }
    const sent = sendRequest(options, (response) => {
      const { statusCode: status, headers } = response
      const remaining = Number(headers['x-ratelimit-remaining'])
      const reset = Number(headers['x-ratelimit-reset'])
      response.resume().once('end', () => resolve({ status, remaining, reset }))
    })
    sent.once('error', reject).end()
  })
}

/** Sends requests on kept connections until it is stopped. */
function startLoad(service: Service, key: string) {
  const statuses: (number | undefined)[] = []
  /** By connection. */
  const errors: string[][] = Array.from({ length: CONNECTIONS }, () => [])
  let isStopped = false
  const connections = errors.map(async (errors) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!isStopped && errors.length < 3) {
      try {
        statuses.push((await request(service, '/v1/series', { key, agent })).status)
      } catch (error) {
        errors.push((error as NodeJS.ErrnoException).code ?? String(error))
      }
    }
    agent.destroy()
  })
  return {
    statuses,
    errors,
    async stop() {
      isStopped = true
      await Promise.all(connections)
      return errors
    },
  }
}

describe('two processes on one database', () => {
  let service: Service
  let database: Awaited<ReturnType<typeof testDatabase>>
  beforeAll(async () => {
    database = await testDatabase('product')
    // It starts sooner than on a database of its own.
    const settings = { DATABASE_URL: database.url, SANDBOX: 'true', RATE_LIMIT_WRITE: '60' }
    service = await started(settings)
  })

  it('a rate limit is exact, however the connections are distributed', async () => {
    const { key } = service.printed()
    const responses = await onConnections(service, 100, '/v1/listings/1', key, 'DELETE')
    // A window may end meanwhile.
    for (const [, counted] of Map.groupBy(responses, ({ reset }) => reset)) {
      const admitted = counted.filter(({ status }) => status === 404)
      const left = Array.from({ length: Math.min(counted.length, 60) }, (_, i) => 59 - i)
      expect(admitted.map(({ remaining }) => remaining).sort((a, b) => b - a)).toEqual(left)
      for (const { status } of counted) expect([404, 429]).toContain(status)
    }
    await until('both processes have responded', () => serving(service).size === 2)
  })

  it('a key that is revoked through one process is refused by every process from the response on', async () => {
    const { token } = service.printed()
    const operator = async (method: string, path: string, body?: object) => {
      const response = await service.call(method, `/operator/v1/accounts${path}`, { token, body })
      expect([200, 201, 204]).toContain(response.status)
      return response.body
    }
    const { data: accounts } = await operator('GET', '')
    const keys = `/${accounts[0].id}/keys`
    const { data, key } = await operator('POST', keys, { name: 'K', scopes: ['catalog:read'] })
    const statuses = async () =>
      (await onConnections(service, 4, '/v1/series', key)).map(({ status }) => status)
    expect(await statuses()).toEqual([200, 200, 200, 200])

    // Signals through the database arrive later than the response. A session that is stopped while it works could hold a
    // lock of the whole server.
    const listeners = await until('both listeners are at rest', async () => {
      const rows = await database.db<{ pid: number }[]>`
        select pid
        from pg_stat_activity
        where
          datname = current_database()
          and application_name = 'cardstall notices'
          and state = 'idle'
          and wait_event = 'ClientRead'
      `
      return rows.length === 2 && rows
    })
    for (const { pid } of listeners) process.kill(pid, 'SIGSTOP')
    try {
      await operator('DELETE', `${keys}/${data.id}`)
      expect(await statuses()).toEqual([401, 401, 401, 401])
    } finally {
      for (const { pid } of listeners) process.kill(pid, 'SIGCONT')
    }
  })

  it('/metrics adds up the requests of all processes', async () => {
    const { key, token } = service.printed()
    await onConnections(service, 20, '/v1/me', key)
    await until('both processes have responded', () => serving(service).size === 2)
    for (let i = 0; i < 2; i++) {
      const route = '{le="10",method="GET",route="/v1/me",status="200"}'
      const requests = `cardstall_http_request_duration_seconds_bucket${route}`
      // A page is without the requests of a process that does not answer within a second.
      const text = await until('a page has all requests', async () => {
        const page = (await service.get('/metrics', token)).text
        return sampleValue(page, requests) === 20 && page
      })
      expect(sampleValue(text, 'cardstall_database_up')).toBe(1)
      expect(text.match(/^cardstall_database_up /gm)).toHaveLength(1)
    }
  })

  it('the counters of /metrics keep the requests of a process that has ended', async () => {
    const { token } = service.printed()
    const served = async () => {
      const { text } = await service.get('/metrics', token)
      const labels = '{method="GET",route="/v1/me",status="200"}'
      return sampleValue(text, `cardstall_http_request_duration_seconds_count${labels}`)
    }
    for (let kill = 0; kill < 2; kill++) {
      const processes = await bothListen(service)
      expect(await served()).toBe(20)
      process.kill(processes[0]!, 'SIGKILL')
      await until('the process has ended', () => !isAlive(processes[0]!))
    }
    await bothListen(service)
    expect(await served()).toBe(20)
    expect(await failures(service, 'crash')).toBe(2)
  })

  it('after kill -9 of one process only its requests fail, and another one takes its place', async () => {
    const { key } = service.printed()
    const [victim, survivor] = await bothListen(service)
    const load = startLoad(service, key)
    await until('requests are served', () => load.statuses.length > 100)
    process.kill(victim!, 'SIGKILL')
    await until('the process has ended', () => !isAlive(victim!))
    const after = await bothListen(service)
    expect(after).toContain(survivor)
    const [failed, served] = [load.errors.flat().length, load.statuses.length]
    await until('requests are served again', () => load.statuses.length > served + 100)
    // Each connection lost at most the request that the killed process had, and one after it, because connections are passed
    // to the process until its end is noticed. Nothing fails later.
    const errors = await load.stop()
    for (const ofConnection of errors) expect(ofConnection.length).toBeLessThanOrEqual(2)
    expect(errors.flat()).toHaveLength(failed)
    await until('the end of the process is logged', () =>
      service
        .log()
        .some(
          ({ level, endedPid, signal }) =>
            level === 50 && endedPid === victim && signal === 'SIGKILL',
        ),
    )
  })

  it('a connection that was passed to a process before its end is closed', async () => {
    const { key } = service.printed()
    const [victim] = await bothListen(service)
    process.kill(victim!, 'SIGSTOP')
    const outcomes: unknown[] = []
    const sent = Array.from({ length: 2 }, () =>
      request(service, '/v1/series', { key }).then(
        ({ status }) => outcomes.push(status),
        (error) => outcomes.push(error.code),
      ),
    )
    await until('the other process responds', () => outcomes.length === 1)
    process.kill(victim!, 'SIGKILL')
    await Promise.all(sent)
    expect(outcomes).toEqual([200, 'ECONNRESET'])
  })

  it('a process that hangs is killed and replaced, and counted on /metrics', async () => {
    const [victim] = await bothListen(service)
    process.kill(victim!, 'SIGSTOP')
    await until('the process has ended', () => !isAlive(victim!))
    await bothListen(service)
    expect(service.log()).toContainEqual(
      expect.objectContaining({ level: 50, pid: service.pid, hungPid: victim }),
    )
    expect(await failures(service, 'hang')).toBe(1)
  })

  it('a shutdown responds to every request that it has read, in all processes', async () => {
    const { key } = service.printed()
    await bothListen(service)
    const load = startLoad(service, key)
    await until('requests are served', () => load.statuses.length > 100)
    expect(await service.stop()).toMatchObject({ code: 0 })
    // A connection can be closed between two requests; then nothing listens any more.
    const errors = (await load.stop()).flat()
    expect(new Set([...errors, 'ECONNREFUSED', 'ECONNRESET']).size).toBe(2)
    expect(new Set(load.statuses)).toEqual(new Set([200]))
  })
})

it('two processes share one port and one embedded database and stop together, and a kill -9 of the primary ends both', async () => {
  const service = await started({}, SMALL_CATALOG_PRELOAD)
  const { pid } = embedded(service.dataDir)
  const processes = await bothListen(service)
  await onConnections(service, CONNECTIONS, '/health/live')
  await until('every process has responded', () => serving(service).size === 2)
  expect(serving(service)).toEqual(new Set(processes))
  expect(processes).not.toContain(service.pid)
  expect(service.stdout().match(/Cardstall is ready\./g)).toHaveLength(1)
  await service.stop('SIGKILL')
  await until('all processes have ended', () => !processes.some(isAlive))

  const next = await started({ DATA_DIR: service.dataDir })
  expect(next.printed().key).toBe(service.printed().key)
  const nextProcesses = await bothListen(next)
  expect(await next.stop()).toMatchObject({ code: 0, signal: null })
  expect(nextProcesses.filter(isAlive)).toEqual([])
  expect(isOff(service.dataDir, pid)).toBe(true)
})

it('after SIGTERM to one process another one takes its place, with the settings of the start, although .env has changed since', async () => {
  const { url } = await testDatabase('product')
  const settings = { ...NO_LIMITS, DATABASE_URL: url, SANDBOX: 'true' }
  const service = await (await startService(settings, { dotEnv: 'PROCESSES=2\n' })).ready()
  const [first, second] = await bothListen(service)
  // The first line would hide the new process from the log, and the second one would end it.
  appendFileSync(`/proc/${service.pid}/cwd/.env`, 'LOG_LEVEL=silent\nhush\n')
  process.kill(first!, 'SIGTERM')
  await until('the process has ended', () => !isAlive(first!))
  expect(await bothListen(service)).toContain(second)
})

it('a start of two processes that cannot succeed fails with one line', async () => {
  const { code, stdout, stderr } = await runToEnd(['serve'], {
    PROCESSES: '2',
    DATA_DIR: newHome(),
    STORAGE_URL: 'file:///proc/nowhere',
  })
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr.trimEnd()).toMatch(/^STORAGE_URL: \/proc\/nowhere can't be used: .*$/)
})

it('a process that loses the database during its start is replaced, while the first one serves', async () => {
  const { db, url } = await testDatabase('product')
  const proxy = await databaseProxy(url)
  // The second process starts after the first one is ready, and pauses here until it finds a lock.
  const preload = `
    import cluster from 'node:cluster'
    if (cluster.worker?.id === 2) process.kill(process.pid, 'SIGSTOP')
  `
  const settings = { PROCESSES: '2', DATABASE_URL: proxy.url, SANDBOX: 'true' }
  const service = await startService(settings, { preload })
  const second = await until('the second process pauses', () =>
    childrenOf(service).find((pid) => ps(pid, 'stat').startsWith('T')),
  )
  await whileLocked(
    transactionsOn(url, 1),
    (tx) => tx`lock table migrations in access exclusive mode`,
    async () => {
      process.kill(second, 'SIGCONT')
      await untilLockWaiters(db)
      await proxy.refuse()
    },
  )
  const end = await until('the primary process has noticed', () =>
    service.log().find(({ endedPid }) => endedPid === second),
  )
  expect(end).toMatchObject({
    code: 1,
    reason: 'DATABASE_URL: the database has become unavailable: read ECONNRESET',
  })
  expect((await service.get('/health/live')).status).toBe(200)
  await proxy.restore()
  expect(await bothListen(service)).not.toContain(second)
  await until('both processes are ready', () => service.stdout().includes('Cardstall is ready.'))
  expect(await failures(service, 'start')).toBe(1)
  expect(await service.stop()).toMatchObject({ code: 0 })
})

it('a process that is killed during the start of the service is in the log', async () => {
  const silent = createServer((socket) => socket.on('error', () => {}))
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  const { port } = silent.address() as AddressInfo
  const service = await startService({
    PROCESSES: '2',
    DATABASE_URL: `postgres://me@127.0.0.1:${port}/cards`,
    SANDBOX: 'true',
  })
  await once(silent, 'connection')
  process.kill(childrenOf(service)[0]!, 'SIGKILL')
  expect((await service.ended).code).toBe(1)
  expect(service.log()).toContainEqual(
    expect.objectContaining({ level: 60, signal: 'SIGKILL', msg: KILLED }),
  )
  silent.close()
})

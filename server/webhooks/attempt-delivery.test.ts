import { once } from 'node:events'
import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer, Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { selfSigned } from '../test/certificate.ts'
import { fakeNetwork, type Site } from '../test/fakes/network.ts'
import {
  type Arrived,
  deliveriesIn,
  endpointOf,
  isSignedWith,
  sendSampleEvent,
  startReceiver,
  subscribe,
} from '../test/fakes/receiver.ts'
import { advance, NO_LIMITS } from '../test/fixtures/listings.ts'
import { until } from '../test/until.ts'
import { startDeliveryWorker } from './delivery-worker.ts'
import { MAX_CONCURRENCY } from './endpoint-concurrency.ts'

/** Enough for a busy machine to read the beginning of a response. */
const LIMIT_MS = 3_000
const PRIVATE = 'The host points to a private or reserved address.'
const BROKEN = 'The connection failed before a response arrived.'
const BROKEN_OFF = 'The connection failed before the end of the response.'
const LATE = 'The server did not respond in time.'
const UNFINISHED = 'The server did not finish its response in time.'
const NO_NAME = 'The host name could not be resolved.'

/** An address that drops all packets. */
const HOLE = '93.184.214.1'
const SECURE = '93.184.214.2'

const internet = fakeNetwork()
/** Connections of the service, in order. */
const sockets: Socket[] = []
const network = {
  ...internet,
  dial(addresses: string[], port: number) {
    const socket = addresses[0] === HOLE ? new Socket() : internet.dial(addresses, port)
    sockets.push(socket)
    return socket
  },
}

let app: TestApp
/** Another process on the same database, with a short timeout. */
let impatient: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ settings: NO_LIMITS, network })
  impatient = await startTestApp({
    settings: { ...NO_LIMITS, WEBHOOK_TIMEOUT_MS: String(LIMIT_MS) },
    databaseUrl: app.databaseUrl,
    network,
  })
  // The first attempt loads modules, which would count towards its duration.
  await app.runDeliveries()
})

beforeEach(async () => {
  seller = await app.seller()
  internet.resolved.length = 0
  internet.dialled.length = 0
  sockets.length = 0
})

// A test's pending deliveries must not be attempted in the next test.
afterEach(async () => {
  await app.ctx.db`
    delete from delivery_queue
  `
})

let names = 0
const newName = () => `shop-${++names}.example`

const servers: { close(): unknown }[] = []
afterAll(() => {
  for (const server of servers) server.close()
})

/** Starts an HTTP receiver that records its deliveries. */
async function shop(
  answer: (response: ServerResponse, delivery: Arrived) => void = (response) => response.end(),
): Promise<Site & { arrived: Arrived[]; name: string }> {
  const arrived: Arrived[] = []
  const name = newName()
  const listener: RequestListener = async (request, response) => {
    const body = await buffer(request)
    const json = JSON.parse(body.toString())
    const delivery = { method: request.method!, path: request.url!, headers: request.headers }
    arrived.push({ ...delivery, body, json })
    answer(response, arrived.at(-1)!)
  }
  const site = await internet.site(name, listener)
  // Otherwise it would close idle connections after seconds, and announce that.
  site.server.keepAliveTimeout = 0
  return { ...site, arrived, name }
}

/** Starts a receiver that writes raw bytes to the socket; returns its URL. */
async function rawShop(speak: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    // Respond only after the request has begun to arrive.
    socket.once('data', () => speak(socket))
  })
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://${behind((server.address() as AddressInfo).port)}/`
}

/** A new name with its own public address, which leads to a local port. */
function behind(port: number): string {
  const name = newName()
  const address = `93.184.213.${names}`
  internet.names.set(name, [address])
  internet.ports.set(address, port)
  return name
}

/** A new name that resolves to these addresses. */
function named(...addresses: string[]): string {
  const name = newName()
  internet.names.set(name, addresses)
  return name
}

/** Attempts one delivery to each URL; returns the deliveries as the operator sees them, in the same order. */
const attempt = (...urls: string[]) => attemptBy(app, urls)

async function attemptBy(process: TestApp, urls: string[]) {
  const endpoints: { id: number }[] = []
  for (const url of urls) endpoints.push(await subscribe(seller, url))
  await sendSampleEvent(app, seller.accountId)
  await process.runDeliveries()
  const deliveries = await deliveriesIn(app, `account_id=${seller.accountId}`)
  return endpoints.map(({ id }) =>
    deliveries.find(({ endpoint_id }: { endpoint_id: number }) => endpoint_id === id),
  )
}

const attemptOne = async (url: string) => (await attempt(url))[0]

describe('a response', () => {
  it('any 2xx response delivers the event', async () => {
    const site = await shop((response, { path }) =>
      response.writeHead(Number(path.slice(1))).end(path === '/200' ? 'thanks' : undefined),
    )
    const statuses = [200, 201, 202, 204, 205, 206, 207, 226, 299]
    const deliveries = await attempt(...statuses.map((status) => `${site.url}/${status}`))
    for (const [i, delivery] of deliveries.entries()) {
      expect(delivery).toMatchObject({
        status: 'delivered',
        next_attempt_at: null,
        attempts: [{ status_code: statuses[i], error: null, response: i === 0 ? 'thanks' : '' }],
      })
    }
  })

  it('a 3xx response fails the attempt, and the redirect is not followed', async () => {
    const target = await shop()
    const site = await shop((response, { path }) => {
      response.writeHead(Number(path.slice(1)), { location: `${target.url}/there` }).end()
    })
    const statuses = [300, 301, 302, 303, 304, 307, 308]
    const deliveries = await attempt(...statuses.map((status) => `${site.url}/${status}`))
    for (const [i, delivery] of deliveries.entries()) {
      const error = `The receiver responded with status ${statuses[i]}; redirects are not followed.`
      expect(delivery).toMatchObject({
        status: 'pending',
        next_attempt_at: expect.any(String),
        attempts: [{ status_code: statuses[i], error }],
      })
    }
    expect(target.arrived).toEqual([])
    expect(internet.resolved).not.toContain(target.name)
  })

  it('a 4xx or 5xx response fails the attempt', async () => {
    const site = await shop((response, { path }) =>
      response.writeHead(Number(path.slice(1))).end('no'),
    )
    const statuses = [400, 401, 403, 404, 408, 410, 413, 418, 429, 451, 500, 502, 503, 504, 599]
    const deliveries = await attempt(...statuses.map((status) => `${site.url}/${status}`))
    for (const [i, delivery] of deliveries.entries()) {
      expect(delivery).toMatchObject({
        status: 'pending',
        attempts: [
          {
            status_code: statuses[i],
            error: `The receiver responded with status ${statuses[i]}.`,
            response: 'no',
          },
        ],
      })
    }
  })

  it('the final status decides an attempt, not the 1xx responses before it', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n'
    const processing = 'HTTP/1.1 102 Processing\r\n\r\n'
    const taken = await rawShop((socket) =>
      socket.end(`${processing}${hints}HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok`),
    )
    const refused = await rawShop((socket) =>
      socket.end(`${hints}HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n`),
    )
    expect(await attempt(taken, refused)).toMatchObject([
      { status: 'delivered', attempts: [{ status_code: 201, response: 'ok' }] },
      { status: 'pending', attempts: [{ status_code: 500 }] },
    ])
  })

  it('the first thousand bytes of a response are stored, without NUL and as valid UTF-8', async () => {
    const answers: Record<string, string | Buffer> = {
      '/long': 'x'.repeat(5_000),
      '/long-characters': `x${'é'.repeat(1_000)}`,
      '/nul': 'a\0b\0',
      '/broken': Buffer.from([0x6f, 0x6b, 0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80]),
      '/quoted': `"'\\u0000 {"} \u2028`,
      '/empty': '',
    }
    const site = await shop((response, { path }) => response.end(answers[path]))
    const deliveries = await attempt(...Object.keys(answers).map((path) => site.url + path))
    expect(deliveries.map(({ attempts }) => attempts[0].response)).toEqual([
      'x'.repeat(1_000),
      // The last character is cut in two.
      `x${'é'.repeat(499)}�`,
      'ab',
      'ok���(���',
      `"'\\u0000 {"} \u2028`,
      '',
    ])
    for (const { status } of deliveries) expect(status).toBe('delivered')
  })

  it('a response is read up to 64 KiB, and the status decides when it is longer', async () => {
    let written = 0
    const site = await shop((response, { path }) => {
      const [, length, status] = path.split('/')
      response.writeHead(Number(status))
      let left = Number(length)
      if (left < 1_000_000) return response.end(Buffer.alloc(left, 'x'))
      const more = () => {
        if (response.destroyed || left === 0) return response.end()
        left -= 8_192
        written += 8_192
        response.write(Buffer.alloc(8_192, 'x'), () => setImmediate(more))
      }
      more()
    })
    const deliveries = await attempt(
      ...[`${site.url}/65536/200`, `${site.url}/65537/200`],
      ...[`${site.url}/10485760/200`, `${site.url}/10485760/500`],
    )
    for (const [i, status] of [200, 200, 200, 500].entries()) {
      expect(deliveries[i]).toMatchObject({
        status: status === 200 ? 'delivered' : 'pending',
        attempts: [{ status_code: status, response: 'x'.repeat(1_000) }],
      })
    }
    // The two responses of 10 MB, including the bytes in flight when the connection was closed.
    expect(written).toBeLessThan(2 * 512 * 1024)
    for (const { bytesRead } of sockets) expect(bytesRead).toBeLessThan(64 * 1024 + 70_000)
    expect(sockets.some(({ bytesRead }) => bytesRead > 65_536)).toBe(true)
  })
})

describe('a failed attempt', () => {
  it('a refused connection, an unknown name or a response that is not HTTP fails the attempt, which is retried', async () => {
    const urls = {
      refused: `http://${named('93.184.213.250')}/`,
      unknown: 'http://nobody-has-this.example/',
      reset: await rawShop((socket) => socket.resetAndDestroy()),
      silent: await rawShop((socket) => socket.end()),
      garbage: await rawShop((socket) => socket.end('220 mail.example ESMTP\r\n')),
      binary: await rawShop((socket) => socket.end(Buffer.alloc(500, 0x80))),
      endless: await rawShop((socket) => {
        const more = () => {
          if (socket.writable) {
            socket.write(`x: ${'y'.repeat(8_000)}\r\n`, () => setImmediate(more))
          }
        }
        socket.write('HTTP/1.1 200 OK\r\n', more)
        socket.once('close', () => socket.removeAllListeners())
      }),
      upgrade: await rawShop((socket) =>
        socket.end('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
      ),
    }
    const deliveries = await attempt(...Object.values(urls))
    const errors = deliveries.map(({ attempts }) => attempts[0].error)
    expect(Object.fromEntries(Object.keys(urls).map((kind, i) => [kind, errors[i]]))).toEqual({
      refused: 'The server refused the connection.',
      unknown: NO_NAME,
      reset: BROKEN,
      silent: BROKEN,
      garbage: BROKEN,
      binary: BROKEN,
      endless: BROKEN,
      upgrade: BROKEN,
    })
    for (const { status, next_attempt_at, attempts } of deliveries) {
      expect([status, attempts[0].status_code, attempts[0].response]).toEqual([
        'pending',
        null,
        null,
      ])
      expect(Date.parse(next_attempt_at) - Date.parse(attempts[0].at)).toBe(60_000)
    }
  })

  it('an incomplete or malformed body fails the attempt, even with status 200', async () => {
    const half = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'
    const deliveries = await attempt(
      await rawShop((socket) => socket.end(half)),
      await rawShop((socket) => socket.write(half, () => socket.resetAndDestroy())),
      await rawShop((socket) =>
        socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nnot a length\r\n'),
      ),
    )
    for (const delivery of deliveries) {
      expect(delivery).toMatchObject({
        status: 'pending',
        attempts: [{ status_code: 200, error: BROKEN_OFF, response: null }],
      })
    }
  })

  it('an attempt times out at every step: DNS, connection, TLS, headers and body', async () => {
    const trickle = (socket: Socket, byte: string) => {
      const timer = setInterval(() => socket.write(byte), 20)
      socket.on('close', () => clearInterval(timer))
    }
    const neverLooked = newName()
    internet.names.set(neverLooked, () => new Promise(() => {}))
    const urls = {
      silent: await rawShop(() => {}),
      'only announced': await rawShop((socket) => socket.write('HTTP/1.1 102 Processing\r\n\r\n')),
      'slow headers': await rawShop((socket) => {
        socket.write('HTTP/1.1 200 OK\r\nx-slow: ')
        trickle(socket, 'a')
      }),
      'slow body': await rawShop((socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n')
        trickle(socket, 'a')
      }),
      'slow refusal': await rawShop((socket) => {
        socket.write('HTTP/1.1 503 No\r\ntransfer-encoding: chunked\r\n\r\n')
        trickle(socket, '1\r\na\r\n')
      }),
      'no look-up': `http://${neverLooked}/`,
      'no connection': `http://${named(HOLE)}/`,
      'no TLS': (await rawShop(() => {})).replace('http:', 'https:'),
    }
    const deliveries = await attemptBy(impatient, Object.values(urls))
    const ends = deliveries.map(({ attempts: [{ error, status_code }] }) => [status_code, error])
    expect(Object.fromEntries(Object.keys(urls).map((kind, i) => [kind, ends[i]]))).toEqual({
      silent: [null, LATE],
      'only announced': [null, LATE],
      'slow headers': [null, LATE],
      'slow body': [200, UNFINISHED],
      'slow refusal': [503, UNFINISHED],
      'no look-up': [null, LATE],
      'no connection': [null, LATE],
      'no TLS': [null, LATE],
    })
    for (const { status, attempts } of deliveries) {
      expect(status).toBe('pending')
      expect(attempts[0].duration_ms).toBeGreaterThanOrEqual(LIMIT_MS - 10)
    }
    await until('no connection is left', () => sockets.every(({ destroyed }) => destroyed))
  })

  it('a retry sends the same bytes with a new timestamp and a new signature', async () => {
    const site = await shop((response) => response.writeHead(500).end())
    const { id, secret } = await subscribe(seller, site.url)
    await sendSampleEvent(app, seller.accountId)
    for (const wait of [61, 600]) {
      await app.runDeliveries()
      await advance(app.operator, wait)
    }
    await app.runDeliveries()
    const [first, second, third] = site.arrived
    expect(site.arrived).toHaveLength(3)
    for (const arrived of site.arrived) {
      expect(arrived.body.equals(first!.body)).toBe(true)
      expect(isSignedWith(secret, arrived)).toBe(true)
    }
    const times = site.arrived.map(({ headers }) => Number(headers['x-service-timestamp']))
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(60)
    expect(times[2]! - times[1]!).toBeGreaterThanOrEqual(600)
    const signatures = [first, second, third].map((one) => one!.headers['x-service-signature'])
    expect(new Set(signatures).size).toBe(3)
    expect(await deliveriesIn(app, `endpoint_id=${id}`)).toMatchObject([
      { payload: JSON.parse(first!.body.toString()) },
    ])
  })
})

describe('a request', () => {
  const sentTo = async (address: (origin: string) => string) => {
    const site = await shop()
    const { status } = await attemptOne(address(site.name))
    expect(status).toBe('delivered')
    return { ...site.arrived[0]!, name: site.name }
  }
  const basic = ({ authorization = '' }: IncomingHttpHeaders) =>
    Buffer.from(authorization.replace('Basic ', ''), 'base64').toString()

  it('a delivery request has the path and query of the URL, without its fragment, and its host as Host', async () => {
    const sent = await sentTo((name) => `http://${name}:8080/a%20b/c?x=1&y=%2F%3F#part`)
    expect(sent.path).toBe('/a%20b/c?x=1&y=%2F%3F')
    expect(sent.headers).toEqual({
      host: `${sent.name}:8080`,
      connection: 'keep-alive',
      'content-length': String(sent.body.length),
      'content-type': 'application/json',
      'user-agent': 'Cardstall (+https://cards.example)',
      'accept-encoding': 'identity',
      'x-service-event': 'order.created',
      'x-service-delivery': expect.any(String),
      'x-service-timestamp': expect.any(String),
      'x-service-signature': expect.any(String),
    })
    expect((await sentTo((name) => `http://${name}`)).path).toBe('/')
  })

  it.each([
    ['alice:secret', 'alice:secret'],
    ['alice', 'alice:'],
    [':secret', ':secret'],
    ['al%40ice:p%3Ass%20w%C3%B6rd', 'al@ice:p:ss wörd'],
    ['alice:100%', 'alice:100%'],
    ['a%20b%:c%20d%zz%2', 'a b%:c d%zz%2'],
    ['wörd:€', 'wörd:€'],
  ])(
    'user name and password of the URL are sent as Basic Authorization: %s',
    async (written, meant) => {
      expect(basic((await sentTo((name) => `http://${written}@${name}/`)).headers)).toBe(meant)
    },
  )

  it('percent-encoded bytes of a password are sent unchanged, even if they are not UTF-8', async () => {
    const { headers } = await sentTo((name) => `http://alice:%E4@${name}/`)
    const bytes = Buffer.from(headers.authorization!.replace('Basic ', ''), 'base64')
    expect(bytes.equals(Buffer.from('alice:\xe4', 'latin1'))).toBe(true)
  })

  it('an IPv4 or IPv6 address in the URL needs no DNS lookup', async () => {
    const site = await shop()
    internet.ports.set('2606:4700::1111', site.port)
    internet.ports.set('93.184.213.251', site.port)
    const deliveries = await attempt('http://[2606:4700::1111]:81/', 'http://93.184.213.251/')
    expect(deliveries).toMatchObject([{ status: 'delivered' }, { status: 'delivered' }])
    expect(site.arrived.map(({ headers }) => headers.host).sort()).toEqual([
      '93.184.213.251',
      '[2606:4700::1111]:81',
    ])
    expect(internet.resolved).toEqual([])
  })
})

describe('the connection to a receiver', () => {
  const workers: { stop(): Promise<void> }[] = []
  afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.stop())))

  /** Starts the worker, which reuses connections, however long a slow machine takes for the next delivery. */
  const startWork = ({ ctx } = app) =>
    workers.push(startDeliveryWorker(ctx, { pollIntervalMs: 3_600_000, keepAliveMs: 600_000 }))

  /** Sends one event and waits for the outcome of its delivery. */
  async function deliver(endpointId: number) {
    await sendSampleEvent(app, seller.accountId)
    return until('the delivery is attempted', async () => {
      const [delivery] = await deliveriesIn(app, `endpoint_id=${endpointId}`)
      return delivery.attempts.length > 0 && delivery
    })
  }

  it('a connection is reused for the next delivery until the name resolves to another address', async () => {
    const [one, other] = [await shop(), await shop()]
    const { id } = await subscribe(seller, one.url)
    startWork()
    for (let i = 0; i < 3; i++) expect(await deliver(id)).toMatchObject({ status: 'delivered' })
    expect(internet.dialled).toEqual([one.address])
    internet.names.set(one.name, [other.address])
    expect(await deliver(id)).toMatchObject({ status: 'delivered' })
    expect(internet.dialled).toEqual([one.address, other.address])
    expect([one.arrived.length, other.arrived.length]).toEqual([3, 1])
    expect(other.arrived[0]!.headers.host).toBe(one.name)
    expect(internet.resolved).toEqual(Array(4).fill(one.name))
  })

  it('an endpoint with a backlog never has more connections than concurrent attempts', async () => {
    const open: number[] = []
    const site = await shop((response) => {
      open.push(sockets.filter(({ destroyed }) => !destroyed).length)
      response.end()
    })
    await subscribe(seller, site.url)
    const events = Array.from({ length: 100 }, () => sendSampleEvent(app, seller.accountId))
    await Promise.all(events)
    startWork()
    await until('all deliveries have arrived', () => site.arrived.length === events.length)
    expect(Math.max(...open)).toBeLessThanOrEqual(MAX_CONCURRENCY)
  })

  it('a name that now resolves to a private address is refused, even with an open connection', async () => {
    const site = await shop()
    const { id } = await subscribe(seller, site.url)
    startWork()
    expect(await deliver(id)).toMatchObject({ status: 'delivered' })
    expect(sockets[0]!.destroyed).toBe(false)
    internet.names.set(site.name, ['10.0.0.1'])
    internet.ports.set('10.0.0.1', site.port)
    expect(await deliver(id)).toMatchObject({ status: 'failed', attempts: [{ error: PRIVATE }] })
    expect(site.arrived).toHaveLength(1)
    expect(internet.dialled).toEqual([site.address])
    internet.ports.delete('10.0.0.1')
  })

  it('a timeout closes the connection of a receiver that sends its response slowly', async () => {
    const url = await rawShop((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n')
      const timer = setInterval(() => socket.write('a'), 20)
      socket.on('close', () => clearInterval(timer))
    })
    const { id } = await subscribe(seller, url)
    startWork(impatient)
    await deliver(id)
    await until('the connection is closed', () => sockets.length === 1 && sockets[0]!.destroyed)
  })

  it('an attempt connects to the address that it checked, without a second lookup (DNS rebinding)', async () => {
    const [outside, inside] = [await shop(), await shop()]
    internet.ports.set('192.168.0.7', inside.port)
    let asked = 0
    internet.names.set(outside.name, () =>
      asked++ === 0 ? [outside.address, '93.184.213.252'] : ['192.168.0.7'],
    )
    expect(await attemptOne(outside.url)).toMatchObject({ status: 'delivered' })
    expect(internet.resolved).toEqual([outside.name])
    expect(internet.dialled).toEqual([outside.address])
    expect(inside.arrived).toEqual([])
  })
})

describe('a private or reserved address', () => {
  const ANSWERS = [
    ['10.0.0.1'],
    ['127.0.0.1'],
    ['169.254.169.254'],
    ['::1'],
    ['fd00::1'],
    ['::ffff:10.0.0.1'],
    ['93.184.213.253', '10.0.0.1'],
    ['fe80::1', '2606:4700::1111'],
  ]

  it('a name that resolves to a private or reserved address fails the delivery before anything is sent', async () => {
    const inside = await shop()
    for (const address of ANSWERS.flat()) internet.ports.set(address, inside.port)
    const deliveries = await attempt(...ANSWERS.map((answer) => `http://${named(...answer)}/`))
    for (const { endpoint_id, ...delivery } of deliveries) {
      expect(delivery).toMatchObject({ status: 'failed', next_attempt_at: null })
      expect(delivery.attempts).toMatchObject([
        { status_code: null, error: PRIVATE, response: null },
      ])
      expect(await endpointOf(seller, endpoint_id)).toMatchObject({ consecutive_failures: 1 })
    }
    expect([internet.dialled, inside.arrived]).toEqual([[], []])
    await advance(app.operator, 86_400)
    await app.runDeliveries()
    const later = await deliveriesIn(app, `account_id=${seller.accountId}`)
    for (const { attempts } of later) expect(attempts).toHaveLength(1)
    expect(internet.resolved).toHaveLength(ANSWERS.length)
    for (const address of ANSWERS.flat()) internet.ports.delete(address)
  })

  it('a private address in the URL fails the delivery before anything is sent', async () => {
    const { id } = await subscribe(seller, 'http://93.184.213.254/')
    // Like an endpoint that was registered before its address became reserved.
    await app.ctx.db`
      update webhook_endpoints set url = 'http://[::ffff:a00:1]/' where id = ${id}
    `
    await sendSampleEvent(app, seller.accountId)
    await app.runDeliveries()
    const [delivery] = await deliveriesIn(app, `endpoint_id=${id}`)
    expect(delivery).toMatchObject({ status: 'failed', attempts: [{ error: PRIVATE }] })
    expect(internet.dialled).toEqual([])
  })

  it('a private address fails a delivery permanently, even at its second attempt', async () => {
    const site = await shop((response) => response.writeHead(500).end())
    expect(await attemptOne(site.url)).toMatchObject({ status: 'pending' })
    internet.names.set(site.name, ['10.0.0.1'])
    await advance(app.operator, 61)
    await app.runDeliveries()
    const [delivery] = await deliveriesIn(app, `account_id=${seller.accountId}`)
    expect(delivery).toMatchObject({ status: 'failed', next_attempt_at: null })
    expect(delivery.attempts).toMatchObject([{ status_code: 500 }, { error: PRIVATE }])
  })

  it('WEBHOOK_ALLOW_PRIVATE allows deliveries to private addresses', async () => {
    const local = await startTestApp({
      settings: { ...NO_LIMITS, WEBHOOK_ALLOW_PRIVATE: 'true' },
      network,
    })
    const owner = await local.seller()
    const receiver = await startReceiver()
    for (const answer of ANSWERS) {
      for (const address of answer) internet.ports.set(address, receiver.port)
      await subscribe(owner, `http://${named(...answer)}/`)
    }
    await sendSampleEvent(local, owner.accountId)
    await local.runDeliveries()
    expect(receiver.arrived).toHaveLength(ANSWERS.length)
    for (const { status } of await deliveriesIn(local)) expect(status).toBe('delivered')
    for (const address of ANSWERS.flat()) internet.ports.delete(address)
  })
})

const certificate = await selfSigned('secure.example', SECURE)

describe.skipIf(!certificate)('a secure receiver', () => {
  it('a TLS connection sends the name (SNI) and requires a trusted certificate for it', async () => {
    const seen: unknown[] = []
    const site = createSecureServer(certificate!, (request, response) => {
      seen.push(request.headers.host)
      response.end()
    })
    site.on('secureConnection', ({ servername }) => seen.push(servername))
    site.on('tlsClientError', () => {})
    servers.push(site)
    await once(site.listen(0, '127.0.0.1'), 'listening')
    const { port } = site.address() as AddressInfo
    internet.ports.set(SECURE, port)
    internet.names.set('secure.example', [SECURE])
    const other = behind(port)

    const refused = {
      status: 'pending',
      attempts: [{ status_code: null, error: 'The server’s certificate was not accepted.' }],
    }
    expect(await attemptOne('https://secure.example/')).toMatchObject(refused)
    setDefaultCACertificates([...getCACertificates('default'), String(certificate!.cert)])
    seller = await app.seller()
    seen.length = 0
    expect(await attemptOne('https://secure.example/')).toMatchObject({ status: 'delivered' })
    expect(seen).toEqual(['secure.example', 'secure.example'])
    seller = await app.seller()
    expect(await attempt(`https://${other}/`, `https://${SECURE}/`)).toMatchObject([
      refused,
      { status: 'delivered' },
    ])
    site.closeAllConnections()
  })

  it('https to a port without TLS fails the attempt with a readable error', async () => {
    const { name } = await shop()
    expect(await attemptOne(`https://${name}/`)).toMatchObject({
      status: 'pending',
      attempts: [{ error: 'No secure connection could be made.' }],
    })
  })
})

it('stored errors contain no addresses, error codes or stack traces', async () => {
  const rows = await app.ctx.db<{ attempts: object[] }[]>`select attempts from deliveries`
  const text = JSON.stringify(rows)
  expect(text).toContain(BROKEN)
  expect(text).not.toMatch(/127\.0\.0\.1|localhost|93\.184|ECONN|\.ts:|node:|undici|Error/)
})

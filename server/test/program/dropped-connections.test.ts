import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { randomNumbers } from '../../../scripts/random.ts'
import { testDatabase } from '../database.ts'
import { type Service, startService } from '../process.ts'
import { until } from '../until.ts'

const CONNECTIONS_EACH = 150
const AT_A_TIME = 100
const ERROR_LEVEL = 50

/** Makes the service throw outside of every handler, at the place that the request's path names, and not respond. */
const PRELOAD = `
import { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
const { emit } = Server.prototype
const failures = {
  '/timer': (fail) => setTimeout(fail, 1),
  '/promise': (fail) => void sleep(1).then(fail),
  '/body': (fail, request) => request.on('end', fail).resume(),
  '/at-once': (fail) => fail(),
}
Server.prototype.emit = function (event, request, answer) {
  if (event !== 'request') return emit.apply(this, arguments)
  const fail = () => { throw new Error('thrown by ' + request.url) }
  const failure = failures[request.url]
  if (failure) answer.writeHead = answer.end = () => answer
  emit.apply(this, arguments)
  failure?.(fail, request)
  if (request.url === '/afterwards') setTimeout(fail, 20)
}`

let service: Service
beforeAll(async () => {
  const { url } = await testDatabase('product')
  service = await startService(
    {
      DATABASE_URL: url,
      SANDBOX: 'true',
      RATE_LIMIT_READ: '1000000',
      RATE_LIMIT_WRITE: '1000000',
    },
    { preload: PRELOAD },
  )
  await service.ready()
})

const errorsLogged = () => service.log().filter(({ level }) => Number(level) >= ERROR_LEVEL)

describe('a connection that is dropped at any moment of any request', () => {
  it('connections dropped at any moment neither end the process nor log an error', async () => {
    const { key, token } = service.printed()
    const operator = (path: string, body?: unknown) =>
      service.call('POST', `/operator/v1${path}`, { token, body })
    const makeKey = async () => {
      const { body } = await operator('/accounts/1/keys', { scopes: ['catalog:read'] })
      return { key: body.key as string, path: `/accounts/1/keys/${body.data.id}` }
    }
    const [revoked, expired] = [await makeKey(), await makeKey()]
    await service.call('DELETE', `/operator/v1${revoked.path}`, { token })
    await operator(`${expired.path}/rotate`)
    await operator('/sandbox/clock', { advance_seconds: 24 * 60 * 60 })
    await service.call('POST', '/v1/listings', {
      token: key,
      body: { items: [{ product: 'tin', language: 'EN', price: 5, quantity: 500 }] },
    })

    const { body: description } = await service.get('/openapi.json')
    const operations = Object.entries(description.paths as Record<string, object>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, { requestBody }]) => {
          const url = `/v1${path.replace(/\{\w+\}/g, '1')}`
          return () => requestOf(method.toUpperCase(), url, key, requestBody && ITEMS)
        }),
    )
    const random = randomNumbers(11)
    const unknownKey = () =>
      `svc_live_${Array.from({ length: 40 }, () => Math.floor(random() * 10)).join('')}`
    const kinds: (() => string)[] = [
      ...operations,
      () => requestOf('GET', '/v1/me', unknownKey()),
      () => requestOf('POST', '/v1/listings', unknownKey(), ITEMS),
      () => requestOf('GET', '/v1/cards', revoked.key),
      () => requestOf('GET', '/v1/cards', expired.key),
      () => requestOf('GET', '/v1/me'),
      () => requestOf('POST', '/v1/listings', key, ITEMS).slice(0, -5),
      () => requestOf('POST', '/operator/v1/checkouts', token, CHECKOUT),
      () => requestOf('POST', '/operator/v1/checkouts', token, CHECKOUT).slice(0, -9),
      () => requestOf('POST', '/operator/v1/catalog/import', token, NDJSON, 'application/x-ndjson'),
      () =>
        requestOf(
          'POST',
          '/operator/v1/catalog/import',
          token,
          NDJSON,
          'application/x-ndjson',
        ).slice(0, -9),
      () => requestOf('GET', '/operator/v1/accounts/1/events/stream', token),
      () => requestOf('GET', '/v1/products/tin?include=listings', key),
      () => requestOf('GET', '/docs/scalar.js'),
      () => requestOf('GET', '/metrics', token),
      () => requestOf('GET', '/health/ready'),
      () => requestOf('CONNECT', 'cards.example:443'),
      () => requestOf('GET', '/docs/scalar.js') + requestOf('CONNECT', 'cards.example:443'),
      () => 'no HTTP at all\r\n\r\n',
    ]
    expect(kinds.length).toBeGreaterThan(22)

    const waiting = kinds.flatMap((kind) => Array<() => string>(CONNECTIONS_EACH).fill(kind))
    const dropAll = async () => {
      for (;;) {
        const [kind] = waiting.splice(Math.floor(random() * waiting.length), 1)
        if (!kind) return
        await sendAndDrop(service.port, kind(), random)
      }
    }
    await Promise.all(Array.from({ length: AT_A_TIME }, dropAll))

    expect((await service.get('/health/ready')).status).toBe(200)
    expect((await service.get('/v1/me', key)).status).toBe(200)
    expect(errorsLogged()).toEqual([])
  })
})

describe('an error that nothing in a request catches', () => {
  it('an uncaught error ends its request with 500 and is logged with the request id, and the process continues', async () => {
    for (const path of ['/timer', '/promise', '/body', '/at-once']) {
      const response = await service.call('POST', path, { body: {} })
      expect(response.status).toBe(500)
      expect(response.body.error.type).toBe('server_error')
      const reqId = response.headers.get('x-request-id')
      await until('the error is logged', () =>
        errorsLogged().some(
          (line) => line.reqId === reqId && (line.err as Error).message === `thrown by ${path}`,
        ),
      )
    }
  })

  it('an uncaught error after the response does not close the connection', async () => {
    expect((await service.get('/afterwards')).status).toBe(404)
    await until('the error is logged', () =>
      errorsLogged().some(({ err }) => (err as Error).message === 'thrown by /afterwards'),
    )
    expect((await service.get('/health/live')).status).toBe(200)
  })
})

const ITEMS = JSON.stringify({
  items: [{ product: 'tin', language: 'EN', price: 5, quantity: 1 }],
})
const CHECKOUT = JSON.stringify({
  buyer: { name: 'Misty', email: 'misty@mail.example' },
  address: null,
  lines: [{ listing_id: 1, quantity: 1 }],
  shipping: [],
})
const NDJSON = `${JSON.stringify({ type: 'product', slug: 'tin', name: 'Tin', category: 'tin' })}\n`

function requestOf(
  method: string,
  path: string,
  token?: string,
  body = '',
  type = 'application/json',
): string {
  const headers = [
    'host: x',
    ...(token ? [`authorization: Bearer ${token}`] : []),
    ...(body ? [`content-type: ${type}`, `content-length: ${body.length}`] : []),
  ]
  return `${method} ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${body}`
}

/** Sends a request, perhaps in two parts or only its beginning, and drops the connection at a random moment. */
async function sendAndDrop(port: number, request: string, random: () => number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {}).resume()
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const cut = random() < 0.3 ? Math.floor(random() * request.length) : request.length
  socket.write(request.slice(0, cut))
  const [pause, isComplete, isReset] = [random() * 8, random() < 0.5, random() < 0.5]
  await sleep(pause / 2)
  if (isComplete) socket.write(request.slice(cut))
  await sleep(pause / 2)
  if (isReset) socket.resetAndDestroy()
  else socket.destroy()
  await closed
}

import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildApp } from '../app.ts'
import { OPERATOR_TOKEN, startTestApp, type TestApp } from '../test/app.ts'
import { until } from '../test/until.ts'
import { MAX_UNFINISHED_BYTES } from './gather-body.ts'

const TIMEOUT_MS = 1_000

let app: TestApp
let hurried: Awaited<ReturnType<typeof buildApp>>
beforeAll(async () => {
  app = await startTestApp()
  hurried = await buildApp(app.ctx, { requestTimeoutMs: TIMEOUT_MS })
  await hurried.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(() => hurried.close())

const accounts = 'POST /operator/v1/accounts HTTP/1.1'
const imports = 'POST /operator/v1/catalog/import HTTP/1.1'

const headersOf = (line: string, length: number, type = 'application/json') =>
  `${line}\r\nhost: x\r\nauthorization: Bearer ${OPERATOR_TOKEN}\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n`

/** Sends these parts with pauses between them, until the server closes the connection; gives what came back. */
async function send(parts: string[], pauseMs = 0): Promise<string> {
  const socket = connect((hurried.server.address() as AddressInfo).port, '127.0.0.1')
  let received = ''
  socket
    .on('error', () => {})
    .on('data', (data) => {
      received += data
    })
  const closed = once(socket, 'close')
  for (const part of parts) {
    if (!socket.writable) break
    socket.write(part)
    await Promise.race([sleep(pauseMs), closed])
  }
  await closed
  return received
}

describe.concurrent('a client that does not send a complete request in time', () => {
  it.each([
    ['but its headers in part', ['GET /v1/me HTTP/1.1\r\nhost:']],
    ['but its body in part', [headersOf(accounts, 100), '{']],
    ['but its body byte by byte', [headersOf(accounts, 100), ...'{"shop_name": "Kanto Cards"']],
    ['but nothing', []],
  ])('%s gets 408 in the envelope, with a request id', async (_, parts) => {
    const answer = await send(parts, TIMEOUT_MS / 8)
    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/)
    expect(answer).toMatch(/\r\nx-request-id: req_/)
    expect(answer).toMatch(/\r\nconnection: close\r\n/)
    const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
    expect(body.error).toEqual({
      type: 'request_timeout',
      message: 'The request took too long to arrive.',
    })
  })

  it('gets the answers to its complete requests before that, and nothing is carried out', async () => {
    const shop = JSON.stringify({ shop_name: 'Late Cards', email: 'late@shops.example' })
    const whole = `${headersOf(accounts, 2)}{}`
    const answer = await send([whole + headersOf(accounts, shop.length), ...shop], TIMEOUT_MS / 8)
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 422', 'HTTP/1.1 408'])
    const { body } = await app.operator.get('/operator/v1/accounts')
    expect(body.data).toEqual([])
  })
})

describe.concurrent('a catalog import', () => {
  const line = `${JSON.stringify({ type: 'product', slug: 'tin', name: 'Tin', category: 'tin' })}\n`

  it('may take longer than any other request, as long as bytes keep coming', async () => {
    const pieces = line.match(/.{1,8}/gs)!
    const began = performance.now()
    const answer = await send(
      [
        headersOf(imports, line.length, 'application/x-ndjson').replace(
          '\r\n\r\n',
          '\r\nconnection: close\r\n\r\n',
        ),
        ...pieces,
      ],
      TIMEOUT_MS / 4,
    )
    expect(performance.now() - began).toBeGreaterThan(TIMEOUT_MS * 1.5)
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    expect(answer).toContain('"created":1')
  })

  it('without a byte for that time gets 408, and keeps what came before', async () => {
    const answer = await send([
      headersOf(imports, 1_000, 'application/x-ndjson'),
      line.replace('"slug":"tin"', '"slug":"crate"'),
    ])
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(answer).toContain('"type":"request_timeout"')
    expect(await app.ctx.db`select from products where slug = 'crate'`).toHaveLength(1)
  })
})

describe('bodies that do not end', () => {
  it('hold no more than 32 MiB together: the oldest get 408, and a new one is taken', async () => {
    const seller = await app.seller()
    await app.app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.app.server.address() as AddressInfo
    const [count, length] = [30, 3 * 1024 * 1024]
    const request = `POST /v1/listings HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${seller.key}\r\ncontent-length: ${length + 1}\r\n\r\n`
    const body = Buffer.alloc(length, ' ')
    const clients: { socket: Socket; received: string }[] = []
    for (let i = 0; i < count; i++) {
      const client = { socket: connect(port, '127.0.0.1').on('error', () => {}), received: '' }
      client.socket.on('data', (data) => {
        client.received += data
      })
      clients.push(client)
      client.socket.write(request)
      await new Promise((sent) => client.socket.write(body, sent))
    }
    const most = Math.floor(MAX_UNFINISHED_BYTES / length)
    await until(
      'the oldest are refused',
      () => clients.filter(({ received }) => received).length >= count - most,
    )
    const isRefused = clients.map(({ received }) => received.startsWith('HTTP/1.1 408 '))
    expect(isRefused.lastIndexOf(true)).toBe(isRefused.filter(Boolean).length - 1)
    expect(isRefused.at(-1)).toBe(false)

    const answer = await seller.post('/v1/listings', { payload: { items: [{}] } })
    expect(answer.status).toBe(200)
    clients.at(-1)!.socket.write('{')
    await until('it is answered', () => clients.at(-1)!.received.includes('HTTP/1.1 422 '))
    for (const { socket } of clients) socket.destroy()
  })
})

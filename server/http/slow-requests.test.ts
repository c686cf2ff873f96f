import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildApp } from '../app.ts'
import { OPERATOR_TOKEN, PUBLIC_URL, startTestApp, type TestApp } from '../test/app.ts'
import { advance, cardItem } from '../test/fixtures/listings.ts'
import { grantAccess } from '../test/fixtures/oauth.ts'
import { until } from '../test/until.ts'
import { MAX_UNFINISHED_BYTES } from './gather-body.ts'

const TIMEOUT_MS = 1_000

let app: TestApp
let impatient: Awaited<ReturnType<typeof buildApp>>
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture' })
  impatient = await buildApp(app.ctx, { requestTimeoutMs: TIMEOUT_MS })
  await impatient.listen({ port: 0, host: '127.0.0.1' })
  await app.app.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(() => impatient.close())

const accounts = 'POST /operator/v1/accounts HTTP/1.1'
const imports = 'POST /operator/v1/catalog/import HTTP/1.1'

const headersOf = (line: string, length: number, type = 'application/json') =>
  `${line}\r\nhost: x\r\nauthorization: Bearer ${OPERATOR_TOKEN}\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n`

/** Sends the parts with pauses until the server closes the connection; returns the response. */
async function send(parts: string[], pauseMs = 0): Promise<string> {
  const socket = connect((impatient.server.address() as AddressInfo).port, '127.0.0.1')
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

describe.concurrent('incomplete requests', () => {
  it.each([
    ['part of its headers', ['GET /v1/me HTTP/1.1\r\nhost:']],
    ['part of its body', [headersOf(accounts, 100), '{']],
    ['its body byte by byte', [headersOf(accounts, 100), ...'{"shop_name": "Kanto Cards"']],
    ['nothing', []],
  ])('a client that sends %s gets a 408 as a JSON error with a request id', async (_, parts) => {
    const response = await send(parts, TIMEOUT_MS / 8)
    expect(response).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/)
    expect(response).toMatch(/\r\nx-request-id: req_/)
    expect(response).toMatch(/\r\nconnection: close\r\n/)
    const body = JSON.parse(response.slice(response.indexOf('\r\n\r\n')))
    expect(body.error).toEqual({
      type: 'request_timeout',
      message: 'The request took too long to arrive.',
    })
  })

  it('an incomplete request gets a 408 after the responses to complete ones and is not executed', async () => {
    const shop = JSON.stringify({ shop_name: 'Late Cards', email: 'late@shops.example' })
    const whole = `${headersOf(accounts, 2)}{}`
    const response = await send([whole + headersOf(accounts, shop.length), ...shop], TIMEOUT_MS / 8)
    expect(response.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 422', 'HTTP/1.1 408'])
    const { body } = await app.operator.get('/operator/v1/accounts')
    expect(body.data).toEqual([])
  })

  it('bytes that are not a request get a 400 after the responses to all pipelined requests before them', async () => {
    const whole = `${headersOf(accounts, 2)}{}`
    const chunked = headersOf(accounts, 0).replace(
      'content-length: 0',
      'transfer-encoding: chunked',
    )
    for (const malformed of ['nonsense\r\n\r\n', `${chunked}nonsense\r\n`]) {
      const response = await send([whole.repeat(20) + malformed])
      expect(response.match(/HTTP\/1\.1 \d+/g)).toEqual([
        ...Array(20).fill('HTTP/1.1 422'),
        'HTTP/1.1 400',
      ])
    }
  })
})

describe.concurrent('slow catalog imports', () => {
  const line = `${JSON.stringify({ type: 'product', slug: 'tin', name: 'Tin', category: 'tin' })}\n`

  it('a catalog import may take longer than the request timeout while bytes keep arriving', async () => {
    const pieces = line.match(/.{1,8}/gs)!
    const began = performance.now()
    const response = await send(
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
    expect(response).toMatch(/^HTTP\/1\.1 200 /)
    expect(response).toContain('"created":1')
  })

  it('a catalog import without a byte for the timeout gets a 408 and keeps its imported lines', async () => {
    const response = await send([
      headersOf(imports, 1_000, 'application/x-ndjson'),
      line.replace('"slug":"tin"', '"slug":"crate"'),
    ])
    expect(response).toMatch(/^HTTP\/1\.1 408 /)
    expect(response).toContain('"type":"request_timeout"')
    expect(await app.ctx.db`select from products where slug = 'crate'`).toHaveLength(1)
  })
})

describe('credentials that end while a body arrives', () => {
  /** A write that leaves something behind, the end of its credential, and the time of the credential's last use. */
  type Write = {
    path: string
    type?: string
    headers: Record<string, string>
    body: object
    end(): Promise<unknown>
    lastUse(): PromiseLike<{ at: Date | null }[]>
    left(): PromiseLike<unknown>
  }

  const hired = async (role: string) => {
    const { body } = await app.operator.post('/operator/v1/staff', {
      payload: { name: role, role },
    })
    const { id } = body.data
    return {
      headers: { authorization: `Bearer ${body.token}` },
      end: () => app.operator.delete(`/operator/v1/staff/${id}`),
      lastUse: () => app.ctx.db<{ at: Date | null }[]>`
        select last_used_at as at from staff where id = ${id}
      `,
    }
  }

  const signedIn = async () => {
    const { accountId, memberId, cookie } = await app.member()
    return {
      headers: { cookie, origin: PUBLIC_URL },
      end: () => app.operator.delete(`/operator/v1/accounts/${accountId}/members/${memberId}`),
      lastUse: () => app.ctx.db<{ at: Date | null }[]>`
        select last_used_at as at from member_sessions where member_id = ${memberId}
      `,
      accountId,
    }
  }

  const withKey = async () => {
    const { key, keyId, accountId } = await app.seller()
    return {
      headers: { authorization: `Bearer ${key}` },
      end: () => app.operator.delete(`/operator/v1/accounts/${accountId}/keys/${keyId}`),
      lastUse: () => app.ctx.db<{ at: Date | null }[]>`
        select last_used_at as at from api_keys where id = ${keyId}
      `,
      accountId,
    }
  }

  const withProgram = async () => {
    const { accountId } = await app.seller()
    const token = await grantAccess(app, accountId)
    const account = `/operator/v1/accounts/${accountId}`
    const [member] = (await app.operator.get(`${account}/members`)).body.data
    return {
      headers: { authorization: `Bearer ${token}`, host: 'cards.example' },
      end: () => app.operator.delete(`${account}/members/${member.id}`),
      lastUse: () => app.ctx.db<{ at: Date | null }[]>`
        select last_used_at as at from oauth_grants where member_id = ${member.id}
      `,
      accountId,
    }
  }

  const endpoint = { url: 'https://hooks.example/', events: ['order.created'] }
  const listing = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'create_listings', arguments: { items: [cardItem()], idempotency_key: 'a' } },
  }
  const WRITES: Record<string, () => Promise<Write>> = {
    'a staff token': async () => ({
      ...(await hired('admin')),
      path: '/operator/v1/staff',
      body: { name: 'Accomplice', role: 'admin' },
      left: () => app.ctx.db`select from staff where name = 'Accomplice'`,
    }),
    'the staff token of a catalog import': async () => ({
      ...(await hired('catalog')),
      path: '/operator/v1/catalog/import',
      type: 'application/x-ndjson',
      body: { type: 'product', slug: 'forged', name: 'Forged', category: 'tin' },
      left: () => app.ctx.db`select from products where slug = 'forged'`,
    }),
    'a member’s session': async () => {
      const { accountId, ...session } = await signedIn()
      const left = () => app.ctx.db`
        select from api_keys where account_id = ${accountId} and name = 'Mine'
      `
      const body = { name: 'Mine', scopes: ['orders:read'] }
      return { ...session, path: '/dashboard/api/keys', body, left }
    },
    'an API key': async () => {
      const { accountId, ...key } = await withKey()
      const left = () => app.ctx.db`select from webhook_endpoints where account_id = ${accountId}`
      return { ...key, path: '/v1/webhooks', body: endpoint, left }
    },
    'a program’s access token': async () => {
      const { accountId, ...program } = await withProgram()
      const left = () => app.ctx.db`select from listings where account_id = ${accountId}`
      return { ...program, path: '/mcp/seller', body: listing, left }
    },
  }

  it.each(Object.keys(WRITES))(
    'a request changes nothing if %s is revoked before its body is complete',
    async (credential) => {
      const write = await WRITES[credential]!()
      const [unused] = await write.lastUse()
      // A use is recorded once a minute.
      await advance(app.operator, 61)
      const body = JSON.stringify(write.body)
      const { type = 'application/json' } = write
      const head = { host: 'x', connection: 'close', 'content-type': type, ...write.headers }
      const fields = Object.entries({ ...head, 'content-length': String(body.length) })
      const { port } = app.app.server.address() as AddressInfo
      const socket = connect(port, '127.0.0.1')
      let received = ''
      socket.on('data', (data) => {
        received += data
      })
      socket.write(
        `POST ${write.path} HTTP/1.1\r\n${fields.map((field) => `${field.join(': ')}\r\n`).join('')}\r\n{`,
      )
      await until('the head is checked', async () => {
        const [used] = await write.lastUse()
        return used!.at !== null && used!.at.getTime() !== unused!.at?.getTime()
      })
      await write.end()
      socket.write(body.slice(1))
      await once(socket, 'close')
      expect(received).toMatch(/^HTTP\/1\.1 401 /)
      expect(received).toContain('"type":"authentication_error"')
      expect(await write.left()).toEqual([])
    },
  )
})

describe('unfinished bodies', () => {
  it('a tool server refuses another method than POST also when its body comes later', async () => {
    const { host } = new URL(PUBLIC_URL)
    const head = `PUT /mcp HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\ncontent-length: 2\r\n\r\n`
    expect(await send([head, '{}'], TIMEOUT_MS / 8)).toMatch(/^HTTP\/1\.1 405 /)
  })

  it('unfinished bodies use at most 32 MiB together: the oldest get a 408, new ones are accepted', async () => {
    const seller = await app.seller()
    // From now on the key is in memory, so the heads below are checked in the order in which they arrive.
    await seller.get('/v1/me')
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
    const max = Math.floor(MAX_UNFINISHED_BYTES / length)
    await until(
      'the oldest requests are refused',
      () => clients.filter(({ received }) => received).length >= count - max,
    )
    const isRefused = clients.map(({ received }) => received.startsWith('HTTP/1.1 408 '))
    expect(isRefused.lastIndexOf(true)).toBe(isRefused.filter(Boolean).length - 1)
    expect(isRefused.at(-1)).toBe(false)

    const response = await seller.post('/v1/listings', { payload: { items: [{}] } })
    expect(response.status).toBe(200)
    clients.at(-1)!.socket.write('{')
    await until('the newest request gets its response', () =>
      clients.at(-1)!.received.includes('HTTP/1.1 422 '),
    )
    for (const { socket } of clients) socket.destroy()
  })
})

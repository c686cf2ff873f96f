import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildApp } from '../app.ts'
import { currentBudget } from '../database/budget.ts'
import { WRITE_LIMIT_MS } from '../database/connect.ts'
import { SCOPES } from '../keys/scopes.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { CARDS, importRecords, PRODUCTS, SETS } from '../test/catalog-fixture.ts'
import { advance, cardItem, hold, items, list } from '../test/fixtures/listings.ts'
import { sampleValue } from '../test/metrics.ts'
import { closeServer } from './connections.ts'

// Two apps on one service: one with the fast lane, one without it.

const READ_LIMIT = 1_000_000
/** The request that ends an exchange. */
const CLOSING_URL = '/health'

let app: TestApp
let ordinary: Server
let fast: Server & { ordinaryRequests: number }

/** Requests that the rate limits have counted. */
let counted = 0

type Server = { port: number; close(): Promise<void> }

async function listen(options: Parameters<typeof buildApp>[1]): Promise<Server> {
  const built = await buildApp(app.ctx, options)
  await built.listen({ port: 0, host: '127.0.0.1' })
  const { port } = built.server.address() as AddressInfo
  return { port, close: () => closeServer(built) }
}

beforeAll(async () => {
  app = await startTestApp({
    template: 'fixture',
    rateLimitTime: () => 0,
    settings: { RATE_LIMIT_READ: String(READ_LIMIT) },
  })
  const { limiter } = app.ctx
  app.ctx.limiter = {
    count(...of) {
      counted++
      return limiter.count(...of)
    },
  }
  ordinary = await listen({ listener: (_, listener) => listener })
  const counts = { ordinaryRequests: 0 }
  const server = await listen({
    listener: (lane, listener) =>
      lane.before((request, response) => {
        if (request.url !== CLOSING_URL) counts.ordinaryRequests++
        listener(request, response)
      }),
  })
  fast = Object.assign(counts, server)
})
afterAll(() => Promise.all([ordinary.close(), fast.close()]))

type Sent = { method?: string; url: string; key?: string; headers?: string[]; http?: string }

const requestText = ({ method = 'GET', url, key, headers = [], http = '1.1' }: Sent) =>
  [
    `${method} ${url} HTTP/${http}`,
    'host: cards.example',
    ...(key === undefined ? [] : [`authorization: ${key.includes(' ') ? key : `Bearer ${key}`}`]),
    ...headers,
    '\r\n',
  ].join('\r\n')

/** Sends requests on one connection, and a last one that closes it. Returns the bytes of all responses. */
async function exchange({ port }: Server, ...requests: Sent[]): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  let received = ''
  socket.on('data', (text) => {
    received += text
  })
  const last = `GET ${CLOSING_URL} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`
  socket.write(requests.map(requestText).join('') + last, 'latin1')
  await once(socket, 'close')
  return received
}

/** Without the bytes that differ between two equal requests. */
const comparable = (response: string) =>
  response
    .replaceAll(/^x-request-id: req_\w+\r$/gm, 'x-request-id: …')
    .replaceAll(/^Date: .+\r$/gm, 'Date: …')
    .replaceAll(/^x-ratelimit-remaining: [1-9]\d*\r$/gm, 'x-ratelimit-remaining: …')

/**
 * Both paths' responses, and the requests that took the ordinary path behind the lane. Both paths must count the same
 * requests.
 */
async function both(...requests: Sent[]) {
  const before = { counted, ordinaryRequests: fast.ordinaryRequests }
  const response = await exchange(fast, ...requests)
  const ordinaryRequests = fast.ordinaryRequests - before.ordinaryRequests
  const between = counted
  const responses = { fast: response, ordinary: await exchange(ordinary, ...requests) }
  expect([requests, between - before.counted]).toEqual([requests, counted - between])
  return { ...responses, ordinaryRequests }
}

/** The first request loads the key, the second one finds it, and either caches the response. */
async function warmUp(...requests: Sent[]): Promise<void> {
  await exchange(fast, ...requests)
  await exchange(fast, ...requests)
}

/** Sends the request until the lane knows its response, and compares. */
async function compare(sent: Sent) {
  await warmUp({ ...sent, headers: [] })
  const responses = await both(sent)
  expect(comparable(responses.fast)).toBe(comparable(responses.ordinary))
  expect(responses.fast).toMatch(/^HTTP\/1\.1 \d{3} /)
  return { ...responses, isFast: responses.ordinaryRequests === 0 }
}

/**
 * Compares a page until its path is the expected one: the offers in memory are known for 50 ms after a request that reads
 * them, which a busy machine may miss.
 */
async function comparePage(sent: Sent, isFast = true): Promise<string> {
  for (;;) {
    const responses = await both(sent)
    expect(comparable(responses.fast)).toBe(comparable(responses.ordinary))
    if ((responses.ordinaryRequests === 0) === isFast) return responses.fast
  }
}

const encoded = (id: string) => encodeURIComponent(id)
const everyCharacter = (id: string) =>
  [...Buffer.from(id)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

const RECORDS = [
  ...CARDS.flatMap(({ id }) => [`/v1/cards/${encoded(id)}`, `/v1/cards/${everyCharacter(id)}`]),
  ...SETS.map(({ id }) => `/v1/sets/${encoded(id)}`),
  ...PRODUCTS.map(({ slug }) => `/v1/products/${encoded(slug)}`),
]
const URLS = [
  ...RECORDS,
  '/v1/cards/brs_TG12',
  '/v1/cards/brs_TG12/',
  '/v1/cards/brs_1?language=EN&region=int',
  '/v1/cards/brs_1?language=EN&language=DE',
  '/v1/cards/sv3-125?x=1&y=2',
  '/v1/cards/sv3-125?include=cards',
  '/v1/sets/swsh9?include=cards,products',
  '/v1/sets/sv3?language=JP',
  '/v1/series',
  '/v1/series/',
  '/v1/series?q=1',
  '/v1/sets',
  '/v1/sets?q=brilliant',
  '/v1/sets?series=swsh',
  '/v1/cards',
  '/v1/cards/?page=2&per_page=3',
  '/v1/cards?per_page=1000&page=1',
  '/v1/cards?per_page=-1&page=2',
  '/v1/cards?per_page=x&page=2',
  '/v1/cards?page=99999',
  '/v1/cards?set=swsh9&page=1',
  '/v1/cards?set=brs&language=DE',
  '/v1/cards?set=brs&region=jp',
  '/v1/cards?language=EN&rarity=Common',
  '/v1/cards?q=charizard',
  '/v1/cards?q=charizrad&utm_source=mail&a[]=1',
  '/v1/cards?q=%E2%98%86',
  '/v1/cards?q=nothing+at+all',
  '/v1/cards?q=&set=',
  '/v1/products',
  '/v1/products?set=sv3&q=box',
  '/v1/products?category=booster_box',
]
const REFUSED = [
  '/v1/cards/nowhere',
  '/v1/cards/nowhere?include=%00',
  '/v1/cards/%zz',
  '/v1/cards/%FF',
  '/v1/cards/%00',
  '/v1/cards/sv3%00-125?x=1',
  `/v1/cards/${'x'.repeat(5000)}`,
  '/v1/cards/brs_1',
  '/v1/cards/brs_1?language=XX',
  '/v1/cards/sv3-125?language=toolong',
  '/v1/cards/sv3-125?x=%zz',
  '/v1/cards/sv3-125/more',
  '/v1/Cards/sv3-125',
  '/v1//cards',
  '/v1/cards?page=0',
  '/v1/cards?page=1e3',
  `/v1/cards?q=${'x'.repeat(101)}`,
  '/v1/cards?q=%00',
  '/v1/cards?q=%ED%A0%80',
  '/v1/cards?q=%zz',
  '/v1/cards?set=nowhere',
  '/v1/cards/sv3-125?%=1',
  '/v1/sets/nowhere',
  '/v1/sets/%00',
  '/v1/products/nowhere',
  '/v1/nothing',
  '/v1/me?x=1',
  '/v1/cards;x=1',
  'http://cards.example/v1/nothing',
]

describe('the fast lane', () => {
  it('every catalog response of the fast lane equals the ordinary one', async () => {
    const { key } = await app.seller()
    const slow: string[] = []
    for (const url of URLS) if (!(await compare({ url, key })).isFast) slow.push(url)
    expect(slow).toEqual([])
  })

  it('the fast lane leaves every refused address to the ordinary path', async () => {
    const { key } = await app.seller()
    for (const url of REFUSED)
      expect([url, (await compare({ url, key })).isFast]).toEqual([url, false])
  })

  it('HEAD and conditional requests have the same responses in the fast lane', async () => {
    const { key } = await app.seller()
    for (const url of [
      '/v1/cards/sv3-125',
      '/v1/cards?q=charizard&x=1',
      '/v1/cards?per_page=100',
    ]) {
      const [, tag] = /^etag: (.+)\r$/m.exec((await compare({ url, key })).fast)!
      for (const method of ['GET', 'HEAD']) {
        for (const known of [
          tag!,
          `W/${tag}`,
          '*',
          ' * ',
          `"x", ${tag}`,
          '"x"',
          '',
          'x'.repeat(999),
        ]) {
          const sent = { method, url, key, headers: [`if-none-match: ${known}`] }
          const { isFast, fast } = await compare(sent)
          expect([known, isFast]).toEqual([known, true])
          const isCurrent = known.includes(tag!) || known.includes('*')
          expect(fast.startsWith(`HTTP/1.1 ${isCurrent ? 304 : 200} `)).toBe(true)
        }
        expect((await compare({ method, url, key })).isFast).toBe(true)
      }
    }
  })

  it('unusual requests have the same responses in the fast lane', async () => {
    const { key } = await app.seller()
    const url = '/v1/cards/sv3-125'
    for (const [isFast, sent] of [
      [true, { http: '1.0' }],
      [true, { http: '1.0', headers: ['connection: keep-alive'] }],
      [true, { headers: ['connection: close'] }],
      [true, { headers: ['accept: text/html', 'accept-encoding: gzip'] }],
      [true, { headers: ['if-none-match: "a"', 'if-none-match: *'] }],
      [
        true,
        { headers: ['range: bytes=0-10', 'if-modified-since: Sun, 22 Nov 2026 05:00:00 GMT'] },
      ],
      [true, { url: `http://cards.example${url}` }],
      [false, { headers: ['expect: 100-continue'] }],
      [false, { headers: ['expect: something'] }],
      [false, { headers: ['content-length: 0'] }],
      [false, { headers: ['content-type: text/plain', 'content-length: 2', '', 'x='] }],
      [false, { method: 'DELETE' }],
      [false, { method: 'POST' }],
      [false, { method: 'OPTIONS' }],
    ] as [boolean, Partial<Sent>][]) {
      const compared = await compare({ url, key, ...sent })
      if (compared.fast.startsWith('HTTP/1.1 2'))
        expect([sent, compared.isFast]).toEqual([sent, isFast])
      else expect(compared.isFast).toBe(false)
    }
  })

  it('every kind of key gets the same response in the fast lane', async () => {
    const url = '/v1/cards/sv3-125'
    const valid = await app.seller()
    await compare({ url, key: valid.key })
    const expectOf = async (key: string | undefined, status: number, isFast: boolean) => {
      for (;;) {
        const compared = await compare(key === undefined ? { url } : { url, key })
        expect(compared.fast.slice(9, 12)).toBe(String(status))
        if (compared.isFast === isFast) return
        // PostgreSQL announces a change of keys some milliseconds later, which empties their cache again.
        expect(isFast).toBe(true)
      }
    }
    await expectOf(valid.key, 200, true)
    await expectOf(`bearer   ${valid.key}  `, 200, true)
    await expectOf(`Basic ${valid.key}`, 401, false)
    await expectOf(`Bearer ${valid.key} x`, 401, false)
    await expectOf(undefined, 401, false)
    await expectOf(`svc_live_${'x'.repeat(40)}`, 401, false)
    await expectOf('x', 401, false)

    const rotated = await app.seller()
    const path = `/operator/v1/accounts/${rotated.accountId}/keys/${rotated.keyId}`
    const { body } = await app.operator.post(`${path}/rotate`)
    await expectOf(rotated.key, 200, true)
    await expectOf(body.key, 200, true)
    await advance(app.operator, 24 * 60 * 60)
    await expectOf(rotated.key, 401, false)
    // The first request after a minute records the use of the key.
    await expectOf(body.key, 200, true)
    await app.operator.delete(path)
    await expectOf(body.key, 401, false)

    const narrow = await app.seller({ scopes: SCOPES.filter((scope) => scope !== 'catalog:read') })
    await expectOf(narrow.key, 403, false)
    const suspended = await app.seller()
    await expectOf(suspended.key, 200, true)
    await app.operator.patch(`/operator/v1/accounts/${suspended.accountId}`, {
      payload: { api_access: 'suspended' },
    })
    await expectOf(suspended.key, 403, false)
    const disabled = await app.seller({ account: { apiAccess: 'disabled' } })
    await expectOf(disabled.key, 403, false)
  })

  it('the fast lane counts each request once, and refuses those beyond the limit', async () => {
    const { key, keyId } = await app.seller()
    const url = '/v1/cards/sv3-125'
    await compare({ url, key })
    const remaining = async (server: Server) =>
      Number(/^x-ratelimit-remaining: (\d+)\r$/m.exec(await exchange(server, { url, key }))![1])
    const before = await remaining(ordinary)
    expect(await remaining(fast)).toBe(before - 1)
    expect(await remaining(ordinary)).toBe(before - 2)

    for (let left = before - 2; left > 1; left--) app.ctx.limiter.count(`read:${keyId}`, READ_LIMIT)
    expect((await exchange(fast, { url, key })).slice(9, 12)).toBe('200')
    const limited = 'cardstall_rate_limited_total{limit="read"}'
    const limitedSoFar = async () =>
      sampleValue((await app.operator.get('/metrics')).text, limited)!
    const refused = await limitedSoFar()
    const compared = await compare({ url, key })
    expect([compared.fast.slice(9, 12), compared.isFast]).toEqual(['429', false])
    expect(compared.fast).toContain('\r\nx-ratelimit-remaining: 0\r\n')
    expect(await limitedSoFar()).toBe(refused + 4)
  })

  it('the fast lane waits for counters behind a network', async () => {
    const { limiter } = app.ctx
    const url = '/v1/cards/sv3-125'
    const { key } = await app.seller()
    const narrow = await app.seller({ scopes: ['orders:read'] })
    try {
      app.ctx.limiter = { count: async (...of) => limiter.count(...of) }
      expect((await compare({ url, key })).isFast).toBe(true)
      expect((await compare({ url, key: narrow.key })).fast).toMatch(/^HTTP\/1\.1 403 /)
      app.ctx.limiter = { count: () => Promise.reject(new Error('no counters')) }
      expect((await compare({ url, key })).fast).toMatch(/^HTTP\/1\.1 500 /)
    } finally {
      app.ctx.limiter = limiter
    }
  })

  it('the time that a request waits in the fast lane counts towards its time for the database', async () => {
    const { limiter, offers } = app.ctx
    const { peek, read } = offers
    const { key } = await app.seller()
    await warmUp({ url: '/v1/me', key })
    const waitMs = 50
    const left: (number | undefined)[] = []
    try {
      app.ctx.limiter = {
        async count(...of) {
          await sleep(waitMs)
          return limiter.count(...of)
        },
      }
      offers.peek = () => undefined
      offers.read = async (item) => {
        left.push(currentBudget()?.leftMs)
        if (left.length > 1) return read(item)
        await sleep(waitMs)
        return undefined
      }
      await exchange(fast, { url: '/v1/cards/sv3-125?include=listings', key })
    } finally {
      Object.assign(app.ctx, { limiter })
      Object.assign(offers, { peek, read })
    }
    expect(left).toEqual([undefined, expect.any(Number)])
    // Timers may be a millisecond early.
    expect(left[1]).toBeLessThanOrEqual(WRITE_LIMIT_MS - 2 * (waitMs - 1))
  })

  it('pipelined responses of both paths arrive in the order of their requests', async () => {
    const { key } = await app.seller()
    const urls = [
      '/v1/cards/sv3-125',
      '/v1/me',
      '/v1/cards/sv3-1',
      '/v1/cards/nowhere',
      '/v1/cards?per_page=100',
    ]
    const requests = [...urls, ...urls].map((url) => ({ url, key }))
    await warmUp(...requests)
    const responses = await both(...requests)
    expect(comparable(responses.fast)).toBe(comparable(responses.ordinary))
    expect(responses.ordinaryRequests).toBe(4)
  })

  it('a slow client receives its responses unchanged, while others receive theirs', async () => {
    const { key } = await app.seller()
    // The other response is longer.
    const [slow, other] = ['/v1/sets?per_page=100', '/v1/cards?per_page=100'].map((url) => ({
      url,
      key,
    }))
    await warmUp(slow!, other!)
    const socket = connect(fast.port, '127.0.0.1').setEncoding('latin1').setNoDelay().pause()
    const logged = () => app.logged.filter(({ path }) => path === '/v1/sets').length
    let sent = 0
    // Until the operating system takes no more of its responses.
    for (let before = -1; before !== logged(); ) {
      before = logged()
      for (let round = 0; round < 20; round++) {
        socket.write(requestText(slow!))
        sent++
        await exchange(fast, other!)
      }
    }
    let received = ''
    socket.on('data', (text) => {
      received += text
    })
    socket.resume()
    socket.write(`GET ${CLOSING_URL} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    await once(socket, 'close')
    const responses = comparable(received).split('HTTP/1.1 ').slice(1, -1)
    expect(responses).toHaveLength(sent)
    expect(new Set(responses).size).toBe(1)
  })

  it('the fast lane also reads offers that are not in memory, and keeps the order of responses', async () => {
    const seller = await app.seller()
    const [listing] = await list(seller, cardItem())
    const { key } = seller
    await warmUp({ url: '/v1/me', key })
    const urls = [
      ...CARDS.map(({ id }) => `/v1/cards/${encoded(id)}?include=listings`),
      `/v1/products/${PRODUCTS[0]!.slug}?include=listings`,
    ].flatMap((url) => [url, '/v1/series'])
    await warmUp({ url: '/v1/series', key })
    const responses = await both(...urls.map((url) => ({ url, key })))
    expect(comparable(responses.fast)).toBe(comparable(responses.ordinary))
    expect(responses.fast).toContain(`"listings":[{"id":${listing},`)
    expect(responses.ordinaryRequests).toBe(0)
    await seller.delete(`/v1/listings/${listing}`)
  })

  it('the fast lane logs and measures its responses as the ordinary path does', async () => {
    const { key } = await app.seller()
    const requests = ['GET', 'HEAD'].flatMap((method) =>
      ['/v1/cards/sv3-125?language=EN', '/v1/cards?q=charizard', '/v1/sets/swsh9'].flatMap(
        (url) => [
          { method, url, key },
          { method, url, key, headers: ['if-none-match: *'] },
        ],
      ),
    )
    await warmUp(...requests)
    const sample = (method: string, route: string, status: number) =>
      `cardstall_http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`
    const count = async (name: string) =>
      sampleValue((await app.operator.get('/metrics')).text, name)!
    const name = sample('GET', '/v1/cards/:identifier', 304)
    const outcomeOf = async (server: Server) => {
      const [from, counted] = [app.logged.length, await count(name)]
      await exchange(server, ...requests)
      const lines = app.logged.slice(from).filter(({ path }) => String(path).startsWith('/v1/'))
      for (const { reqId, ms } of lines) {
        expect(reqId).toMatch(/^req_\w+$/)
        expect(ms).toBeGreaterThan(0)
      }
      const fields = lines.map(({ reqId: _, ms: __, ...line }) => line)
      return { fields, counted: (await count(name)) - counted }
    }
    const responses = await outcomeOf(fast)
    expect(responses.fields).toHaveLength(12)
    expect(responses.counted).toBe(1)
    expect(responses).toEqual(await outcomeOf(ordinary))
  })

  it('pages of items without offers are the same bytes in the fast lane, until there is an offer', async () => {
    const url = '/cards/sv3-125'
    for (const other of ['/cards/swsh9-1', `/products/${PRODUCTS[0]!.slug}`]) {
      await comparePage({ url: other })
    }
    for (const other of ['/cards/brs_18', '/cards/nothing', '/cards/sv3-125?page=1']) {
      await comparePage({ url: other }, false)
    }
    const tag = /^etag: (.+)\r$/m.exec(await comparePage({ url }))![1]!
    for (const sent of [
      { method: 'HEAD' },
      ...['GET', 'HEAD'].flatMap((method) =>
        [tag, tag.replace('W/', ''), '"x"', '*'].map((known) => ({
          method,
          headers: [`if-none-match: ${known}`],
        })),
      ),
      { http: '1.0', headers: ['accept-encoding: gzip', 'cookie: a=b'] },
    ]) {
      await comparePage({ url, ...sent })
    }
    await comparePage({ url, method: 'POST' }, false)

    const seller = await app.seller()
    const [listing] = await list(seller, cardItem())
    expect(await comparePage({ url }, false)).toContain('1 offer from')
    await seller.delete(`/v1/listings/${listing}`)
    expect(await comparePage({ url })).toContain('No offers now')
  })

  it('an import replaces the responses of the fast lane', async () => {
    const { key } = await app.seller()
    const url = '/v1/cards/sv3-1'
    await compare({ url, key })
    const card = CARDS.find(({ id }) => id === 'sv3-1')!
    await importRecords(app.operator, [{ ...card, name: 'Renamed' }])
    expect((await both({ url, key })).fast).toContain('"name":"Renamed"')
    expect((await compare({ url, key })).isFast).toBe(true)
  })

  it("pages of a seller's own listings have the same responses in the fast lane", async () => {
    const seller = await app.seller()
    const { key } = seller
    const ids = await list(seller, cardItem({ description: 'é ☆' }), ...items(40))
    await hold(app.operator, ids[0]!, 1)
    for (const url of [
      '/v1/listings',
      '/v1/listings?page=2&per_page=20',
      '/v1/listings?page=9',
      '/v1/listings?status=active&per_page=-1',
      '/v1/listings?card=obf_125&page=2',
      '/v1/listings?updated_since=2000-01-01T02:00:00%2B02:00',
    ]) {
      const { fast, isFast } = await compare({ url, key })
      expect([url, isFast, fast.slice(0, 12)]).toEqual([url, true, 'HTTP/1.1 200'])
      expect(fast).toContain('\r\ncache-control: no-store\r\n')
      for (const sent of [{ method: 'HEAD' }, { headers: ['if-none-match: *'] }]) {
        expect((await compare({ url, key, ...sent })).isFast).toBe(true)
      }
    }
    for (const url of [
      '/v1/listings/',
      '/v1/listings?utm=x',
      '/v1/listings?status=removed',
      '/v1/listings?page=0',
      '/v1/listings?card=nowhere',
      '/v1/listings?updated_since=never',
      '/v1/listings?page=%00',
      '/v1/listings?x=%zz',
      '/v1/listingsx',
    ]) {
      expect([url, (await compare({ url, key })).isFast]).toEqual([url, false])
    }
    const other = await app.seller()
    expect((await compare({ url: '/v1/listings', key: other.key })).fast).toContain('"total":0}')
    const narrow = await app.seller({ scopes: ['catalog:read'] })
    expect((await compare({ url: '/v1/listings', key: narrow.key })).isFast).toBe(false)
  })
})

import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'
import { NO_LIMITS } from '../test/fixtures/listings.ts'
import { sampleValue } from '../test/metrics.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ settings: NO_LIMITS })
  await app.app.listen({ port: 0, host: '127.0.0.1' })
})

const create = (payload: unknown, headers: Record<string, string> = {}) =>
  app.operator.post('/operator/v1/accounts', { payload: payload as string, headers })

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

/** A parameter in a path of a description. */
const PARAMETER = /\{\w+\}/g

/** Some would find record 1 if the service read them as numbers. */
const INVALID_IDS = [
  ...['0', '-1', '1.5', '1e0', '0x1', '01', 'x', 'null', '%20', '1%00'],
  ...['9007199254740992', '99999999999999999999'],
]

type Operation = { parameters?: { name: string; in: string; schema: { type?: string } }[] }

/** The operations of a published API, and the part of its URLs that precedes their paths. */
async function description(
  api: string,
): Promise<{ prefix: string; paths: Record<string, Record<string, Operation>> }> {
  const file = new URL(`../../openapi/${api}.json`, import.meta.url)
  const { servers, paths } = JSON.parse(await readFile(file, 'utf8'))
  return { prefix: new URL(servers[0].url).pathname, paths }
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** Sends raw bytes, which an HTTP client would refuse to send; returns the whole response. */
async function sendRaw(bytes: string): Promise<string> {
  const socket = openSocket()
  socket.end(bytes)
  return text(socket)
}

/** Asks for a page at an address as it stands in the first line. */
async function requestPage(method: string, target: string): Promise<string> {
  const socket = openSocket()
  socket.write(
    `${method} ${target} HTTP/1.1\r\nhost: x\r\naccept: text/html\r\nconnection: close\r\n\r\n`,
  )
  return text(socket)
}

function openSocket() {
  const { port } = app.app.server.address() as { port: number }
  return connect(port, '127.0.0.1')
}

describe('every response', () => {
  it('every response has its own X-Request-Id, which is in the log', async () => {
    const [one, other] = [await app.anyone.get('/health/live'), await app.anyone.get('/nothing')]
    const ids = [one.headers['x-request-id'], other.headers['x-request-id']]
    expect(new Set(ids).size).toBe(2)
    for (const id of ids) expect(app.logged.some(({ reqId }) => reqId === id)).toBe(true)
  })

  it('a request is logged without its query, which can contain a secret', async () => {
    await app.anyone.get('/nothing?signature=hush-hush')
    expect(JSON.stringify(app.logged)).not.toContain('hush-hush')
  })
})

describe('URLs', () => {
  it('an unknown URL gets a 404 as a JSON error', async () => {
    for (const url of ['/v1', '/v1/nothing', '/operator/v1/nothing']) {
      const response = await app.anyone.get(url)
      expect(response.status).toBe(404)
      expect(response.body).toEqual({
        error: { type: 'not_found', message: 'There is nothing at this address.' },
      })
    }
  })

  it('a browser gets a page for an unknown URL outside of the APIs, and JSON inside', async () => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
    const open = (path: string) => app.anyone.get(path, { headers: { accept } })
    for (const path of ['/nothing', '/cards', '/v1s/x?y=1', '/docs/guides/nothing']) {
      const { status, headers, text } = await open(path)
      expect([path, status]).toEqual([path, 404])
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'x-request-id': expect.any(String),
      })
      const [, start] = /<a href="([^"]*)">Start page/.exec(text) ?? []
      expect(new URL(start!, `http://cards.example${path}`).pathname).toBe('/')
    }
    for (const path of ['/v1', '/v1/nothing', '/tools/v2', '/operator?x=1', '/mcp/nothing']) {
      const { status, headers } = await open(path)
      expect([path, status]).toEqual([path, 404])
      expect(headers['content-type']).toBe('application/json; charset=utf-8')
    }
    expect((await app.anyone.post('/nothing', { headers: { accept } })).body.error).toBeDefined()
  })

  it('another method on a known URL gets a 405 with Allow', async () => {
    const response = await app.anyone.put('/v1/cards')
    expect(response.status).toBe(405)
    expect(response.headers.allow).toBe('GET, HEAD')
    expect(response.body.error.type).toBe('method_not_allowed')
    expect((await app.anyone.delete('/operator/v1/accounts/1/')).headers.allow).toBe(
      'GET, HEAD, PATCH',
    )
    expect((await app.anyone.patch('/v1/sets/x?y=1')).status).toBe(405)
    // A semicolon is part of the path.
    expect((await app.anyone.get('/v1/me;x=1')).status).toBe(404)
  })

  it('every path of the published APIs refuses each method that its description lacks, with the others in Allow', async () => {
    for (const api of ['seller', 'operator', 'tools']) {
      const { prefix, paths } = await description(api)
      const known = Object.entries(paths)
      for (const [path, operations] of known) {
        const url = prefix + path.replaceAll(PARAMETER, '1')
        for (const method of METHODS) {
          // A path such as /staff/me is also one of /staff/{id}.
          const isServed = known.some(
            ([other, { [method]: operation }]) =>
              operation && new RegExp(`^${other.replaceAll(PARAMETER, '[^/]+')}$`).test(path),
          )
          if (isServed) continue
          const { status, headers } = await app.anyone[method](url)
          expect([url, method, status]).toEqual([url, method, 405])
          const allowed = headers.allow!.toLowerCase().split(', ')
          expect(allowed.filter((name) => name !== 'head')).toEqual(Object.keys(operations).sort())
        }
      }
    }
  })

  it('an id in a path of the published APIs gets a 404 if it is no positive safe integer, and the largest one no 5xx', async () => {
    const seller = await app.seller()
    const withIds = new Set<string>()
    for (const [api, client] of Object.entries({ seller, operator: app.operator, tools: seller })) {
      const { prefix, paths } = await description(api)
      for (const [path, operations] of Object.entries(paths)) {
        for (const [method, { parameters = [] }] of Object.entries(operations)) {
          for (const { name, in: place, schema } of parameters) {
            if (place !== 'path' || schema.type !== 'integer') continue
            withIds.add(api)
            const send = async (id: string) => {
              const url = prefix + path.replace(`{${name}}`, id).replaceAll(PARAMETER, '1')
              const { status, body } = await client[method as (typeof METHODS)[number]](url)
              return { request: `${method} ${url}`, status, type: body?.error?.type }
            }
            for (const id of INVALID_IDS) {
              expect(await send(id)).toMatchObject({ status: 404, type: 'not_found' })
            }
            expect(await send(String(Number.MAX_SAFE_INTEGER))).toMatchObject({
              status: expect.toSatisfy((status) => status < 500),
            })
          }
        }
      }
    }
    expect([...withIds]).toEqual(['seller', 'operator', 'tools'])
  })

  it('an unusual method gets a 405 like any other', async () => {
    const response = await sendRaw(
      'PROPFIND /v1/cards HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
    )
    expect(response).toMatch(/^HTTP\/1\.1 405 /)
  })

  it('a path segment longer than every identifier gets a 404 for every method', async () => {
    for (const url of [`/v1/cards/${'x'.repeat(5_000)}`, `/labels/${'x'.repeat(5_000)}`]) {
      for (const method of ['get', 'patch', 'delete'] as const) {
        const response = await app.anyone[method](url)
        expect(response.status).toBe(404)
        expect(response.body.error.type).toBe('not_found')
        expect(response.headers['x-request-id']).toBeTruthy()
      }
    }
  })

  it('a QUERY request gets a 405 like any other method, with or without a body', async () => {
    for (const rest of ['\r\n', 'content-length: 2\r\n\r\n{}', 'content-type: a/b\r\n\r\n']) {
      const known = await sendRaw(
        `QUERY /v1/cards HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${rest}`,
      )
      expect(known).toMatch(/^HTTP\/1\.1 405 /)
      expect(known).toContain('allow: GET, HEAD')
      const unknown = await sendRaw(
        `QUERY /v1/nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${rest}`,
      )
      expect(unknown).toMatch(/^HTTP\/1\.1 404 /)
    }
  })

  it('an unknown URL gets its 404 before the body has arrived', async () => {
    const response = await sendRaw(
      'POST /v1/nothing HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n',
    )
    expect(response).toMatch(/^HTTP\/1\.1 404 /)
  })

  it('no cache keeps the error of an unknown URL, a wrong method or a malformed URL', async () => {
    for (const url of ['/v1/nothing', '/v1/listings/1', '/v1/cards/%zz']) {
      expect((await app.anyone.get(url)).headers['cache-control']).toBe('no-store')
    }
  })

  it('a NUL in a path gets a 404 from every API and page', async () => {
    for (const url of ['/v1/cards/%00', '/shops/a%00b', '/operator/v1/slices/%00?x=%00']) {
      expect((await app.operator.get(url)).status).toBe(404)
    }
  })

  it('an address that does not begin with a slash gets a 404 from every path, also as a page', async () => {
    for (const path of ['v1/me', 'search?q=x', 'signin', 'console', 'docs', 'nothing', '']) {
      for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
        const response = await requestPage(method, `*${path}`)
        expect(response, `${method} *${path}`).toMatch(/^HTTP\/1\.1 404 /)
      }
    }
  })

  it('an address with scheme and host, as clients send it to a proxy, is that of its path', async () => {
    const get = async (target: string) => {
      const [head, body] = (await requestPage('GET', target)).split('\r\n\r\n')
      return { status: head!.split(' ')[1], body }
    }
    for (const path of ['/', '/search?q=x', '/signin', '/cards/nothing', '/docs/guides/nothing']) {
      const plain = await get(path)
      for (const origin of ['http://cards.example', 'HTTPS://other.example:8443']) {
        expect(await get(origin + path), origin + path).toEqual(plain)
      }
    }
    expect(await get('http://cards.example?x')).toEqual(await get('/?x'))
  })

  it('malformed percent-encoding gets a 404 as a JSON error', async () => {
    for (const url of ['/v1/cards/%zz', '/v1/cards/%ff', '/v1/cards?q=%zz', '/%']) {
      const response = await app.anyone.get(url)
      expect(response.status).toBe(404)
      expect(response.body.error.type).toBe('not_found')
      expect(response.headers['x-request-id']).toBeTruthy()
    }
  })
})

describe('bodies', () => {
  it.each([
    ['malformed JSON', '{"shop_name":'],
    ['an array', '[]'],
    ['a number', '1'],
    ['null', 'null'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ])('a body that is %s gets a 422 on body', async (_, payload) => {
    const response = await create(payload, JSON_TYPE)
    expect(response.status).toBe(422)
    expect(response.body.error.type).toBe('validation_error')
    expect(Object.keys(response.body.error.fields)).toEqual(['body'])
  })

  it('a body of another type than JSON gets a 415', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonx',
      '"',
    ]) {
      const response = await create('{}', { 'content-type': type })
      expect(response.status).toBe(415)
      expect(response.body.error).toEqual({
        type: 'unsupported_media_type',
        message: 'Send the body as JSON with "Content-Type: application/json".',
      })
    }
  })

  it('a body is read as JSON with every JSON content type, and without one', async () => {
    for (const headers of [
      { 'content-type': 'application/json; charset=utf-8' },
      { 'content-type': 'Application/JSON' },
      { 'content-type': 'application/merge-patch+json' },
    ]) {
      expect((await create('{}', headers)).body.error.fields).toHaveProperty('shop_name')
    }
    const authorization = 'authorization: Bearer operator-token-for-tests-and-more'
    const untyped = await sendRaw(
      `POST /operator/v1/accounts HTTP/1.1\r\nhost: x\r\n${authorization}\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}`,
    )
    expect(untyped).toContain('The shop_name field is required.')
  })

  it('a blank type counts as none, and a malformed type without a body causes no 415', async () => {
    const send = (type: string, body: string) =>
      sendRaw(
        `POST /operator/v1/accounts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer operator-token-for-tests-and-more\r\nconnection: close\r\ncontent-type:${type}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      )
    expect(await send(' ', '{}')).toContain('The shop_name field is required.')
    for (const type of ['', ' json', ' "']) {
      expect(await send(type, '')).toContain('HTTP/1.1 422')
    }
    expect(await send(' json', '{}')).toContain('HTTP/1.1 415')
  })

  it('a body over 256 KiB gets a 413', async () => {
    const response = await create(JSON.stringify({ shop_name: 'x'.repeat(256 * 1024) }), JSON_TYPE)
    expect(response.status).toBe(413)
    expect(response.body.error).toEqual({
      type: 'payload_too_large',
      message: 'The body is larger than 256 KiB.',
    })
  })

  it.each([
    ['is nested 33 levels deep', `{"x":${'['.repeat(32)}${']'.repeat(32)}}`],
    ['is nested 200,000 levels deep and never closed', `{"x":${'['.repeat(200_000)}`],
    ['has 20,001 values', `{"x":[${Array(20_000).fill(0)}]}`],
    ['has 20,001 fields', `{${Array.from({ length: 20_001 }, (_, i) => `"f${i}":0`)}}`],
  ])('a body that %s gets a 422 on body', async (_, payload) => {
    const { status, body } = await create(payload, JSON_TYPE)
    expect([status, Object.keys(body.error.fields)]).toEqual([422, ['body']])
  })

  it.each([
    ['brackets inside strings, after escaped quotes', `{"x":"\\"${'[{,'.repeat(50_000)}\\\\"}`],
    ['20,000 values', `{"x":[${Array(19_999).fill(0)}]}`],
    ['32 levels', `{"x":${'['.repeat(31)}${']'.repeat(31)}}`],
  ])('a body may have %s', async (_, payload) => {
    const { body } = await create(payload, JSON_TYPE)
    expect(body.error.fields).toHaveProperty('shop_name')
  })

  it('the message about a text of a wrong form says what it must be', async () => {
    const account = await create({
      email: 'ash mail.example',
      slug: 'My-Shop',
      shipping_options: [{ countries: ['nl'] }],
    })
    expect(account.body.error.fields).toMatchObject({
      email: ['The email field must be an e-mail address, such as ash@mail.example.'],
      slug: ['The slug field must be lower-case letters, digits and single hyphens.'],
      'shipping_options.0.countries.0': [expect.stringContaining('two capital letters')],
    })
    const checkout = await app.operator.post('/operator/v1/checkouts', {
      payload: { address: { country: 'NLD' } },
    })
    expect(checkout.body.error.fields).toMatchObject({
      'address.country': [expect.stringContaining('ISO country code of two letters, such as NL.')],
    })
  })

  it('an empty body counts as no body, whatever its content type', async () => {
    const response = await create('', JSON_TYPE)
    expect(response.status).toBe(422)
    expect(response.body.error.fields).toHaveProperty('shop_name')
  })

  it('a body cannot pollute prototypes through __proto__', async () => {
    const response = await create(
      '{"__proto__": {"shop_name": "x", "email": "x@y.example"}}',
      JSON_TYPE,
    )
    expect(response.status).toBe(422)
    expect(({} as Record<string, unknown>).shop_name).toBeUndefined()
  })
})

describe('unexpected errors', () => {
  it('an unexpected error gives a 500 without details and is logged with the request id', async () => {
    const broken = await startTestApp()
    await broken.ctx.db`alter table accounts rename to hidden_accounts`
    const response = await broken.operator.get('/operator/v1/accounts')
    expect(response.status).toBe(500)
    expect(response.body).toEqual({
      error: { type: 'server_error', message: 'Something went wrong on our side.' },
    })
    const logged = broken.logged.find(
      ({ level, reqId }) => level === 'error' && reqId === response.headers['x-request-id'],
    )
    expect(String(logged?.err)).toContain('accounts')
  })
})

describe('invalid HTTP', () => {
  it('bytes that are not HTTP get a 400 as a JSON error with a request id', async () => {
    const response = await sendRaw('hello\r\n\r\n')
    expect(response).toMatch(/^HTTP\/1\.1 400 /)
    expect(response).toMatch(/x-request-id: req_/)
    expect(response).toContain('"type":"bad_request"')
  })

  it('an address with a letter outside ASCII gets a 400 that asks for percent-encoding', async () => {
    const response = await sendRaw('GET /v1/cards?q=Pokémon HTTP/1.1\r\nhost: x\r\n\r\n')
    expect(response).toMatch(/^HTTP\/1\.1 400 /)
    expect(response).toMatch(/"message":"The address .* percent-encoded/)
  })

  it('CONNECT gets a 400 after the responses to earlier requests of its connection', async () => {
    const live = 'GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n'
    const connectRequest = 'CONNECT cards.example:443 HTTP/1.1\r\nhost: x\r\n\r\n'
    for (const before of ['', live, live + live]) {
      const response = await sendRaw(`${before}${connectRequest}bytes for the tunnel`)
      const statuses = [...response.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status)
      expect(statuses).toEqual([...before.matchAll(/GET/g)].map(() => '200').concat('400'))
      expect(response).toMatch(
        /x-request-id: req_\w+\r\n[^{]*\{"error":\{"type":"bad_request"[^{}]*\}\}$/,
      )
    }
  })

  it('headers that are too large get a 431; for HEAD without a body', async () => {
    const request = (method: string) =>
      sendRaw(`${method} /v1/cards?q=${'y'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`)
    const response = await request('GET')
    expect(response).toMatch(/^HTTP\/1\.1 431 /)
    expect(response).toMatch(/x-request-id: req_/)
    expect(response).toContain('"type":"headers_too_large"')
    const head = await request('HEAD')
    expect(head).toMatch(/^HTTP\/1\.1 431 [\s\S]*\r\n\r\n$/)
    expect(head).toMatch(/x-request-id: req_/)
  })

  it('requests that are answered before they are read are counted by status', async () => {
    const counted = async (status: number) => {
      const { text } = await app.operator.get('/metrics')
      return sampleValue(text, `cardstall_http_unreadable_requests_total{status="${status}"}`)!
    }
    const before = [await counted(400), await counted(431)]
    await sendRaw('hello\r\n\r\n')
    await sendRaw(`GET /?q=${'y'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`)
    expect([await counted(400), await counted(431)]).toEqual(before.map((count) => count + 1))
  })

  it('an unknown Expect header gets a 417 as a JSON error with a request id', async () => {
    const response = await sendRaw(
      'POST /operator/v1/accounts HTTP/1.1\r\nhost: x\r\nexpect: a-miracle\r\ncontent-length: 2\r\n\r\n',
    )
    expect(response).toMatch(/^HTTP\/1\.1 417 /)
    expect(response).toMatch(/x-request-id: req_/)
    expect(response).toMatch(/connection: close/)
    expect(response).toContain('"type":"expectation_failed"')
  })
})

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { pageExample } from '../../server/http/paginate.ts'
import { exampleReview } from '../../server/http/shapes/review.ts'
import { describedResponses } from '../../server/test/described-responses.ts'
import { DESCRIPTIONS } from '../../server/test/descriptions.ts'
import { seededRandom } from '../random.ts'
import { faultsOfResponse } from './checks.ts'
import { parseResponse, type Response } from './client.ts'
import { dashboardOperations } from './dashboard.ts'
import { createGenerator } from './generate.ts'
import { attack } from './hostile.ts'
import { createMemory } from './memory.ts'
import { type Operation, operationsOf } from './operations.ts'
import { marketOperations } from './pages.ts'
import { consentOperations, oauthOperations } from './programs.ts'
import { bytesOf, commandFor, type Request } from './request.ts'
import { shrink } from './shrink.ts'

const read = (path: string) => {
  const { file } = DESCRIPTIONS.find((description) => description.path === path)!
  return JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'))
}
const operations = [
  ...DESCRIPTIONS.flatMap(({ path, credential }) => operationsOf(read(path), credential)),
  ...(await dashboardOperations()),
  ...oauthOperations(),
  ...consentOperations(),
  ...marketOperations(),
]
const operation = (id: string): Operation => operations.find((operation) => operation.id === id)!

/** Generates requests without sending them. */
function sentBy(seed: number, count: number): Buffer[] {
  const random = seededRandom(seed)
  const memory = createMemory()
  memory.addSeller({ accountId: 1, key: 'svc_live_key' })
  const credentials = {
    operatorToken: 'token',
    receiverUrl: 'http://localhost:1',
    origin: 'http://localhost:2',
    members: [{ accountId: 1, cookie: 'cardstall=session' }],
    programs: [{ accountId: 1, clientId: 'client', token: 'token' }],
  }
  const { valid, nearlyValid } = createGenerator(memory, random, credentials)
  return Array.from({ length: count }, (_, i) => {
    if (i % 5 === 0) {
      const { parts } = attack(random, { seller: 'svc_live_key', operator: 'token' })
      return Buffer.concat(parts)
    }
    return bytesOf((i % 2 ? valid : nearlyValid)(random.pick(operations)))
  })
}

describe('the generator of the fuzzer', () => {
  it('the same seed makes the same requests, and a different seed makes different ones', () => {
    expect(Buffer.concat(sentBy(1, 300)).equals(Buffer.concat(sentBy(1, 300)))).toBe(true)
    expect(Buffer.concat(sentBy(1, 300)).equals(Buffer.concat(sentBy(2, 300)))).toBe(false)
  })

  it('the generator reaches every operation of the APIs', () => {
    const lines = sentBy(1, 3_000).map((bytes) => bytes.toString('latin1').split(' HTTP/1.1')[0]!)
    const missing = operations.filter(({ method, path }) => {
      const pattern = new RegExp(`^${method} ${path.replaceAll(/\{\w+\}/g, '[^/]+')}(\\?|$)`)
      return !lines.some((line) => pattern.test(line))
    })
    expect(missing).toEqual([])
  })
})

const VALID_RESPONSE: Response = {
  status: 404,
  headers: {
    'x-request-id': 'req_1',
    'x-content-type-options': 'nosniff',
    'content-type': 'application/json; charset=utf-8',
    'x-ratelimit-limit': '600',
    'x-ratelimit-remaining': '599',
    'x-ratelimit-reset': '1772789400',
  },
  body: Buffer.from('{"error":{"type":"not_found","message":"There is no such record."}}'),
}
const REQUEST: Request = {
  method: 'GET',
  target: '/v1/orders/1',
  headers: [],
  operation: operation('getOrder'),
  ids: {},
  hasValidKey: true,
}

describe('the checks of the fuzzer', () => {
  const described = describedResponses(async (path) => read(path))
  const faultsOf = (response: Response, request = REQUEST, memory = createMemory()) =>
    faultsOfResponse(request, response, memory, 0, described)
  const without = (name: string) => ({
    ...VALID_RESPONSE,
    headers: { ...VALID_RESPONSE.headers, [name]: '' },
  })
  const body = (value: unknown) => ({ ...VALID_RESPONSE, body: Buffer.from(JSON.stringify(value)) })

  it('a complete error response passes the checks', async () => {
    expect(await faultsOf(VALID_RESPONSE)).toEqual([])
  })

  it.each<[name: string, response: Response, fault: RegExp]>([
    ['a 5xx', { ...VALID_RESPONSE, status: 503 }, /status is 503/],
    ['a missing X-Request-Id', without('x-request-id'), /X-Request-Id/],
    ['a missing X-Content-Type-Options', without('x-content-type-options'), /nosniff/],
    ['an error that is not JSON', without('content-type'), /Content-Type/],
    ['an error without a body', { ...VALID_RESPONSE, body: Buffer.alloc(0) }, /envelope/],
    ['a missing envelope', body({ message: 'no' }), /envelope/],
    [
      'a key next to the envelope',
      body({ error: { type: 'not_found', message: 'x' }, at: 1 }),
      /at/,
    ],
    [
      'an error type of another status',
      body({ error: { type: 'conflict', message: 'x' } }),
      /conflict/,
    ],
    [
      'fields on an error without fields',
      body({ error: { type: 'not_found', message: 'x', fields: {} } }),
      /fields/,
    ],
    ['a missing rate limit', without('x-ratelimit-reset'), /x-ratelimit-reset/],
    ['an undocumented status', { ...VALID_RESPONSE, status: 418 }, /not describe 418/],
    [
      'a success with a missing field',
      { ...body({ data: {} }), status: 200 },
      /not match its description/,
    ],
  ])('the checks report %s', async (name, response, fault) => {
    // A 404 may precede the rate limit; every other status follows it.
    const counted = name === 'a missing rate limit' ? { ...response, status: 403 } : response
    expect((await faultsOf(counted)).join(' ')).toMatch(fault)
  })

  it('a field that no part of an intersection has does not match its schema', () => {
    const { mismatch } = operation('GET /dashboard/api/reviews')
    const review = { ...exampleReview, can_reply: true }
    const page = { ...pageExample('/dashboard/api/reviews', [review]), rating: 4.5, reviews: 1 }
    expect(mismatch?.(200, page)).toBe(null)
    page.data.push({ ...review, secret: 1 })
    expect(mismatch?.(200, page)).toMatch(/additional|unevaluated/)
  })

  it('the checks report a page with a script, but not the data of an item for search engines', async () => {
    const headers = { ...VALID_RESPONSE.headers, 'content-type': 'text/html; charset=utf-8' }
    const request = {
      ...REQUEST,
      target: '/shops/misty',
      operation: operation('GET /shops/{slug}'),
    }
    const shown = (script: string) =>
      faultsOf({ status: 200, headers, body: Buffer.from(`<h1>Misty</h1>${script}`) }, request)
    expect(await shown('<script type="application/ld+json">{}</script>')).toEqual([])
    expect(await shown('<p><script>alert(1)</script>')).toEqual(['The page has a script.'])
  })

  it('the checks report a 502 while the carrier works', async () => {
    const failing: Response = {
      ...body({ error: { type: 'provider_error', message: 'The carrier failed.' } }),
      status: 502,
    }
    const label: Request = {
      ...REQUEST,
      method: 'POST',
      target: '/v1/orders/1/label',
      operation: operation('buyLabel'),
    }
    expect((await faultsOf(failing, label)).join()).toMatch(/status is 502/)
    const memory = { ...createMemory(), carrierFailedAt: Number.POSITIVE_INFINITY }
    expect(await faultsOf(failing, label, memory)).toEqual([])
  })
})

describe('the client of the fuzzer', () => {
  const parse = (text: string, method = 'GET', isClosed = false) =>
    parseResponse(Buffer.from(text), method, isClosed)

  it('the parser separates a response from the bytes after it', () => {
    const text = 'HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 2\r\n\r\nokHTTP'
    const { response, length } = parse(text)!
    expect(response).toMatchObject({ status: 200, headers: { 'x-a': '1, 2' } })
    expect(response.body.toString()).toBe('ok')
    expect(text.slice(length)).toBe('HTTP')
  })

  it('the parser joins chunks, and reads no body after HEAD', () => {
    const text = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'
    expect(parse(text)!.response.body.toString()).toBe('ok')
    expect(
      parse('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n', 'HEAD')!.response.body,
    ).toHaveLength(0)
  })

  it('the parser decompresses a body', () => {
    const sent = gzipSync('ok')
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${sent.length}\r\n\r\n`
    const bytes = Buffer.concat([Buffer.from(head), sent])
    expect(parseResponse(bytes, 'GET', false)!.response.body.toString()).toBe('ok')
  })

  it('the parser waits for missing bytes, and rejects bytes that are not a response', () => {
    expect(parse('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok')).toBeUndefined()
    expect(() => parse('<html>')).toThrow('no HTTP')
    expect(() => parse('HTTP/1.1 200 OK\r\nX A: 1\r\n\r\n')).toThrow('no header')
  })
})

describe('the reproduction of a failure', () => {
  it('the reproduction is a shell command that sends exactly the same bytes', () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
    const [print] = commandFor(bytes, 1).split(' | nc ')
    expect(spawnSync('sh', ['-c', print!]).stdout.equals(bytes)).toBe(true)
  })

  it('shrinking keeps only the parts of a request that make it fail', async () => {
    const request: Request = {
      ...REQUEST,
      target: '/v1/orders/1?a=1&b=2&c=3',
      headers: [
        ['A', '1'],
        ['B', '2'],
      ],
      body: Buffer.from('{"x":[1,{"wrong":true,"y":2}],"z":"a long text that does not matter"}'),
    }
    const smallest = await shrink(
      request,
      async ({ headers, body }) =>
        headers.some(([name]) => name === 'B') && String(body).includes('wrong'),
    )
    expect(smallest).toMatchObject({ target: '/v1/orders/1', headers: [['B', '2']] })
    expect(String(smallest.body)).toBe('{"x":[{"wrong":true}]}')
  })
})

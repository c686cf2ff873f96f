import { beforeAll, describe, expect, it } from 'vitest'
import { SCOPES } from '../../../keys/scopes.ts'
import { type Client, startTestApp, type TestApp } from '../../../test/app.ts'
import { LONGEST_SLUG } from '../../../test/catalog-fixture.ts'
import { pathOf } from '../../../test/walk.ts'

// The rules that all catalog endpoints share.

let market: TestApp
let seller: Client
beforeAll(async () => {
  market = await startTestApp({ template: 'fixture', settings: { RATE_LIMIT_READ: '10000' } })
  seller = await market.seller()
})

const LISTS = ['/v1/sets', '/v1/cards', '/v1/products']
const RECORDS = ['/v1/sets/swsh9', '/v1/cards/swsh9-1', '/v1/products/poke-ball-tin']
const ENDPOINTS = ['/v1/series', ...LISTS, ...RECORDS]

describe.each(ENDPOINTS)('GET %s', (path) => {
  it('a catalog endpoint requires a key', async () => {
    const { status, body, headers } = await market.anyone.get(path)
    expect([status, body.error.type]).toEqual([401, 'authentication_error'])
    expect(headers['www-authenticate']).toBe('Bearer')
  })

  it('a catalog endpoint requires the scope catalog:read and names it in the 403', async () => {
    const scopes = SCOPES.filter((scope) => scope !== 'catalog:read')
    const { status, body } = await (await market.seller({ scopes })).get(path)
    expect([status, body.error.type]).toEqual([403, 'authorization_error'])
    expect(body.error.message).toContain('catalog:read')
  })

  it('a catalog endpoint accepts a key with only the scope catalog:read', async () => {
    const reader = await market.seller({ scopes: ['catalog:read'] })
    expect((await reader.get(path)).status).toBe(200)
  })

  it('a catalog response is JSON and has a request id', async () => {
    const { headers } = await seller.get(path)
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(headers['x-request-id']).toMatch(/^req_/)
  })

  it('HEAD on a catalog endpoint returns the headers of GET without a body and counts as a read', async () => {
    const caller = await market.seller()
    const got = await caller.get(path)
    const head = await caller.head(path)
    expect([head.status, head.text]).toEqual([200, ''])
    expect(Object.keys(head.headers).sort()).toEqual(Object.keys(got.headers).sort())
    for (const name of ['content-type', 'content-length', 'x-ratelimit-limit']) {
      expect([name, head.headers[name]]).toEqual([name, got.headers[name]])
    }
    expect(Number(got.headers['content-length'])).toBe(Buffer.byteLength(got.text))
    // Compare only within one rate-limit window: the next minute may have begun.
    if (head.headers['x-ratelimit-reset'] === got.headers['x-ratelimit-reset']) {
      const left = [got, head].map(({ headers }) => Number(headers['x-ratelimit-remaining']))
      expect(left).toEqual([9_999, 9_998])
    }
  })

  it('an invalid HEAD request to a catalog endpoint gets the status of GET', async () => {
    expect((await market.anyone.head(path)).status).toBe(401)
    const query = path === '/v1/series' ? '?%zz' : LISTS.includes(path) ? '?page=0' : '?include=%00'
    const [head, got] = [await seller.head(path + query), await seller.get(path + query)]
    expect([head.status, head.text]).toEqual([got.status, ''])
    expect(head.headers['content-length']).toBe(got.headers['content-length'])
  })

  it('a trailing slash on a catalog endpoint changes nothing and redirects nowhere', async () => {
    const plain = await seller.get(`${path}?per_page=2&include=cards,listings`)
    const slashed = await seller.get(`${path}/?per_page=2&include=cards,listings`)
    expect([slashed.status, slashed.body]).toEqual([200, plain.body])
  })

  it('a catalog endpoint ignores unknown parameters', async () => {
    const { body } = await seller.get(path)
    const response = await seller.get(`${path}?utm_source=mail&fields[]=name&__proto__=1&x=%00`)
    expect(response.status).toBe(200)
    expect(response.body.data).toEqual(body.data)
  })

  it.each(['?q=%', '?x=%zz', '?%2=1', '?per_page=%u0041'])(
    'malformed percent-encoding in the query of a catalog endpoint gets a 404: %s',
    async (query) => {
      const { status, body } = await seller.get(path + query)
      expect([status, body.error.type]).toEqual([404, 'not_found'])
      expect(Object.keys(body.error)).toEqual(['type', 'message'])
    },
  )
})

describe.each(['/v1/sets', '/v1/cards', '/v1/products'])('GET %s/{identifier}', (path) => {
  it.each([
    ['malformed percent-encoding', '%zz'],
    ['half of a percent-encoding', 'swsh9%2'],
    ['a lone surrogate', '%ED%A0%80'],
    ['invalid UTF-8', '%FF%FE'],
    ['the NUL character', 'swsh9%00'],
    ['the NUL character alone', '%00'],
  ])('a catalog identifier with %s gets a 404', async (_, identifier) => {
    const { status, body } = await seller.get(`${path}/${identifier}`)
    expect([status, body.error.type]).toEqual([404, 'not_found'])
    expect(Object.keys(body.error)).toEqual(['type', 'message'])
  })

  it('a key without the scope gets a 403 before the identifier is looked up', async () => {
    const stranger = await market.seller({ scopes: ['orders:read'] })
    expect((await stranger.get(`${path}/nowhere`)).status).toBe(403)
    expect((await stranger.get(`${path}/nowhere?include=%00`)).status).toBe(403)
  })

  it('a missing catalog record gets an error without links and meta', async () => {
    const { body } = await seller.get(`${path}/nowhere?page=2&per_page=7`)
    expect(Object.keys(body)).toEqual(['error'])
  })

  it('a single catalog record ignores page and per_page', async () => {
    const record = RECORDS.find((each) => each.startsWith(path))!
    const { status, body } = await seller.get(`${record}?page=0&per_page=x`)
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['data'])
  })

  it('an identifier longer than every catalog identifier gets a 404', async () => {
    const { status } = await seller.get(`${path}/${encodeURIComponent(`${LONGEST_SLUG}𠮷`)}`)
    expect(status).toBe(404)
  })
})

/** The text parameters and their maximum lengths (§8). */
const FILTERS: [path: string, name: string, limit: number][] = [
  ['/v1/sets', 'q', 100],
  ['/v1/sets', 'language', 5],
  ['/v1/sets', 'region', 5],
  ['/v1/sets', 'series', 100],
  ['/v1/sets/swsh9', 'language', 5],
  ['/v1/sets/swsh9', 'region', 5],
  ['/v1/cards', 'q', 100],
  ['/v1/cards', 'set', 100],
  ['/v1/cards', 'language', 5],
  ['/v1/cards', 'region', 5],
  ['/v1/cards', 'rarity', 50],
  ['/v1/cards/swsh9-1', 'language', 5],
  ['/v1/cards/swsh9-1', 'region', 5],
  ['/v1/products', 'q', 100],
  ['/v1/products', 'set', 100],
  ['/v1/products', 'category', 50],
]

const expectRefused = async (url: string, ...fields: string[]) => {
  const { status, body } = await seller.get(url)
  expect([status, body.error.type]).toEqual([422, 'validation_error'])
  expect(Object.keys(body.error)).toEqual(['type', 'message', 'fields'])
  expect(Object.keys(body.error.fields).sort()).toEqual(fields.sort())
  for (const messages of Object.values(body.error.fields)) {
    expect(messages).toEqual([expect.any(String)])
  }
}

it.each(FILTERS)(
  '%s?%s= has a maximum length, counted in code points, and is valid text',
  async (path, name, limit) => {
    for (const character of ['x', '𠮷']) {
      const value = encodeURIComponent(character.repeat(limit))
      const { status } = await seller.get(`${path}?${name}=${value}`)
      // There is no such set.
      expect(status).toBe(name === 'set' ? 404 : 200)
      await expectRefused(`${path}?${name}=${value}${encodeURIComponent(character)}`, name)
    }
    await expectRefused(`${path}?${name}=%00`, name)
  },
)

describe.each(RECORDS)('include on %s', (path) => {
  it.each(['%00', 'cards,%ED%A0%80'])(
    'include= with invalid text gets a 422: %s',
    async (value) => {
      await expectRefused(`${path}?include=${value}`, 'include')
    },
  )

  it('the last value of a repeated include= counts', async () => {
    const last = await seller.get(`${path}?include=listings,cards&include=nothing`)
    expect(last.body).toEqual((await seller.get(path)).body)
  })
})

describe.each(LISTS)('several invalid parameters of %s', (path) => {
  it('all invalid parameters are reported at once', async () => {
    await expectRefused(`${path}?page=abc&q=${'x'.repeat(101)}`, 'page', 'q')
    await expectRefused(`${path}?q=%00&page=0&per_page=-1`, 'page', 'q')
  })

  it('parameters are validated before an unknown set gets a 404', async () => {
    if (path !== '/v1/sets') await expectRefused(`${path}?set=nowhere&page=0`, 'page')
  })
})

describe('the last of a repeated parameter', () => {
  it('the last of a repeated parameter filters, and page links carry it', async () => {
    const { body } = await seller.get('/v1/cards?language=DE&language=FR&language=JP&per_page=1')
    expect(body.meta.total).toBe(2)
    expect(body.data[0].set.language).toBe('JP')
    expect(pathOf(body.links.next)).toBe('/v1/cards?language=JP&per_page=1&page=2')
  })
})

describe.each(['/v1/sets/nowhere', '/v1/cards/nowhere', '/v1/products/nowhere'])('%s', (path) => {
  it('an unknown catalog record gets a 404, whatever else is wrong', async () => {
    const { status, body } = await seller.get(`${path}?language=TOOLONG&region=%00&include=%00`)
    expect(status).toBe(404)
    expect(body.error.type).toBe('not_found')
  })
})

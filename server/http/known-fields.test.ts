import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, startTestApp, type TestApp } from '../test/app.ts'

let app: TestApp
let seller: Client & { accountId: number }
beforeAll(async () => {
  app = await startTestApp()
  seller = await app.seller()
})

const HEADER = 'x-ignored-fields'
const ACCOUNT = { shop_name: 'Kanto', email: 'kanto@shops.example' }

/** The X-Ignored-Fields of POST /operator/v1/accounts with this body, whether it succeeds or fails. */
const ignoredOf = async (payload: object | string): Promise<string | undefined> => {
  const headers = { 'content-type': 'application/json' }
  const { status, headers: responseHeaders } = await app.operator.post('/operator/v1/accounts', {
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    headers,
  })
  expect([201, 422]).toContain(status)
  return responseHeaders[HEADER]
}

describe('X-Ignored-Fields', () => {
  it('X-Ignored-Fields names the unknown fields of a body, on success and on error', async () => {
    const unknown = { prize: 5, shop: { name: 'x' }, slugs: [] }
    const created = await app.operator.post('/operator/v1/accounts', {
      payload: { ...ACCOUNT, ...unknown },
    })
    expect([created.status, created.headers[HEADER]]).toEqual([201, 'prize, shop, slugs'])
    expect(await ignoredOf({ ...unknown, email: 5 })).toBe('prize, shop, slugs')
  })

  it('X-Ignored-Fields names unknown fields of objects in arrays with their index', async () => {
    const items = [{}, { price: 1 }, { sku: 1, price: 1 }, { sku: 1, ean: 2 }, 'sku']
    const { status, headers } = await seller.post('/v1/listings', { payload: { items, x: 1 } })
    expect([status, headers[HEADER]]).toEqual([200, 'items.2.sku, items.3.sku, items.3.ean, x'])
    expect(await ignoredOf({ shipping_options: [{ code: 'a', cost: 1 }] })).toBe(
      'shipping_options.0.cost',
    )
    const { headers: responseHeaders } = await app.operator.post('/operator/v1/checkouts', {
      payload: { address: { planet: 'Earth' }, buyer: { age: 5 }, lines: [{ sku: 1 }] },
    })
    expect(responseHeaders[HEADER]).toBe('buyer.age, address.planet, lines.0.sku')
  })

  it('X-Ignored-Fields names the immutable fields of a PATCH of a listing', async () => {
    const payload = { price: 3, condition: 'NM', language: 'EN', printing: 'holo', photos: [] }
    const { headers } = await seller.patch('/v1/listings/999999', { payload })
    expect(headers[HEADER]).toBe('condition, language, printing, photos')
  })

  it('X-Ignored-Fields names every field sent to an operation that reads none', async () => {
    const { headers } = await app.operator.post('/operator/v1/orders/1/receive', {
      payload: { at: 'noon' },
    })
    expect(headers[HEADER]).toBe('at')
  })

  it('X-Ignored-Fields names unknown query parameters, which page links keep', async () => {
    const { headers, body } = await seller.get('/v1/listings?stat=sold&page=1&x[]=1&stat=sold')
    expect(headers[HEADER]).toBe('stat, x%5B%5D')
    expect(body.links.first).toContain('stat=sold&x%5B%5D=1&page=1')
    expect((await seller.get('/v1/me?verbose=1')).headers[HEADER]).toBe('verbose')
    expect((await seller.get('/v1/listings?page=0&x=1')).headers[HEADER]).toBe('x')
  })

  it('a cached catalog response has X-Ignored-Fields as well', async () => {
    for (let time = 0; time < 3; time++) {
      expect((await seller.get('/v1/cards?colour=red')).headers[HEADER]).toBe('colour')
    }
  })

  it('X-Ignored-Fields leaves out the fields of cards that an item for a product has', async () => {
    const items = [{ product: 'x', condition: 'NM', printing: 'holo', language_hint: 'DE', sku: 1 }]
    const { headers } = await seller.post('/v1/listings', { payload: { items } })
    expect(headers[HEADER]).toBe('items.0.sku')
  })

  it('X-Ignored-Fields is absent when every field was read, and for empty parameters', async () => {
    const payload = { ...ACCOUNT, email: 'johto@shops.example', slug: null, rating: null }
    expect(await ignoredOf(payload)).toBeUndefined()
    expect((await seller.get('/v1/listings?page=1&sort=')).headers).not.toHaveProperty(HEADER)
    expect((await seller.get('/v1/cards')).headers).not.toHaveProperty(HEADER)
  })

  it('X-Ignored-Fields names at most twenty fields, then “...”', async () => {
    const fields = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, i]))
    const names = Object.keys(fields(20)).join(', ')
    expect(await ignoredOf(fields(20))).toBe(names)
    expect(await ignoredOf(fields(21))).toBe(`${names}, ...`)
    expect(await ignoredOf(fields(15_000))).toBe(`${names}, ...`)
    const items = Array.from({ length: 100 }, () => ({ sku: 1 }))
    const { headers } = await seller.post('/v1/listings', { payload: { items } })
    expect(headers[HEADER]).toBe(
      `${items
        .slice(0, 20)
        .map((_, i) => `items.${i}.sku`)
        .join(', ')}, ...`,
    )
  })

  it.each([
    ['line\r\nbreak: x', 'line%0D%0Abreak%3A%20x'],
    ['größe', 'gr%C3%B6%C3%9Fe'],
    ['a,b', 'a%2Cb'],
    ['a.b', 'a%2Eb'],
    ['\0', '%00'],
    ['\ud800', '%EF%BF%BD'],
    ['😀', '%F0%9F%98%80'],
    ['', ''],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['x'.repeat(64), 'x'.repeat(64)],
    ['x'.repeat(200_000), `${'x'.repeat(64)}...`],
    ['é'.repeat(100_000), `${'%C3%A9'.repeat(10)}...`],
  ])('X-Ignored-Fields encodes and truncates field names for a header: %j', async (name, shown) => {
    expect(await ignoredOf(`{${JSON.stringify(name)}:1}`)).toBe(shown)
  })
})

describe('requests', () => {
  it('__proto__ in a body cannot set a known field', async () => {
    const { body, headers } = await app.operator.post('/operator/v1/accounts', {
      payload: `{"shop_name":"x","__proto__":{"email":"x@y.example"}}`,
      headers: { 'content-type': 'application/json' },
    })
    expect(body.error.fields).toEqual({ email: ['The email field is required.'] })
    expect(headers[HEADER]).toBe('__proto__')
  })

  it('an invalid request gets at most 100 messages, first about what is too long', async () => {
    const { accountId } = seller
    const { body } = await app.operator.post(`/operator/v1/accounts/${accountId}/keys`, {
      payload: { scopes: Array(10_000).fill('x') },
    })
    expect(body.error.message).toBe('The scopes field must not have more than 1000 entries.')
    expect(Object.values(body.error.fields).flat()).toHaveLength(100)
  })
})

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

/** The header of a response to an account with these fields; the account itself is refused or created. */
const ignoredOf = async (payload: object | string): Promise<string | undefined> => {
  const headers = { 'content-type': 'application/json' }
  const { status, headers: answered } = await app.operator.post('/operator/v1/accounts', {
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    headers,
  })
  expect([201, 422]).toContain(status)
  return answered[HEADER]
}

describe('X-Ignored-Fields', () => {
  it('names the unknown fields of a body, on a success as on an error', async () => {
    const unknown = { prize: 5, shop: { name: 'x' }, slugs: [] }
    const created = await app.operator.post('/operator/v1/accounts', {
      payload: { ...ACCOUNT, ...unknown },
    })
    expect([created.status, created.headers[HEADER]]).toEqual([201, 'prize, shop, slugs'])
    expect(await ignoredOf({ ...unknown, email: 5 })).toBe('prize, shop, slugs')
  })

  it('names unknown fields of objects in lists by their place', async () => {
    const items = [{}, { price: 1 }, { sku: 1, price: 1 }, { sku: 1, ean: 2 }, 'sku']
    const { status, headers } = await seller.post('/v1/listings', { payload: { items, x: 1 } })
    expect([status, headers[HEADER]]).toEqual([200, 'items.2.sku, items.3.sku, items.3.ean, x'])
    expect(await ignoredOf({ shipping_options: [{ code: 'a', cost: 1 }] })).toBe(
      'shipping_options.0.cost',
    )
    const { headers: answered } = await app.operator.post('/operator/v1/checkouts', {
      payload: { address: { planet: 'Earth' }, buyer: { age: 5 }, lines: [{ sku: 1 }] },
    })
    expect(answered[HEADER]).toBe('buyer.age, address.planet, lines.0.sku')
  })

  it('names what a PATCH of a listing leaves alone', async () => {
    const payload = { price: 3, condition: 'NM', language: 'EN', printing: 'holo', photos: [] }
    const { headers } = await seller.patch('/v1/listings/999999', { payload })
    expect(headers[HEADER]).toBe('condition, language, printing, photos')
  })

  it('names every field sent to an operation that reads none', async () => {
    const { headers } = await app.operator.post('/operator/v1/orders/1/receive', {
      payload: { at: 'noon' },
    })
    expect(headers[HEADER]).toBe('at')
  })

  it('names unknown query parameters, which the links of a list carry all the same', async () => {
    const { headers, body } = await seller.get('/v1/listings?stat=sold&page=1&x[]=1&stat=sold')
    expect(headers[HEADER]).toBe('stat, x%5B%5D')
    expect(body.links.first).toContain('stat=sold&x%5B%5D=1&page=1')
    expect((await seller.get('/v1/me?verbose=1')).headers[HEADER]).toBe('verbose')
    expect((await seller.get('/v1/listings?page=0&x=1')).headers[HEADER]).toBe('x')
  })

  it('is the same on a catalog response that was kept', async () => {
    for (let time = 0; time < 3; time++) {
      expect((await seller.get('/v1/cards?colour=red')).headers[HEADER]).toBe('colour')
    }
  })

  it('is absent when everything was read, and for empty parameters', async () => {
    const payload = { ...ACCOUNT, email: 'johto@shops.example', slug: null, rating: null }
    expect(await ignoredOf(payload)).toBeUndefined()
    expect((await seller.get('/v1/listings?page=1&sort=')).headers).not.toHaveProperty(HEADER)
    expect((await seller.get('/v1/cards')).headers).not.toHaveProperty(HEADER)
  })

  it('names twenty fields at most, and then says that there are more', async () => {
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
  ])('encodes and shortens names that a header cannot hold: %j', async (name, shown) => {
    expect(await ignoredOf(`{${JSON.stringify(name)}:1}`)).toBe(shown)
  })
})

describe('a request', () => {
  it('cannot set a known field through __proto__', async () => {
    const { body, headers } = await app.operator.post('/operator/v1/accounts', {
      payload: `{"shop_name":"x","__proto__":{"email":"x@y.example"}}`,
      headers: { 'content-type': 'application/json' },
    })
    expect(body.error.fields).toEqual({ email: ['The email field is required.'] })
    expect(headers[HEADER]).toBe('__proto__')
  })

  it('gets at most 100 messages, the first of them on what is too long', async () => {
    const { accountId } = seller
    const { body } = await app.operator.post(`/operator/v1/accounts/${accountId}/keys`, {
      payload: { scopes: Array(10_000).fill('x') },
    })
    expect(body.error.message).toBe('The scopes field must not have more than 1000 entries.')
    expect(Object.values(body.error.fields).flat()).toHaveLength(100)
  })
})

import { beforeAll, describe, expect, it } from 'vitest'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { CARDS, importRecords } from '../test/catalog-fixture.ts'
import { DESCRIPTIONS } from '../test/descriptions.ts'

let app: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', rateLimitTime: () => 0 })
  seller = await app.seller()
})

const CARD = `/v1/cards/${CARDS[0]!.id}`
const CATALOG = [
  '/v1/series',
  '/v1/sets?per_page=1',
  '/v1/sets/sv3?include=cards,products',
  '/v1/cards?q=char',
  CARD,
  `${CARD}?include=listings`,
  '/v1/products',
]
const CACHEABLE = { 'cache-control': 'private, max-age=0', 'x-content-type-options': 'nosniff' }
const PRIVATE = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

describe('response headers', () => {
  it('the 401 of every operation has no-store and nosniff', async () => {
    for (const { path: document, prefix } of DESCRIPTIONS) {
      const { paths } = (await app.anyone.get(document)).body
      for (const [path, operations] of Object.entries(paths)) {
        for (const method of Object.keys(operations as object)) {
          const url = prefix + path.replace(/\{\w+\}/g, '1')
          const response = await app.app.inject({ method: method as 'GET', url })
          expect(response, `${method} ${url}`).toMatchObject({ statusCode: 401, headers: PRIVATE })
        }
      }
    }
  })

  it('authenticated responses have no-store, except catalog data', async () => {
    for (const path of ['/v1/me', '/v1/listings', '/v1/orders', '/v1/webhooks']) {
      expect(await seller.get(path), path).toMatchObject({ status: 200, headers: PRIVATE })
    }
    expect((await app.operator.get('/operator/v1/accounts')).headers).toMatchObject(PRIVATE)
    for (const path of ['/v1/cards/nothing', '/v1/cards?page=0', '/v1/sets/nothing']) {
      const { headers } = await seller.get(path)
      expect(headers, path).toMatchObject(PRIVATE)
      expect(headers, path).not.toHaveProperty('etag')
    }
  })

  it('the health and the metrics of the service have no-store', async () => {
    for (const path of ['/health/live', '/health/ready', '/metrics']) {
      expect(await app.operator.get(path), path).toMatchObject({ status: 200, headers: PRIVATE })
    }
  })

  it('responses outside the APIs have nosniff', async () => {
    for (const url of [
      '/',
      '/nothing',
      '/v1/nothing',
      '/%',
      '/health/live',
      '/docs',
      '/openapi.json',
    ]) {
      expect((await app.app.inject(url)).headers['x-content-type-options'], url).toBe('nosniff')
    }
  })
})

describe('caching of catalog data', () => {
  it.each(CATALOG)(
    'catalog data has an ETag for which If-None-Match gets a 304: %s',
    async (path) => {
      const first = await seller.get(path)
      expect(first).toMatchObject({ status: 200, headers: CACHEABLE })
      const { etag } = first.headers as { etag: string }
      expect(etag).toMatch(/^"[\w-]{22,}"$/)
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const { status, text, headers } = await seller.get(path, {
          headers: { 'if-none-match': known },
        })
        expect([status, text, headers.etag], known).toEqual([304, '', etag])
        expect(headers).toMatchObject(CACHEABLE)
        expect(headers).not.toHaveProperty('content-type')
      }
      for (const known of ['"other"', etag.slice(1, -1), `${etag}x`]) {
        const again = await seller.get(path, { headers: { 'if-none-match': known } })
        expect([again.status, again.text, again.headers.etag]).toEqual([200, first.text, etag])
      }
    },
  )

  it('HEAD returns the ETag of catalog data and supports If-None-Match', async () => {
    const { headers: shown, text } = await seller.get(CARD)
    const { etag } = shown as { etag: string }
    expect(await seller.head(CARD)).toMatchObject({ status: 200, headers: { ...CACHEABLE, etag } })
    const headers = { 'if-none-match': etag }
    const unchanged = await seller.head(CARD, { headers })
    expect(unchanged).toMatchObject({ status: 304, text: '', headers: { etag } })
    expect(unchanged.headers['content-length']).toBe(String(Buffer.byteLength(text)))
    expect((await seller.get(CARD, { headers })).headers).not.toHaveProperty('content-length')
  })

  it('a 304 counts as a read and still requires the key and the scope', async () => {
    const headers = { 'if-none-match': '*' }
    const reader = await app.seller()
    const left = async () => (await reader.get(CARD, { headers })).headers['x-ratelimit-remaining']
    const before = Number(await left())
    expect(Number(await left())).toBe(before - 1)
    expect((await app.anyone.get(CARD, { headers })).status).toBe(401)
    const narrow = await app.seller({ scopes: ['orders:read'] })
    expect((await narrow.get(CARD, { headers })).status).toBe(403)
  })

  it('catalog responses have one ETag per body, the same in every process', async () => {
    const paths = [
      ...CATALOG,
      ...CARDS.map(({ id }) => `/v1/cards/${id}`),
      '/v1/cards?q=char&page=2',
      '/v1/cards?q=char&x=1',
      '/v1/sets?per_page=2',
    ]
    const tags = new Set<string>()
    const bodies = new Set<string>()
    const other = await startTestApp({ databaseUrl: app.databaseUrl })
    for (const path of paths) {
      const { headers, text } = await seller.get(path)
      tags.add(headers.etag!)
      bodies.add(text)
      expect((await other.withKey(seller.key).get(path)).headers.etag).toBe(headers.etag)
    }
    expect(tags.size).toBe(bodies.size)
  })

  it('the ETag of a card with listings changes with its listings', async () => {
    const path = `${CARD}?include=listings`
    const tagNow = async () => (await seller.get(path)).headers.etag
    const without = await tagNow()
    const { body } = await seller.post('/v1/listings', {
      payload: {
        items: [{ card: CARDS[0]!.id, condition: 'NM', language: 'EN', price: 2, quantity: 3 }],
      },
    })
    const { id } = body.results[0].listing
    const listed = await tagNow()
    await seller.patch(`/v1/listings/${id}`, { payload: { price: 2.01 } })
    const changed = await tagNow()
    expect(new Set([without, listed, changed]).size).toBe(3)
    const headers = { 'if-none-match': changed! }
    expect((await seller.get(path, { headers })).status).toBe(304)
    await seller.delete(`/v1/listings/${id}`)
    expect((await seller.get(path, { headers })).headers.etag).toBe(without)
  })

  it('the ETag of catalog data changes after an import that changes it', async () => {
    const page = `/v1/cards?set=${CARDS[0]!.set_id}`
    const tagOfPage = async () => (await seller.get(page)).headers.etag
    const before = (await seller.get(CARD)).headers.etag
    const beforeOfPage = await tagOfPage()
    await importRecords(app.operator, [{ ...CARDS[0], name: 'Renamed' }])
    const { status, headers, body } = await seller.get(CARD, {
      headers: { 'if-none-match': before! },
    })
    expect([status, body.data.name]).toEqual([200, 'Renamed'])
    expect(headers.etag).not.toBe(before)
    expect(await tagOfPage()).not.toBe(beforeOfPage)
  })
})

import type { AddressInfo } from 'node:net'
import { beforeAll, expect, it } from 'vitest'
import { raiseVersion } from '../../catalog/import/save-records.ts'
import { waitAtFence } from '../../database/advisory-lock.ts'
import { type Client, startTestApp, type TestApp } from '../../test/app.ts'
import { CARDS, importRecords, PRODUCTS, SETS } from '../../test/catalog-fixture.ts'
import {
  cardItem,
  createListings,
  list,
  NO_LIMITS,
  productItem,
} from '../../test/fixtures/listings.ts'
import { call } from '../../test/fixtures/mcp.ts'
import { buy, openShop } from '../../test/fixtures/orders.ts'
import { untilLockWaiters } from '../../test/lock-waiters.ts'
import { until } from '../../test/until.ts'

let app: TestApp
/** Another process on the same database. */
let other: TestApp
let origin: string
let seller: Client & { key: string; accountId: number }
/** Two cards and a product that get hidden, and a card that doesn't. */
let listings: number[]
beforeAll(async () => {
  const settings = { ...NO_LIMITS, MCP_PUBLIC_RATE: '100000' }
  app = await startTestApp({ template: 'fixture', settings })
  other = await startTestApp({ databaseUrl: app.databaseUrl, settings })
  await app.app.listen({ port: 0, host: '127.0.0.1' })
  origin = `http://127.0.0.1:${(app.app.server.address() as AddressInfo).port}`
  seller = await openShop(app)
  listings = await list(
    seller,
    cardItem({ card: 'swsh9-2' }),
    cardItem({ card: 'cel25-2' }),
    productItem({ product: 'poke-ball-tin' }),
    cardItem({ card: 'swsh9-1' }),
  )
})

const put = (payload: object) => app.operator.put('/operator/v1/catalog/visibility', { payload })

/** Every kind of record, with and without a set. The set has a card and two products. */
const visibility = (visible: boolean) => ({
  sets: { cel25: visible },
  cards: { 'swsh9-2': visible, 'swsh9-de-1': visible },
  products: { 'poke-ball-tin': visible, 'brilliant-stars-booster-box': visible },
})

/** The ids and slugs of everything that this hides. */
const HIDDEN =
  /(swsh9-2|swsh9-de-1|cel25|cel25-2|poke-ball-tin|brilliant-stars-booster-box|celebrations-mini-tin-\d)(?![-\w])/

const HIDDEN_RECORDS = [
  '/v1/cards/swsh9-2',
  '/v1/cards/brs_2',
  '/v1/cards/swsh9-2?include=listings',
  '/v1/cards/swsh9-de-1',
  '/v1/cards/cel25-2',
  '/v1/cards?set=cel25',
  '/v1/sets/cel25',
  '/v1/sets/cel25?include=cards,products',
  '/v1/products?set=cel25',
  '/v1/products/poke-ball-tin',
  '/v1/products/poke-ball-tin?include=listings',
  '/v1/products/brilliant-stars-booster-box',
  '/v1/products/celebrations-mini-tin-1',
]
const HIDDEN_PAGES = [
  '/cards/swsh9-2',
  '/cards/cel25-2',
  '/sets/cel25',
  '/products/poke-ball-tin',
  '/products/celebrations-mini-tin-2',
]
const LISTS = [
  '/v1/series',
  '/v1/sets?per_page=100',
  '/v1/sets?q=celebrations',
  '/v1/sets/swsh9',
  '/v1/sets/swsh9?include=cards,products',
  '/v1/cards?per_page=100',
  '/v1/cards?q=exeggutor',
  '/v1/cards?q=reshiram',
  '/v1/cards?q=brs+2',
  '/v1/cards?set=swsh9',
  '/v1/products?per_page=100',
  '/v1/products?q=tin',
]
const PAGES = [
  '/',
  '/sets/swsh9',
  '/cards/swsh9-1',
  '/search?q=exeggutor',
  '/search?q=tin',
  '/sitemaps/catalog-1.xml',
]

type Read = { status: number; tag: string | null; text: string }

/** A read in one process, by the ordinary path. */
async function readOf(client: Client, url: string): Promise<Read> {
  const { status, headers, text } = await client.get(url)
  return { status, tag: headers.etag ?? null, text }
}

/** A read over a connection, so that the fast lane responds where it can. */
async function fastRead(url: string): Promise<Read> {
  const headers = { authorization: `Bearer ${seller.key}` }
  const response = await fetch(origin + url, { headers })
  return {
    status: response.status,
    tag: response.headers.get('etag'),
    text: await response.text(),
  }
}

/** All reads by their URLs, each twice: the second may come from a cache. */
async function everything(): Promise<Map<string, Read>> {
  const reads = new Map<string, Read>()
  for (const url of [...HIDDEN_RECORDS, ...LISTS]) {
    for (const place of ['first', 'again']) {
      reads.set(`${place} ${url}`, await readOf(seller, url))
      reads.set(`${place} fast ${url}`, await fastRead(url))
    }
  }
  for (const url of [...HIDDEN_PAGES, ...PAGES]) reads.set(url, await readOf(app.anyone, url))
  return reads
}

const idsFound = async (q: string) => {
  const { object } = await call(app, '/mcp', 'search_cards', { q })
  return object.data.map(({ id }: { id: string }) => id)
}

const ownListings = async () => [
  await readOf(seller, '/v1/listings'),
  await readOf(seller, '/tools/v1/listings'),
]

it('hidden records are on no read path and come back byte for byte', async () => {
  const before = await everything()
  for (const [name, { status }] of before) expect(status, name).toBe(200)
  const own = await ownListings()
  expect((await seller.get('/v1/sets/cel')).status).toBe(409)

  const hiding = await put(visibility(false))
  expect(hiding.status).toBe(200)
  expect(hiding.body.data).toEqual({ changed: 5, ...visibility(false) })

  const meanwhile = await everything()
  for (const [name, { status, text }] of meanwhile) {
    const isGone = [...HIDDEN_RECORDS, ...HIDDEN_PAGES].some((url) => name.endsWith(url))
    expect(status, name).toBe(isGone ? 404 : 200)
    if (!isGone) expect(text, name).not.toMatch(HIDDEN)
  }
  const dataOf = async (url: string) => (await seller.get(url)).body
  const totals = await Promise.all(
    ['cards', 'sets', 'products'].map(async (kind) => (await dataOf(`/v1/${kind}`)).meta.total),
  )
  expect(totals).toEqual([CARDS.length - 3, SETS.length - 1, PRODUCTS.length - 4])
  expect((await dataOf('/v1/sets/swsh9')).data).toMatchObject({ cards_count: 2, products_count: 1 })
  const sword = (await dataOf('/v1/series')).data.find(
    ({ name }: { name: string }) => name === 'Sword & Shield',
  )
  const setsOfSword = SETS.filter(({ series }) => series === 'Sword & Shield')
  expect(sword.sets_count).toBe(setsOfSword.length - 1)
  // An identifier that several records share means the visible one.
  expect((await dataOf('/v1/sets/cel')).data.id).toBe('cel25c')
  expect((await dataOf('/v1/cards/brs_1')).data.id).toBe('swsh9-1')
  expect(await idsFound('exeggutor')).not.toContain('swsh9-2')

  // Listings: the existing ones stay as they were for their seller, new ones are refused.
  expect(await ownListings()).toEqual(own)
  const { body } = await createListings(seller, [
    cardItem({ card: 'swsh9-2' }),
    cardItem({ card: 'cel25-2' }),
    productItem({ product: 'poke-ball-tin' }),
    cardItem({ card: 'never-existed' }),
  ])
  expect(body.results.map(({ errors }: { errors: object }) => errors)).toEqual([
    { card: ['There is no card "swsh9-2".'] },
    { card: ['There is no card "cel25-2".'] },
    { product: ['There is no sealed product "poke-ball-tin".'] },
    { card: ['There is no card "never-existed".'] },
  ])
  const shop = (await seller.get('/v1/me')).body.data.slug
  const shopPage = (await app.anyone.get(`/shops/${shop}`)).text
  expect(shopPage).toContain('/cards/swsh9-1"')
  expect(shopPage).not.toMatch(/Exeggutor|\/cards\/swsh9-2|\/products\/poke-ball-tin/)

  // The other process follows, and a process that starts now has the same data.
  const elsewhere = other.withKey(seller.key)
  await until('the other process hides the card', async () => {
    return (await elsewhere.get('/v1/cards/swsh9-2')).status === 404
  })
  const started = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
  for (const url of [...HIDDEN_RECORDS, ...LISTS]) {
    const { status, tag, text } = meanwhile.get(`first ${url}`)!
    for (const client of [elsewhere, started.withKey(seller.key)]) {
      const read = await readOf(client, url)
      expect(read.status, url).toBe(status)
      if (status === 200) expect(read, url).toEqual({ status, tag, text })
    }
  }

  expect((await put(visibility(true))).body.data.changed).toBe(5)
  expect(await everything()).toEqual(before)
  expect(await ownListings()).toEqual(own)
  expect(await idsFound('exeggutor')).toContain('swsh9-2')
})

it('a checkout sells existing listings of hidden records', async () => {
  await put(visibility(false))
  // The next snapshot of the catalog is built from the one with hidden records.
  await put({ cards: { 'np-1': false } })
  await put({ cards: { 'np-1': true } })
  const { data } = (await seller.get('/v1/listings')).body
  expect(data.map(({ listable }: { listable: { id: string } }) => listable?.id)).toEqual([
    'swsh9-1',
    'poke-ball-tin',
    'cel25-2',
    'swsh9-2',
  ])
  const { orderIds } = await buy(
    app,
    listings.map((id) => [id, 1]),
  )
  const names = await Promise.all(
    orderIds.map(async (id) => JSON.stringify((await seller.get(`/v1/orders/${id}`)).body.data)),
  )
  for (const name of ['Exeggutor', 'Reshiram', 'Poké Ball Tin', 'Exeggcute']) {
    expect(
      names.some((order) => order.includes(name)),
      name,
    ).toBe(true)
  }
  const patched = await seller.patch(`/v1/listings/${listings[0]}`, { payload: { quantity: 9 } })
  expect(patched.body.data).toMatchObject({ quantity: 9, listable: { id: 'swsh9-2' } })
  await put(visibility(true))
})

it('a card keeps its own visibility while its set is hidden', async () => {
  const statuses = async () => [
    (await seller.get('/v1/cards/cel25-2')).status,
    (await seller.get('/v1/sets/cel25')).status,
  ]
  await put({ sets: { cel25: false }, cards: { 'cel25-2': false } })
  expect(await statuses()).toEqual([404, 404])
  await put({ sets: { cel25: true } })
  expect(await statuses()).toEqual([404, 200])
  await put({ cards: { 'cel25-2': true } })
  expect(await statuses()).toEqual([200, 200])
})

it('an import hides and shows records, and leaves those without visible as they are', async () => {
  const card = CARDS.find(({ id }) => id === 'swsh9-2')!
  const set = SETS.find(({ id }) => id === 'cel25')!
  const product = PRODUCTS.find(({ slug }) => slug === 'poke-ball-tin')!
  const statuses = () =>
    Promise.all(
      ['/v1/cards/swsh9-2', '/v1/sets/cel25', '/v1/products/poke-ball-tin'].map(
        async (url) => (await seller.get(url)).status,
      ),
    )
  const importAll = (more: object) =>
    importRecords(
      app.operator,
      [card, set, product].map((record) => ({ ...record, ...more })),
    )
  await importAll({ visible: false })
  expect(await statuses()).toEqual([404, 404, 404])
  await importAll({})
  await importAll({ visible: null, name: 'Renamed' })
  expect(await statuses()).toEqual([404, 404, 404])
  await importAll({ visible: true })
  expect(await statuses()).toEqual([200, 200, 200])

  const lines = [
    { ...card, id: 'swsh9-3', number: '3', visible: false },
    { ...card, id: 'swsh9-4', number: '4' },
    { ...card, visible: 'no' },
  ]
  const { body } = await app.operator.post('/operator/v1/catalog/import', {
    headers: { 'content-type': 'application/x-ndjson' },
    payload: lines.map((line) => JSON.stringify(line)).join('\n'),
  })
  expect(body.data).toMatchObject({
    created: 2,
    errors: [{ line: 3, message: 'card swsh9-2: visible must be true or false' }],
  })
  expect((await seller.get('/v1/cards/swsh9-3')).status).toBe(404)
  expect((await seller.get('/v1/cards/swsh9-4')).status).toBe(200)
})

it('an invalid change of visibility changes nothing', async () => {
  const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`c${i}`, true]))
  const long = 'x'.repeat(100_000)
  const cases: [object, object][] = [
    [
      { cards: { 'swsh9-1': false, nobody: false }, sets: { 'a\0b': false } },
      { 'cards.nobody': ['There is no card "nobody".'], 'sets.a\0b': [expect.any(String)] },
    ],
    [
      { cards: { 'swsh9-1': false }, products: { 'swsh9-1': false } },
      { 'products.swsh9-1': [expect.any(String)] },
    ],
    [{ cards: { 'swsh9-1': 'no' } }, { 'cards.swsh9-1': [expect.any(String)] }],
    [{ cards: ['swsh9-1'] }, { cards: [expect.any(String)] }],
    [{ cards: many }, { body: [expect.stringContaining('1,000')] }],
    [JSON.parse('{"cards": {"__proto__": false}}'), { 'cards.__proto__': [expect.any(String)] }],
    [{ cards: { 'swsh9-1': false, [long]: 1 } }, expect.anything()],
    [{ cards: { 'swsh9-1': false, [long]: true } }, expect.anything()],
  ]
  for (const [payload, fields] of cases) {
    const { status, body, text } = await put(payload)
    expect(status, text.slice(0, 200)).toBe(422)
    expect(body.error.fields).toEqual(fields)
    expect(text.length).toBeLessThan(1_000)
  }
  expect((await put({})).body.data).toEqual({ changed: 0 })
  expect((await seller.get('/v1/cards/swsh9-1')).status).toBe(200)
})

it('a change of visibility waits for the batch of an import, because it would miss its records otherwise', async () => {
  const { db, begin, catalog } = app.ctx
  const { putting } = await begin(async (tx) => {
    await waitAtFence(tx, 'import')
    // A batch takes the next version for a product without a set, and raises the catalog's version at its end.
    await tx`
      update products
      set name = 'Renamed Pack', version = catalog_version.version + 1
      from catalog_version
      where slug = 'another-promo-pack'
    `
    const putting = put({ products: { 'poke-ball-tin': false } })
    await Promise.race([untilLockWaiters(db), putting])
    await raiseVersion(tx, [])
    return { putting }
  }, 'write')
  expect((await putting).status).toBe(200)
  await catalog.refresh()
  const { body } = await seller.get('/v1/products/another-promo-pack')
  expect(body.data.name).toBe('Renamed Pack')
  expect((await seller.get('/v1/products/poke-ball-tin')).status).toBe(404)
  await put({ products: { 'poke-ball-tin': true } })
})

it('the audit log names the records of a change', async () => {
  await put({ cards: { 'sv3-1': false } })
  await put({ cards: { 'sv3-1': true } })
  const { body } = await app.operator.get('/operator/v1/audit?action=changeVisibility&per_page=2')
  expect(body.data.map(({ after }: { after: object }) => after)).toEqual([
    { changed: 1, cards: { 'sv3-1': true } },
    { changed: 1, cards: { 'sv3-1': false } },
  ])
})

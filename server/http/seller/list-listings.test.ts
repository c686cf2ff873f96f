import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, startTestApp, type TestApp } from '../../test/app.ts'
import { idsOf } from '../../test/catalog-fixture.ts'
import {
  advance,
  cardItem,
  changeAccount,
  gradedItem,
  hold,
  list,
  NO_LIMITS,
  productItem,
} from '../../test/fixtures/listings.ts'

/** The fields of every listing (§2.6) as its owner sees it. */
const LISTING_KEYS = [
  ...['id', 'price', 'currency', 'condition', 'language', 'printing', 'graded'],
  ...['quantity_available', 'description', 'photos', 'seller'],
  ...['status', 'quantity', 'listable', 'created_at', 'updated_at'],
]
const MARKETPLACE_URL = 'https://market.example/tcg'
const WHOLE_SECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({
    template: 'fixture',
    settings: { ...NO_LIMITS, MARKETPLACE_URL },
    rateLimitTime: () => 0,
  })
})

const found = async (seller: Client, query: string): Promise<number[]> => {
  const { status, body, text } = await seller.get(`/v1/listings?per_page=100&${query}`)
  expect(status, text).toBe(200)
  expect(body.meta.total).toBe(body.data.length)
  return body.data.map(({ id }: { id: number }) => id)
}

describe('GET /v1/listings', () => {
  it('GET /v1/listings lists only the caller’s listings, newest first', async () => {
    const [first, second, none] = [await app.seller(), await app.seller(), await app.seller()]
    const ours = await list(first, cardItem(), productItem())
    const theirs = await list(second, cardItem())
    ours.push(...(await list(first, gradedItem())))
    expect(await found(first, '')).toEqual(ours.toReversed())
    expect(await found(second, '')).toEqual(theirs)
    expect(await found(none, '')).toEqual([])
  })

  it('GET /v1/listings lists every status, even without a verified payout', async () => {
    const seller = await app.seller()
    const ids = await list(seller, cardItem(), cardItem(), cardItem())
    await seller.patch(`/v1/listings/${ids[0]}`, { payload: { status: 'hidden' } })
    await seller.patch(`/v1/listings/${ids[1]}`, { payload: { quantity: 0 } })
    await changeAccount(app, seller.accountId, { payout_verified: false })
    const { body } = await seller.get('/v1/listings')
    expect(body.data.map(({ status }: { status: string }) => status)).toEqual([
      'active',
      'sold',
      'hidden',
    ])
  })

  it('GET /v1/listings without the scope listings:read returns 403', async () => {
    const writer = await app.seller({ scopes: ['listings:write', 'catalog:read'] })
    const { status, body } = await writer.get('/v1/listings?status=removed')
    expect([status, body.error.type]).toEqual([403, 'authorization_error'])
    expect(body.error.message).toContain('listings:read')
    const reader = await app.seller({ scopes: ['listings:read'] })
    expect((await reader.get('/v1/listings')).status).toBe(200)
  })

  it('GET /v1/listings works with a trailing slash and as HEAD, each of which counts as a read', async () => {
    const seller = await app.seller()
    await list(seller, cardItem())
    const { text, headers } = await seller.get('/v1/listings')
    expect((await seller.get('/v1/listings/')).text).toBe(text)
    const head = await seller.head('/v1/listings')
    expect([head.status, head.text]).toEqual([200, ''])
    expect(head.headers['content-type']).toBe(headers['content-type'])
    expect(Number(head.headers['x-ratelimit-limit'])).toBe(Number(NO_LIMITS.RATE_LIMIT_READ))
    expect(Number(head.headers['x-ratelimit-remaining'])).toBe(
      Number(headers['x-ratelimit-remaining']) - 2,
    )
  })
})

describe('listing fields', () => {
  it('a card listing has exactly the specified fields', async () => {
    const seller = await app.seller({ account: { shopName: 'Pallet & Sons' } })
    const [id] = await list(
      seller,
      cardItem({ printing: 'reverse_holo', language: 'NL', description: 'Sleeved' }),
    )
    await hold(app.operator, id!, 2)
    const { body } = await seller.get('/v1/listings')
    expect(body.data).toEqual([
      {
        id,
        price: 4.5,
        currency: 'EUR',
        condition: 'NM',
        language: 'NL',
        printing: 'reverse_holo',
        graded: null,
        quantity_available: 1,
        description: 'Sleeved',
        photos: [],
        seller: {
          name: 'Pallet & Sons',
          slug: 'pallet-and-sons',
          url: `${MARKETPLACE_URL}/shops/pallet-and-sons`,
          tier: 'Bronze',
          rating: null,
          reviews: 0,
        },
        status: 'active',
        quantity: 3,
        listable: {
          type: 'card',
          id: 'sv3-125',
          friendly_id: 'obf_125',
          name: 'Charizard ex',
          number: '125',
          set: 'obf',
        },
        created_at: expect.stringMatching(WHOLE_SECONDS),
        updated_at: expect.stringMatching(WHOLE_SECONDS),
      },
    ])
    expect(Object.keys(body.data[0])).toEqual(LISTING_KEYS)
  })

  it('the listing of a graded card shows company, grade and a label of both', async () => {
    const seller = await app.seller()
    await list(seller, gradedItem({ grading_company: 'OVERIG', grading_grade: '10.0' }))
    const [listing] = (await seller.get('/v1/listings')).body.data
    expect(Object.keys(listing)).toEqual(LISTING_KEYS)
    expect(listing).toMatchObject({ condition: 'G', printing: 'standard', description: null })
    expect(listing.graded).toEqual({ company: 'OVERIG', grade: '10.0', label: 'OVERIG 10.0' })
  })

  it('the listing of a sealed product has no condition and no card fields', async () => {
    const seller = await app.seller()
    await list(seller, productItem({ language: 'JP' }))
    const [listing] = (await seller.get('/v1/listings')).body.data
    expect(Object.keys(listing)).toEqual(LISTING_KEYS)
    expect(listing).toMatchObject({
      price: 129.99,
      condition: null,
      language: 'JP',
      printing: 'standard',
      graded: null,
    })
    expect(listing.listable).toEqual({
      type: 'product',
      id: 'obsidian-flames-booster-box',
      name: 'Obsidian Flames Booster Box',
    })
  })

  it('the listing of a card whose set has no shortcut has null for it and for the friendly id', async () => {
    const seller = await app.seller()
    await list(seller, cardItem({ card: 'ru1-1' }))
    const [listing] = (await seller.get('/v1/listings')).body.data
    expect(listing.listable).toEqual({
      type: 'card',
      id: 'ru1-1',
      friendly_id: null,
      name: 'Venusaur',
      number: '1',
      set: null,
    })
  })

  it('a listing’s times come from the service’s clock', async () => {
    const seller = await app.seller()
    await advance(app.operator, 3_600)
    const before = Math.floor(app.ctx.now().getTime() / 1000) * 1000
    await list(seller, cardItem())
    const after = app.ctx.now().getTime()
    const [{ created_at, updated_at }] = (await seller.get('/v1/listings')).body.data
    expect(updated_at).toBe(created_at)
    expect(Date.parse(created_at)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(created_at)).toBeLessThanOrEqual(after)
  })

  it('a listing shows the operator’s changes to its seller at once', async () => {
    const seller = await app.seller()
    await list(seller, cardItem())
    const shown = async () => (await seller.get('/v1/listings')).body.data[0].seller
    expect(await shown()).toMatchObject({ tier: 'Bronze', rating: null, reviews: 0 })
    const account = { seller_tier: 'Diamond', rating: 4.75, reviews: 12 }
    await changeAccount(app, seller.accountId, {
      ...account,
      shop_name: 'カード屋',
      slug: `renamed-${seller.accountId}`,
    })
    expect(await shown()).toEqual({
      name: 'カード屋',
      slug: `renamed-${seller.accountId}`,
      url: `${MARKETPLACE_URL}/shops/renamed-${seller.accountId}`,
      tier: 'Diamond',
      rating: 4.75,
      reviews: 12,
    })
  })

  it('a listing shows no rating of a seller without reviews', async () => {
    const seller = await app.seller({ account: { rating: 4.5, reviews: 0 } })
    await list(seller, cardItem({ card: 'g1-1' }))
    const [listing] = (await seller.get('/v1/listings')).body.data
    expect(listing.seller).toMatchObject({ rating: null, reviews: 0 })
    const { body } = await seller.get('/v1/cards/g1-1?include=listings')
    expect(body.data.listings[0].seller).toEqual(listing.seller)
    await changeAccount(app, seller.accountId, { reviews: 1 })
    const [reviewed] = (await seller.get('/v1/listings')).body.data
    expect(reviewed.seller).toMatchObject({ rating: 4.5, reviews: 1 })
  })
})

describe('filters of GET /v1/listings', () => {
  let seller: Client
  let ids: Record<'active' | 'hidden' | 'sold' | 'box' | 'hiddenBox' | 'odd', number>
  beforeAll(async () => {
    seller = await app.seller()
    const [active, hidden, sold, box, hiddenBox, odd] = (await list(
      seller,
      cardItem(),
      cardItem(),
      cardItem(),
      productItem(),
      productItem(),
      cardItem({ card: 'cel25c-2_A' }),
    )) as [number, number, number, number, number, number]
    ids = { active, hidden, sold, box, hiddenBox, odd }
    await seller.patch(`/v1/listings/${hidden}`, { payload: { status: 'hidden' } })
    await seller.patch(`/v1/listings/${hiddenBox}`, { payload: { status: 'hidden' } })
    await seller.patch(`/v1/listings/${sold}`, { payload: { quantity: 0 } })
    await list(await app.seller(), cardItem(), productItem())
  })

  it.each<[string, (keyof typeof ids)[]]>([
    ['', ['odd', 'hiddenBox', 'box', 'sold', 'hidden', 'active']],
    ['status=active', ['odd', 'box', 'active']],
    ['status=hidden', ['hiddenBox', 'hidden']],
    ['status=sold', ['sold']],
    ['card=sv3-125', ['sold', 'hidden', 'active']],
    ['card=obf_125', ['sold', 'hidden', 'active']],
    ['card=cel25c-2_A', ['odd']],
    ['card=sv3-1', []],
    ['product=obsidian-flames-booster-box', ['hiddenBox', 'box']],
    ['product=poke-ball-tin', []],
    ['card=sv3-125&product=obsidian-flames-booster-box', []],
    ['card=sv3-125&status=hidden', ['hidden']],
    ['product=obsidian-flames-booster-box&status=active', ['box']],
    ['product=obsidian-flames-booster-box&status=sold', []],
    [
      'status=&card=&product=&updated_since=',
      ['odd', 'hiddenBox', 'box', 'sold', 'hidden', 'active'],
    ],
    ['status=sold&status=hidden', ['hiddenBox', 'hidden']],
    ['status[]=sold&seller=5', ['odd', 'hiddenBox', 'box', 'sold', 'hidden', 'active']],
    ['card=sv3-125&language=DE&region=jp', ['sold', 'hidden', 'active']],
    ['updated_since=9999-01-01', []],
    // By last change, oldest first: three listings were changed after all had been listed.
    ['updated_since=2000-01-01&card=sv3-125', ['active', 'hidden', 'sold']],
    ['updated_since=2000-01-01&status=hidden', ['hidden', 'hiddenBox']],
  ])('GET /v1/listings?%s lists exactly the matching listings', async (query, names) => {
    expect(await found(seller, query)).toEqual(names.map((name) => ids[name]))
  })

  it.each([
    ['status=removed', 'status'],
    ['status=gone', 'status'],
    ['status=Active', 'status'],
    ['status=active,sold', 'status'],
    [`card=${'x'.repeat(101)}`, 'card'],
    [`card=${encodeURIComponent('𠮷'.repeat(101))}`, 'card'],
    ['card=sv3-125%00', 'card'],
    ['card=%ff', 'card'],
    [`product=${'x'.repeat(151)}`, 'product'],
    ['product=poke-ball-tin%00', 'product'],
    ['product=%ed%a0%80', 'product'],
    ['page=0', 'page'],
    ['page=x', 'page'],
    ['card=nowhere-1&status=removed', 'status'],
    ['card=nowhere-1&updated_since=x', 'updated_since'],
  ])('GET /v1/listings?%s returns 422', async (query, field) => {
    const { status, body } = await seller.get(`/v1/listings?${query}`)
    expect([status, body.error.type]).toEqual([422, 'validation_error'])
    expect(Object.keys(body.error.fields)).toEqual([field])
  })

  it.each([
    'card=nowhere-1',
    'card=obf_999',
    'card=SV3-125',
    'card=poke-ball-tin',
    `card=${'x'.repeat(100)}`,
    `card=${encodeURIComponent('𠮷'.repeat(100))}`,
    'product=no-such-box',
    'product=sv3-125',
    `product=${'x'.repeat(150)}`,
    'product=__proto__',
    'card=sv3-125&product=no-such-box',
    'card=nowhere-1&product=poke-ball-tin',
    'card=nowhere-1&status=sold',
    'card=%zz',
  ])('GET /v1/listings?%s returns 404', async (query) => {
    const { status, body } = await seller.get(`/v1/listings?${query}`)
    expect([status, body.error.type]).toEqual([404, 'not_found'])
    expect(Object.keys(body.error)).toEqual(['type', 'message'])
  })

  it('GET /v1/listings?card= gets a 409 with the candidates for an ambiguous friendly id', async () => {
    const { status, body } = await seller.get('/v1/listings?card=brs_1')
    expect([status, body.error.type]).toEqual([409, 'ambiguous_identifier'])
    expect(Object.keys(body.error.fields)).toEqual(['candidates'])
    expect(Object.keys(body.error.fields.candidates[0])).toEqual([
      ...['id', 'name', 'number', 'set', 'language', 'region'],
    ])
    expect(idsOf(body.error.fields.candidates)).toEqual(['swsh9-1', 'swsh9-de-1'])
    const { body: card } = await seller.get('/v1/cards/brs_1')
    expect(body.error.fields).toEqual(card.error.fields)
    // This endpoint has no parameters language and region.
    expect(body.error.message).toBe('The identifier "brs_1" means 2 cards. Use a canonical id.')
  })
})

describe('updated_since', () => {
  let seller: Client
  let ids: number[]
  beforeAll(async () => {
    seller = await app.seller()
    ids = await list(seller, cardItem(), cardItem(), cardItem())
    for (const [i, moment] of [
      '2030-03-01T00:00:00Z',
      '2030-03-01T09:30:00Z',
      '2030-03-02T00:00:00Z',
    ].entries()) {
      await app.ctx.db`update listings set updated_at = ${moment} where id = ${ids[i]!}`
    }
  })

  it.each([
    ['2030-03-01', [0, 1, 2]],
    ['2030-03-02', [2]],
    ['2030-03-03', []],
    ['2030-03-01T00:00:01Z', [1, 2]],
    ['2030-03-01T09:30:00Z', [1, 2]],
    ['2030-03-01T09:30:00.001Z', [2]],
    ['2030-03-01T09:30:01Z', [2]],
    ['2030-03-01T09:30:00', [1, 2]],
    ['2030-03-01T09:30:01', [2]],
    ['2030-03-01T09:30', [1, 2]],
    ['2030-03-01T11:30:00%2B02:00', [1, 2]],
    ['2030-03-01T11:30:00+02:00', [1, 2]],
    ['2030-03-01T11:30:01+02:00', [2]],
    ['2030-03-01T11:30:00%2B0200', [1, 2]],
    ['2030-03-01T04:30:00-05:00', [1, 2]],
    ['2030-03-01T04:30:01-05:00', [2]],
  ])('updated_since=%s includes changes at exactly that time', async (since, indexes) => {
    expect(await found(seller, `updated_since=${since}`)).toEqual(indexes.map((at) => ids[at]))
  })

  it.each([
    ...['yesterday', '2030', '2030-3-1', '2030-02-30', '2030-13-01', '2030-03-01T25:00:00Z'],
    ...['1900000000', '2030-03-01%00', '%ff', '2030-03-01Z', 'x'.repeat(3_000)],
  ])('updated_since=%s returns 422', async (since) => {
    const { status, body } = await seller.get(`/v1/listings?updated_since=${since}`)
    expect([status, body.error.type]).toEqual([422, 'validation_error'])
    expect(Object.keys(body.error.fields)).toEqual(['updated_since'])
  })

  it('updated_since accepts the updated_at of a listing and includes that listing', async () => {
    const shop = await app.seller()
    const [id] = await list(shop, cardItem())
    const [{ updated_at }] = (await shop.get('/v1/listings')).body.data
    expect(await found(shop, `updated_since=${updated_at}`)).toEqual([id])
    await advance(app.operator, 60)
    await shop.patch(`/v1/listings/${id}`, { payload: { price: 5 } })
    const [changed] = (await shop.get('/v1/listings')).body.data
    expect(await found(shop, `updated_since=${changed.updated_at}`)).toEqual([id])
  })

  it('updated_since sorts by last change, oldest first, then by id', async () => {
    const shop = await app.seller()
    const made = await list(shop, cardItem(), cardItem(), cardItem(), cardItem())
    expect(await found(shop, 'updated_since=2000-01-01')).toEqual(made)
    await advance(app.operator, 60)
    await shop.patch(`/v1/listings/${made[2]}`, { payload: { price: 5 } })
    await advance(app.operator, 60)
    await shop.patch(`/v1/listings/${made[0]}`, { payload: { price: 5 } })
    const order = [1, 3, 2, 0].map((at) => made[at])
    expect(await found(shop, 'updated_since=2000-01-01')).toEqual(order)
    expect(await found(shop, '')).toEqual(made.toReversed())
  })
})

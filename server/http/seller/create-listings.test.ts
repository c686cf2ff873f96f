import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, startTestApp, type TestApp } from '../../test/app.ts'
import {
  cardItem,
  changeAccount,
  createListings,
  gradedItem,
  items,
  list,
  listed,
  NO_LIMITS,
  productItem,
} from '../../test/fixtures/listings.ts'
import { LETTER, operatorOption, SHIPS } from '../../test/fixtures/orders.ts'
import { allRecords } from '../../test/walk.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
})

const shippingSeller = () => app.seller({ account: SHIPS })

const send = (seller: Client, payload: string | object | undefined) =>
  seller.post('/v1/listings', {
    ...(payload === undefined ? {} : { payload }),
    headers: { 'content-type': 'application/json' },
  })

const descriptionsOf = async (seller: Client): Promise<(string | null)[]> => {
  const listings = await allRecords(seller, '/v1/listings?per_page=100')
  return listings.map(({ description }) => description).toReversed()
}

/** Bodies without a valid list of items. */
const INVALID_BODIES: [string, string | object | undefined, string][] = [
  ['no body', undefined, 'items'],
  ['no items', {}, 'items'],
  ['items that are null', { items: null }, 'items'],
  ['an item instead of a list', { items: cardItem() }, 'items'],
  ['items that are a string', { items: '[]' }, 'items'],
  ['an empty list', { items: [] }, 'items'],
  ['101 items', { items: items(101) }, 'items'],
  ['101 items that are null', { items: Array(101).fill(null) }, 'items'],
  ['an array at the root', [cardItem()], 'body'],
  ['a string at the root', '"items"', 'body'],
  ['null at the root', 'null', 'body'],
  ['invalid JSON', '{"items": [}', 'body'],
]

describe('POST /v1/listings', () => {
  it.each(INVALID_BODIES)(
    'POST /v1/listings gets a 422 for %s and creates nothing',
    async (_, payload, field) => {
      const seller = await app.seller()
      const { status, body } = await send(seller, payload)
      expect([status, body.error.type]).toEqual([422, 'validation_error'])
      expect(Object.keys(body.error.fields)).toEqual([field])
      expect(body.error.fields[field]).toEqual([expect.any(String)])
      expect((await seller.get('/v1/listings')).body.meta.total).toBe(0)
    },
  )

  it.each(INVALID_BODIES)(
    'POST /v1/listings gets a 422 for %s before the payout check',
    async (_, payload, field) => {
      const seller = await app.seller({ account: { payoutVerified: false } })
      const { status, body } = await send(seller, payload)
      expect([status, Object.keys(body.error.fields)]).toEqual([422, [field]])
    },
  )

  it.each([
    ['valid', [cardItem()]],
    ['all invalid', [null, {}]],
  ])(
    'POST /v1/listings without a verified payout returns 403, with items that are %s',
    async (_, wanted) => {
      const seller = await app.seller({ account: { payoutVerified: false } })
      const { status, body } = await createListings(seller, wanted)
      expect([status, body.error.type]).toEqual([403, 'authorization_error'])
      expect(body.error.message).toMatch(/payout/)
      expect(Object.keys(body.error)).toEqual(['type', 'message'])
      expect((await seller.get('/v1/listings')).body.meta.total).toBe(0)
    },
  )

  it('a seller can list as soon as the operator verifies the payout', async () => {
    const seller = await app.seller({ account: { payoutVerified: false } })
    expect((await createListings(seller, [cardItem()])).status).toBe(403)
    await changeAccount(app, seller.accountId, { payout_verified: true })
    expect((await createListings(seller, [cardItem()])).body.created).toBe(1)
    await changeAccount(app, seller.accountId, { payout_verified: false })
    expect((await createListings(seller, [cardItem()])).status).toBe(403)
  })

  it('POST /v1/listings without the scope listings:write returns 403 before the body is checked', async () => {
    const seller = await app.seller({ scopes: ['listings:read', 'catalog:read', 'orders:write'] })
    for (const payload of [{ items: [cardItem()] }, {}, '{']) {
      const { status, body } = await send(seller, payload)
      expect([status, body.error.type]).toEqual([403, 'authorization_error'])
      expect(body.error.message).toContain('listings:write')
    }
    const writer = await app.seller({ scopes: ['listings:write'] })
    expect((await createListings(writer, [cardItem()])).status).toBe(200)
  })

  it('POST /v1/listings accepts JSON only', async () => {
    const seller = await app.seller()
    const headers = { 'content-type': 'text/plain' }
    const payload = JSON.stringify({ items: [cardItem()] })
    const { status, body } = await seller.post('/v1/listings', { payload, headers })
    expect([status, body.error.type]).toEqual([415, 'unsupported_media_type'])
  })

  it('POST /v1/listings counts as one write, however many items it has', async () => {
    const { headers } = await createListings(await app.seller(), items(100))
    const left = Number(headers['x-ratelimit-limit']) - 1
    expect(headers['x-ratelimit-remaining']).toBe(String(left))
  })
})

describe('results of a bulk create', () => {
  it('a bulk create reports every item in order, valid and invalid ones mixed', async () => {
    const seller = await shippingSeller()
    const { status, body } = await createListings(seller, [
      cardItem({ price: 0 }),
      cardItem({ description: 'first' }),
      null,
      productItem({ description: 'second', price: 1.005 }),
      cardItem({ card: 'brs_1' }),
      cardItem({ description: 'third', quantity: 999 }),
      productItem({ product: 'no-such-box' }),
    ])
    expect(status).toBe(200)
    expect(body).toEqual({
      results: [
        { status: 'failed', index: 0, errors: { price: [expect.any(String)] } },
        {
          status: 'created',
          index: 1,
          listing: {
            id: expect.any(Number),
            price: 4.5,
            currency: 'EUR',
            quantity: 3,
            status: 'active',
          },
        },
        { status: 'failed', index: 2, errors: { item: [expect.any(String)] } },
        {
          status: 'created',
          index: 3,
          listing: {
            id: expect.any(Number),
            price: 1.01,
            currency: 'EUR',
            quantity: 2,
            status: 'active',
          },
        },
        {
          status: 'failed',
          index: 4,
          errors: { card: [expect.any(String)] },
          candidates: [expect.anything(), expect.anything()],
        },
        {
          status: 'created',
          index: 5,
          listing: {
            id: expect.any(Number),
            price: 4.5,
            currency: 'EUR',
            quantity: 999,
            status: 'active',
          },
        },
        { status: 'failed', index: 6, errors: { product: [expect.any(String)] } },
      ],
      created: 3,
      failed: 4,
    })
    expect(await descriptionsOf(seller)).toEqual(['first', 'second', 'third'])
    for (const [index, description] of [
      [1, 'first'],
      [3, 'second'],
      [5, 'third'],
    ] as const) {
      const { listing } = body.results[index]
      expect(await listed(seller, listing.id)).toMatchObject({ ...listing, description })
    }
  })

  it('a bulk create returns 200 even when every item fails', async () => {
    const seller = await shippingSeller()
    const { status, body } = await createListings(seller, [{}, null, cardItem({ quantity: 0 })])
    expect(status).toBe(200)
    expect([body.created, body.failed, body.results.length]).toEqual([0, 3, 3])
    expect((await seller.get('/v1/listings')).body.meta.total).toBe(0)
  })

  it('a created listing has the values of its item, is active and has all of its stock', async () => {
    const seller = await shippingSeller()
    const [card, graded, product] = await list(
      seller,
      cardItem({
        card: 'brs_1',
        language_hint: 'DE',
        language: 'NL',
        condition: 'LP',
        printing: 'first_edition',
        price: 12.345,
        quantity: 7,
        description: 'Corner slightly bent',
      }),
      gradedItem({ card: 'np-2', printing: 'promo' }),
      productItem(),
    )
    expect(await listed(seller, card!)).toMatchObject({
      price: 12.35,
      currency: 'EUR',
      condition: 'LP',
      language: 'NL',
      printing: 'first_edition',
      graded: null,
      quantity: 7,
      quantity_available: 7,
      description: 'Corner slightly bent',
      photos: [],
      status: 'active',
      listable: { type: 'card', id: 'swsh9-de-1' },
    })
    expect(await listed(seller, graded!)).toMatchObject({
      condition: 'G',
      printing: 'promo',
      graded: { company: 'PSA', grade: '9.5', label: 'PSA 9.5' },
      description: null,
      listable: { type: 'card', id: 'np-2' },
    })
    expect(await listed(seller, product!)).toMatchObject({
      price: 129.99,
      condition: null,
      printing: 'standard',
      graded: null,
      quantity: 2,
      listable: { type: 'product', id: 'obsidian-flames-booster-box' },
    })
  })

  it('a bulk create of a hundred items keeps their order in results and ids', async () => {
    const seller = await shippingSeller()
    const wanted = items(100)
    const ids = await list(seller, ...wanted)
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    expect(await descriptionsOf(seller)).toEqual(wanted.map(({ description }) => description))
  })

  it('two equal items become two listings', async () => {
    const seller = await shippingSeller()
    const ids = await list(seller, cardItem(), cardItem())
    expect(new Set(ids).size).toBe(2)
  })

  it('photo_urls are stored in order, to be fetched later', async () => {
    const seller = await shippingSeller()
    const urls = ['b', 'a', 'b', 'c'].map((name) => `https://images.example/${name}.jpg`)
    const [, id] = await list(
      seller,
      cardItem({ photo_urls: urls.slice(0, 1) }),
      cardItem({ photo_urls: urls }),
      cardItem(),
    )
    const rows = await app.ctx.db`
      select url, position, status from photos where listing_id = ${id!} order by position
    `
    expect([...rows]).toEqual(urls.map((url, position) => ({ url, position, status: 'waiting' })))
  })
})

describe('warnings', () => {
  it('a bulk create without an enabled shipping option succeeds with a warning', async () => {
    const option = { ...operatorOption(LETTER), enabled: false }
    const seller = await app.seller()
    for (const shipping_options of [[], [option]]) {
      await changeAccount(app, seller.accountId, { shipping_options })
      const { body } = await createListings(seller, [cardItem(), null])
      expect(Object.keys(body)).toEqual(['results', 'created', 'failed', 'warnings'])
      expect(body.warnings).toEqual([expect.stringMatching(/shipping option/)])
      expect(body.created).toBe(1)
    }
  })

  it('a bulk create with an enabled shipping option has no warnings', async () => {
    const seller = await app.seller()
    expect((await createListings(seller, [cardItem()])).body).toHaveProperty('warnings')
    const shipping_options = [
      { ...operatorOption(LETTER), code: 'off', enabled: false },
      operatorOption(LETTER),
    ]
    await changeAccount(app, seller.accountId, { shipping_options })
    const { body } = await createListings(seller, [cardItem()])
    expect(Object.keys(body)).toEqual(['results', 'created', 'failed'])
  })
})

describe('a large request', () => {
  const full = () =>
    cardItem({
      description: '𠮷'.repeat(1000),
      photo_urls: Array.from({ length: 10 }, (_, i) => `https://i.example/${i}`.padEnd(2048, 'x')),
    })

  it('a hundred items of maximum size are accepted', async () => {
    const seller = await shippingSeller()
    const { body } = await createListings(seller, Array.from({ length: 100 }, full))
    expect(body.created).toBe(100)
    const [photos] = await app.ctx.db`
      select count(*) from photos join listings on listings.id = listing_id
      where photos.account_id = ${seller.accountId}
    `
    expect(photos!.count).toBe(1000)
  })

  it('a bulk create may have 4 MiB; a larger body gets a 413', async () => {
    const seller = await shippingSeller()
    const start = JSON.stringify({ items: [cardItem()] }).slice(0, -1)
    const max = 4 * 1024 * 1024
    const ofLength = (length: number) =>
      `${start},"more":"${'x'.repeat(length - start.length - 10 - 1)}"}`.padEnd(length, ' ')
    const fits = await send(seller, ofLength(max))
    expect([fits.status, fits.body.created]).toEqual([200, 1])
    const { status, body } = await send(seller, ofLength(max + 1))
    expect([status, body.error.type]).toEqual([413, 'payload_too_large'])
    expect((await seller.get('/v1/listings')).body.meta.total).toBe(1)
  })

  it('a request body may be nested 32 levels deep, in unknown fields as well', async () => {
    const seller = await shippingSeller()
    const item = JSON.stringify(cardItem()).slice(0, -1)
    const nested = (levels: number) => {
      // Body, list and item are the first three levels.
      const inner = '['.repeat(levels - 3) + ']'.repeat(levels - 3)
      return seller.post('/v1/listings', {
        payload: `{"items":[${item},"x":${inner}}]}`,
        headers: { 'content-type': 'application/json' },
      })
    }
    const { status, body } = await nested(32)
    expect([status, body.created]).toEqual([200, 1])
    for (const levels of [33, 1_000_000]) {
      const { status, body } = await nested(levels)
      expect([status, body.error.fields]).toEqual([
        422,
        { body: ['The body must not be nested deeper than 32 levels.'] },
      ])
    }
  })
})

describe('items that violate a database constraint', () => {
  beforeAll(async () => {
    await app.ctx.db`
      alter table listings add constraint refused check (description <> 'refused')
    `
  })

  it.each([
    ['without an Idempotency-Key', {}],
    ['with one', { 'idempotency-key': 'some are refused' }],
  ])('an item that violates a database constraint fails alone, %s', async (_, headers) => {
    const seller = await app.seller({ account: SHIPS })
    const urls = { photo_urls: ['https://images.example/1.jpg'] }
    const wanted = [
      cardItem({ description: 'one', ...urls }),
      cardItem({ description: 'refused', ...urls }),
      cardItem({ price: 0 }),
      cardItem({ description: 'two', ...urls }),
      productItem({ description: 'refused' }),
      productItem({ description: 'three' }),
    ]
    const { status, body } = await createListings(seller, wanted, headers)
    expect(status).toBe(200)
    expect(body.results.map(({ status }: { status: string }) => status)).toEqual([
      'created',
      'failed',
      'failed',
      'created',
      'failed',
      'created',
    ])
    expect([body.created, body.failed]).toEqual([3, 3])
    expect(body.results[1]).toEqual({
      status: 'failed',
      index: 1,
      errors: { item: [expect.any(String)] },
    })
    expect(body.results[2].errors).toHaveProperty('price')
    expect(await descriptionsOf(seller)).toEqual(['one', 'two', 'three'])
    for (const [index, description] of [
      [0, 'one'],
      [3, 'two'],
      [5, 'three'],
    ] as const) {
      const listing = await listed(seller, body.results[index].listing.id)
      expect(listing.description).toBe(description)
    }
    const photos = await app.ctx.db`
      select description from photos join listings on listings.id = listing_id
      where photos.account_id = ${seller.accountId} order by listing_id
    `
    expect(photos.map(({ description }) => description)).toEqual(['one', 'two'])

    // With the key the response is repeated; without it the items are listed again.
    const again = await createListings(seller, wanted, headers)
    const isRepeated = 'idempotency-key' in headers
    expect(again.body.created).toBe(3)
    expect((await seller.get('/v1/listings')).body.meta.total).toBe(isRepeated ? 3 : 6)
  })

  it('a constraint violation is logged, and its message is hidden from the seller', async () => {
    const seller = await app.seller()
    const before = app.logged.length
    const { text } = await createListings(seller, [cardItem({ description: 'refused' })])
    expect(text).not.toMatch(/constraint|violates|refused/)
    expect(app.logged.slice(before)).toContainEqual(
      expect.objectContaining({ level: 'warn', err: expect.any(Error) }),
    )
  })

  it('a bulk create returns 200 even when every item violates a constraint', async () => {
    const seller = await app.seller()
    const wanted = Array.from({ length: 3 }, () => cardItem({ description: 'refused' }))
    const { status, body } = await createListings(seller, wanted)
    expect([status, body.created, body.failed]).toEqual([200, 0, 3])
  })
})

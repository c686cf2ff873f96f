import { beforeAll, describe, expect, it } from 'vitest'
import { type Seller, startTestApp, type TestApp } from '../../test/app.ts'
import {
  advance,
  cardItem,
  gradedItem,
  hold,
  list,
  listed,
  NO_LIMITS,
  productItem,
} from '../../test/fixtures/listings.ts'
import { untilLockWaiters } from '../../test/lock-waiters.ts'

let app: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await app.seller()
})

const pathOf = (id: number | string) => `/v1/listings/${id}`

const change = (id: number | string, payload: object) => seller.patch(pathOf(id), { payload })

/** A change with this JSON text as its body. */
const send = (id: number | string, payload: string) =>
  seller.patch(pathOf(id), { payload, headers: { 'content-type': 'application/json' } })

/** A new listing of the seller, as the list shows it. */
const newListing = async (item: object = cardItem({ description: 'Sleeved' })) => {
  const [id] = await list(seller, item)
  return await listed(seller, id!)
}

/** The id of a new listing with this status. */
const listingWithStatus = async (status: string) => {
  const listing = await newListing()
  if (status === 'sold') await change(listing.id, { quantity: 0 })
  if (status === 'hidden') await change(listing.id, { status })
  return listing.id
}

describe('PATCH /v1/listings/{listing}', () => {
  it.each([
    ['price', { price: 7.25 }, { price: 7.25 }],
    ['quantity', { quantity: 9 }, { quantity: 9, quantity_available: 9 }],
    ['status', { status: 'hidden' }, { status: 'hidden' }],
    ['description', { description: 'Unsleeved' }, { description: 'Unsleeved' }],
  ])(
    'PATCH /v1/listings/{listing} changes only the %s when only that is sent',
    async (_, payload, changes) => {
      for (const item of [cardItem({ description: 'Sleeved' }), gradedItem(), productItem()]) {
        const listing = await newListing(item)
        const { status, body } = await change(listing.id, payload)
        expect(status).toBe(200)
        expect(Object.keys(body)).toEqual(['data'])
        const wanted = { ...listing, ...changes, updated_at: expect.any(String) }
        expect(body.data).toEqual(wanted)
        expect(Object.keys(body.data)).toEqual(Object.keys(listing))
        expect(await listed(seller, listing.id)).toEqual(body.data)
      }
    },
  )

  it('PATCH /v1/listings/{listing} changes several fields at once', async () => {
    const listing = await newListing()
    const payload = { price: 1, quantity: 2, status: 'hidden', description: 'All new' }
    expect((await change(listing.id, payload)).body.data).toMatchObject(payload)
    expect(await listed(seller, listing.id)).toMatchObject(payload)
  })

  it('PATCH /v1/listings/{listing} changes no other listing', async () => {
    const [changed, other] = [await newListing(), await newListing()]
    await change(changed.id, { price: 7, quantity: 0, description: 'x' })
    expect(await listed(seller, other.id)).toEqual(other)
  })

  it('PATCH /v1/listings/{listing} with an empty body returns the unchanged listing', async () => {
    const listing = await newListing()
    const nothing = await seller.patch(pathOf(listing.id))
    expect([nothing.status, nothing.body]).toEqual([200, { data: listing }])
    const headers = { 'content-type': 'application/json' }
    const empty = await seller.patch(pathOf(listing.id), { headers })
    expect([empty.status, empty.body]).toEqual([200, { data: listing }])
    const braces = await change(listing.id, {})
    expect([braces.status, braces.body]).toEqual([200, { data: listing }])
  })

  it('PATCH /v1/listings/{listing} ignores immutable and unknown fields', async () => {
    const listing = await newListing()
    const { status, body } = await change(listing.id, {
      condition: 'DMG',
      language: 5,
      printing: 'nonsense',
      photos: ['x'],
      photo_urls: 'x',
      grading_company: null,
      card: 'sv3-1',
      product: 'poke-ball-tin',
      id: 1,
      currency: 'USD',
      created_at: '2000-01-01T00:00:00Z',
      updated_at: '2000-01-01T00:00:00Z',
      shipping: '\0',
    })
    expect([status, body]).toEqual([200, { data: listing }])
  })

  it('a reserved listing can be changed, and shows its reserved units as unavailable', async () => {
    const listing = await newListing(cardItem({ quantity: 5 }))
    await hold(app.operator, listing.id, 4)
    const { body } = await change(listing.id, { price: 2 })
    expect(body.data).toMatchObject({ quantity: 5, quantity_available: 1, status: 'active' })
    const below = await change(listing.id, { quantity: 3 })
    expect(below.status).toBe(200)
    expect(below.body.data).toMatchObject({ quantity: 3, quantity_available: 0, status: 'active' })
    expect(await listed(seller, listing.id)).toEqual(below.body.data)
    await advance(app.operator, 15 * 60)
    expect(await listed(seller, listing.id)).toMatchObject({ quantity_available: 3 })
  })
})

describe('updated_at', () => {
  it.each([
    ['the price changes', { price: 4.51 }],
    ['the quantity changes', { quantity: 4 }],
    ['the status changes', { status: 'hidden' }],
    ['the description changes', { description: 'Other' }],
    ['the description is cleared', { description: null }],
    ['the status follows from the quantity', { quantity: 0 }],
  ])('updated_at advances when %s', async (_, payload) => {
    const listing = await newListing()
    await advance(app.operator, 90)
    const { body } = await change(listing.id, payload)
    const moved = Date.parse(body.data.updated_at) - Date.parse(listing.updated_at)
    expect(moved).toBeGreaterThanOrEqual(90_000)
    expect(moved).toBeLessThan(150_000)
    expect(body.data.created_at).toBe(listing.created_at)
    expect((await listed(seller, listing.id)).updated_at).toBe(body.data.updated_at)
  })

  it.each([
    ['nothing was sent', {}],
    [
      'everything is as it was',
      { price: 4.5, quantity: 3, status: 'active', description: 'Sleeved' },
    ],
    ['the price is the same when rounded', { price: 4.499 }],
    ['the status sold is sent for a listing in stock', { status: 'sold' }],
    ['the field is unknown', { condition: 'M' }],
  ])('updated_at stays when %s', async (_, payload) => {
    const listing = await newListing()
    await advance(app.operator, 90)
    expect((await change(listing.id, payload)).body.data).toEqual(listing)
    expect(await listed(seller, listing.id)).toEqual(listing)
  })

  it('updated_at stays when a change is refused or a cart reserves units', async () => {
    const listing = await newListing()
    await advance(app.operator, 90)
    expect((await change(listing.id, { price: 9, quantity: -1 })).status).toBe(422)
    await hold(app.operator, listing.id, 1)
    expect(await listed(seller, listing.id)).toEqual({ ...listing, quantity_available: 2 })
  })

  it('updated_at stays when an empty description is cleared', async () => {
    const listing = await newListing(cardItem())
    await advance(app.operator, 90)
    expect((await change(listing.id, { description: '' })).body.data).toEqual(listing)
  })
})

describe('status and stock', () => {
  // server/listings/listing.test.ts tests every combination.
  it.each([
    ['active', { quantity: 0 }, { status: 'sold', quantity: 0 }],
    ['active', { status: 'sold' }, { status: 'active', quantity: 3 }],
    ['active', { status: 'hidden', quantity: 0 }, { status: 'hidden', quantity: 0 }],
    ['sold', { quantity: 4 }, { status: 'active', quantity: 4 }],
    ['sold', { status: 'active' }, { status: 'sold', quantity: 0 }],
    ['hidden', { quantity: 5 }, { status: 'hidden', quantity: 5 }],
    ['hidden', { status: 'active', quantity: 0 }, { status: 'sold', quantity: 0 }],
    ['hidden', { status: 'sold' }, { status: 'hidden', quantity: 3 }],
  ])('a listing that is %s and changed by %j becomes %j', async (before, payload, after) => {
    const id = await listingWithStatus(before)
    const { status, body } = await change(id, payload)
    expect([status, body.data]).toEqual([200, expect.objectContaining(after)])
    expect(await listed(seller, id)).toMatchObject(after)
  })

  it('buyers see a listing only while it is active', async () => {
    const { id } = await newListing(cardItem({ card: 'gym1-1' }))
    const isOffered = async () =>
      (await seller.get('/v1/cards/gym1-1?include=listings')).body.data.listings.length > 0
    expect(await isOffered()).toBe(true)
    for (const [payload, visible] of [
      [{ status: 'hidden' }, false],
      [{ quantity: 8 }, false],
      [{ status: 'active' }, true],
      [{ quantity: 0 }, false],
      [{ quantity: 1 }, true],
    ] as const) {
      await change(id, payload)
      expect([payload, await isOffered()]).toEqual([payload, visible])
    }
  })
})

describe('changed values', () => {
  it.each([
    ['price', '0.01', 0.01],
    ['price', '1.005', 1.01],
    ['price', '1.00499999999999999', 1],
    ['price', '99999.99', 99999.99],
    ['quantity', '0', 0],
    ['quantity', '1.0', 1],
    ['quantity', '999', 999],
    ['description', JSON.stringify('x'.repeat(1000)), 'x'.repeat(1000)],
    ['description', JSON.stringify('𠮷'.repeat(1000)), '𠮷'.repeat(1000)],
    ['description', 'null', null],
    ['description', '""', null],
  ])('a change of %s to %s is accepted', async (field, written, value) => {
    const { id } = await newListing()
    const { status, body } = await send(id, `{"${field}":${written}}`)
    expect([status, body.data?.[field]]).toEqual([200, value])
    expect((await listed(seller, id))[field]).toBe(value)
  })

  it.each([
    ...['0', '0.004', '0.009', '-1', '99999.991', '100000', '1e400', '"4.50"', 'null', '[1]'].map(
      (written) => ['price', written],
    ),
    ...['0.009999999999999999999', '99999.990000000001'].map((written) => ['price', written]),
    ...['-1', '1000', '1.5', '"3"', 'null', 'true', '1e400'].map((written) => [
      'quantity',
      written,
    ]),
    ...['"removed"', '"Active"', '""', '"gone"', 'null', '1', '["sold"]'].map((written) => [
      'status',
      written,
    ]),
    ['description', JSON.stringify('x'.repeat(1001))],
    ['description', JSON.stringify('𠮷'.repeat(1001))],
    ['description', '"a\\u0000b"'],
    ['description', '"a\\ud800"'],
    ['description', '5'],
    ['description', '["x"]'],
  ])('a change of %s to %s gets a 422 and changes nothing', async (field, written) => {
    const listing = await newListing()
    const other = field === 'description' ? '"price":9' : '"description":"x"'
    const { status, body } = await send(listing.id, `{${other},"${field}":${written}}`)
    expect([status, body.error.type]).toEqual([422, 'validation_error'])
    expect(Object.keys(body.error.fields)).toEqual([field!])
    expect(body.error.fields[field!]).not.toEqual([])
    expect(await listed(seller, listing.id)).toEqual(listing)
  })

  it('a change reports all invalid fields at once', async () => {
    const { id } = await newListing()
    const { body } = await change(id, { price: 0, quantity: 'x', status: 'x', description: 5 })
    expect(Object.keys(body.error.fields).sort()).toEqual([
      'description',
      'price',
      'quantity',
      'status',
    ])
  })

  it.each([
    ['invalid JSON', '{"price":'],
    ['an array', '[]'],
    ['null', 'null'],
    ['a string', '"x"'],
  ])(
    'a change whose body is %s gets a 422 on the body, before the id is checked',
    async (_, written) => {
      const { id } = await newListing()
      for (const path of [id, 999_999, 'x']) {
        const { status, body } = await send(path, written)
        expect([status, Object.keys(body.error.fields)]).toEqual([422, ['body']])
      }
    },
  )
})

describe('the listing id in the path', () => {
  const bodies = [{ price: 5 }, {}, { price: -1 }, { price: null, status: 'removed' }]

  it('PATCH /v1/listings/{listing} returns 404 for an unknown listing whatever the body', async () => {
    for (const payload of bodies) {
      const { status, body } = await change(999_999, payload)
      expect([status, body.error.type]).toEqual([404, 'not_found'])
      expect(Object.keys(body.error)).toEqual(['type', 'message'])
    }
  })

  it('changing another seller’s listing gets the same 404 as an unknown listing', async () => {
    const { id } = await newListing()
    const stranger = await app.seller()
    for (const payload of bodies) {
      const theirs = await stranger.patch(pathOf(id), { payload })
      const nobodys = await stranger.patch(pathOf(999_999), { payload })
      expect(theirs.status).toBe(404)
      expect(theirs.text).toBe(nobodys.text)
    }
    expect(await listed(seller, id)).toMatchObject({ price: 4.5 })
  })

  it('changing a deleted listing returns 404 whatever the body', async () => {
    const { id } = await newListing()
    await seller.delete(pathOf(id))
    for (const payload of bodies) expect((await change(id, payload)).status).toBe(404)
  })

  it('PATCH /v1/listings/{listing} without the scope listings:write returns 403 before the id is checked', async () => {
    const { id } = await newListing()
    const reader = await app.seller({ scopes: ['listings:read'] })
    for (const path of [id, 999_999, 'x']) {
      for (const payload of bodies) {
        const { status, body } = await reader.patch(pathOf(path), { payload })
        expect([status, body.error.type]).toEqual([403, 'authorization_error'])
        expect(body.error.message).toContain('listings:write')
      }
    }
  })
})

describe('concurrent changes', () => {
  it('concurrent changes of different fields are all kept, in two processes', async () => {
    const second = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
    const clients = [seller, second.withKey(seller.key)]
    for (let round = 1; round <= 5; round++) {
      const { id } = await newListing()
      const payloads = [{ price: round }, { quantity: 10 + round }, { description: `${round}` }]
      const responses = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          clients[i % 2]!.patch(pathOf(id), { payload: payloads[i % 3]! }),
        ),
      )
      expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200))
      expect(await listed(seller, id)).toMatchObject(Object.assign({}, ...payloads))
    }
  })

  it('concurrent changes by several sellers take effect each, and nobody changes another’s listing', async () => {
    const sellers = [seller, await app.seller(), await app.seller()]
    const shops = await Promise.all(
      sellers.map(async (owner) => ({
        owner,
        ids: await list(owner, ...Array(10).fill(cardItem())),
      })),
    )
    const changes = shops.flatMap(({ owner, ids }, shop) =>
      ids.flatMap((id, i) => [
        owner.patch(pathOf(id), { payload: { price: shop * 100 + i + 1 } }),
        sellers[(shop + 1) % 3]!.patch(pathOf(id), { payload: { price: 9_999 } }),
      ]),
    )
    const statuses = (await Promise.all(changes)).map(({ status }) => status)
    expect(statuses).toEqual(statuses.map((_, i) => (i % 2 === 0 ? 200 : 404)))
    for (const [shop, { owner, ids }] of shops.entries()) {
      for (const [i, id] of ids.entries()) {
        expect((await listed(owner, id)).price).toBe(shop * 100 + i + 1)
      }
    }
  })

  it('a listing that another transaction has locked delays only its own change', async () => {
    const [locked, ...free] = await list(seller, ...Array(4).fill(cardItem()))
    let waiting: ReturnType<typeof change> | undefined
    await app.ctx.begin(async (tx) => {
      await tx`select from listings where id = ${locked!} for update`
      waiting = change(locked!, { price: 7 })
      const others = await Promise.all(free.map((id) => change(id, { price: 8 })))
      expect(others.map(({ status }) => status)).toEqual([200, 200, 200])
      await untilLockWaiters(app.ctx.db)
    })
    expect((await waiting!).body.data.price).toBe(7)
  })

  it('a change that waited for a reservation shows the reserved units', async () => {
    const [id] = await list(seller, cardItem({ quantity: 5 }))
    let waiting: ReturnType<typeof change> | undefined
    await app.ctx.begin(async (tx) => {
      await tx`select from listings where id = ${id!} for no key update`
      waiting = change(id!, { price: 7 })
      await untilLockWaiters(app.ctx.db)
      await tx`
        insert into reservations (listing_id, cart_id, quantity, created_at, expires_at)
        values (${id!}, 'cart', 2, ${app.ctx.now()}, ${new Date(app.ctx.now().getTime() + 60_000)})
      `
    })
    expect((await waiting!).body.data).toMatchObject({ quantity: 5, quantity_available: 3 })
  })

  it('concurrent changes of the quantity leave a status that fits it', async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await newListing()
      const responses = await Promise.all(
        Array.from({ length: 20 }, (_, i) => change(id, { quantity: i % 4 })),
      )
      for (const { status, body } of responses) {
        expect(status).toBe(200)
        expect(body.data.status).toBe(body.data.quantity > 0 ? 'active' : 'sold')
      }
    }
  })
})

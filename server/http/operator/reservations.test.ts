import { beforeAll, describe, expect, it } from 'vitest'
import { inTransaction } from '../../database/in-transaction.ts'
import { free, pruneReservations, reserve } from '../../listings/reservations.ts'
import {
  OPERATOR_TOKEN,
  type Seller,
  startTestApp,
  type TestApp,
  type TestResponse,
} from '../../test/app.ts'
import { testDatabase } from '../../test/database.ts'
import { advance, cardItem, hold, list, listed, NO_LIMITS } from '../../test/fixtures/listings.ts'
import { untilLockWaiters } from '../../test/lock-waiters.ts'
import { type Service, startService } from '../../test/process.ts'

const RESERVATIONS = '/operator/v1/reservations'
const DEFAULT_TTL_SECONDS = 900

let app: TestApp
let shop: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  shop = await app.seller()
})

describe('POST /operator/v1/reservations', () => {
  it('POST /operator/v1/reservations reserves units for 15 minutes of the service’s clock by default', async () => {
    await advance(app.operator, 3600)
    const listing = await listWith(3)
    const before = wholeSeconds(app.ctx.now())
    const { status, body } = await reserveUnits({
      listing_id: listing,
      quantity: 2,
      cart_id: 'cart-1',
    })
    expect(status).toBe(201)
    expect(body).toEqual({
      data: {
        id: expect.any(Number),
        listing_id: listing,
        cart_id: 'cart-1',
        quantity: 2,
        created_at: expect.stringMatching(/:\d\dZ$/),
        expires_at: expect.stringMatching(/:\d\dZ$/),
      },
    })
    expect(Date.parse(body.data.created_at)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(body.data.created_at)).toBeLessThanOrEqual(app.ctx.now().getTime())
    expect(secondsOf(body.data)).toBe(DEFAULT_TTL_SECONDS)
  })

  it('ttl_seconds sets how long a reservation lasts, from one second to 30 days', async () => {
    const listing = await listWith(3)
    for (const ttl_seconds of [1, 60, 30 * 24 * 60 * 60]) {
      const { body } = await reserveUnits({ listing_id: listing, ttl_seconds })
      expect(secondsOf(body.data)).toBe(ttl_seconds)
    }
  })

  it('a reservation lowers quantity_available everywhere and leaves the listing’s quantity alone', async () => {
    const listing = await listWith(5)
    const { updated_at } = await listed(shop, listing)
    await reserveUnits({ listing_id: listing, quantity: 2 })
    await reserveUnits({ listing_id: listing, quantity: 1, cart_id: 'another' })
    expect(await listed(shop, listing)).toMatchObject({
      quantity: 5,
      quantity_available: 2,
      status: 'active',
      updated_at,
    })
    const { body } = await shop.get('/v1/cards/swsh9-1?include=listings')
    const offer = body.data.listings.find(({ id }: { id: number }) => id === listing)
    expect(offer.quantity_available).toBe(2)
    const { body: patched } = await patch(listing, {})
    expect(patched.data.quantity_available).toBe(2)
  })

  it('a second reservation of a cart adds to its first, up to the whole stock', async () => {
    const listing = await listWith(3)
    expect((await reserveUnits({ listing_id: listing, quantity: 1, cart_id: 'same' })).status).toBe(
      201,
    )
    expect((await reserveUnits({ listing_id: listing, quantity: 2, cart_id: 'same' })).status).toBe(
      201,
    )
    expect(await available(listing)).toBe(0)
  })

  it('a reservation of more units than are available gets a 409 with their number and reserves none', async () => {
    const listing = await listWith(3)
    const wanted = { listing_id: listing, quantity: 4 }
    expectConflict(await reserveUnits(wanted), 'Only 3 of the requested 4 units are available.')
    expect(await available(listing)).toBe(3)
    await reserveUnits({ listing_id: listing, quantity: 2 })
    const message = 'Only 1 of the requested 4 units is available.'
    expectConflict(await reserveUnits(wanted), message)
    await reserveUnits({ listing_id: listing, quantity: 1 })
    expectConflict(await reserveUnits({ ...wanted, quantity: 1 }), 'No units are available.')
  })

  it.each([
    ['sold', { quantity: 0 }],
    ['hidden', { status: 'hidden' }],
  ])('a reservation of a %s listing gets a 409', async (_, change) => {
    const listing = await listWith(3)
    await patch(listing, change)
    expectConflict(await reserveUnits({ listing_id: listing }), 'The listing is not on sale.')
  })

  it('a listing that was hidden and sold can be reserved again once it is active', async () => {
    const listing = await listWith(1)
    await patch(listing, { status: 'hidden', quantity: 0 })
    await patch(listing, { status: 'active', quantity: 2 })
    expect((await reserveUnits({ listing_id: listing, quantity: 2 })).status).toBe(201)
  })

  it('a reservation of a deleted or unknown listing gets a 404', async () => {
    const deleted = await listWith(3)
    await shop.delete(`/v1/listings/${deleted}`)
    for (const listing_id of [deleted, 999_999, Number.MAX_SAFE_INTEGER]) {
      const { status, body } = await reserveUnits({ listing_id })
      expect([listing_id, status]).toEqual([listing_id, 404])
      expect(body.error).toEqual({ type: 'not_found', message: 'There is no such listing.' })
    }
  })

  it.each<[string, object, string]>([
    ['no listing', { listing_id: undefined }, 'listing_id'],
    ['no quantity', { quantity: undefined }, 'quantity'],
    ['no cart', { cart_id: undefined }, 'cart_id'],
    ['a listing id sent as a string', { listing_id: '1' }, 'listing_id'],
    ['a listing id of 0', { listing_id: 0 }, 'listing_id'],
    ['a fractional listing id', { listing_id: 1.5 }, 'listing_id'],
    ['a listing id beyond the safe integers', { listing_id: 2 ** 53 }, 'listing_id'],
    ['a quantity of 0', { quantity: 0 }, 'quantity'],
    ['a quantity of −1', { quantity: -1 }, 'quantity'],
    ['a quantity of 1.5', { quantity: 1.5 }, 'quantity'],
    ['a quantity sent as a string', { quantity: '1' }, 'quantity'],
    ['a quantity that is true', { quantity: true }, 'quantity'],
    ['a quantity that is null', { quantity: null }, 'quantity'],
    ['a quantity beyond the database’s integers', { quantity: 2 ** 31 }, 'quantity'],
    ['a quantity of 1e300', { quantity: 1e300 }, 'quantity'],
    ['a time of 0 seconds', { ttl_seconds: 0 }, 'ttl_seconds'],
    ['a time of −900 seconds', { ttl_seconds: -900 }, 'ttl_seconds'],
    ['a time of 1.5 seconds', { ttl_seconds: 1.5 }, 'ttl_seconds'],
    ['a time sent as a string', { ttl_seconds: '60' }, 'ttl_seconds'],
    ['a time that is null', { ttl_seconds: null }, 'ttl_seconds'],
    ['a time of more than 30 days', { ttl_seconds: 30 * 24 * 60 * 60 + 1 }, 'ttl_seconds'],
    ['a time of 1e300 seconds', { ttl_seconds: 1e300 }, 'ttl_seconds'],
    ['an empty cart name', { cart_id: '' }, 'cart_id'],
    ['a cart name that is a number', { cart_id: 7 }, 'cart_id'],
    ['a cart name of 256 characters', { cart_id: 'x'.repeat(256) }, 'cart_id'],
    ['a cart name with NUL', { cart_id: 'a\0b' }, 'cart_id'],
  ])(
    'a reservation with %s gets a 422 on the field and reserves nothing',
    async (_, change, field) => {
      const listing = await listWith(3)
      const { status, body } = await reserveUnits({ listing_id: listing, ...change })
      expect(status).toBe(422)
      expect(body.error.type).toBe('validation_error')
      expect(body.error.fields).toEqual({ [field]: [expect.any(String)] })
      expect(await available(listing)).toBe(3)
    },
  )

  it('POST /operator/v1/reservations accepts integers written as 1.0', async () => {
    const payload = `{"listing_id":${await listWith(1)}.0,"quantity":1.0,"cart_id":"c","ttl_seconds":60.0}`
    const headers = { 'content-type': 'application/json' }
    expect((await app.operator.post(RESERVATIONS, { payload, headers })).status).toBe(201)
  })

  it('only the operator can create reservations', async () => {
    const payload = { listing_id: await listWith(1), quantity: 1, cart_id: 'c' }
    for (const client of [app.anyone, shop]) {
      expect((await client.post(RESERVATIONS, { payload })).status).toBe(401)
    }
  })
})

describe('DELETE /operator/v1/reservations/{id}', () => {
  it('DELETE /operator/v1/reservations/{id} releases the units of that reservation only', async () => {
    const listing = await listWith(5)
    const reservation = await hold(app.operator, listing, 2)
    await hold(app.operator, listing, 1)
    const { status, text } = await app.operator.delete(`${RESERVATIONS}/${reservation}`)
    expect([status, text]).toEqual([204, ''])
    expect(await available(listing)).toBe(4)
    expect((await reserveUnits({ listing_id: listing, quantity: 4 })).status).toBe(201)
  })

  it('deleting a released or unknown reservation gets a 404', async () => {
    const gone = await hold(app.operator, await listWith(1), 1)
    await app.operator.delete(`${RESERVATIONS}/${gone}`)
    for (const id of [gone, 999_999]) {
      const { status, body } = await app.operator.delete(`${RESERVATIONS}/${id}`)
      expect([id, status, body.error.type]).toEqual([id, 404, 'not_found'])
    }
  })
})

describe('the expiry of reservations', () => {
  it('a reservation expires by the service’s clock and its units become available', async () => {
    const listing = await listWith(3)
    await reserveUnits({ listing_id: listing, quantity: 2, ttl_seconds: 600 })
    await reserveUnits({ listing_id: listing, quantity: 1, ttl_seconds: 1200 })
    await advance(app.operator, 540)
    expect(await available(listing)).toBe(0)
    await advance(app.operator, 60)
    expect(await available(listing)).toBe(2)
    expectConflict(
      await reserveUnits({ listing_id: listing, quantity: 3 }),
      'Only 2 of the requested 3 units are available.',
    )
    await advance(app.operator, 600)
    expect(await available(listing)).toBe(3)
    expect((await reserveUnits({ listing_id: listing, quantity: 3 })).status).toBe(201)
  })

  it('a reservation expires at exactly expires_at: its units are free from that millisecond on', async () => {
    const listing = await listWith(1)
    const start = app.ctx.now().getTime()
    const wanted = { listingId: listing, cartId: 'c', quantity: 1, ttlSeconds: 60 }
    const { expiresAt } = await reserve(at(start), wanted)
    expect(expiresAt.getTime()).toBe(start + 60_000)
    await expect(reserve(at(start + 59_999), wanted)).rejects.toMatchObject({ type: 'conflict' })
    await expect(reserve(at(start + 60_000), wanted)).resolves.toMatchObject({ quantity: 1 })
  })

  it('pruning deletes expired reservations and no others', async () => {
    const listing = await listWith(10)
    const start = app.ctx.now().getTime()
    const wanted = { listingId: listing, cartId: 'c', quantity: 1 }
    const short = await reserve(at(start), { ...wanted, ttlSeconds: 60 })
    const long = await reserve(at(start), { ...wanted, ttlSeconds: 61 })
    const left = async () => {
      const rows = await app.ctx.db`
        select id::int from reservations where listing_id = ${listing} order by id
      `
      return rows.map(({ id }) => id)
    }
    await pruneReservations(at(start + 59_999))
    expect(await left()).toEqual([short.id, long.id])
    await pruneReservations(at(start + 60_000))
    expect(await left()).toEqual([long.id])
    expect(await available(listing)).toBe(9)
    await expect(free(app.ctx, short.id)).rejects.toMatchObject({ type: 'not_found' })
  })
})

describe('stock below the reserved units', () => {
  it('a quantity below the reserved units leaves 0 available, never less', async () => {
    const listing = await listWith(10)
    await hold(app.operator, listing, 7)
    const { body } = await patch(listing, { quantity: 3 })
    expect(body.data).toMatchObject({ quantity: 3, quantity_available: 0, status: 'active' })
    expect(await listed(shop, listing)).toMatchObject({ quantity: 3, quantity_available: 0 })
    expectConflict(await reserveUnits({ listing_id: listing }), 'No units are available.')
    await patch(listing, { quantity: 0 })
    expect(await listed(shop, listing)).toMatchObject({ quantity_available: 0, status: 'sold' })
    await patch(listing, { quantity: 9 })
    expect(await available(listing)).toBe(2)
    expectConflict(
      await reserveUnits({ listing_id: listing, quantity: 3 }),
      'Only 2 of the requested 3 units are available.',
    )
    expect((await reserveUnits({ listing_id: listing, quantity: 2 })).status).toBe(201)
  })
})

describe('concurrent changes to a listing', () => {
  it('PATCH /v1/listings/{listing} reports what is left after reservations that committed while it waited', async () => {
    const listing = await listWith(3)
    const first = { listingId: listing, cartId: 'first', quantity: 2, ttlSeconds: 60 }
    const waiting = await inTransaction(app.ctx, async (tx) => {
      await reserve(tx, first)
      const response = patch(listing, { quantity: 5 })
      await untilLockWaiters(app.ctx.db)
      return { response }
    })
    const { body } = await waiting.response
    expect(body.data).toMatchObject({ quantity: 5, quantity_available: 3 })
  })
})

describe('deleting a reserved listing', () => {
  it('deleting a listing deletes its reservations and no others', async () => {
    const [listing, other] = [await listWith(5), await listWith(5)]
    const [gone, kept] = [await hold(app.operator, listing, 2), await hold(app.operator, other, 2)]
    expect((await shop.delete(`/v1/listings/${listing}`)).status).toBe(204)
    expect((await app.operator.delete(`${RESERVATIONS}/${gone}`)).status).toBe(404)
    expect(await available(other)).toBe(3)
    expect((await app.operator.delete(`${RESERVATIONS}/${kept}`)).status).toBe(204)
  })
})

describe('an Idempotency-Key on POST /operator/v1/reservations', () => {
  it('a repeated Idempotency-Key returns the first reservation and reserves nothing more', async () => {
    const listing = await listWith(5)
    const first = await reserveUnits({ listing_id: listing, quantity: 2 }, 'hold-1')
    const second = await reserveUnits({ listing_id: listing, quantity: 2 }, 'hold-1')
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.text).toBe(first.text)
    expect(await available(listing)).toBe(3)
  })

  it('a repeated Idempotency-Key returns the first reservation even after its listing is deleted', async () => {
    const listing = await listWith(1)
    const first = await reserveUnits({ listing_id: listing }, 'hold-2')
    expect((await reserveUnits({ listing_id: listing }, 'hold-2')).text).toBe(first.text)
    await shop.delete(`/v1/listings/${listing}`)
    expect((await reserveUnits({ listing_id: listing }, 'hold-2')).text).toBe(first.text)
  })
})

describe('concurrent carts', () => {
  it('a hundred concurrent carts get the last unit once: one 201 and 99 times 409', async () => {
    const listing = await listWith(1)
    const responses = await Promise.all(
      Array.from({ length: 100 }, (_, cart) =>
        reserveUnits({ listing_id: listing, cart_id: `cart-${cart}` }),
      ),
    )
    expect(countByStatus(responses)).toEqual({ 201: 1, 409: 99 })
    expect(await reservedUnits(listing)).toBe(1)
  })

  it('concurrent carts never reserve more than the stock, and all of it if they want enough', async () => {
    const listing = await listWith(50)
    const responses = await Promise.all(
      Array.from({ length: 60 }, (_, cart) =>
        reserveUnits({ listing_id: listing, quantity: 1 + (cart % 3) }),
      ),
    )
    const granted = responses.filter(({ status }) => status === 201)
    const units = granted.reduce((sum, { body }) => sum + body.data.quantity, 0)
    expect(granted.length + responses.filter(({ status }) => status === 409).length).toBe(60)
    expect(units).toBe(50)
    expect(await reservedUnits(listing)).toBe(50)
    expect(await available(listing)).toBe(0)
  })

  it('a reservation that waits for another one counts its units', async () => {
    const listing = await listWith(2)
    const first = { listingId: listing, cartId: 'first', quantity: 2, ttlSeconds: 60 }
    const waiting = await inTransaction(app.ctx, async (tx) => {
      await reserve(tx, first)
      const response = reserveUnits({ listing_id: listing })
      await untilLockWaiters(app.ctx.db)
      return { response }
    })
    expectConflict(await waiting.response, 'No units are available.')
  })
})

describe('a listing deleted, sold or hidden while carts reserve it', () => {
  // Several rounds, because the order of the requests is random.
  const ROUNDS = 4
  const CARTS = 12

  it('no reservation survives the DELETE of its listing', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const listing = await listWith(999)
      const { responses, later } = await race(listing, () => shop.delete(`/v1/listings/${listing}`))
      expect(
        Object.keys(countByStatus(responses)).filter((status) => !['201', '404'].includes(status)),
      ).toEqual([])
      expect(countByStatus(later)).toEqual({ 404: CARTS })
      expect(await reservedUnits(listing)).toBe(0)
    }
  })

  it.each([
    ['sold', { quantity: 0 }],
    ['hidden', { status: 'hidden' }],
  ])('a listing gets no reservation after it is %s', async (_, change) => {
    for (let round = 0; round < ROUNDS; round++) {
      const listing = await listWith(999)
      const { responses, later } = await race(listing, () => patch(listing, change))
      expect(countByStatus(later)).toEqual({ 409: CARTS })
      const granted = responses.filter(({ status }) => status === 201).length
      expect(await reservedUnits(listing)).toBe(granted)
      // Every reservation was made before the change.
      const [late] = await app.ctx.db`
        select from reservations r
        join listings l on l.id = r.listing_id
        where l.id = ${listing} and r.created_at > l.updated_at
      `
      expect(late).toBeUndefined()
    }
  })

  it('a reservation that waits for its listing’s deletion gets 404, for its hiding 409', async () => {
    const [deleted, hidden] = [await listWith(5), await listWith(5)]
    const waiting = await inTransaction(app.ctx, async (tx) => {
      await tx.db`update listings set status = 'removed' where id = ${deleted}`
      await tx.db`update listings set status = 'hidden' where id = ${hidden}`
      const responses = [
        reserveUnits({ listing_id: deleted }),
        reserveUnits({ listing_id: hidden }),
      ]
      await untilLockWaiters(app.ctx.db, 2)
      return { responses }
    })
    expect(await Promise.all(waiting.responses)).toMatchObject([{ status: 404 }, { status: 409 }])
  })

  /** Reserves the listing while `withdraw` runs (`responses`) and again after it (`later`). */
  async function race(listing: number, withdraw: () => Promise<TestResponse>) {
    const attempt = () => reserveUnits({ listing_id: listing })
    const before = Array.from({ length: CARTS }, attempt)
    const withdrawal = withdraw()
    const meanwhile = Array.from({ length: CARTS }, attempt)
    expect((await withdrawal).status).toBeLessThan(300)
    const later = await Promise.all(Array.from({ length: CARTS }, attempt))
    return { responses: await Promise.all([...before, ...meanwhile]), later }
  }
})

describe('several processes', () => {
  const UNITS = 50

  it('three processes on one database grant the last unit once and never exceed the stock', async () => {
    const { db, url } = await testDatabase('empty')
    await db`insert into products (slug, name, category, version) values ('tin', 'Tin', 'tin', 1)`
    const [account] = await db<{ id: number }[]>`
      insert into accounts (shop_name, slug, email, created_at)
      values ('Shop', 'shop', 'shop@mail.example', '2026-01-01')
      returning id
    `
    const [last, many] = await db<{ id: number }[]>`
      insert into listings (
        account_id, product_slug, price_cents, quantity, language, created_at, updated_at
      )
      select ${account!.id}, 'tin', 100, quantity, 'EN', '2026-01-01', '2026-01-01'
      from unnest(array[1, ${UNITS}]::int[]) quantity
      returning id
    `
    const settings = {
      DATABASE_URL: url,
      SANDBOX: 'true',
      LOG_LEVEL: 'warn',
      OPERATOR_TOKEN,
      // Each process would make one of its own, and the last one could not read the demo seller's bank account.
      SECRET_KEY: 'x'.repeat(32),
    }
    const services = await Promise.all(
      Array.from({ length: 3 }, async () => (await startService(settings)).ready()),
    )
    const attempt = (service: Service, listing_id: number, quantity: number) =>
      service.call('POST', RESERVATIONS, {
        token: OPERATOR_TOKEN,
        body: { listing_id, quantity, cart_id: 'c' },
      })

    const atLast = Array.from({ length: 99 }, (_, i) => attempt(services[i % 3]!, last!.id, 1))
    expect(countByStatus(await Promise.all(atLast))).toEqual({ 201: 1, 409: 98 })

    const atMany = Array.from({ length: 60 }, (_, i) =>
      // Every process asks for every quantity.
      attempt(services[Math.floor(i / 3) % 3]!, many!.id, 1 + (i % 3)),
    )
    const responses = await Promise.all(atMany)
    const granted = responses.filter(({ status }) => status === 201)
    expect(granted.reduce((sum, { body }) => sum + body.data.quantity, 0)).toBe(UNITS)
    const perListing = await db`
      select sum(quantity)::int as units from reservations group by listing_id order by 1
    `
    expect(perListing.map(({ units }) => units)).toEqual([1, UNITS])
    await Promise.all(services.map((service) => service.stop()))
  })
})

/** Lists a card with this stock; returns the listing's id. */
async function listWith(quantity: number): Promise<number> {
  const [id] = await list(shop, cardItem({ card: 'swsh9-1', quantity }))
  return id!
}

const reserveUnits = (wanted: object, key?: string): Promise<TestResponse> =>
  app.operator.post(RESERVATIONS, {
    payload: { quantity: 1, cart_id: 'cart', ...wanted },
    headers: key === undefined ? {} : { 'idempotency-key': key },
  })

const patch = (listing: number, payload: object) =>
  shop.patch(`/v1/listings/${listing}`, { payload })

const available = async (listing: number): Promise<number> =>
  (await listed(shop, listing)).quantity_available

/** The units in the listing's rows of the table reservations. */
async function reservedUnits(listing: number): Promise<number> {
  const [row] = await app.ctx.db<{ units: number }[]>`
    select coalesce(sum(quantity), 0)::int as units from reservations where listing_id = ${listing}
  `
  return row!.units
}

/** The context with its clock stopped. */
const at = (moment: number) => ({ ...app.ctx, now: () => new Date(moment) })

const wholeSeconds = (moment: Date) => Math.floor(moment.getTime() / 1000) * 1000

const secondsOf = ({ created_at, expires_at }: { created_at: string; expires_at: string }) =>
  (Date.parse(expires_at) - Date.parse(created_at)) / 1000

const countByStatus = (responses: { status: number }[]) =>
  Object.fromEntries(
    Object.entries(Object.groupBy(responses, ({ status }) => status)).map(([status, group]) => [
      status,
      group!.length,
    ]),
  )

function expectConflict({ status, body }: TestResponse, message: string) {
  expect(status).toBe(409)
  expect(body.error).toEqual({ type: 'conflict', message })
}

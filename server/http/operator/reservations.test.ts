import { beforeAll, describe, expect, it } from 'vitest'
import { inTransaction } from '../../database/in-transaction.ts'
import { free, pruneReservations, reserve } from '../../listings/reservations.ts'
import { type Answer, OPERATOR_TOKEN, startTestApp, type TestApp } from '../../test/app.ts'
import { importCast } from '../../test/catalog-fixture.ts'
import { testDatabase } from '../../test/database.ts'
import { type Service, startService } from '../../test/process.ts'
import { until } from '../../test/until.ts'

const RESERVATIONS = '/operator/v1/reservations'
const DEFAULT_TTL_SECONDS = 900
/** Numbers that are no reservation's, nor any record's. */
const NOWHERE = ['999999', '9007199254740991', '0', '-1', '1.5', 'x', '99999999999999999999']

let app: TestApp
let shop: Awaited<ReturnType<TestApp['seller']>>
beforeAll(async () => {
  app = await startTestApp({ settings: { RATE_LIMIT_READ: '100000', RATE_LIMIT_WRITE: '100000' } })
  await importCast(app.operator)
  shop = await app.seller()
})

describe('POST /operator/v1/reservations', () => {
  it('holds units for 15 minutes of the service’s clock, where nothing else is asked for', async () => {
    await advance(3600)
    const listing = await listed(3)
    const before = wholeSeconds(app.ctx.now())
    const { status, body } = await hold({ listing_id: listing, quantity: 2, cart_id: 'cart-1' })
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

  it('holds them for as long as ttl_seconds says, which may be a second or 30 days', async () => {
    const listing = await listed(3)
    for (const ttl_seconds of [1, 60, 30 * 24 * 60 * 60]) {
      const { body } = await hold({ listing_id: listing, ttl_seconds })
      expect(secondsOf(body.data)).toBe(ttl_seconds)
    }
  })

  it('takes them off what is available and leaves the stock as it is, for everyone who looks', async () => {
    const listing = await listed(5)
    const { updated_at } = await shown(listing)
    await hold({ listing_id: listing, quantity: 2 })
    await hold({ listing_id: listing, quantity: 1, cart_id: 'another' })
    expect(await shown(listing)).toMatchObject({
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

  it('holds that much more for a cart that holds some already, and the whole of the stock', async () => {
    const listing = await listed(3)
    expect((await hold({ listing_id: listing, quantity: 1, cart_id: 'same' })).status).toBe(201)
    expect((await hold({ listing_id: listing, quantity: 2, cart_id: 'same' })).status).toBe(201)
    expect(await available(listing)).toBe(0)
  })

  it('says with 409 how many units are left when that is too few, and holds none', async () => {
    const listing = await listed(3)
    const wanted = { listing_id: listing, quantity: 4 }
    expectConflict(await hold(wanted), 'Only 3 of the 4 wanted can be reserved.')
    expect(await available(listing)).toBe(3)
    await hold({ listing_id: listing, quantity: 3 })
    expectConflict(
      await hold({ ...wanted, quantity: 1 }),
      'Only 0 of the 1 wanted can be reserved.',
    )
  })

  it.each([
    ['sold', { quantity: 0 }],
    ['hidden', { status: 'hidden' }],
  ])('answers 409 for a listing that is %s', async (_, change) => {
    const listing = await listed(3)
    await patch(listing, change)
    expectConflict(await hold({ listing_id: listing }), 'The listing is not on sale.')
  })

  it('takes units of a listing again that was hidden or sold for a while', async () => {
    const listing = await listed(1)
    await patch(listing, { status: 'hidden', quantity: 0 })
    await patch(listing, { status: 'active', quantity: 2 })
    expect((await hold({ listing_id: listing, quantity: 2 })).status).toBe(201)
  })

  it('answers 404 for a listing that was deleted, and for one there never was', async () => {
    const deleted = await listed(3)
    await shop.delete(`/v1/listings/${deleted}`)
    for (const listing_id of [deleted, 999_999, Number.MAX_SAFE_INTEGER]) {
      const { status, body } = await hold({ listing_id })
      expect([listing_id, status]).toEqual([listing_id, 404])
      expect(body.error).toEqual({ type: 'not_found', message: 'There is no such listing.' })
    }
  })

  it.each<[string, object, string]>([
    ['no listing', { listing_id: undefined }, 'listing_id'],
    ['no quantity', { quantity: undefined }, 'quantity'],
    ['no cart', { cart_id: undefined }, 'cart_id'],
    ['a listing sent as text', { listing_id: '1' }, 'listing_id'],
    ['a listing that is 0', { listing_id: 0 }, 'listing_id'],
    ['half a listing', { listing_id: 1.5 }, 'listing_id'],
    ['a listing beyond what JSON numbers hold', { listing_id: 2 ** 53 }, 'listing_id'],
    ['a quantity of 0', { quantity: 0 }, 'quantity'],
    ['a quantity of −1', { quantity: -1 }, 'quantity'],
    ['a quantity of 1.5', { quantity: 1.5 }, 'quantity'],
    ['a quantity sent as text', { quantity: '1' }, 'quantity'],
    ['a quantity that is true', { quantity: true }, 'quantity'],
    ['a quantity that is null', { quantity: null }, 'quantity'],
    ['a quantity beyond the database’s integers', { quantity: 2 ** 31 }, 'quantity'],
    ['a quantity beyond all measure', { quantity: 1e300 }, 'quantity'],
    ['a time of 0 seconds', { ttl_seconds: 0 }, 'ttl_seconds'],
    ['a time of −900 seconds', { ttl_seconds: -900 }, 'ttl_seconds'],
    ['a second and a half', { ttl_seconds: 1.5 }, 'ttl_seconds'],
    ['a time sent as text', { ttl_seconds: '60' }, 'ttl_seconds'],
    ['a time that is null', { ttl_seconds: null }, 'ttl_seconds'],
    ['more than 30 days', { ttl_seconds: 30 * 24 * 60 * 60 + 1 }, 'ttl_seconds'],
    ['a time beyond all dates', { ttl_seconds: 1e300 }, 'ttl_seconds'],
    ['a cart without a name', { cart_id: '' }, 'cart_id'],
    ['a cart that is a number', { cart_id: 7 }, 'cart_id'],
    ['a cart with too long a name', { cart_id: 'x'.repeat(256) }, 'cart_id'],
    ['a cart with NUL in its name', { cart_id: 'a\0b' }, 'cart_id'],
  ])('refuses %s with 422 on the field, and holds nothing', async (_, change, field) => {
    const listing = await listed(3)
    const { status, body } = await hold({ listing_id: listing, ...change })
    expect(status).toBe(422)
    expect(body.error.type).toBe('validation_error')
    expect(body.error.fields).toEqual({ [field]: [expect.any(String)] })
    expect(await available(listing)).toBe(3)
  })

  it('takes integers written 1.0', async () => {
    const payload = `{"listing_id":${await listed(1)}.0,"quantity":1.0,"cart_id":"c","ttl_seconds":60.0}`
    const headers = { 'content-type': 'application/json' }
    expect((await app.operator.post(RESERVATIONS, { payload, headers })).status).toBe(201)
  })

  it('is the operator’s alone', async () => {
    const payload = { listing_id: await listed(1), quantity: 1, cart_id: 'c' }
    for (const client of [app.anyone, shop]) {
      expect((await client.post(RESERVATIONS, { payload })).status).toBe(401)
    }
  })
})

describe('DELETE /operator/v1/reservations/{id}', () => {
  it('frees the units of that reservation and of no other', async () => {
    const listing = await listed(5)
    const one = await held(listing, 2)
    await held(listing, 1)
    const { status, text } = await app.operator.delete(`${RESERVATIONS}/${one}`)
    expect([status, text]).toEqual([204, ''])
    expect(await available(listing)).toBe(4)
    expect((await hold({ listing_id: listing, quantity: 4 })).status).toBe(201)
  })

  it('answers 404 for one that was freed, and for what is no reservation', async () => {
    const gone = await held(await listed(1), 1)
    await app.operator.delete(`${RESERVATIONS}/${gone}`)
    for (const id of [gone, ...NOWHERE]) {
      const { status, body } = await app.operator.delete(`${RESERVATIONS}/${id}`)
      expect([id, status, body.error.type]).toEqual([id, 404, 'not_found'])
    }
  })
})

describe('a reservation’s end', () => {
  it('comes with the service’s clock: what it held is available again', async () => {
    const listing = await listed(3)
    await hold({ listing_id: listing, quantity: 2, ttl_seconds: 600 })
    await hold({ listing_id: listing, quantity: 1, ttl_seconds: 1200 })
    await advance(540)
    expect(await available(listing)).toBe(0)
    await advance(60)
    expect(await available(listing)).toBe(2)
    expectConflict(
      await hold({ listing_id: listing, quantity: 3 }),
      'Only 2 of the 3 wanted can be reserved.',
    )
    await advance(600)
    expect(await available(listing)).toBe(3)
    expect((await hold({ listing_id: listing, quantity: 3 })).status).toBe(201)
  })

  it('is the very moment it was to expire: held a millisecond before, free from then on', async () => {
    const listing = await listed(1)
    const start = app.ctx.now().getTime()
    const wanted = { listingId: listing, cartId: 'c', quantity: 1, ttlSeconds: 60 }
    const { expiresAt } = await reserve(at(start), wanted)
    expect(expiresAt.getTime()).toBe(start + 60_000)
    await expect(reserve(at(start + 59_999), wanted)).rejects.toMatchObject({ type: 'conflict' })
    await expect(reserve(at(start + 60_000), wanted)).resolves.toMatchObject({ quantity: 1 })
  })

  it('needs nobody who clears up: pruning removes what has run out, and only that', async () => {
    const listing = await listed(10)
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

describe('stock set below what carts hold', () => {
  it('makes none available, never less, and more stock the difference', async () => {
    const listing = await listed(10)
    await held(listing, 7)
    const { body } = await patch(listing, { quantity: 3 })
    expect(body.data).toMatchObject({ quantity: 3, quantity_available: 0, status: 'active' })
    expect(await shown(listing)).toMatchObject({ quantity: 3, quantity_available: 0 })
    expectConflict(await hold({ listing_id: listing }), 'Only 0 of the 1 wanted can be reserved.')
    await patch(listing, { quantity: 0 })
    expect(await shown(listing)).toMatchObject({ quantity_available: 0, status: 'sold' })
    await patch(listing, { quantity: 9 })
    expect(await available(listing)).toBe(2)
    expectConflict(
      await hold({ listing_id: listing, quantity: 3 }),
      'Only 2 of the 3 wanted can be reserved.',
    )
    expect((await hold({ listing_id: listing, quantity: 2 })).status).toBe(201)
  })
})

describe('a change to a listing', () => {
  it('answers with what is available after those that were before it, though they commit while it waits', async () => {
    const listing = await listed(3)
    const first = { listingId: listing, cartId: 'first', quantity: 2, ttlSeconds: 60 }
    const waiting = await inTransaction(app.ctx, async (tx) => {
      await reserve(tx, first)
      const answer = patch(listing, { quantity: 5 })
      await lockIsWaitedFor()
      return { answer }
    })
    const { body } = await waiting.answer
    expect(body.data).toMatchObject({ quantity: 5, quantity_available: 3 })
  })
})

describe('deleting a listing', () => {
  it('takes its reservations along and leaves those of others', async () => {
    const [listing, other] = [await listed(5), await listed(5)]
    const [gone, kept] = [await held(listing, 2), await held(other, 2)]
    expect((await shop.delete(`/v1/listings/${listing}`)).status).toBe(204)
    expect((await app.operator.delete(`${RESERVATIONS}/${gone}`)).status).toBe(404)
    expect(await available(other)).toBe(3)
    expect((await app.operator.delete(`${RESERVATIONS}/${kept}`)).status).toBe(204)
  })
})

describe('an Idempotency-Key on POST /operator/v1/reservations', () => {
  it('gives the first answer again and holds nothing more', async () => {
    const listing = await listed(5)
    const first = await hold({ listing_id: listing, quantity: 2 }, 'hold-1')
    const second = await hold({ listing_id: listing, quantity: 2 }, 'hold-1')
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.text).toBe(first.text)
    expect(await available(listing)).toBe(3)
  })

  it('gives it even when the units are gone or the listing was deleted meanwhile', async () => {
    const listing = await listed(1)
    const first = await hold({ listing_id: listing }, 'hold-2')
    expect((await hold({ listing_id: listing }, 'hold-2')).text).toBe(first.text)
    await shop.delete(`/v1/listings/${listing}`)
    expect((await hold({ listing_id: listing }, 'hold-2')).text).toBe(first.text)
  })

  it('with another body is refused with 422 and holds nothing', async () => {
    const listing = await listed(5)
    await hold({ listing_id: listing, quantity: 1 }, 'hold-3')
    const { status, body } = await hold({ listing_id: listing, quantity: 2 }, 'hold-3')
    expect(status).toBe(422)
    expect(Object.keys(body.error.fields)).toEqual(['Idempotency-Key'])
    expect(await available(listing)).toBe(4)
  })

  it('makes twins that arrive together one', async () => {
    const listing = await listed(50)
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => hold({ listing_id: listing }, 'hold-4')),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await available(listing)).toBe(49)
  })

  it('of a request that was refused can be used again', async () => {
    const listing = await listed(1)
    const first = await held(listing, 1)
    expect((await hold({ listing_id: listing }, 'hold-5')).status).toBe(409)
    await app.operator.delete(`${RESERVATIONS}/${first}`)
    expect((await hold({ listing_id: listing }, 'hold-5')).status).toBe(201)
  })
})

describe('many carts at once', () => {
  it('get the last unit once: one 201 and 99 times 409', async () => {
    const listing = await listed(1)
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, cart) =>
        hold({ listing_id: listing, cart_id: `cart-${cart}` }),
      ),
    )
    expect(counted(answers)).toEqual({ 201: 1, 409: 99 })
    expect(await heldOf(listing)).toBe(1)
  })

  it('never get more than there is, and all of it when enough of them want one', async () => {
    const listing = await listed(50)
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, cart) =>
        hold({ listing_id: listing, quantity: 1 + (cart % 3) }),
      ),
    )
    const granted = answers.filter(({ status }) => status === 201)
    const units = granted.reduce((sum, { body }) => sum + body.data.quantity, 0)
    expect(granted.length + answers.filter(({ status }) => status === 409).length).toBe(60)
    expect(units).toBe(50)
    expect(await heldOf(listing)).toBe(50)
    expect(await available(listing)).toBe(0)
  })

  it('see what a cart has got that was before them, though it commits while they wait', async () => {
    const listing = await listed(2)
    const first = { listingId: listing, cartId: 'first', quantity: 2, ttlSeconds: 60 }
    const waiting = await inTransaction(app.ctx, async (tx) => {
      await reserve(tx, first)
      const answer = hold({ listing_id: listing })
      await lockIsWaitedFor()
      return { answer }
    })
    expectConflict(await waiting.answer, 'Only 0 of the 1 wanted can be reserved.')
  })
})

describe('a listing that goes while carts want it', () => {
  // Each time anew, because chance decides who comes first.
  const ROUNDS = 12
  const CARTS = 12

  it('leaves no reservation once its DELETE was answered', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const listing = await listed(999)
      const { answers, later } = await race(listing, () => shop.delete(`/v1/listings/${listing}`))
      expect(
        Object.keys(counted(answers)).filter((status) => !['201', '404'].includes(status)),
      ).toEqual([])
      expect(counted(later)).toEqual({ 404: CARTS })
      expect(await heldOf(listing)).toBe(0)
    }
  })

  it.each([
    ['sold', { quantity: 0 }],
    ['hidden', { status: 'hidden' }],
  ])('gets no reservation once it is %s', async (_, change) => {
    for (let round = 0; round < ROUNDS; round++) {
      const listing = await listed(999)
      const { answers, later } = await race(listing, () => patch(listing, change))
      expect(counted(later)).toEqual({ 409: CARTS })
      const granted = answers.filter(({ status }) => status === 201).length
      expect(await heldOf(listing)).toBe(granted)
      // Whoever got some was before the change.
      const [late] = await app.ctx.db`
        select from reservations r
        join listings l on l.id = r.listing_id
        where l.id = ${listing} and r.created_at > l.updated_at
      `
      expect(late).toBeUndefined()
    }
  })

  it('refuses a cart that waited for it to be deleted with 404, one that waited for it to be hidden with 409', async () => {
    const [deleted, hidden] = [await listed(5), await listed(5)]
    const waiting = await inTransaction(app.ctx, async (tx) => {
      await tx.db`update listings set status = 'removed' where id = ${deleted}`
      await tx.db`update listings set status = 'hidden' where id = ${hidden}`
      const answers = [hold({ listing_id: deleted }), hold({ listing_id: hidden })]
      await lockIsWaitedFor(2)
      return { answers }
    })
    expect(await Promise.all(waiting.answers)).toMatchObject([{ status: 404 }, { status: 409 }])
  })

  /** Carts that want it while it goes, and others that come when that was answered. */
  async function race(listing: number, go: () => Promise<Answer>) {
    const wish = () => hold({ listing_id: listing })
    const before = Array.from({ length: CARTS }, wish)
    const going = go()
    const meanwhile = Array.from({ length: CARTS }, wish)
    expect((await going).status).toBeLessThan(300)
    const later = await Promise.all(Array.from({ length: CARTS }, wish))
    return { answers: await Promise.all([...before, ...meanwhile]), later }
  }
})

describe('several processes on one database', () => {
  const UNITS = 50

  it('grant the last unit once, and never more than there is', async () => {
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
    }
    const services = await Promise.all(
      Array.from({ length: 3 }, async () => (await startService(settings)).ready()),
    )
    const wish = (service: Service, listing_id: number, quantity: number) =>
      service.call('POST', RESERVATIONS, {
        token: OPERATOR_TOKEN,
        body: { listing_id, quantity, cart_id: 'c' },
      })

    const atLast = Array.from({ length: 99 }, (_, i) => wish(services[i % 3]!, last!.id, 1))
    expect(counted(await Promise.all(atLast))).toEqual({ 201: 1, 409: 98 })

    const atMany = Array.from({ length: 60 }, (_, i) =>
      // Which process asks for how much differs from cart to cart.
      wish(services[Math.floor(i / 3) % 3]!, many!.id, 1 + (i % 3)),
    )
    const answers = await Promise.all(atMany)
    const granted = answers.filter(({ status }) => status === 201)
    expect(granted.reduce((sum, { body }) => sum + body.data.quantity, 0)).toBe(UNITS)
    const perListing = await db`
      select sum(quantity)::int as units from reservations group by listing_id order by 1
    `
    expect(perListing.map(({ units }) => units)).toEqual([1, UNITS])
    await Promise.all(services.map((service) => service.stop()))
  }, 60_000)
})

/** A listing of the shop with so much stock. */
async function listed(quantity: number): Promise<number> {
  const item = { card: 'swsh9-1', condition: 'NM', language: 'EN', price: 4.5, quantity }
  const { body } = await shop.post('/v1/listings', { payload: { items: [item] } })
  return body.results[0].listing.id
}

const hold = (wanted: object, key?: string): Promise<Answer> =>
  app.operator.post(RESERVATIONS, {
    payload: { quantity: 1, cart_id: 'cart', ...wanted },
    headers: key === undefined ? {} : { 'idempotency-key': key },
  })

/** The number of a reservation of so many units. */
const held = async (listing_id: number, quantity: number): Promise<number> =>
  (await hold({ listing_id, quantity })).body.data.id

const patch = (listing: number, payload: object) =>
  shop.patch(`/v1/listings/${listing}`, { payload })

/** As its owner sees it now. */
async function shown(listing: number) {
  const { body } = await shop.get('/v1/listings?per_page=100')
  return body.data.find(({ id }: { id: number }) => id === listing)
}

const available = async (listing: number): Promise<number> =>
  (await shown(listing)).quantity_available

/** Units that rows hold in the database. */
async function heldOf(listing: number): Promise<number> {
  const [row] = await app.ctx.db<{ units: number }[]>`
    select coalesce(sum(quantity), 0)::int as units from reservations where listing_id = ${listing}
  `
  return row!.units
}

/** Waits until so many statements are held up by another's lock. */
const lockIsWaitedFor = (most = 1) =>
  until('they wait for the lock', async () => {
    const waiting = await app.ctx.db`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'
    `
    return waiting.length === most
  })

const advance = (seconds: number) =>
  app.operator.post('/operator/v1/sandbox/clock', { payload: { advance_seconds: seconds } })

/** The service at a moment. */
const at = (moment: number) => ({ ...app.ctx, now: () => new Date(moment) })

const wholeSeconds = (moment: Date) => Math.floor(moment.getTime() / 1000) * 1000

const secondsOf = ({ created_at, expires_at }: { created_at: string; expires_at: string }) =>
  (Date.parse(expires_at) - Date.parse(created_at)) / 1000

const counted = (answers: { status: number }[]) =>
  Object.fromEntries(
    Object.entries(Object.groupBy(answers, ({ status }) => status)).map(([status, those]) => [
      status,
      those!.length,
    ]),
  )

function expectConflict({ status, body }: Answer, message: string) {
  expect(status).toBe(409)
  expect(body.error).toEqual({ type: 'conflict', message })
}

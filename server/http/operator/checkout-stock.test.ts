import { beforeAll, describe, expect, it } from 'vitest'
import { eurosFromCents } from '../../cents.ts'
import { inTransaction } from '../../database/in-transaction.ts'
import { reserve } from '../../listings/reservations.ts'
import { type Seller, startTestApp, type TestApp, type TestResponse } from '../../test/app.ts'
import {
  advance,
  cardItem,
  changeAccount,
  hold,
  list,
  listed,
  NO_LIMITS,
  productItem,
} from '../../test/fixtures/listings.ts'
import { buy, eventsOf, type Line, PARCEL, sendCart, shipsBy } from '../../test/fixtures/orders.ts'
import { untilLockWaiters } from '../../test/lock-waiters.ts'

const PARCEL_PRICE = eurosFromCents(PARCEL.priceCents)

let app: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await app.seller({ account: shipsBy(PARCEL) })
})

const stock = async (quantity: number, more: object = {}) =>
  (await list(seller, cardItem({ quantity, ...more })))[0]!

const patch = (listing: number, payload: object) =>
  seller.patch(`/v1/listings/${listing}`, { payload })

const listingOf = (listing: number) => listed(seller, listing)

/** Every row that a sale changes, and the number of rows that it inserts. */
async function saleState() {
  const { db } = app.ctx
  return {
    listings: [...(await db`select id, status, quantity, updated_at from listings order by id`)],
    reservations: [...(await db`select * from reservations order by id`)],
    checkouts: [...(await db`select count(*) from checkouts`)],
    slices: [...(await db`select count(*) from slices`)],
    orders: [...(await db`select count(*) from orders`)],
    events: [...(await db`select count(*) from events`)],
  }
}

function expectConflict({ status, body }: TestResponse, message: string) {
  expect(status).toBe(409)
  expect(body.error).toEqual({ type: 'conflict', message })
}

describe('stock', () => {
  it('a checkout lowers the listing’s quantity at once and updates updated_at', async () => {
    const id = await stock(5)
    const was = await listingOf(id)
    await advance(app.operator, 60)
    await buy(app, [[id, 2]])
    const is = await listingOf(id)
    expect(is).toMatchObject({ quantity: 3, quantity_available: 3, status: 'active' })
    expect(Date.parse(is.updated_at)).toBeGreaterThan(Date.parse(was.updated_at))
    expect(is).toEqual({ ...was, quantity: 3, quantity_available: 3, updated_at: is.updated_at })
  })

  it('a listing whose last unit is bought is sold and no longer offered', async () => {
    const offers = async () =>
      (await seller.get('/v1/cards/swsh9-10?include=listings')).body.data.listings
    const id = await stock(2, { card: 'swsh9-10' })
    const was = await listingOf(id)
    expect(await offers()).toMatchObject([{ id }])
    await advance(app.operator, 60)
    await buy(app, [[id, 2]])
    const is = await listingOf(id)
    expect(is).toMatchObject({ quantity: 0, quantity_available: 0, status: 'sold' })
    expect(Date.parse(is.updated_at)).toBeGreaterThan(Date.parse(was.updated_at))
    expect(await offers()).toEqual([])
    const since = new Date(Date.parse(was.updated_at) + 1_000).toISOString()
    const { body } = await seller.get(`/v1/listings?status=sold&updated_since=${since}`)
    expect(body.data).toMatchObject([{ id }])
  })

  it('a sold-out listing can be bought again after its seller restocks it', async () => {
    const id = await stock(1)
    await buy(app, [[id, 1]])
    expectConflict(await sendCart(app, [[id, 1]]), `Listing ${id} is not on sale.`)
    await patch(id, { quantity: 2 })
    expect((await sendCart(app, [[id, 2]])).status).toBe(201)
    expect(await listingOf(id)).toMatchObject({ status: 'sold', quantity: 0 })
  })

  it('a checkout changes no other field of the listing', async () => {
    const id = await stock(3, { description: 'Mine', printing: 'holo' })
    await buy(app, [[id, 1]])
    expect(await listingOf(id)).toMatchObject({ description: 'Mine', printing: 'holo', price: 4.5 })
  })
})

describe('atomicity', () => {
  it.each<[string, (listing: number) => Promise<unknown>, (listing: number) => string]>([
    [
      'has too little stock',
      async (id) => patch(id, { quantity: 2 }),
      (id) => `Listing ${id} has only 2 of the requested 3 units left.`,
    ],
    ['is sold', (id) => patch(id, { quantity: 0 }), (id) => `Listing ${id} is not on sale.`],
    ['is hidden', (id) => patch(id, { status: 'hidden' }), (id) => `Listing ${id} is not on sale.`],
    [
      'was deleted',
      (id) => seller.delete(`/v1/listings/${id}`),
      (id) => `Listing ${id} is not on sale.`,
    ],
    [
      'is partly in another cart',
      (id) => hold(app.operator, id, 8, { cart_id: 'another' }),
      (id) => `Listing ${id} has only 2 of the requested 3 units left.`,
    ],
    [
      'is reserved by other carts but for one unit of this cart',
      (id) => hold(app.operator, id, 9, { cart_id: 'another' }),
      (id) => `Listing ${id} has only 1 of the requested 3 units left.`,
    ],
    [
      'has less stock than other carts hold',
      async (id) => {
        await hold(app.operator, id, 8, { cart_id: 'another' })
        await patch(id, { quantity: 4 })
      },
      (id) => `Listing ${id} has no units left.`,
    ],
  ])(
    'a checkout with a listing that %s gets a 409 and changes nothing',
    async (_, change, message) => {
      const other = await app.seller({ account: shipsBy(PARCEL) })
      const [theirs] = await list(other, productItem())
      const [first, bad, last] = [await stock(3), await stock(10), await stock(3)]
      for (const id of [first, bad, last]) await hold(app.operator, id, 1, { cart_id: 'mine' })
      await change(bad)
      const before = await saleState()
      const lines: Line[] = [
        [first, 1],
        [bad, 3],
        [theirs!, 1],
        [last, 1],
      ]
      for (const sent of [lines, lines.toReversed()]) {
        expectConflict(await sendCart(app, sent, { cart_id: 'mine' }), message(bad))
      }
      expect(await saleState()).toEqual(before)
      expect(await eventsOf(app, other.accountId)).toEqual([])
    },
  )

  it.each([999_999, Number.MAX_SAFE_INTEGER])(
    'a checkout with the unknown listing %i gets a 409 and changes nothing',
    async (unknown) => {
      const id = await stock(3)
      const before = await saleState()
      const lines: Line[] = [
        [id, 1],
        [unknown, 1],
      ]
      expectConflict(await sendCart(app, lines), `Listing ${unknown} is not on sale.`)
      expect(await saleState()).toEqual(before)
    },
  )

  it('a checkout whose lines of one listing exceed its stock together gets a 409', async () => {
    const id = await stock(3)
    const lines: Line[] = [
      [id, 2],
      [id, 2],
    ]
    expectConflict(
      await sendCart(app, lines),
      `Listing ${id} has only 3 of the requested 4 units left.`,
    )
    expect(await listingOf(id)).toMatchObject({ quantity: 3 })
  })

  it('a checkout of a billion units gets a 409', async () => {
    const id = await stock(3)
    const many = Array.from({ length: 1000 }, (): Line => [id, 1_000_000])
    expectConflict(
      await sendCart(app, many),
      `Listing ${id} has only 3 of the requested 1000000000 units left.`,
    )
  })
})

describe('reservations', () => {
  const available = async (id: number) => (await listingOf(id)).quantity_available

  it('a checkout can use the reservations of its own cart only', async () => {
    const id = await stock(5)
    await hold(app.operator, id, 3, { cart_id: 'mine' })
    expect((await sendCart(app, [[id, 3]], { cart_id: 'another' })).status).toBe(409)
    expect((await sendCart(app, [[id, 3]])).status).toBe(409)
    expect((await sendCart(app, [[id, 3]], { cart_id: null })).status).toBe(409)
    expect((await sendCart(app, [[id, 5]], { cart_id: 'mine' })).status).toBe(201)
    expect(await listingOf(id)).toMatchObject({ status: 'sold' })
  })

  it('a checkout can buy every unreserved unit', async () => {
    const id = await stock(5)
    await hold(app.operator, id, 3, { cart_id: 'another' })
    expect((await sendCart(app, [[id, 2]])).status).toBe(201)
    expect(await listingOf(id)).toMatchObject({
      quantity: 3,
      quantity_available: 0,
      status: 'active',
    })
  })

  it('a checkout with another price than the buyer has seen is refused, although the cart holds the units', async () => {
    const id = await stock(3, { price: 4.5 })
    await hold(app.operator, id, 2, { cart_id: 'paid' })
    const checkout = (price: number, shipping: number) =>
      sendCart(app, [], {
        cart_id: 'paid',
        lines: [
          { listing_id: id, quantity: 1, price },
          { listing_id: id, quantity: 1 },
        ],
        shipping: [{ account_id: seller.accountId, option: PARCEL.code, price: shipping }],
      })
    await patch(id, { price: 6 })
    const before = await saleState()
    expectConflict(await checkout(4.5, PARCEL_PRICE), `Listing ${id} costs 6.00 EUR, not 4.50 EUR.`)
    expectConflict(
      await checkout(6, 0),
      `Shipping option parcel of seller ${seller.accountId} costs 6.95 EUR, not 0.00 EUR.`,
    )
    expect((await checkout(100_000, PARCEL_PRICE)).status).toBe(422)
    expect(await saleState()).toEqual(before)
    expect((await checkout(6.004, PARCEL_PRICE)).status).toBe(201)
  })

  it('a checkout consumes all reservations of its cart on the bought listings', async () => {
    const id = await stock(10)
    await hold(app.operator, id, 1, { cart_id: 'twice' })
    await hold(app.operator, id, 2, { cart_id: 'twice' })
    await buy(app, [[id, 3]], { cart_id: 'twice' })
    expect(await listingOf(id)).toMatchObject({ quantity: 7, quantity_available: 7 })
  })

  it('a checkout releases reserved units of a bought listing that it does not buy', async () => {
    const id = await stock(10)
    await hold(app.operator, id, 6, { cart_id: 'mind changed' })
    await buy(app, [[id, 1]], { cart_id: 'mind changed' })
    expect(await listingOf(id)).toMatchObject({ quantity: 9, quantity_available: 9 })
  })

  it('a checkout keeps its cart’s reservations of other listings', async () => {
    const [id, other] = [await stock(5), await stock(5)]
    for (const listing of [id, other]) await hold(app.operator, listing, 2, { cart_id: 'two' })
    await buy(app, [[id, 2]], { cart_id: 'two' })
    expect([await available(id), await available(other)]).toEqual([3, 3])
  })

  it('a checkout keeps other carts’ reservations of the same listing', async () => {
    const id = await stock(10)
    await hold(app.operator, id, 4, { cart_id: 'theirs' })
    await hold(app.operator, id, 2, { cart_id: 'ours' })
    await buy(app, [[id, 2]], { cart_id: 'ours' })
    expect(await listingOf(id)).toMatchObject({ quantity: 8, quantity_available: 4 })
  })

  it('a checkout without a cart id consumes no reservation', async () => {
    const id = await stock(10)
    await hold(app.operator, id, 4, { cart_id: 'cart' })
    await buy(app, [[id, 2]])
    expect(await listingOf(id)).toMatchObject({ quantity: 8, quantity_available: 4 })
  })

  it('nobody can reserve or order from a suspended shop, not even units that a cart has reserved before', async () => {
    const shop = await app.seller({ account: shipsBy(PARCEL) })
    const [id] = await list(shop, cardItem())
    await hold(app.operator, id!, 1, { cart_id: 'before' })
    const order = async () => (await sendCart(app, [[id!, 1]], { cart_id: 'before' })).status
    const reservation = { listing_id: id, quantity: 1, cart_id: 'cart' }
    const held = async () =>
      (await app.operator.post('/operator/v1/reservations', { payload: reservation })).status
    await changeAccount(app, shop.accountId, { api_access: 'suspended' })
    expect([await held(), await order()]).toEqual([409, 409])
    await changeAccount(app, shop.accountId, { api_access: 'disabled' })
    expect([await held(), await order()]).toEqual([201, 201])
  })

  it('an expired reservation does not block a checkout, to the second', async () => {
    const id = await stock(3)
    await hold(app.operator, id, 3, { cart_id: 'slow', ttl_seconds: 600 })
    await advance(app.operator, 590)
    expect((await sendCart(app, [[id, 1]])).status).toBe(409)
    await advance(app.operator, 10)
    expect((await sendCart(app, [[id, 3]])).status).toBe(201)
  })

  it('a cart whose reservation expired can buy what is still available', async () => {
    const id = await stock(3)
    await hold(app.operator, id, 3, { cart_id: 'late', ttl_seconds: 60 })
    await advance(app.operator, 60)
    await hold(app.operator, id, 2, { cart_id: 'quick' })
    expect((await sendCart(app, [[id, 2]], { cart_id: 'late' })).status).toBe(409)
    expect((await sendCart(app, [[id, 1]], { cart_id: 'late' })).status).toBe(201)
    expect(await listingOf(id)).toMatchObject({ quantity: 2, quantity_available: 0 })
  })

  it('a checkout that waits for a reservation counts its units', async () => {
    const id = await stock(2)
    const waiting = await inTransaction(app.ctx, async (tx) => {
      await reserve(tx, { listingId: id, cartId: 'first', quantity: 2, ttlSeconds: 60 })
      const response = sendCart(app, [[id, 1]])
      await untilLockWaiters(app.ctx.db)
      return { response }
    })
    expectConflict(await waiting.response, `Listing ${id} has no units left.`)
  })

  it('a checkout that waits for a change of a listing sells the changed listing', async () => {
    const [gone, dearer] = [await stock(5), await stock(5)]
    const waiting = await inTransaction(app.ctx, async (tx) => {
      await tx.db`update listings set status = 'removed' where id = ${gone}`
      await tx.db`update listings set price_cents = 999, quantity = 2 where id = ${dearer}`
      const responses = [sendCart(app, [[gone, 1]]), sendCart(app, [[dearer, 2]])]
      // One transaction waits for both.
      await untilLockWaiters(app.ctx.db)
      return { responses }
    })
    const [refused, sold] = await Promise.all(waiting.responses)
    expectConflict(refused!, `Listing ${gone} is not on sale.`)
    const [order] = sold!.body.data.slices[0].order_ids
    const { body } = await seller.get(`/v1/orders/${order}`)
    expect(body.data.orders[0]).toMatchObject({ price: 9.99, quantity: 2 })
    expect(await listingOf(dearer)).toMatchObject({ status: 'sold' })
  })
})

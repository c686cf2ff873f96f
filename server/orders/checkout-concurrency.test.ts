import { beforeAll, describe, expect, it } from 'vitest'
import { randomNumbers } from '../../scripts/random.ts'
import {
  OPERATOR_TOKEN,
  type Seller,
  startTestApp,
  type TestApp,
  type TestResponse,
} from '../test/app.ts'
import { cardItem, list, listed, NO_LIMITS } from '../test/fixtures/listings.ts'
import {
  ADDRESS,
  BUYER,
  buy,
  cancel,
  eventsOf,
  type Line,
  SHIPS,
  sendCart,
} from '../test/fixtures/orders.ts'
import { startService } from '../test/process.ts'

let app: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await app.seller({ account: SHIPS })
})

const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))

const counted = (responses: { status: number }[]) => {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Random numbers that are the same for the same seed, so that a failing round can be repeated. */
function chance(seed: number) {
  const random = randomNumbers(seed)
  return (below: number) => Math.floor(random() * below)
}

const shuffled = <T>(all: T[], pick: (below: number) => number): T[] =>
  all
    .map((one) => ({ one, place: pick(1_000_000) }))
    .sort((a, b) => a.place - b.place)
    .map(({ one }) => one)

/** Units of each listing in orders that were not cancelled. */
async function unitsSold(listings: number[]): Promise<number[]> {
  const rows = await app.ctx.db<{ id: number; units: number }[]>`
    select listing_id as id, sum(quantity) as units
    from orders
    where listing_id = any(${listings}::bigint[]) and status <> 'cancelled'
    group by listing_id
  `
  return listings.map((id) => rows.find((row) => row.id === id)?.units ?? 0)
}

const stockOf = async (listings: number[]): Promise<number[]> => {
  const rows = await app.ctx.db<{ id: number; quantity: number }[]>`
    select id, quantity from listings where id = any(${listings}::bigint[])
  `
  return listings.map((id) => rows.find((row) => row.id === id)!.quantity)
}

const added = (a: number[], b: number[]) => a.map((one, i) => one + b[i]!)

describe('many carts at once', () => {
  it('one of a hundred concurrent carts buys the last unit, and 99 get 409', async () => {
    const shop = await app.seller({ account: SHIPS })
    const [last] = await list(shop, cardItem({ quantity: 1 }))
    const responses = await Promise.all(times(100, () => sendCart(app, [[last!, 1]])))
    expect(counted(responses)).toEqual({ 201: 1, 409: 99 })
    expect(await listed(shop, last!)).toMatchObject({ quantity: 0, status: 'sold' })
    expect((await shop.get('/v1/orders')).body.meta.total).toBe(1)
    expect(await eventsOf(app, shop.accountId)).toHaveLength(2)
  })

  it('concurrent carts buy the whole stock and never more', async () => {
    const shop = await app.seller({ account: SHIPS })
    const [listing] = await list(shop, cardItem({ quantity: 50 }))
    const responses = await Promise.all(times(60, (i) => sendCart(app, [[listing!, 1 + (i % 3)]])))
    expect(Object.keys(counted(responses)).sort()).toEqual(['201', '409'])
    expect(await unitsSold([listing!])).toEqual([50])
    expect(await listed(shop, listing!)).toMatchObject({ quantity: 0, status: 'sold' })
    // Each sale left less than the one before, down to zero.
    const sales = (await eventsOf(app, shop.accountId)).filter(
      ({ event }) => event === 'listing.sold',
    )
    expect(sales).toHaveLength(counted(responses)[201]!)
    let left = 50
    const inTurn = sales
      .map(({ data }) => data as { quantity_sold: number; remaining_quantity: number })
      .sort((a, b) => b.remaining_quantity - a.remaining_quantity)
    for (const { quantity_sold, remaining_quantity } of inTurn) {
      left -= quantity_sold
      expect(remaining_quantity).toBe(left)
    }
    expect(left).toBe(0)
  })

  it('concurrent checkouts and reservations never promise a unit twice', async () => {
    const [listing] = await list(seller, cardItem({ quantity: 30 }))
    const reserve = (i: number) =>
      app.operator.post('/operator/v1/reservations', {
        payload: { listing_id: listing, quantity: 1, cart_id: `cart-${i}` },
      })
    const responses = await Promise.all(
      times(60, (i) => (i % 2 ? reserve(i) : sendCart(app, [[listing!, 1]]))),
    )
    expect(counted(responses)).toEqual({ 201: 30, 409: 30 })
    const reserved = responses.filter(({ status }, i) => i % 2 && status === 201).length
    expect(await listed(seller, listing!)).toMatchObject({
      quantity: reserved,
      quantity_available: 0,
    })
    expect(await unitsSold([listing!])).toEqual([30 - reserved])
  })

  it('every cart can buy the units that it has reserved, whatever other carts do', async () => {
    const [listing] = await list(seller, cardItem({ quantity: 20 }))
    for (const i of times(20, (i) => i)) {
      await app.operator.post('/operator/v1/reservations', {
        payload: { listing_id: listing, quantity: 1, cart_id: `held-${i}` },
      })
    }
    const responses = await Promise.all([
      ...times(20, (i) => sendCart(app, [[listing!, 1]], { cart_id: `held-${i}` })),
      ...times(20, () => sendCart(app, [[listing!, 1]])),
    ])
    expect(counted(responses.slice(0, 20))).toEqual({ 201: 20 })
    expect(counted(responses.slice(20))).toEqual({ 409: 20 })
  })
})

describe('carts that hold the same listings', () => {
  const ROUNDS = 5

  it('carts with the same listings in opposite orders do not deadlock', async () => {
    const other = await app.seller({ account: SHIPS })
    for (let round = 0; round < ROUNDS; round++) {
      const pick = chance(round)
      const listings = [
        ...(await list(seller, cardItem({ quantity: 40 }), cardItem({ quantity: 40 }))),
        ...(await list(other, cardItem({ quantity: 40 }), cardItem({ quantity: 40 }))),
        ...(await list(seller, cardItem({ quantity: 40 }))),
      ]
      const responses = await Promise.all(
        times(20, (i) => {
          const order =
            i % 3 === 0 ? listings : i % 3 === 1 ? listings.toReversed() : shuffled(listings, pick)
          return sendCart(
            app,
            order.map((id): Line => [id, 1]),
          )
        }),
      )
      expect(counted(responses)).toEqual({ 201: 20 })
      expect(await stockOf(listings)).toEqual([20, 20, 20, 20, 20])
    }
  })

  it('carts amid cancellations, changes and deletions neither deadlock nor lose a unit', async () => {
    const other = await app.seller({ account: SHIPS })
    const STOCK = 30
    for (let round = 0; round < ROUNDS; round++) {
      const pick = chance(1_000 + round)
      const steady = [
        ...(await list(seller, ...times(3, () => cardItem({ quantity: STOCK })))),
        ...(await list(other, ...times(3, () => cardItem({ quantity: STOCK })))),
      ]
      const [doomed] = await list(seller, cardItem({ quantity: STOCK }))
      const all = [...steady, doomed!]
      const cart = () =>
        shuffled(all, pick)
          .slice(0, 2 + pick(all.length - 1))
          .map((id): Line => [id, 1 + pick(2)])
      // Orders to cancel, with several rows in each slice.
      const sales = []
      for (let i = 0; i < 6; i++) {
        sales.push(
          await buy(
            app,
            steady.map((id): Line => [id, 1]),
          ),
        )
      }
      const toCancel = sales.flatMap(({ slices }) => slices.flatMap(({ order_ids }) => order_ids))
      const works: (() => Promise<TestResponse>)[] = [
        ...times(20, () => () => sendCart(app, cart())),
        ...shuffled(toCancel, pick).map((id) => () => cancel(app, id)),
        // Changes of the price, not of the stock, so that the stock can be added up.
        ...steady.map((id, i) => () => {
          const owner = i < 3 ? seller : other
          return owner.patch(`/v1/listings/${id}`, { payload: { price: 1 + pick(9) } })
        }),
        ...times(3, () => () => seller.delete(`/v1/listings/${doomed}`)),
        ...steady.slice(0, 3).map((id) => () => seller.delete(`/v1/listings/${id}`)),
      ]
      const responses = await Promise.all(shuffled(works, pick).map((work) => work()))
      // A deadlock would be a 500.
      const others = responses.filter(({ status }) => ![200, 201, 204, 404, 409].includes(status))
      expect(others.map(({ text }) => text)).toEqual([])

      const [left, sold] = [await stockOf(steady), await unitsSold(steady)]
      const rows = await app.ctx.db<{ id: number; status: string }[]>`
        select id, status from listings where id = any(${all}::bigint[])
      `
      const isGone = (id: number) => rows.find((row) => row.id === id)!.status === 'removed'
      for (const [i, id] of steady.entries()) {
        // A deleted listing has no rows left that were not cancelled.
        expect([id, added(left, sold)[i]]).toEqual([id, STOCK])
        if (isGone(id)) expect(sold[i]).toBe(0)
      }
      // A listing with sold units cannot be deleted; one without is deleted once.
      const [doomedSold] = await unitsSold([doomed!])
      const deletions = await seller.delete(`/v1/listings/${doomed}`)
      expect(deletions.status).toBe(isGone(doomed!) ? 404 : 409)
      expect(isGone(doomed!)).toBe(doomedSold === 0)
    }
    const failed = app.logged.filter(({ level }) => level === 'error')
    expect(failed).toEqual([])
  })

  it('carts amid changes of stock never make a stock negative', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const pick = chance(2_000 + round)
      const listings = await list(seller, ...times(3, () => cardItem({ quantity: 5 })))
      const works: (() => Promise<TestResponse>)[] = [
        ...times(20, () => () => {
          const order = shuffled(listings, pick)
          return sendCart(
            app,
            order.map((id): Line => [id, 1 + pick(2)]),
          )
        }),
        ...times(12, (i) => () => {
          const payload = i % 4 === 3 ? { status: 'active' } : { quantity: pick(6) }
          return seller.patch(`/v1/listings/${listings[i % 3]}`, { payload })
        }),
      ]
      const responses = await Promise.all(shuffled(works, pick).map((work) => work()))
      expect(
        Object.keys(counted(responses)).filter((s) => !['200', '201', '409'].includes(s)),
      ).toEqual([])
      const rows = await app.ctx.db<{ quantity: number; status: string }[]>`
        select quantity, status from listings where id = any(${listings}::bigint[])
      `
      for (const { quantity, status } of rows) {
        expect(status).toBe(quantity > 0 ? 'active' : 'sold')
      }
    }
  })

  it('concurrent cancellations return every unit exactly once', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const pick = chance(3_000 + round)
      const listings = await list(seller, ...times(5, () => cardItem({ quantity: 8 })))
      const sales = await Promise.all(
        times(8, () =>
          buy(
            app,
            shuffled(listings, pick).map((id): Line => [id, 1]),
          ),
        ),
      )
      expect(await stockOf(listings)).toEqual([0, 0, 0, 0, 0])
      const ids = shuffled(
        sales.flatMap(({ orderIds }) => orderIds),
        pick,
      )
      // Each row is cancelled twice; its units return once.
      const responses = await Promise.all([...ids, ...ids].map((id) => cancel(app, id)))
      expect(counted(responses)).toEqual({ 200: 40, 409: 40 })
      expect(await stockOf(listings)).toEqual([8, 8, 8, 8, 8])
    }
  })
})

describe('three processes on one database', () => {
  it('three processes sell the last unit of a listing once, and never more than the stock', async () => {
    const [last, many] = await list(seller, cardItem({ quantity: 1 }), cardItem({ quantity: 50 }))
    const settings = {
      DATABASE_URL: app.databaseUrl,
      SANDBOX: 'true',
      LOG_LEVEL: 'warn',
      OPERATOR_TOKEN,
      SECRET_KEY: 'x'.repeat(32),
    }
    const services = await Promise.all(times(3, async () => (await startService(settings)).ready()))
    const wish = (service: number, lines: Line[]) =>
      services[service]!.call('POST', '/operator/v1/checkouts', {
        token: OPERATOR_TOKEN,
        body: {
          buyer: BUYER,
          address: ADDRESS,
          lines: lines.map(([listing_id, quantity]) => ({ listing_id, quantity })),
        },
      })
    const atLast = await Promise.all(times(99, (i) => wish(i % 3, [[last!, 1]])))
    expect(counted(atLast)).toEqual({ 201: 1, 409: 98 })

    const [first, second] = await list(
      seller,
      cardItem({ quantity: 60 }),
      cardItem({ quantity: 60 }),
    )
    const atMany = await Promise.all(
      times(60, (i) => {
        // Carts differ in process, quantity and order of lines.
        const lines: Line[] = [
          [first!, 1],
          [many!, 1 + (i % 3)],
          [second!, 1],
        ]
        return wish(Math.floor(i / 3) % 3, i % 2 ? lines : lines.toReversed())
      }),
    )
    const { 201: sales, 409: refused } = counted(atMany)
    expect(sales! + refused!).toBe(60)
    const listings = [last!, many!, first!, second!]
    expect(await unitsSold(listings)).toEqual([1, 50, sales, sales])
    expect(await stockOf(listings)).toEqual([0, 0, 60 - sales!, 60 - sales!])
    // On a busy machine, a process may get no response to its heartbeat in time.
    const missedHeartbeat = /^lost the notice connection/
    for (const service of services) {
      expect(service.log().filter(({ msg }) => !missedHeartbeat.test(String(msg)))).toEqual([])
    }
    await Promise.all(services.map((service) => service.stop()))
  })
})

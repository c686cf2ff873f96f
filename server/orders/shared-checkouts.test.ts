import { beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'
import { subscribe } from '../test/fakes/receiver.ts'
import { cardItem, hold, list, listed, NO_LIMITS, productItem } from '../test/fixtures/listings.ts'
import {
  ADDRESS,
  buy,
  LETTER,
  type Line,
  openShop,
  PARCEL,
  sendCart,
} from '../test/fixtures/orders.ts'
import { untilLockWaiters, whileLocked } from '../test/lock-waiters.ts'

let app: TestApp
type Seller = Awaited<ReturnType<typeof openShop>>
let letters: Seller
let parcels: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  letters = await openShop(app, LETTER)
  parcels = await openShop(app, PARCEL)
})

const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))

/** Everything that a checkout has written. */
async function recordOf(checkout: number) {
  const { db } = app.ctx
  const [row] =
    await db`select buyer_name, buyer_email, address from checkouts where id = ${checkout}`
  const rows = await db`
    select o.id, o.listing_id, o.quantity, o.price_cents, o.account_id, o.item_name, s.slice_key,
      s.shipping_code, s.account_id as seller
    from orders o
    join slices s on s.id = o.slice_id
    where s.checkout_id = ${checkout}
    order by o.id
  `
  const events = await db`
    select event, account_id, data::json as data
    from events
    where (data::json ->> 'order_id')::bigint = any(${rows.map(({ id }) => id)}::bigint[])
    order by id
  `
  return { ...row, rows, events }
}

it('concurrent carts each get their own checkout, and a cart that cannot be sold fails alone', async () => {
  const cards = await list(letters, ...times(6, () => cardItem({ quantity: 100, price: 3 })))
  const tins = await list(parcels, ...times(6, () => productItem({ quantity: 100, price: 40 })))
  const [scarce] = await list(letters, cardItem({ quantity: 1 }))
  const carts = times(60, (i) => {
    const lines: Line[] = [
      [tins[i % 6]!, 1 + (i % 3)],
      [cards[(i * 5) % 6]!, 1],
    ]
    const buyer = { name: `Buyer ${i}`, email: `buyer-${i}@mail.example` }
    if (i % 10 === 3) return { lines: [...lines, [scarce!, 2] as Line], buyer, status: 409 }
    if (i % 10 === 7) {
      const shipping = [{ account_id: parcels.accountId, option: 'drone' }]
      return { lines, buyer, more: { shipping }, status: 422 }
    }
    return { lines, buyer, more: i % 2 ? { address: null } : {}, status: 201 }
  })
  const responses = await Promise.all(
    carts.map(({ lines, buyer, more }) => sendCart(app, lines, { buyer, ...more })),
  )
  expect(responses.map(({ status }) => status)).toEqual(carts.map(({ status }) => status))
  for (const [i, { status, body }] of responses.entries()) {
    if (status !== 201) continue
    const { lines, buyer } = carts[i]!
    const record = await recordOf(body.data.id)
    expect(record).toMatchObject({
      buyer_name: buyer.name,
      buyer_email: buyer.email,
      address: i % 2 ? null : ADDRESS,
    })
    expect(record.rows.map((row) => [row.listing_id, row.quantity, row.shipping_code])).toEqual([
      [lines[1]![0], 1, 'letter'],
      [lines[0]![0], lines[0]![1], 'parcel'],
    ])
    expect(body.data.slices.flatMap((slice: { order_ids: number[] }) => slice.order_ids)).toEqual(
      record.rows.map(({ id }) => id),
    )
    for (const row of record.rows) {
      expect(row.account_id).toBe(row.seller)
      const events = record.events.filter(({ data }) => data.order_id === row.id)
      expect(events.map(({ event }) => event)).toEqual(['order.created', 'listing.sold'])
      expect(events[0]!.account_id).toBe(row.seller)
      expect(events[0]!.data).toMatchObject({
        slice_key: row.slice_key,
        listing_id: row.listing_id,
        quantity: row.quantity,
        item_name: row.item_name,
        buyer_name: buyer.name,
      })
      const mails = await app.ctx.db`
        select recipient from mails
        where text like ${`%${buyer.name} has bought from you%`} and text like ${`%(order ${row.id})%`}
      `
      expect(mails.length).toBe(1)
    }
  }
  const sold = responses.filter(({ status }) => status === 201).length
  const [counts] = await app.ctx.db`
    select count(*) as checkouts, count(distinct xmin::text) as transactions from checkouts
  `
  expect(counts!.checkouts).toBe(sold)
  expect(counts!.transactions).toBeLessThan(sold)
  const [left] = await app.ctx.db`
    select sum(100 - quantity) as units from listings where id = any(${[...cards, ...tins]}::bigint[])
  `
  const [units] = await app.ctx.db`select sum(quantity) as units from orders`
  expect(left!.units).toBe(units!.units)
  expect(await listed(letters, scarce!)).toMatchObject({ quantity: 1, status: 'active' })
})

it('concurrent carts of one listing are sold in turn, and each event has the stock that its sale has left', async () => {
  const [listing] = await list(letters, cardItem({ quantity: 20 }))
  const responses = await Promise.all(times(25, () => sendCart(app, [[listing!, 1]])))
  expect(responses.filter(({ status }) => status === 201).length).toBe(20)
  const events = await app.ctx.db<{ left: number }[]>`
    select (data::json ->> 'remaining_quantity')::int as left
    from events
    where event = 'listing.sold' and (data::json ->> 'listing_id')::bigint = ${listing!}
    order by id
  `
  expect(events.map(({ left }) => left)).toEqual(times(20, (i) => 19 - i))
  expect(await listed(letters, listing!)).toMatchObject({ quantity: 0, status: 'sold' })
})

it('the first checkout of a cart uses up its reservations, and no checkout uses those of other carts', async () => {
  const [listing] = await list(letters, cardItem({ quantity: 10 }))
  await hold(app.operator, listing!, 6, { cart_id: 'mine' })
  await hold(app.operator, listing!, 4, { cart_id: 'theirs' })
  const send = (quantity: number, cart_id?: string) =>
    sendCart(app, [[listing!, quantity]], cart_id ? { cart_id } : {})
  const [mine, ...others] = await Promise.all([send(5, 'mine'), ...times(5, () => send(1))])
  expect(mine!.status).toBe(201)
  // The sixth unit that `mine` held is free again.
  expect(others.filter(({ status }) => status === 201).length).toBe(1)
  expect(await listed(letters, listing!)).toMatchObject({ quantity: 4, quantity_available: 0 })
  expect((await send(4, 'theirs')).status).toBe(201)
})

it('a cart whose listing another transaction has locked delays only itself', async () => {
  const [locked, ...free] = await list(letters, ...times(4, () => cardItem({ quantity: 5 })))
  let waiting: ReturnType<typeof sendCart> | undefined
  await app.ctx.begin(async (tx) => {
    await tx`select from listings where id = ${locked!} for update`
    waiting = sendCart(app, [
      [locked!, 1],
      [free[0]!, 1],
    ])
    const others = await Promise.all(free.map((id) => sendCart(app, [[id, 1]])))
    expect(others.map(({ status }) => status)).toEqual([201, 201, 201])
    await untilLockWaiters(app.ctx.db)
    await tx`update listings set quantity = 0, status = 'sold' where id = ${locked!}`
  })
  const { status, body } = await waiting!
  expect(status).toBe(409)
  expect(body.error.message).toBe(`Listing ${locked} is not on sale.`)
  expect(await listed(letters, free[0]!)).toMatchObject({ quantity: 4 })
})

it('a cart does not wait for the deletion of an endpoint of its seller, whose deliveries are being skipped', async () => {
  const shop = await openShop(app, LETTER)
  const { id } = await subscribe(shop, 'https://shop.example/hooks')
  const [listing] = await list(shop, cardItem({ quantity: 2 }))
  await buy(app, [[listing!, 1]])
  const { deletion } = await whileLocked(
    app.ctx,
    (db) => db`select from deliveries where endpoint_id = ${id} for update`,
    async () => {
      const deletion = shop.delete(`/v1/webhooks/${id}`)
      await untilLockWaiters(app.ctx.db)
      expect((await sendCart(app, [[listing!, 1]])).status).toBe(201)
      return { deletion }
    },
  )
  expect((await deletion).status).toBe(204)
})

it('a cart of many lines is sold', async () => {
  const ids = await list(letters, ...times(40, () => cardItem({ quantity: 2 })))
  const { orderIds } = await buy(
    app,
    ids.map((id): Line => [id, 2]),
  )
  expect(orderIds.length).toBe(40)
})

import { beforeAll, describe, expect, it } from 'vitest'
import { inTransaction } from '../database/in-transaction.ts'
import { type Seller, startTestApp, type TestApp, type TestResponse } from '../test/app.ts'
import { cardItem, list, NO_LIMITS } from '../test/fixtures/listings.ts'
import {
  act,
  BUYER,
  buy,
  cancel,
  type Line,
  SHIPS,
  sendCart,
  ship,
} from '../test/fixtures/orders.ts'
import { untilLockWaiters, whileLocked } from '../test/lock-waiters.ts'
import { receiveLongShipped } from './transitions.ts'

/** All transactions take locks in the order of locks.ts, so that they cannot deadlock. */

type Table = 'listings' | 'slices' | 'orders' | 'mails'

let app: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await app.seller({ account: SHIPS })
})

/** Three listings, sold as one slice. */
async function ordered() {
  const listings = await list(seller, cardItem(), cardItem(), cardItem())
  const { orderIds } = await buy(
    app,
    listings.map((id): Line => [id, 1]),
  )
  const [slice] = await app.ctx.db<{ id: number }[]>`
    select slice_id as id from orders where id = ${orderIds[0]!}
  `
  return { listings, orders: orderIds, slice: slice!.id }
}

const isFree = async (table: Table, id: number): Promise<boolean> => {
  const { db } = app.ctx
  const rows = await db`select from ${db(table)} where id = ${id} for update skip locked`
  return rows.length === 1
}

/** Starts `work` while another transaction locks a row; calls `look` when `work` waits for that lock. */
async function whileHeld<T, Response = TestResponse>(
  table: Table,
  id: number,
  work: () => Promise<Response>,
  look: () => Promise<T>,
): Promise<{ seen: T; response: Response }> {
  const { seen, response } = await inTransaction(app.ctx, async ({ db }) => {
    await db`select from ${db(table)} where id = ${id} for update`
    const response = work()
    await untilLockWaiters(app.ctx.db)
    return { seen: await look(), response }
  })
  return { seen, response: await response }
}

describe('a checkout', () => {
  it('a checkout locks its listings in the order of their ids, whatever their order in the cart', async () => {
    const [first, second, third] = (await list(seller, cardItem(), cardItem(), cardItem())) as [
      ...[number, number, number],
    ]
    const { seen, response } = await whileHeld(
      'listings',
      second,
      () =>
        sendCart(app, [
          [third, 1],
          [first, 1],
          [second, 1],
        ]),
      () => Promise.all([isFree('listings', first), isFree('listings', third)]),
    )
    expect(seen).toEqual([false, true])
    expect(response.status).toBe(201)
  })
})

describe('a cancellation', () => {
  it('a cancellation with restock locks the listing, then the slice, then the order row', async () => {
    const { listings, orders, slice } = await ordered()
    const { seen, response } = await whileHeld(
      'slices',
      slice,
      () => cancel(app, orders[1]!),
      () => Promise.all([isFree('listings', listings[1]!), isFree('orders', orders[1]!)]),
    )
    expect(seen).toEqual([false, true])
    expect(response.status).toBe(200)
  })

  it('a cancellation with restock holds no other lock while it waits for the listing', async () => {
    const { listings, orders, slice } = await ordered()
    const { seen } = await whileHeld(
      'listings',
      listings[1]!,
      () => cancel(app, orders[1]!),
      () => Promise.all([isFree('slices', slice), isFree('orders', orders[1]!)]),
    )
    expect(seen).toEqual([true, true])
  })

  it('a cancellation without restock does not lock the listing', async () => {
    const { listings, orders, slice } = await ordered()
    const { seen } = await whileHeld(
      'slices',
      slice,
      () => cancel(app, orders[1]!, { restock: false }),
      () => isFree('listings', listings[1]!),
    )
    expect(seen).toBe(true)
  })
})

describe('a transition of an order', () => {
  const changes: [string, boolean, (order: number) => Promise<TestResponse>][] = [
    ['shipping', false, (order) => ship(seller, order)],
    ['cancelling', false, (order) => cancel(app, order, { restock: false })],
    ['receiving', true, (order) => act(app, order, 'receive')],
    ['disputing', true, (order) => act(app, order, 'dispute')],
  ]

  it.each(changes)(
    '%s an order locks no order row before the slice',
    async (_, isOfShipped, change) => {
      const { orders, slice } = await ordered()
      if (isOfShipped) await ship(seller, orders[0]!)
      const { seen, response } = await whileHeld(
        'slices',
        slice,
        () => change(orders[0]!),
        () => Promise.all(orders.map((id) => isFree('orders', id))),
      )
      expect(seen).toEqual([true, true, true])
      expect(response.status).toBe(200)
    },
  )

  it.each(changes)(
    '%s an order locks the slice, then its order rows in the order of their ids',
    async (_, isOfShipped, change) => {
      const { orders, slice } = await ordered()
      if (isOfShipped) await ship(seller, orders[0]!)
      const { seen, response } = await whileHeld(
        'orders',
        orders[1]!,
        () => change(orders[2]!),
        () =>
          Promise.all([
            isFree('slices', slice),
            isFree('orders', orders[0]!),
            isFree('orders', orders[2]!),
          ]),
      )
      expect(seen).toEqual([false, false, true])
      expect(response.status).toBe(200)
    },
  )
})

describe('DELETE of a listing', () => {
  it('deleting a listing locks the listing before the order rows that name it', async () => {
    const { listings, orders } = await ordered()
    await cancel(app, orders[1]!, { restock: false })
    const { seen, response } = await whileHeld(
      'orders',
      orders[1]!,
      () => seller.delete(`/v1/listings/${listings[1]}`),
      () => isFree('listings', listings[1]!),
    )
    expect(seen).toBe(false)
    expect(response.status).toBe(204)
  })
})

/** Makes a statement without an order find this row last: it is stored after the others, and no index is used. */
async function storeLast(table: Table, id: number): Promise<TestApp> {
  const { db } = app.ctx
  await db`update ${db(table)} set created_at = created_at where id = ${id}`
  const [{ name } = { name: '' }] = await db<{ name: string }[]>`
    select current_database() as name
  `
  for (const scan of ['indexscan', 'bitmapscan']) {
    await db.unsafe(`alter database ${name} set enable_${scan} = off`)
  }
  return startTestApp({ databaseUrl: app.databaseUrl })
}

describe('a checkout', () => {
  it('a checkout that may not wait for the lock of a table responds with 503, whichever table it is', async () => {
    const { databaseUrl, ctx } = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
    const [{ name } = { name: '' }] = await ctx.db<{ name: string }[]>`
      select current_database() as name
    `
    await ctx.db.unsafe(`alter database ${name} set lock_timeout = 50`)
    const impatient = await startTestApp({ databaseUrl, settings: NO_LIMITS })
    const shop = await impatient.seller({ account: SHIPS })
    const [listing] = await list(shop, cardItem({ quantity: 100 }))
    // From the second time on, statements that are sent together are in one packet.
    expect((await sendCart(impatient, [[listing!, 1]])).status).toBe(201)
    const tables = ['listings', 'offer_changes', 'orders', 'events', 'mails']
    const statuses: [string, number][] = []
    for (const table of tables) {
      const { status } = await whileLocked(
        ctx,
        (db) => db`lock table ${db(table)} in share mode`,
        () => sendCart(impatient, [[listing!, 1]]),
      )
      statuses.push([table, status])
    }
    expect(statuses).toEqual(tables.map((table) => [table, 503]))
  })
})

describe('the receipt of long-shipped orders', () => {
  it('receiving long-shipped orders locks their rows in the order of their ids', async () => {
    const { orders } = await ordered()
    await ship(seller, orders[0]!)
    const { ctx } = await storeLast('orders', orders[0]!)
    const due = { ...ctx, now: () => new Date(ctx.now().getTime() + 14 * 24 * 60 * 60 * 1000) }
    const { seen } = await whileHeld(
      'orders',
      orders[1]!,
      () => receiveLongShipped(due),
      () => Promise.all([isFree('orders', orders[0]!), isFree('orders', orders[2]!)]),
    )
    expect(seen).toEqual([false, true])
  })
})

describe('an erasure', () => {
  it.each(['orders', 'mails'] as const)(
    'an erasure locks the %s in the order of their ids',
    async (table) => {
      const { db } = app.ctx
      const { orders, slice } = await ordered()
      for (const id of orders) await cancel(app, id, { restock: false })
      const [first, second, third] = await db<{ id: number }[]>`
      select id from ${db(table)} where slice_id = ${slice} order by id
    `
      const { operator } = await storeLast(table, first!.id)
      const { seen, response } = await whileHeld(
        table,
        second!.id,
        () => operator.post('/operator/v1/buyers/erase', { payload: { email: BUYER.email } }),
        () => Promise.all([isFree(table, first!.id), isFree(table, third!.id)]),
      )
      expect(seen).toEqual([false, true])
      expect(response.status).toBe(200)
    },
  )
})

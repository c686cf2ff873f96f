import { beforeAll, expect, it } from 'vitest'
import type { Context } from '../context.ts'
import type { Db } from '../database/sql.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { cardItem, list, NO_LIMITS } from '../test/fixtures/listings.ts'
import { act, buy, insertSlices, openShop, rowOf, ship } from '../test/fixtures/orders.ts'
import { whileReplaced } from '../test/while-replaced.ts'
import { forgetRemoved } from './remove-listings.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
})

/** Orders that one transaction changes. */
const BATCH = 5_000
/** The last 200 need a transaction of their own. */
const ORDERS = BATCH + 200

/** A seller with completed orders of one listing. */
async function sellerWithOrders(orders = ORDERS) {
  const { db } = app.ctx
  const seller = await app.seller()
  const [listing] = await list(seller, cardItem())
  await insertSlices(db, seller.accountId, Array(orders).fill('Ash'), { from: new Date(0) })
  await db`update orders set listing_id = ${listing!} where account_id = ${seller.accountId}`
  return { seller, listing: listing! }
}
type Shop = Pick<Awaited<ReturnType<typeof sellerWithOrders>>, 'seller' | 'listing'>

/** The number of a seller's orders from which each transaction removed the reference. */
async function transactionsOf(accountId: number): Promise<number[]> {
  const transactions = await app.ctx.db<{ orders: number }[]>`
    select count(*) as orders
    from orders
    -- An incremental sync reads the orders again.
    where account_id = ${accountId} and listing_id is null and updated_at > '2020-01-01'
    group by xmin::text
    order by orders
  `
  return transactions.map(({ orders }) => orders)
}

const OPERATOR = '/operator/v1'
const WAYS: [string, (shop: Shop) => Promise<{ status: number; text: string }>][] = [
  ['is deleted', ({ seller, listing }) => seller.delete(`/v1/listings/${listing}`)],
  [
    'is taken down',
    ({ listing }) =>
      app.operator.post(`${OPERATOR}/listings/${listing}/take-down`, {
        payload: { reason: 'A counterfeit' },
      }),
  ],
  [
    'was in an account that is closed',
    ({ seller }) => app.operator.post(`${OPERATOR}/accounts/${seller.accountId}/close`),
  ],
]

it.each(WAYS)(
  'no order names a listing that %s, and each transaction changes a bounded number of orders',
  async (_, remove) => {
    const shop = await sellerWithOrders()
    const { accountId } = shop.seller
    const removed = await remove(shop)
    expect(removed.status, removed.text).toBeLessThan(300)
    for (const page of [1, ORDERS / 100]) {
      const url = `${OPERATOR}/orders?account_id=${accountId}&per_page=100&page=${page}`
      const { body } = await app.operator.get(url)
      const named = body.data.map((order: { listing_id: number | null }) => order.listing_id)
      expect(named).toEqual(Array(100).fill(null))
    }
    const { body } = await app.operator.get(`${OPERATOR}/orders?listing_id=${shop.listing}`)
    expect(body.meta.total).toBe(0)

    await forgetRemoved(app.ctx)
    expect(await transactionsOf(accountId)).toEqual([200, BATCH])
  },
)

it('the completed orders of a listing that is taken down do not wait for its open ones, which change at once as well', async () => {
  const { db } = app.ctx
  const { seller, listing } = await sellerWithOrders(BATCH + ORDERS)
  const [open] = await db<[{ id: number }]>`
    update orders
    set status = 'disputed'
    where id = (select max(id) from orders where account_id = ${seller.accountId})
    returning id
  `
  const reason = { payload: { reason: 'A counterfeit' } }
  await app.operator.post(`${OPERATOR}/listings/${listing}/take-down`, reason)
  const changed = async () => {
    const rows = await db<{ id: number }[]>`
      select id
      from orders
      where account_id = ${seller.accountId} and updated_at > '2020-01-01'
    `
    return rows.map(({ id }) => id)
  }
  expect(await changed()).toHaveLength(BATCH + 1)
  expect(await changed()).toContain(open.id)
  await forgetRemoved(app.ctx)
  expect(await changed()).toHaveLength(BATCH + ORDERS)
  expect(await transactionsOf(seller.accountId)).toEqual([199, BATCH, BATCH])
  const named = () => db<{ id: number }[]>`select id from orders where listing_id = ${listing}`
  expect(await named()).toEqual([open])
  await db`update orders set status = 'received' where id = ${open.id}`
  await forgetRemoved(app.ctx)
  expect(await named()).toEqual([])
})

it.each(WAYS.slice(0, 2))(
  'an order that is disputed while its listing %s loses its reference once the dispute is resolved',
  async (_, remove) => {
    const { db } = app.ctx
    const seller = await openShop(app)
    const [listing] = (await list(seller, cardItem())) as [number]
    const [order] = (await buy(app, [[listing, 1]])).orderIds as [number]
    await ship(seller, order, { tracking_code: '3SAB' })
    await act(app, order, 'receive')

    const { begin } = app.ctx
    let isDisputed = false
    const disputing: Context['begin'] = (work, mode) =>
      begin((tx) => {
        const run = (...query: Parameters<Db>) => {
          // After the check for open orders.
          if (isDisputed || !String(query[0]).includes('update orders')) return tx(...query)
          isDisputed = true
          return act(app, order, 'dispute').then(() => tx(...query))
        }
        return work(Object.assign(run, tx) as Db)
      }, mode)
    const removed = await whileReplaced(app.ctx, { begin: disputing }, () =>
      remove({ seller, listing }),
    )
    expect(removed.status, removed.text).toBeLessThan(300)
    const { listing_id, status } = await rowOf(seller, order)
    expect([status, listing_id]).toEqual(['disputed', null])
    const references = () => db`select from orders where listing_id = ${listing}`
    expect(await references()).toHaveLength(1)

    await act(app, order, 'resolve', { in_favour_of: 'seller' })
    await forgetRemoved(app.ctx)
    expect(await references()).toHaveLength(0)
  },
)

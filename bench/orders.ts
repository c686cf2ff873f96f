import type { Row } from './engine.ts'
import { created, randomListings } from './listings.ts'
import type { LoadRequest } from './load.ts'
import { LARGE_SHOPS, type Market } from './market.ts'
import { MAX_REQUESTS, pagesOf } from './pages.ts'
import { shuffled } from './random.ts'

/** Orders of sellers, and sales. */
export const orders: Row[] = [
  { name: '30 orders with total, random page of 20 sellers', requests: orderPages, limit: 'http' },
  { name: 'slice of a random order', requests: slices, limit: 'http' },
  {
    name: 'checkout, random listing, 32 buyers',
    requests: checkouts,
    limit: 'checkOut',
    effects: {
      ...created('orders', 1),
      // The e-mail to the seller is captured in the sandbox.
      async isSettled(db) {
        const waiting = await db`select from mails where status = 'waiting' limit 1`
        return waiting.length === 0
      },
    },
    target: { micros: 500, perSecond: 800 },
  },
]

async function orderPages({ db, sellers }: Market): Promise<LoadRequest[]> {
  const measured = sellers.slice(0, LARGE_SHOPS)
  const totals = await db<{ id: number; total: number }[]>`
    select account_id as id, count(*)::int as total
    from orders
    where account_id = any(${measured.map(({ id }) => id)})
    group by account_id
  `
  return pagesOf(measured, totals, ({ page, query }, total) => ({
    path: `/v1/orders?${query}`,
    expected: [`"meta":{"current_page":${page},`, `"total":${total}}`],
  }))
}

async function slices({ db, sellers }: Market): Promise<LoadRequest[]> {
  const keys = new Map(sellers.map(({ id, key }) => [id, key]))
  const rows = await db<{ id: number; accountId: number }[]>`
    select id, account_id as "accountId"
    from orders tablesample bernoulli(
      (
        select least(100, 100.0 * ${2 * MAX_REQUESTS} / greatest(1, reltuples))
        from pg_class
        where oid = 'orders'::regclass
      )
    )
    where account_id = any(${[...keys.keys()]})
    limit ${MAX_REQUESTS}
  `
  return shuffled([...rows]).map(({ id, accountId }) => ({
    path: `/v1/orders/${id}`,
    key: keys.get(accountId)!,
    expected: [`"id":${id},`],
  }))
}

/** Buyers of random listings. The addresses of the buyers never repeat. */
async function checkouts(market: Market): Promise<LoadRequest[]> {
  const { service } = market
  const run = Date.now().toString(36)
  return (await randomListings(market)).map(({ id }, i) => {
    const email = `${run}-${i}@mail.example`
    return {
      method: 'POST',
      path: '/operator/v1/checkouts',
      key: service.operatorToken,
      body: JSON.stringify({
        buyer: { name: 'Buyer', email },
        address: null,
        lines: [{ listing_id: id, quantity: 1 }],
      }),
      status: 201,
      expected: ['"slice_key":"slc_', '"order_ids":['],
      parameters: [id, email],
    }
  })
}

import { readFile } from 'node:fs/promises'
import { beforeAll, expect, it } from 'vitest'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { cardItem, list, NO_LIMITS } from '../test/fixtures/listings.ts'
import { act, buy, cancel, LABEL, openShop, PARCEL, ship } from '../test/fixtures/orders.ts'

let app: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await openShop(app, PARCEL, LABEL)
})

/** Sells one unit each of listings with these prices to one buyer. */
async function sell(prices: number[], option = PARCEL) {
  const listings = await list(seller, ...prices.map((price) => cardItem({ price })))
  const shipping = [{ account_id: seller.accountId, option: option.code }]
  return buy(
    app,
    listings.map((id) => [id, 1]),
    { shipping },
  )
}

type Entry = {
  kind: string
  slice_key: string
  order_id: number | null
  account: string
  amount: number
}

/** The entries of a slice, oldest first, as `kind account amount`. */
async function entriesOf(sliceKey: string): Promise<string[]> {
  const { body } = await app.operator.get(`/operator/v1/ledger?slice_key=${sliceKey}&per_page=100`)
  const entries = (body.data as Entry[]).toReversed()
  return entries.map(
    ({ kind, account, amount }) => `${kind} ${account.replace(/:\d+/, '')} ${amount.toFixed(2)}`,
  )
}

const balances = async () =>
  (await app.operator.get('/operator/v1/ledger/balance')).body.data as Record<string, number>

it('a sale posts price and commission, and the shipping to the side that ships', async () => {
  const own = await sell([10])
  expect((await entriesOf(own.sliceKey)).toSorted()).toEqual([
    'sale buyers -10.00',
    'sale commission 0.50',
    'sale seller 9.50',
    'shipping buyers -6.95',
    'shipping seller 6.95',
  ])
  const labelled = await sell([10], LABEL)
  expect((await entriesOf(labelled.sliceKey)).filter((entry) => entry.startsWith('sh'))).toEqual([
    'shipping shipping 4.95',
    'shipping buyers -4.95',
  ])
})

it.each([PARCEL, LABEL])(
  'cancelling a row reverses its sale, and cancelling the last one refunds the shipping as well ($code)',
  async (option) => {
    const before = await balances()
    const { orderIds, sliceKey } = await sell([10, 3.33], option)
    await cancel(app, orderIds[0]!)
    const entries = await entriesOf(sliceKey)
    expect(entries.filter((entry) => entry.startsWith('cancellation')).toSorted()).toEqual([
      'cancellation commission -0.50',
      'cancellation refunds 10.00',
      'cancellation seller -9.50',
    ])
    expect(entries.filter((entry) => entry.startsWith('shipping_refund'))).toEqual([])
    await cancel(app, orderIds[1]!)
    const after = await balances()
    const paid = 13.33 + option.priceCents / 100
    expect(after.refunds! - before.refunds!).toBeCloseTo(paid, 6)
    expect(after.buyers! - before.buyers!).toBeCloseTo(-paid, 6)
    for (const account of ['commission', 'shipping', `seller:${seller.accountId}`]) {
      expect(after[account], account).toBe(before[account] ?? 0)
    }
  },
)

it('a received row keeps the shipping of its slice when the others are cancelled', async () => {
  const { orderIds, sliceKey } = await sell([10, 3])
  await ship(seller, orderIds[0]!, { tracking_code: 'CODE' })
  await act(app, orderIds[0]!, 'receive')
  await cancel(app, orderIds[1]!)
  expect((await entriesOf(sliceKey)).filter((entry) => entry.includes('shipping_'))).toEqual([])
})

it('the ledger sums to zero, and a list is filtered by seller, kind and time', async () => {
  const all = Object.values(await balances())
  expect(all.reduce((sum, euros) => sum + Math.round(euros * 100), 0)).toBe(0)
  const other = await openShop(app)
  const ledger = async (filters: string) =>
    (await app.operator.get(`/operator/v1/ledger?${filters}`)).body
  expect((await ledger(`account_id=${other.accountId}`)).data).toEqual([])
  const { data, meta } = await ledger(`account_id=${seller.accountId}&kind=sale&per_page=2`)
  expect(data.map(({ kind }: Entry) => kind)).toEqual(['sale', 'sale'])
  const last = await ledger(
    `account_id=${seller.accountId}&kind=sale&per_page=2&page=${meta.last_page}`,
  )
  expect(last.data.every(({ id }: { id: number }) => id < data[0].id)).toBe(true)
  expect((await ledger('to=2020-01-01')).meta.total).toBe(0)
  expect((await ledger('from=2020-01-01')).meta.total).toBeGreaterThan(meta.total)
})

it.each(['', 'kind=sale&', 'from=2020-01-01&', 'account'])(
  'pages of each size walk through the same entries of the ledger: %s',
  async (filter) => {
    await sell([1, 2])
    const filters = filter === 'account' ? `account_id=${seller.accountId}&` : filter
    const read = async (perPage: number, page: number) =>
      (await app.operator.get(`/operator/v1/ledger?${filters}per_page=${perPage}&page=${page}`))
        .body
    const { data: all, meta } = await read(100, 1)
    expect(meta.total).toBe(all.length)
    for (const perPage of [1, 2, 3, 7]) {
      const walked: Entry[] = []
      for (let page = 1; page <= Math.ceil(meta.total / perPage); page++) {
        walked.push(...(await read(perPage, page)).data)
      }
      expect(walked).toEqual(all)
    }
  },
)

it('the total of the ledger counts each entry, and nothing that is zero', async () => {
  const { db } = app.ctx
  const { orderIds } = await sell([1])
  await db`
    insert into postings (
      kind, account_id, slice_id, order_id, seller_cents, commission_cents, refunds_cents, created_at
    )
    select 'refund', account_id, slice_id, id, -1, -1, 2, ${app.ctx.now()}
    from orders
    where id = ${orderIds[0]!}
  `
  const [entries] = await db<{ number: number }[]>`
    select count(*) as number
    from postings p
    cross join lateral jsonb_each(to_jsonb(p)) posted
    where posted.key like '%\\_cents' and posted.value <> '0'
  `
  const { body } = await app.operator.get('/operator/v1/ledger')
  expect(body.meta.total).toBe(entries!.number)
})

it('the database refuses a posting that does not sum to zero, and every change of one', async () => {
  const { db } = app.ctx
  const { sliceKey } = await sell([1])
  const insert = db`
    insert into postings (kind, account_id, slice_id, buyers_cents, seller_cents, created_at)
    select 'shipping', account_id, id, -100, 99, ${app.ctx.now()}
    from slices
    where slice_key = ${sliceKey}
  `
  await expect(insert).rejects.toThrow(/postings_sum_to_zero/)
  await expect(db`update postings set kind = kind`).rejects.toThrow(/never change/)
  await expect(db`delete from postings`).rejects.toThrow(/never change/)
  await expect(db`truncate postings cascade`).rejects.toThrow(/never change/)
})

it('the migration posts earlier orders of every status as the service would have', async () => {
  const { db } = app.ctx
  const statuses: Record<string, (order: number) => Promise<unknown>> = {
    pending: async () => {},
    shipped: (order) => ship(seller, order, { tracking_code: 'CODE' }),
    received: (order) => act(app, order, 'receive'),
    disputed: (order) => act(app, order, 'dispute'),
    cancelled: (order) => cancel(app, order),
  }
  const steps = Object.keys(statuses)
  for (const status of steps) {
    const { orderIds } = await sell([2.35, 7])
    for (const step of steps.slice(0, steps.indexOf(status) + 1)) {
      await statuses[step]!(orderIds[0]!)
    }
  }
  const read = () => db`
    select
      kind, account_id, slice_id, order_id, buyers_cents, seller_cents, commission_cents,
      shipping_cents, refunds_cents, payouts_cents, created_at
    from postings
    where kind in ('sale', 'shipping', 'cancellation', 'shipping_refund')
    order by slice_id, kind, order_id
  `
  const written = await read()
  const sql = await readFile(new URL('../../migrations/0014_ledger.sql', import.meta.url), 'utf8')
  await db.unsafe('alter table postings disable trigger user')
  await db.unsafe('alter table payout_transfers disable trigger user')
  await db.unsafe('alter table payout_deductions disable trigger user')
  await db`truncate postings cascade`
  await db.unsafe(sql.slice(sql.indexOf('-- The sales so far')))
  await db.unsafe('alter table postings enable trigger user')
  expect([...(await read())]).toEqual([...written])
})

it('a page of the ledger is full, whatever number of cancellations had nothing left to post', async () => {
  const own = await openShop(app)
  const [listing] = await list(own, cardItem({ price: 0.05, quantity: 3 }))
  const orders: number[] = []
  for (let sale = 0; sale < 3; sale++) orders.push(...(await buy(app, [[listing!, 1]])).orderIds)
  await cancel(app, orders[0]!)
  for (const order of orders.slice(1)) {
    const payload = { amount: 0.05, reason: 'Lost', borne_by: 'seller' }
    const refunded = await app.operator.post(`/operator/v1/orders/${order}/refund`, { payload })
    expect(refunded.status).toBe(200)
    await cancel(app, order)
  }
  const { body } = await app.operator.get(
    `/operator/v1/ledger?account_id=${own.accountId}&kind=cancellation`,
  )
  expect(body.data.map(({ order_id }: Entry) => order_id)).toEqual([orders[0], orders[0]])
  expect(body.meta.total).toBe(2)
})

it('the entries of the account refunds are all that a buyer gets back, whichever side caused it', async () => {
  const { orderIds, sliceKey } = await sell([10, 3.33])
  const [first, second] = orderIds
  const reason = { reason: 'out_of_stock' }
  const cancelled = await seller.post(`/tools/v1/orders/${first}/cancel`, { payload: reason })
  expect(cancelled.status).toBe(200)
  const payload = { amount: 1.1, reason: 'A scratch' }
  await app.operator.post(`/operator/v1/orders/${second}/refund`, { payload })
  await cancel(app, second!)
  const refunds = async (kind: string) => {
    const { body } = await app.operator.get(
      `/operator/v1/ledger?kind=${kind}&from=2020-01-01&per_page=100`,
    )
    return (body.data as Entry[])
      .filter(({ slice_key, account }) => slice_key === sliceKey && account === 'refunds')
      .map(({ amount }) => amount)
  }
  expect(await refunds('refund')).toEqual([1.1])
  expect(await refunds('cancellation')).toEqual([2.23, 10])
  expect(await refunds('shipping_refund')).toEqual([6.95])
})

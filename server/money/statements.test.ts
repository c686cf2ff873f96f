import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { inTransaction } from '../database/in-transaction.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { cardItem, list, NO_LIMITS } from '../test/fixtures/listings.ts'
import { call } from '../test/fixtures/mcp.ts'
import { grantAccess } from '../test/fixtures/oauth.ts'
import { act, buy, cancel, insertSlices, openShop, ship } from '../test/fixtures/orders.ts'
import { untilLockWaiters } from '../test/lock-waiters.ts'
import { rowsRead } from '../test/rows-read.ts'
import { whileReplaced } from '../test/while-replaced.ts'
import { issueInvoices, readStatement } from './statements.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
})

/** Does something at a time of the service's clock. */
const at = <T>(moment: string, work: () => Promise<T>): Promise<T> =>
  whileReplaced(app.ctx, { now: () => new Date(moment) }, work)

const read = (seller: Awaited<ReturnType<typeof openShop>>, month: string, accept = '*/*') =>
  seller.get(`/tools/v1/statements/${month}`, { headers: { accept } })

const readAsOperator = (accountId: number, month: string, accept = '*/*') =>
  app.operator.get(`/operator/v1/accounts/${accountId}/statements/${month}`, {
    headers: { accept },
  })

it('statements follow the ledger to the cent, also of an account that was closed, and their invoice numbers have no gaps', async () => {
  const sellers = [await openShop(app), await openShop(app), await openShop(app)]
  const [first, leaving] = sellers as [(typeof sellers)[number], (typeof sellers)[number]]
  const sell = async (seller: (typeof sellers)[number], price: number) => {
    const [listing] = await list(seller, cardItem({ price }))
    const { orderIds, sliceKey } = await buy(app, [[listing!, 1]])
    await ship(seller, orderIds[0]!, { tracking_code: 'CODE' })
    return { order: orderIds[0]!, sliceKey }
  }
  const march = await at('2030-03-31T23:59:59Z', async () => {
    const { order: last } = await sell(leaving, 10)
    const open = await sell(first, 5)
    const sold = await sell(first, 33.33)
    await app.operator.post(`/operator/v1/orders/${sold.order}/refund`, {
      payload: { amount: 1.11, reason: 'A scratch' },
    })
    await app.operator.post(`/operator/v1/orders/${sold.order}/refund`, {
      payload: { amount: 0.5, reason: 'A gift', borne_by: 'platform' },
    })
    return { ...sold, last, open: open.order, openSlice: open.sliceKey }
  })
  await at('2030-04-01T00:00:00Z', async () => {
    expect((await read(first, '2030-03')).body.data.invoice).toBeNull()
    await act(app, march.order, 'receive')
    await act(app, march.last, 'receive')
    await app.operator.post('/operator/v1/payout-runs')
    const payouts = `/operator/v1/payouts?account_id=${leaving.accountId}`
    const [due] = (await app.operator.get(payouts)).body.data
    await app.operator.post(`/operator/v1/payouts/${due.id}/paid`)
    const closed = await app.operator.post(`/operator/v1/accounts/${leaving.accountId}/close`)
    expect(closed.status, closed.text).toBe(200)
    const gift = { amount: 1, reason: 'A gift', borne_by: 'platform' }
    await app.operator.post(`/operator/v1/orders/${march.open}/refund`, { payload: gift })
    const cancelled = await sell(first, 8)
    await cancel(app, cancelled.order)
  })
  await at('2030-04-02T00:00:00Z', async () => {
    await Promise.all([issueInvoices(app.ctx), read(first, '2030-03'), read(first, '2030-03')])
    const { data } = (await read(first, '2030-03')).body
    expect(data.slices).toHaveLength(2)
    expect(data).toMatchObject({
      opening_balance: 0,
      totals: { gross: 38.33, commission: 1.92, shipping: 13.9, refunds: 1.11, payout: 0 },
      closing_balance: 49.2,
      invoice: { number: '2030-03-00001', commission: 1.92, issued_at: '2030-04-02T00:00:00Z' },
    })
    const april = (await read(first, '2030-04')).body.data
    expect(april).toMatchObject({
      opening_balance: 49.2,
      totals: { gross: 8, commission: 0, shipping: 0, refunds: 8, payout: 37.5 },
      closing_balance: 11.7,
      invoice: null,
    })
    // Without a line for the refund that the platform bears: it changes nothing of the seller's.
    expect(april.slices.map((slice: { slice_key: string }) => slice.slice_key)).not.toContain(
      march.openSlice,
    )
    expect(april.slices).toHaveLength(2)
    const { body } = await app.operator.get('/operator/v1/ledger/balance')
    expect(body.data[`seller:${first.accountId}`]).toBe(april.closing_balance)
    expect((await read(leaving, '2030-03')).status).toBe(401)
    expect((await readAsOperator(leaving.accountId, '2030-03')).body.data).toMatchObject({
      closing_balance: 16.45,
      invoice: { number: '2030-03-00002', commission: 0.5, issued_at: '2030-04-02T00:00:00Z' },
    })
    expect((await readAsOperator(999_999, '2030-03')).status).toBe(404)
    expect((await readAsOperator(first.accountId, '2030-03')).body.data).toEqual(data)
    expect((await read(sellers[2]!, '2030-03')).body.data).toMatchObject({
      slices: [],
      invoice: null,
    })

    const { text, headers } = await read(first, '2030-03', 'text/csv')
    expect((await readAsOperator(first.accountId, '2030-03', 'text/csv')).text).toBe(text)
    expect(headers['content-type']).toBe('text/csv; charset=utf-8')
    expect(text.split('\r\n')).toEqual([
      'slice_key,gross,commission,shipping,refunds,payout,balance',
      'opening_balance,,,,,,0.00',
      expect.stringMatching(/^slc_[\w-]+,5.00,0.25,6.95,0.00,0.00,$/),
      `${march.sliceKey},33.33,1.67,6.95,1.11,0.00,`,
      'total 2030-03 (fee invoice 2030-03-00001 issued 2030-04-02T00:00:00Z),38.33,1.92,13.90,1.11,0.00,',
      'closing_balance,,,,,,49.20',
      '',
    ])
  })
})

it.each(['2030-13', '1999-01', '2030-1', 'x', '2999-01'])(
  'the month %s has no statement and gets 422',
  async (month) => {
    const seller = await openShop(app)
    const { status, body } = await read(seller, month)
    expect([status, Object.keys(body.error.fields)]).toEqual([422, ['month']])
  },
)

it('a sandbox whose clock jumps issues no invoice before the sales of the month have ended', async () => {
  const { db } = app.ctx
  const seller = await openShop(app)
  const [listing] = await list(seller, cardItem({ price: 20 }))
  const running = await at('2030-05-31T23:59:59Z', async () => {
    const locked = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const lock = inTransaction(app.ctx, async ({ db: tx }) => {
      await tx`select from listings where id = ${listing!} for update`
      locked.resolve()
      await released.promise
    })
    await locked.promise
    const sale = buy(app, [[listing!, 1]])
    await untilLockWaiters(db)
    return { sale, end: () => Promise.all([released.resolve(), lock]) }
  })
  await at('2030-06-02T00:00:00Z', async () => {
    const statement = read(seller, '2030-05')
    // Several times as long as a statement takes that waits for nothing.
    for (let i = 0; i < 20; i++) await seller.get('/v1/orders')
    await running.end()
    await running.sale
    await statement
    const { totals, invoice } = (await read(seller, '2030-05')).body.data
    expect(totals.commission).toBeGreaterThan(0)
    expect(invoice).toMatchObject({ commission: totals.commission })
  })
})

it('the refusal of a month names the months that have a statement', async () => {
  const seller = await openShop(app)
  await at('2030-05-31T23:59:59Z', async () => {
    for (const month of ['1999-01', '2030-06']) {
      const { body } = await read(seller, month)
      expect(body.error.fields.month).toEqual([
        'The month must be from 2000-01 to the current month 2030-05, and be written like 2026-03.',
      ])
    }
    expect((await read(seller, '2000-01')).body.data).toMatchObject({ slices: [] })
  })
})

it('after a jump of the sandbox’s clock to its limit only months with postings are issued, and the last one', async () => {
  const seller = await openShop(app)
  const [listing] = await list(seller, cardItem({ price: 20 }))
  for (const month of ['2030-07', '2031-01']) {
    await at(`${month}-20T00:00:00Z`, () => buy(app, [[listing!, 1]]))
  }
  await at('2126-11-20T00:00:00Z', async () => {
    const { body } = await read(seller, '2126-11')
    expect(body.data).toMatchObject({ month: '2126-11', slices: [] })
    for (const month of ['2030-07', '2031-01']) {
      const { invoice } = (await read(seller, month)).body.data
      expect(invoice).toMatchObject({ number: `${month}-00001` })
    }
  })
  const issued = await app.ctx.db<{ month: string }[]>`
    select to_char(month, 'YYYY-MM') as month
    from invoice_months
    where month > '2030-06-01'
    order by month
  `
  expect(issued.map(({ month }) => month)).toEqual(['2030-07', '2031-01', '2126-10'])
})

it('an invoice adds up the sales and cancellations of all days of its month, and no others', async () => {
  const seller = await openShop(app)
  const [listing] = await list(seller, cardItem({ price: 20, quantity: 6 }))
  const sell = async (moment: string) =>
    (await at(moment, () => buy(app, [[listing!, 1]]))).orderIds[0]!
  await sell('2127-01-31T23:59:59Z')
  const first = await sell('2127-02-01T00:00:00Z')
  await sell('2127-02-14T12:00:00Z')
  await sell('2127-02-15T00:00:00Z')
  await at('2127-02-28T12:00:00Z', () => cancel(app, first))
  await sell('2127-02-28T23:59:59Z')
  await sell('2127-03-01T00:00:00Z')
  const commissions = await at('2127-04-02T00:00:00Z', () =>
    Promise.all(
      ['2127-01', '2127-02', '2127-03'].map(
        async (month) => (await read(seller, month)).body.data.invoice.commission,
      ),
    ),
  )
  expect(commissions).toEqual([1, 3, 1])
})

it('outside the sandbox a statement doesn’t wait until the job has issued the invoices', async () => {
  const { ctx } = app
  const seller = await openShop(app)
  const [listing] = await list(seller, cardItem({ price: 20 }))
  await at('2127-05-20T00:00:00Z', () => buy(app, [[listing!, 1]]))
  const live = { ...ctx, now: () => new Date('2127-06-02T00:00:00Z') }
  live.config = { ...ctx.config, sandbox: false }
  expect(await readStatement(live, seller.accountId, '2127-05')).toMatchObject({ invoice: null })
  await issueInvoices(live)
  expect(await readStatement(live, seller.accountId, '2127-05')).toMatchObject({
    invoice: { number: '2127-05-00001', commissionCents: 100 },
  })
})

it('a fee invoice keeps the names of issuer and recipient, and one from before they were kept has those of today', async () => {
  const seller = await openShop(app)
  const member = await app.member(seller.accountId)
  const [listing] = await list(seller, cardItem({ price: 20 }))
  await at('2127-06-20T00:00:00Z', () => buy(app, [[listing!, 1]]))
  const names = async (payoutName: string) => {
    const config = { ...app.ctx.config, payoutName }
    const { body } = await whileReplaced(app.ctx, { config }, () =>
      at('2127-07-02T00:00:00Z', () => member.get('/dashboard/api/payouts/statements/2127-06')),
    )
    expect(body.data.invoice).toMatchObject({ commission: 1 })
    return [body.data.issuer, body.data.recipient]
  }
  const account = `/operator/v1/accounts/${seller.accountId}`
  const { shop_name: former } = (await app.operator.get(account)).body.data
  expect(await names('Kanto & Co')).toEqual(['Kanto & Co', former])
  await app.operator.patch(account, { payload: { shop_name: 'Johto Cards' } })
  expect(await names('Johto Markets GmbH')).toEqual(['Kanto & Co', former])

  await app.ctx.db`update invoice_months set issuer = null`
  await app.ctx.db`update fee_invoices set recipient = null`
  expect(await names('Johto Markets GmbH')).toEqual(['Johto Markets GmbH', 'Johto Cards'])
})

it('entries after the invoices of their month were issued by a clock that ran ahead are in the next month', async () => {
  const seller = await openShop(app)
  const [listing] = await list(seller, cardItem({ price: 20, quantity: 3 }))
  const sell = async () => (await buy(app, [[listing!, 1]])).orderIds[0]!
  const refund = (order: number, amount: number) =>
    app.operator.post(`/operator/v1/orders/${order}/refund`, {
      payload: { amount, reason: 'A scratch' },
    })
  const payOut = async (order: number) => {
    await ship(seller, order, { tracking_code: 'CODE' })
    await act(app, order, 'receive')
    await app.operator.post('/operator/v1/payout-runs')
  }
  const first = await at('2127-09-30T22:00:00Z', sell)
  await issueInvoices({ ...app.ctx, now: () => new Date('2127-10-01T00:40:00Z') })
  await at('2127-09-30T23:50:00Z', async () => {
    const [second, cancelled] = [await sell(), await sell()]
    await cancel(app, cancelled)
    await refund(second, 1)
    await payOut(first)
    // A debt, which the next run recovers from the payout of the second sale.
    await refund(first, 2)
    await payOut(second)
    const payouts = `/operator/v1/payouts?account_id=${seller.accountId}`
    const [{ id }] = (await app.operator.get(payouts)).body.data
    const failed = await app.operator.post(`/operator/v1/payouts/${id}/failed`, {
      payload: { reason: 'Closed' },
    })
    expect(failed.body.data).toMatchObject({ state: 'failed', amount: 22.95 })
  })
  const statementOf = async (month: string) =>
    (await at('2127-12-02T00:00:00Z', () => read(seller, month))).body.data
  expect(await statementOf('2127-09')).toMatchObject({
    totals: { gross: 20, commission: 1, shipping: 6.95, refunds: 0, payout: 0 },
    closing_balance: 25.95,
    invoice: { commission: 1 },
  })
  expect(await statementOf('2127-10')).toMatchObject({
    opening_balance: 25.95,
    totals: { gross: 40, commission: 1, shipping: 6.95, refunds: 20 + 1 + 2, payout: 25.95 },
    closing_balance: 22.95,
    invoice: { commission: 1 },
  })
  expect(await statementOf('2127-11')).toMatchObject({ opening_balance: 22.95 })
})

describe('the opening balance', () => {
  const KEPT = new URL('../../migrations/0051_month_balances.sql', import.meta.url)

  /** A seller with a sale in each of two months, and with many postings in the first. */
  async function withTwoMonths(year: number) {
    const { db } = app.ctx
    const seller = await openShop(app)
    const [listing] = await list(seller, cardItem({ price: 20, quantity: 2 }))
    const sell = (moment: string) => at(moment, () => buy(app, [[listing!, 1]]))
    await sell(`${year}-01-31T23:59:59Z`)
    await db`
      insert into postings (kind, account_id, slice_id, payouts_cents, seller_cents, created_at)
      select 'recovery', account_id, slice_id, -1, 1, created_at
      from postings, generate_series(1, 5000)
      where kind = 'shipping' and account_id = ${seller.accountId}
    `
    await db`analyze postings`
    await sell(`${year}-02-01T00:00:00Z`)
    /** The opening balance of March in cents, and the number of postings that its statement reads. */
    const readMarch = (moment: string) =>
      at(moment, () =>
        inTransaction(app.ctx, async (tx) => {
          let opening = 0
          const postings = await rowsRead(tx.db, 'postings', async () => {
            opening = (await readStatement(tx, seller.accountId, `${year}-03`)).openingCents
          })
          return { opening, postings }
        }),
      )
    const february = async () =>
      (await at(`${year}-02-20T00:00:00Z`, () => read(seller, `${year}-02`))).body.data
    return { seller, readMarch, february }
  }

  it('the opening balance is the same before and after the invoices of the earlier months are issued', async () => {
    const { readMarch, february } = await withTwoMonths(2128)
    const { opening } = await readMarch('2128-03-01T00:01:00Z')
    expect(opening).toBe(2 * (2000 - 100 + 695) + 5_000)
    await issueInvoices({ ...app.ctx, now: () => new Date('2128-03-20T00:00:00Z') })
    expect((await readMarch('2128-03-20T00:00:00Z')).opening).toBe(opening)
    expect(await february()).toMatchObject({ opening_balance: 75.95, closing_balance: 101.9 })
  })

  it('a statement does not read the postings of earlier months whose invoices are issued', async () => {
    const { readMarch } = await withTwoMonths(2129)
    await issueInvoices({ ...app.ctx, now: () => new Date('2129-03-20T00:00:00Z') })
    expect((await readMarch('2129-03-20T00:00:00Z')).postings).toBeLessThan(100)
  })

  it('the migration keeps the balances of the months that were issued before it', async () => {
    const { db } = app.ctx
    const kept = () => db`select * from month_balances order by account_id, month`
    await withTwoMonths(2130)
    await issueInvoices({ ...app.ctx, now: () => new Date('2130-02-20T00:00:00Z') })
    const written = await kept()
    const sql = await readFile(KEPT, 'utf8')
    await db`truncate month_balances`
    await db.unsafe(sql.slice(sql.indexOf('insert into')))
    expect([...(await kept())]).toEqual([...written])
  })
})

it('the SQL of docs/money.md leaves out the invoices of earlier months, and keeps their balances', async () => {
  const market = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  const seller = await openShop(market)
  const [listing] = await list(seller, cardItem({ price: 20, quantity: 2 }))
  const moveTo = (moment: string) => {
    market.ctx.now = () => new Date(moment)
  }
  for (const moment of ['2030-01-31T23:59:59Z', '2030-03-01T00:00:00Z']) {
    moveTo(moment)
    await buy(market, [[listing!, 1]])
  }
  const guide = await readFile(new URL('../../docs/money.md', import.meta.url), 'utf8')
  const [, sql] = /```sql\n(.*?)```/s.exec(guide)!
  await market.ctx.db.unsafe(sql!.replace('2026-10-01', '2030-02-01'))
  moveTo('2030-04-02T00:00:00Z')
  await issueInvoices(market.ctx)
  expect((await read(seller, '2030-01')).body.data).toMatchObject({
    closing_balance: 25.95,
    invoice: null,
  })
  expect((await read(seller, '2030-03')).body.data).toMatchObject({
    opening_balance: 25.95,
    closing_balance: 51.9,
    invoice: { number: '2030-03-00001' },
  })
})

it('a seller lists their own payouts only, and needs orders:read', async () => {
  const seller = await openShop(app)
  const [listing] = await list(seller, cardItem())
  const { orderIds, sliceKey } = await buy(app, [[listing!, 1]])
  await ship(seller, orderIds[0]!, { tracking_code: 'CODE' })
  await act(app, orderIds[0]!, 'receive')
  const { body } = await seller.get('/tools/v1/payouts?state=due')
  expect(body.data.map(({ slice_key }: { slice_key: string }) => slice_key)).toEqual([sliceKey])
  expect((await (await openShop(app)).get('/tools/v1/payouts')).body.meta.total).toBe(0)
  const other = await app.seller({ scopes: ['listings:read'] })
  expect((await other.get('/tools/v1/payouts')).status).toBe(403)
  expect((await other.get('/tools/v1/statements/2026-03')).status).toBe(403)
})

it('a large statement is sent in batches of 500 slices, whose sums are its totals', async () => {
  const seller = await openShop(app)
  const buyers = Array.from({ length: 1_200 }, () => 'Misty')
  const keys = await insertSlices(app.ctx.db, seller.accountId, buyers)
  await app.ctx.db`
    insert into postings (kind, account_id, slice_id, buyers_cents, seller_cents, created_at)
    select 'shipping', account_id, id, -id, id, '2131-02-01'
    from slices
    where slice_key = any(${keys}::text[])
    order by id desc
  `
  const headers = { authorization: `Bearer ${seller.key}` }
  const chunksOf = async (accept: string) => {
    const url = '/tools/v1/statements/2131-02'
    const response = await at('2131-02-20T00:00:00Z', () =>
      app.app.inject({ url, headers: { ...headers, accept }, payloadAsStream: true }),
    )
    const chunks: string[] = []
    for await (const chunk of response.stream()) chunks.push(String(chunk))
    expect(Number(response.headers['content-length'])).toBe(chunks.join('').length)
    return chunks
  }
  const json = await chunksOf('application/json')
  const csv = await chunksOf('text/csv')
  for (const chunks of [json, csv]) {
    const lines = chunks.map((chunk) => chunk.split('slc_').length - 1)
    expect(lines.filter((number) => number > 0)).toEqual([500, 500, 200])
  }
  const { data } = JSON.parse(json.join(''))
  expect(data.slices.map(({ slice_key }: { slice_key: string }) => slice_key)).toEqual(
    keys.toReversed(),
  )
  const sum = data.slices.reduce((cents: number, slice: { shipping: number }) => {
    return cents + Math.round(slice.shipping * 100)
  }, 0)
  expect(data.totals).toEqual({
    gross: 0,
    commission: 0,
    shipping: sum / 100,
    refunds: 0,
    payout: 0,
  })
  expect(data.closing_balance).toBe(sum / 100)

  const member = await app.member(seller.accountId)
  const shown = await at('2131-02-20T00:00:00Z', () =>
    member.get('/dashboard/api/payouts/statements/2131-02'),
  )
  expect(shown.body.data).toEqual({
    ...data,
    slices: data.slices.slice(0, 500),
    slice_count: 1_200,
    orders: Array.from({ length: 500 }, () => ({ order_id: expect.any(Number), rows: 1 })),
    has_deductions: false,
    issuer: null,
    recipient: null,
  })

  const { object } = await at('2131-02-20T00:00:00Z', async () =>
    call(
      app,
      '/mcp/seller',
      'get_statement',
      { month: '2131-02' },
      {
        token: await grantAccess(app, seller.accountId),
      },
    ),
  )
  const fitting = object.data.slices.length
  expect(object.note).toMatch(`Only the first ${fitting} of 1200 fit here.`)
  expect(object.data).toEqual({ ...data, slices: data.slices.slice(0, fitting) })
})

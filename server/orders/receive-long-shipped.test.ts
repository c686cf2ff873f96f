import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { inTransaction } from '../database/in-transaction.ts'
import { runSchedule, startSchedule } from '../schedule.ts'
import { OPERATOR_TOKEN, type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { advance, cardItem, list, NO_LIMITS } from '../test/fixtures/listings.ts'
import { act, buy, eventsOf, PARCEL, rowOf, ship, shipsBy } from '../test/fixtures/orders.ts'
import { startService } from '../test/process.ts'
import { until } from '../test/until.ts'
import { MINUTES } from '../time/units.ts'

const DAYS = 24 * 60 * 60

let app: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({
    template: 'fixture',
    // Otherwise a test would have to keep its pending orders away from the end of that time.
    settings: { ...NO_LIMITS, SHIP_WITHIN_DAYS: '0' },
  })
  seller = await app.seller({ account: shipsBy(PARCEL) })
})

async function pending(): Promise<number> {
  const [listing] = await list(seller, cardItem({ quantity: 9 }))
  return (await buy(app, [[listing!, 1]])).orderIds[0]!
}

async function shipped(): Promise<number> {
  const order = await pending()
  await ship(seller, order, { tracking_code: 'CODE' })
  return order
}

const statusOf = async (order: number): Promise<string> => (await rowOf(seller, order)).status

/** The times of an order to the millisecond, in milliseconds; 0 if it was not received. */
async function momentsOf(order: number): Promise<{ shipped: number; received: number }> {
  const [row] = await app.ctx.db<{ shipped: Date; received: Date | null }[]>`
    select shipped_at as shipped, received_at as received from orders where id = ${order}
  `
  return { shipped: row!.shipped.getTime(), received: row!.received?.getTime() ?? 0 }
}

/** The context with its clock at this time, in milliseconds. */
const at = (moment: number) => ({ ...app.ctx, now: () => new Date(moment) })

/** Inserts shipped order rows into the slice of this order. */
const copies = (order: number, count: number) => app.ctx.db`
  insert into orders (
    slice_id, account_id, status, quantity, price_cents, commission_rate, commission_cents,
    created_at, shipped_at
  )
  select slice_id, account_id, status, 1, 100, 500, 5, created_at, shipped_at
  from orders, generate_series(1, ${count})
  where id = ${order}
`

describe('a shipped order', () => {
  it('a shipped order becomes received after exactly 14 days, and not a millisecond earlier', async () => {
    const order = await shipped()
    const { shipped: start } = await momentsOf(order)
    const due = start + 14 * DAYS * 1000
    await runSchedule(at(due - 1))
    expect(await statusOf(order)).toBe('shipped')
    await runSchedule(at(due))
    expect(await statusOf(order)).toBe('received')
    expect((await momentsOf(order)).received).toBe(due)
  })

  it('receiving a long-shipped order changes only its status and records no event', async () => {
    const order = await shipped()
    const before = await rowOf(seller, order)
    const events = await eventsOf(app, seller.accountId)
    await advance(app.operator, 14 * DAYS)
    await runSchedule(app.ctx)
    const after = await rowOf(seller, order)
    expect(after).toEqual({ ...before, status: 'received', received_at: expect.any(String) })
    expect(Date.parse(after.received_at) - Date.parse(after.shipped_at)).toBeGreaterThanOrEqual(
      14 * DAYS * 1000,
    )
    expect(await eventsOf(app, seller.accountId)).toEqual(events)
  })

  it('the 14 days until an order is received count from its shipping, not from the checkout', async () => {
    const order = await pending()
    await advance(app.operator, 13 * DAYS)
    await ship(seller, order, { tracking_code: 'CODE' })
    await advance(app.operator, 14 * DAYS - 60)
    await runSchedule(app.ctx)
    expect(await statusOf(order)).toBe('shipped')
    await advance(app.operator, 60)
    await runSchedule(app.ctx)
    expect(await statusOf(order)).toBe('received')
  })

  it('pending, disputed, cancelled and received orders are not received automatically', async () => {
    const [open, disputed, cancelled, received, resolved] = [
      await pending(),
      await shipped(),
      await shipped(),
      await shipped(),
      await shipped(),
    ]
    await act(app, disputed, 'dispute')
    await act(app, cancelled, 'cancel', { cancelled_by: 'buyer' })
    await act(app, received, 'receive')
    await act(app, resolved, 'dispute')
    await act(app, resolved, 'resolve', { in_favour_of: 'seller' })
    const rows = () =>
      Promise.all([open, disputed, cancelled, received, resolved].map((id) => rowOf(seller, id)))
    const before = await rows()
    await advance(app.operator, 100 * DAYS)
    await runSchedule(app.ctx)
    expect(await rows()).toEqual(before)
  })

  it('an order that was received automatically can still be disputed', async () => {
    const order = await shipped()
    await advance(app.operator, 14 * DAYS)
    await runSchedule(app.ctx)
    const { received_at } = await rowOf(seller, order)
    const { body } = await act(app, order, 'dispute')
    expect(body.data).toMatchObject({ status: 'disputed', received_at })
    await advance(app.operator, 14 * DAYS)
    await runSchedule(app.ctx)
    expect(await statusOf(order)).toBe('disputed')
  })

  it('orders are received neither while the clock is wrong for some minutes, nor in the first 15 minutes after any jump', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const errors: unknown[] = []
    const log = { ...app.ctx.log, error: (...line: unknown[]) => void errors.push(line) }
    const config = { ...app.ctx.config, sandbox: false }
    onTestFinished(startSchedule({ ...app.ctx, config, log }))
    const order = await shipped()
    const counts = () => app.ctx.db`select from count_deltas`
    const jump = (days: number) => vi.setSystemTime(Date.now() + days * DAYS * 1000)
    const waitMinutes = async (minutes: number) => {
      await list(seller, cardItem())
      vi.advanceTimersByTime(minutes * MINUTES)
      // The jobs that don't depend on the date go on.
      await until('the jobs have run', async () => (await counts()).count === 0)
    }

    jump(20)
    await waitMinutes(10)
    expect(errors).toEqual([
      [{ seconds: 20 * DAYS }, expect.stringContaining('the clock of this machine jumped ahead')],
    ])
    expect(await statusOf(order)).toBe('shipped')
    jump(-20)
    await waitMinutes(10)
    jump(20)
    await waitMinutes(14)
    expect(await statusOf(order)).toBe('shipped')
    vi.advanceTimersByTime(2 * MINUTES)
    await until('the order is received', async () => (await statusOf(order)) === 'received')
    expect(errors).toHaveLength(2)
  })

  it('one run receives more than a thousand long-shipped orders', async () => {
    const order = await shipped()
    await copies(order, 1_100)
    await advance(app.operator, 14 * DAYS)
    await runSchedule(app.ctx)
    const left = await app.ctx.db`select from orders where status = 'shipped'`
    expect(left).toHaveLength(0)
  })

  it('processes that run at once receive each order once, and concurrent disputes hold', async () => {
    const apps = [
      app,
      await startTestApp({ settings: NO_LIMITS, databaseUrl: app.databaseUrl }),
      await startTestApp({ settings: NO_LIMITS, databaseUrl: app.databaseUrl }),
    ]
    const contested = [await shipped(), await shipped(), await shipped(), await shipped()]
    await copies(contested[0]!, 1_000)
    const { shipped: start } = await momentsOf(contested.at(-1)!)
    // Each run has a different time, so a row that is received twice would have the later one.
    const due = start + 14 * DAYS * 1000
    const [disputes] = await Promise.all([
      Promise.all(contested.map((id) => act(app, id, 'dispute'))),
      ...apps.map(({ ctx }, i) => runSchedule({ ...ctx, now: () => new Date(due + i) })),
    ])
    expect(disputes.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    for (const id of contested) expect(await statusOf(id)).toBe('disputed')
    await runSchedule(at(due + 99))
    const left = await app.ctx.db`select from orders where status = 'shipped'`
    expect(left).toHaveLength(0)
  })

  it('an order whose slice is locked does not hold up the other long-shipped orders, and is received by the next run', async () => {
    const [busy, other] = [await shipped(), await shipped()]
    await advance(app.operator, 14 * DAYS)
    await inTransaction(app.ctx, async ({ db }) => {
      await db`
        select from slices
        where id = (select slice_id from orders where id = ${busy})
        for update
      `
      await runSchedule(app.ctx)
      expect([await statusOf(busy), await statusOf(other)]).toEqual(['shipped', 'received'])
    })
    await runSchedule(app.ctx)
    expect(await statusOf(busy)).toBe('received')
  })

  it('moving the clock in any process receives the long-shipped orders at once', async () => {
    const order = await shipped()
    await copies(order, 1_100)
    const settings = {
      DATABASE_URL: app.databaseUrl,
      SANDBOX: 'true',
      LOG_LEVEL: 'warn',
      OPERATOR_TOKEN,
      SECRET_KEY: app.ctx.config.secretKey!,
    }
    const services = await Promise.all(
      [1, 2, 3].map(async () => (await startService(settings)).ready()),
    )
    const { status } = await services[1]!.call('POST', '/operator/v1/sandbox/clock', {
      token: OPERATOR_TOKEN,
      body: { advance_seconds: 14 * DAYS },
    })
    expect(status).toBe(200)
    await until('all orders are received', async () => {
      const left = await app.ctx.db`select from orders where status = 'shipped'`
      return left.length === 0
    })
    for (const service of services) {
      const failed = service.log().filter(({ msg }) => msg === 'a recurring job failed')
      expect(failed).toEqual([])
    }
    await Promise.all(services.map((service) => service.stop()))
  })
})

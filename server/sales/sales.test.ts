import { beforeAll, describe, expect, it } from 'vitest'
import { recalculateTiers } from '../accounts/recalculate-tiers.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { commissionOf } from '../orders/money.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { cardItem, NO_LIMITS } from '../test/fixtures/listings.ts'
import { act, cancel, insertSlices, openShop, sellEach, ship } from '../test/fixtures/orders.ts'
import { rowsRead, vacuumed } from '../test/rows-read.ts'
import { salesOf, tierProgress, toShip } from './sales.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
})

/** Sells a card for this price at a moment in the past. */
async function sellAt(shop: Awaited<ReturnType<typeof openShop>>, at: string, price = 10) {
  const [order] = await sellEach(app, shop, cardItem({ price }))
  await app.ctx.db`update orders set created_at = ${at} where id = ${order!}`
  return order!
}

describe('the sales of a period', () => {
  it('a sale belongs to the day of the shop’s time zone, and days without sales are zero', async () => {
    const shop = await openShop(app)
    // Midnight in Auckland is 11:00 UTC in this month.
    await sellAt(shop, '2026-03-01T10:59:59Z', 1)
    await sellAt(shop, '2026-03-01T11:00:00Z', 2)
    await sellAt(shop, '2026-03-02T10:59:59Z', 4)
    await sellAt(shop, '2026-03-03T11:00:00Z', 8)
    const period = { from: '2026-03-01', to: '2026-03-03' }
    const { days, total } = await salesOf(app.ctx, shop.accountId, 'Pacific/Auckland', period)
    expect(days.map(({ date, merchandiseCents }) => [date, merchandiseCents])).toEqual([
      ['2026-03-01', 100],
      ['2026-03-02', 600],
      ['2026-03-03', 0],
    ])
    expect(total).toMatchObject({ orders: 3, merchandiseCents: 700 })
  })

  it('a period begins with the first of two midnights, where the clocks go back to midnight', async () => {
    const shop = await openShop(app)
    // In the Azores, this day has an hour from 00:00 UTC and another one from 01:00 UTC, both from midnight.
    await sellAt(shop, '2026-10-24T23:59:59Z', 1)
    await sellAt(shop, '2026-10-25T00:00:00Z', 2)
    await sellAt(shop, '2026-10-25T01:00:00Z', 4)
    await sellAt(shop, '2026-10-26T00:59:59Z', 8)
    await sellAt(shop, '2026-10-26T01:00:00Z', 16)
    const of = async (from: string, to: string) =>
      (await salesOf(app.ctx, shop.accountId, 'Atlantic/Azores', { from, to })).days.map(
        ({ merchandiseCents }) => merchandiseCents,
      )
    expect(await of('2026-10-25', '2026-10-25')).toEqual([1_400])
    expect(await of('2026-10-24', '2026-10-24')).toEqual([100])
    expect(await of('2026-10-24', '2026-10-26')).toEqual([100, 1_400, 1_600])
  })

  it('the days are those of the runtime, also for a zone that PostgreSQL does not know or takes for another', async () => {
    const shop = await openShop(app)
    await sellAt(shop, '2026-03-07T10:59:59Z', 1)
    await sellAt(shop, '2026-03-07T11:00:00Z', 2)
    await sellAt(shop, '2026-03-08T10:59:59Z', 4)
    const period = { from: '2026-03-07', to: '2026-03-08' }
    // In PostgreSQL, this is 13 hours behind.
    const { days } = await salesOf(app.ctx, shop.accountId, '+13:00', period)
    expect(days.map(({ merchandiseCents }) => merchandiseCents)).toEqual([100, 600])
  })

  it('a cancelled order doesn’t count, and the seller’s share is less the commission', async () => {
    const shop = await openShop(app)
    await sellAt(shop, '2026-03-01T12:00:00Z', 10)
    await cancel(app, await sellAt(shop, '2026-03-01T12:00:00Z', 20))
    const period = { from: '2026-03-01', to: '2026-03-01' }
    const { total } = await salesOf(app.ctx, shop.accountId, 'UTC', period)
    const sellerNetCents = 1_000 - commissionOf(1_000, 500)
    expect(total).toEqual({ orders: 1, merchandiseCents: 1_000, sellerNetCents, paidOutCents: 0 })
  })

  it('a period has 366 days at most, begins before its end, and consists of dates', async () => {
    const { accountId } = await app.seller()
    const sales = (from: string, to: string) => salesOf(app.ctx, accountId, 'UTC', { from, to })
    expect((await sales('2024-01-01', '2024-12-31')).days).toHaveLength(366)
    for (const [from, to] of [
      ['2024-01-01', '2025-01-01'],
      ['2024-01-02', '2024-01-01'],
      ['2024-02-30', '2024-03-01'],
      ['0', '2024-03-01'],
    ] as const) {
      await expect(sales(from, to)).rejects.toThrow(/field must|must not/)
    }
    expect((await salesOf(app.ctx, accountId, 'UTC')).days).toHaveLength(30)
  })

  it('a period can begin in the year 1, not before, and the default beginning follows the last date', async () => {
    const { accountId } = await app.seller()
    const datesOf = async (period: { from?: string; to: string }, timeZone = 'UTC') =>
      (await salesOf(app.ctx, accountId, timeZone, period)).days.map(({ date }) => date)
    for (const timeZone of ['UTC', 'Pacific/Auckland', 'America/Los_Angeles']) {
      expect(await datesOf({ to: '0001-01-02' }, timeZone)).toEqual(['0001-01-01', '0001-01-02'])
      expect(await datesOf({ to: '0001-01-30' }, timeZone)).toHaveLength(30)
      const last = { from: '9999-12-31', to: '9999-12-31' }
      expect(await datesOf(last, timeZone)).toEqual(['9999-12-31'])
    }
    for (const to of ['0000-01-10', '0000-02-15', '0000-12-31']) {
      await expect(datesOf({ to })).rejects.toThrow('The to field must be a date')
      await expect(datesOf({ from: to, to: '0001-01-01' })).rejects.toThrow('The from field must')
    }
  })

  it('the orders to ship are slices with pending rows, and the tier counts the rows shipped this month', async () => {
    const shop = await openShop(app)
    const [order, other] = await sellEach(app, shop, cardItem({ price: 3 }), cardItem({ price: 4 }))
    await sellEach(app, shop, cardItem())
    expect(await toShip(app.ctx, shop.accountId)).toMatchObject({ slices: 2 })
    await cancel(app, other!)
    expect((await ship(shop, order!, { tracking_code: 'AB123' })).status).toBe(200)
    expect(await toShip(app.ctx, shop.accountId)).toMatchObject({ slices: 1 })
    expect(await tierProgress(app.ctx, shop.accountId, 'Bronze')).toMatchObject({
      merchandiseCents: 300,
      earned: 'Bronze',
      next: { tier: 'Silver', thresholdCents: app.ctx.config.tierThresholds[1] },
    })
  })

  it.each([
    [249.99, 'Bronze', 'Bronze', 'Silver'],
    [250, 'Bronze', 'Silver', 'Gold'],
    [250, 'Gold', 'Silver', 'Gold'],
    [2_600, 'Silver', 'Diamond', 'Master'],
    [5_000, 'Bronze', 'Master', undefined],
  ] as const)(
    '€%s shipped this month by a %s shop earn %s, and the next goal is %s',
    async (price, tier, earned, next) => {
      const shop = await openShop(app)
      const [order] = await sellEach(app, shop, cardItem({ price }))
      await ship(shop, order!, { tracking_code: 'AB123' })
      const progress = await tierProgress(app.ctx, shop.accountId, tier)
      expect({ ...progress, next: progress.next?.tier }).toMatchObject({ tier, earned, next })
      const month = app.ctx.now().toISOString().slice(0, 7)
      expect(progress.changesOn > month).toBe(true)
      expect(progress.changesOn).toMatch(/-01$/)
    },
  )

  it('the tier that a shop has earned so far is the one that the next calculation gives it', async () => {
    const at = (moment: string) => ({ ...app.ctx, now: () => new Date(moment) })
    const [first, last] = ['2026-03-01T00:00:00.000Z', '2026-03-31T23:59:59.999Z']
    const sales: [euros: number, shippedAt: string, tier: string, then?: 'receive' | 'dispute'][] =
      [
        [0.01, first, 'Bronze'],
        [249.99, first, 'Bronze'],
        [250, first, 'Silver'],
        [999.99, last, 'Silver'],
        [1_000, last, 'Gold'],
        [2_499.99, last, 'Gold'],
        [2_500, last, 'Diamond'],
        [4_999.99, last, 'Diamond'],
        [5_000, last, 'Master'],
        [5_000, '2026-02-28T23:59:59.999Z', 'Bronze'],
        [5_000, '2026-04-01T00:00:00.000Z', 'Bronze'],
        [5_000, last, 'Master', 'receive'],
        [5_000, last, 'Bronze', 'dispute'],
      ]
    await recalculateTiers(at(first))
    const shops = await Promise.all(
      sales.map(async ([price, shippedAt, , then]) => {
        const shop = await openShop(app)
        const [order] = await sellEach(app, shop, cardItem({ price }))
        await ship(shop, order!, { tracking_code: 'AB123' })
        await app.ctx.db`update orders set shipped_at = ${shippedAt} where id = ${order!}`
        if (then) expect((await act(app, order!, then)).status).toBe(200)
        const { earned } = await tierProgress(at(last), shop.accountId, 'Bronze')
        return { shop, earned }
      }),
    )
    await recalculateTiers(at('2026-04-01T00:05:00.000Z'))
    const given = shops.map(async ({ shop }) => (await shop.get('/v1/me')).body.data.seller_tier)
    const expected = sales.map(([, , tier]) => tier)
    expect(await Promise.all(given)).toEqual(expected)
    expect(shops.map(({ earned }) => earned)).toEqual(expected)
  })

  it('the figures of a shop with many orders come from the indexes alone', async () => {
    const shop = await openShop(app)
    const { ctx } = app
    const from = new Date('2026-03-02T00:00:00Z')
    const other = await app.seller()
    await insertSlices(ctx.db, other.accountId, Array(5_000).fill('Ash'), { from })
    await insertSlices(ctx.db, shop.accountId, Array(500).fill('Ash'), { from })
    await vacuumed(ctx.db, 'orders')
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      const read = await inTransaction(ctx, async (tx) => {
        await tx.db`select set_config('plan_cache_mode', ${mode}, true)`
        return rowsRead(tx.db, 'orders', async () => {
          const period = { from: '2026-03-01', to: '2026-03-31' }
          expect((await salesOf(tx, shop.accountId, 'UTC', period)).total.orders).toBe(500)
          const inMarch = { ...tx, now: () => from }
          const { merchandiseCents } = await tierProgress(inMarch, shop.accountId, 'Bronze')
          expect(merchandiseCents).toBe(500 * 500)
          await toShip(tx, shop.accountId)
        })
      })
      expect(read, mode).toBe(0)
    }
  })

  it('the overview shows the figures of the member’s shop', async () => {
    const shop = await openShop(app)
    const member = await app.member(shop.accountId)
    await sellEach(app, shop, cardItem({ price: 5, quantity: 1 }), cardItem({ quantity: 3 }))
    const { status, body } = await member.get('/dashboard/api/overview')
    expect(status).toBe(200)
    expect(body.data).toMatchObject({
      to_ship: { orders: 1 },
      listings: { active: 1, sold: 1, hidden: 0 },
      tier: { current: 'Bronze', next: { tier: 'Silver' } },
    })
    expect(body.data.sales.total.orders).toBe(2)
    const stranger = await app.member()
    expect((await stranger.get('/dashboard/api/overview')).body.data).toMatchObject({
      to_ship: { orders: 0, oldest_at: null },
      listings: { active: 0 },
    })
  })
})

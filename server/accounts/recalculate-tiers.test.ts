import { beforeEach, describe, expect, it } from 'vitest'
import { inTransaction } from '../database/in-transaction.ts'
import type { Begin } from '../database/transactions.ts'
import type { SellerTier } from '../enums.ts'
import { runSchedule } from '../schedule.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { advance, cardItem, changeAccount, list } from '../test/fixtures/listings.ts'
import { insertSlices, SHIPS } from '../test/fixtures/orders.ts'
import { untilLockWaiters } from '../test/lock-waiters.ts'
import { rowsRead } from '../test/rows-read.ts'
import { recalculateTiers } from './recalculate-tiers.ts'

let market: TestApp
beforeEach(async () => {
  market = await startTestApp({ template: 'fixture' })
  // Starts on the 10th of a month, so that sales of now are sales of the month before the next run.
  await advanceTo(market, 10)
  await recalculateTiers(market.ctx)
})

/** Moves the clock to this day of the next month, 00:00 UTC, plus these seconds. */
async function advanceTo({ ctx, operator }: TestApp, day: number, seconds = 0): Promise<void> {
  const now = ctx.now()
  const then = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, day) / 1000 + seconds
  await advance(operator, Math.ceil(then - now.getTime() / 1000))
}

/** A seller who has shipped merchandise of this value. */
async function sellerOf(euros: number, tier: SellerTier = 'Bronze') {
  const seller = await market.seller({ account: { ...SHIPS, sellerTier: tier } })
  if (euros > 0) {
    const [listing_id] = await list(seller, cardItem({ price: euros, quantity: 1 }))
    const { body } = await market.operator.post('/operator/v1/checkouts', {
      payload: {
        buyer: { name: 'Ash', email: 'ash@mail.example' },
        lines: [{ listing_id, quantity: 1 }],
      },
    })
    await seller.post(`/v1/orders/${body.data.slices[0].order_ids[0]}/ship`)
  }
  const tierNow = async () => (await seller.get('/v1/me')).body.data.seller_tier
  return { ...seller, tierNow }
}

const NEXT_RUN = 5 * 60

describe('on the 1st of the month at 00:05 UTC', () => {
  it('the sales of the last month decide the tier of each seller', async () => {
    const { ctx } = market
    const tiers = new Map<number, SellerTier>([
      [0, 'Bronze'],
      [249.99, 'Bronze'],
      [250, 'Silver'],
      [999.99, 'Silver'],
      [1000, 'Gold'],
      [2500, 'Diamond'],
      [4999.99, 'Diamond'],
      [5000, 'Master'],
    ])
    const sellers = await Promise.all([...tiers.keys()].map((euros) => sellerOf(euros, 'Gold')))
    const tiersNow = () => Promise.all(sellers.map(({ tierNow }) => tierNow()))
    const now = ctx.now()
    const due = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1, 0, 5)
    const recalculateAt = (ms: number) => recalculateTiers({ ...ctx, now: () => new Date(ms) })
    await recalculateAt(due - 1)
    expect(await tiersNow()).toEqual(sellers.map(() => 'Gold'))
    await recalculateAt(due)
    expect(await tiersNow()).toEqual([...tiers.values()])
  })

  it('tiers ignore orders that are older, cancelled or not shipped', async () => {
    const seller = await sellerOf(300)
    const cancelled = await sellerOf(300)
    const [order] = (await cancelled.get('/v1/orders')).body.data
    await market.operator.post(`/operator/v1/orders/${order.id}/cancel`, {
      payload: { cancelled_by: 'buyer' },
    })
    await advanceTo(market, 1, NEXT_RUN)
    await recalculateTiers(market.ctx)
    expect([await seller.tierNow(), await cancelled.tierNow()]).toEqual(['Silver', 'Bronze'])

    await advanceTo(market, 1, NEXT_RUN)
    // Runs the whole schedule, because it must contain this job.
    await runSchedule(market.ctx)
    expect(await seller.tierNow()).toBe('Bronze')
  })

  it('tiers are recalculated once a month, and a tier set by the operator holds until then', async () => {
    const seller = await sellerOf(0)
    await advanceTo(market, 1, NEXT_RUN)
    await Promise.all([recalculateTiers(market.ctx), recalculateTiers(market.ctx)])
    await changeAccount(market, seller.accountId, { seller_tier: 'Master' })
    // Once, although the operator sends the tier twice.
    await changeAccount(market, seller.accountId, { seller_tier: 'Master' })
    await advance(market.operator, 20 * 24 * 60 * 60)
    await recalculateTiers(market.ctx)
    expect(await seller.tierNow()).toBe('Master')

    await advanceTo(market, 1, NEXT_RUN)
    await recalculateTiers(market.ctx)
    expect(await seller.tierNow()).toBe('Bronze')
    const { body } = await market.operator.get('/operator/v1/sandbox/mail?per_page=100')
    const tierMails = body.data.filter(({ subject }: { subject: string }) => /tier/.test(subject))
    expect(tierMails.map(({ text }: { text: string }) => text)).toEqual([
      expect.stringContaining('from Master to Bronze, because of'),
      expect.stringContaining('from Bronze to Master, by a decision of the marketplace.'),
    ])
  })

  it('the seller of a closed account gets no e-mail about its tier', async () => {
    const { accountId } = await sellerOf(0, 'Gold')
    const closed = await market.operator.post(`/operator/v1/accounts/${accountId}/close`)
    expect(closed.status).toBe(200)
    await advanceTo(market, 1, NEXT_RUN)
    await recalculateTiers(market.ctx)
    expect((await market.operator.get('/operator/v1/sandbox/mail')).body.data).toEqual([])
    const { body } = await market.operator.get(`/operator/v1/accounts/${accountId}`)
    expect(body.data.seller_tier).toBe('Bronze')
  })

  it('the recalculation of tiers reads no orders of earlier months', async () => {
    const seller = await sellerOf(300)
    const { ctx } = market
    await insertSlices(ctx.db, seller.accountId, Array(2_000).fill('Ash'), { from: new Date(0) })
    await ctx.db`analyze orders`
    await advanceTo(market, 1, NEXT_RUN)
    const read = await inTransaction(ctx, (tx) =>
      rowsRead(tx.db, 'orders', () => recalculateTiers(tx)),
    )
    expect(await seller.tierNow()).toBe('Silver')
    expect(read).toBeLessThan(20)
  })

  it('the transaction that sets the tiers reads no sales, which are added up in batches of sellers', async () => {
    const first = await sellerOf(300)
    const { ctx } = market
    await ctx.db`
      insert into accounts (shop_name, slug, email, created_at)
      select 'Shop', 'shop-' || number, 'shop-' || number || '@shops.example', ${ctx.now()}
      from generate_series(1, 200) number
    `
    const last = await sellerOf(300)
    await advanceTo(market, 1, NEXT_RUN)
    let read = 0
    const begin: Begin = async (work, mode) => {
      const results = await ctx.begin(async (db) => {
        const done: Awaited<ReturnType<typeof work>>[] = []
        read += await rowsRead(db, 'orders', async () => done.push(await work(db)))
        return done
      }, mode)
      return results[0]!
    }
    await recalculateTiers({ ...ctx, begin })
    expect(read).toBe(0)
    expect([await first.tierNow(), await last.tierNow()]).toEqual(['Silver', 'Silver'])
  })

  it('a tier that the operator sets while the sales of the month are added up holds', async () => {
    const { accountId, tierNow } = await sellerOf(300)
    await advanceTo(market, 1, NEXT_RUN)
    const begin: Begin = async (work, mode) => {
      await changeAccount(market, accountId, { seller_tier: 'Master' })
      return market.ctx.begin(work, mode)
    }
    await recalculateTiers({ ...market.ctx, begin })
    expect(await tierNow()).toBe('Master')
  })

  it('two concurrent changes to the same tier are announced once', async () => {
    const { accountId } = await market.seller()
    let changes: Promise<unknown> = Promise.resolve()
    await inTransaction(market.ctx, async ({ db }) => {
      await db`select from accounts where id = ${accountId} for no key update`
      const change = () => changeAccount(market, accountId, { seller_tier: 'Gold' })
      changes = Promise.all([change(), change()])
      await untilLockWaiters(market.ctx.db, 2)
    })
    await changes
    const { body } = await market.operator.get('/operator/v1/sandbox/mail?per_page=100')
    const subjects = body.data.map(({ subject }: { subject: string }) => subject)
    expect(subjects).toEqual(['Your seller tier is now Gold'])
  })

  it('the first run keeps the tiers of a new marketplace', async () => {
    const other = await startTestApp()
    const seller = await other.seller({ account: { sellerTier: 'Diamond' } })
    await recalculateTiers(other.ctx)
    expect((await seller.get('/v1/me')).body.data.seller_tier).toBe('Diamond')
  })
})

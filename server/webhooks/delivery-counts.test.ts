import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { DELIVERY_STATUSES, type WebhookEvent } from '../enums.ts'
import { recordEvents } from '../events/record.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { subscribe } from '../test/fakes/receiver.ts'
import { advance, NO_LIMITS } from '../test/fixtures/listings.ts'
import { untilLockWaiters } from '../test/lock-waiters.ts'
import { until } from '../test/until.ts'
import { pruneDeliveries, sendTestEvent } from './deliveries.ts'
import { countDeliveries, hideDeliveries } from './delivery-counts.ts'
import { listDeliveries } from './delivery-list.ts'
import { beginPartitions } from './partitions.ts'
import { resendDeliveries } from './resend.ts'

const HOUR = 60 * 60
const PAGE = { perPage: 1, offset: 0 }

it('totals of deliveries equal plain SQL while two processes write, count, hide and drop them', async () => {
  const app = await startTestApp({ settings: NO_LIMITS })
  const { databaseUrl } = app
  const other = await startTestApp({ databaseUrl, settings: NO_LIMITS })
  const shops = await Promise.all([app.seller(), app.seller()])
  const accounts = shops.map(({ accountId }) => accountId)
  const endpoints: { id: number; accountId: number }[] = []
  for (const shop of [...shops, shops[0]!]) {
    const { id } = await subscribe(shop, 'https://nowhere.invalid/')
    endpoints.push({ id, accountId: shop.accountId })
  }

  /** Every filter whose total is derived from the counts, in one snapshot with plain SQL. */
  const compare = ({ ctx }: TestApp) =>
    ctx.begin(async (db) => {
      const filters = [
        {},
        ...DELIVERY_STATUSES.map((status) => ({ status })),
        ...endpoints.map(({ id }) => ({ endpointId: id })),
        ...accounts.map((accountId) => ({ accountId, status: 'delivered' as const })),
      ]
      for (const filter of filters) {
        const { accountId, endpointId, status }: Partial<Record<string, unknown>> = filter
        const [expected] = await db<{ total: number }[]>`
          select count(*)::int as total
          from deliveries d
          join webhook_endpoints w on w.id = endpoint_id
          left join delivery_queue q on q.delivery_id = d.id
          where
            (
              q.delivery_id is not null
              or d.id >= (select kept_from from retention where table_name = 'deliveries')
            )
            and account_id = coalesce(${(accountId as number) ?? null}::bigint, account_id)
            and w.id = coalesce(${(endpointId as number) ?? null}::bigint, w.id)
            and d.status = coalesce(${(status as string) ?? null}::text, d.status)
        `
        const { total } = await listDeliveries({ begin: (work) => work(db) }, filter, PAGE)
        expect({ filter, total }).toEqual({ filter, total: expected!.total })
      }
    }, 'snapshot')

  const finish = (status: string, { ctx: { db } }: TestApp) => db`
    with gone as (
      delete from delivery_queue
      where delivery_id in (
        select delivery_id from delivery_queue order by delivery_id limit 5 for update skip locked
      )
      returning delivery_id
    )
    update deliveries
    set status = ${status}, is_skipped = ${status === 'skipped'}
    where id in (select delivery_id from gone)
  `
  const counted = async () => {
    const [row] = await app.ctx.db<{ number: number }[]>`
      select coalesce(sum(number), 0)::int as number from delivery_counts
    `
    return row!.number
  }

  const record = (ctx: Context, accountId: number) => {
    const data = { order_id: 1, cancelled_by: 'buyer' as const }
    return recordEvents(ctx, [{ accountId, event: 'order.cancelled', data }])
  }
  // Transactions that end after one with higher ids: their own number is lower or higher than that one's.
  for (const isFirst of [true, false]) {
    const recorded = Promise.withResolvers<void>()
    const permitted = Promise.withResolvers<void>()
    const recordSlowly = () =>
      inTransaction(app.ctx, async (tx) => {
        await record(tx, accounts[0]!)
        recorded.resolve()
        await permitted.promise
      })
    const slow = await inTransaction(other.ctx, async (tx) => {
      if (!isFirst) await tx.db`select pg_current_xact_id()`
      const slow = recordSlowly()
      await recorded.promise
      await record(tx, accounts[1]!)
      return { ended: slow }
    })
    for (let run = 0; run < 3; run++) await countDeliveries(other.ctx)
    permitted.resolve()
    await slow.ended
    await countDeliveries(other.ctx)
    await compare(app)
  }

  let ended = false
  const write = async ({ ctx }: TestApp, accountId: number) => {
    for (let n = 0; n < 300 && !ended; n++) await record(ctx, accountId)
  }
  const writers = [write(app, accounts[0]!), write(other, accounts[1]!)]
  const span = { from: new Date(0), to: new Date('2126-01-01') }
  try {
    for (let round = 0; round < 6; round++) {
      const [one, two] = round % 2 === 0 ? [app, other] : [other, app]
      const { id, accountId } = endpoints[round % endpoints.length]!
      await Promise.all([
        finish(['delivered', 'failed', 'skipped'][round % 3]!, one),
        ...[app, other].map(({ ctx }) => countDeliveries(ctx)),
        compare(two),
      ])
      await resendDeliveries(one.ctx, accountId, id, span)
      if (round % 3 !== 2) continue
      // Twenty days in turn: some deliveries are hidden, of which some are queued.
      await advance(app.operator, 20 * 24 * HOUR)
      await Promise.all([beginPartitions(one.ctx), compare(two)])
      await Promise.all([...[app, other].map(({ ctx }) => pruneDeliveries(ctx)), compare(two)])
    }
    await until('deliveries have been counted', async () => {
      // The writers may have finished before the earlier deliveries were hidden.
      await record(app.ctx, accounts[0]!)
      await countDeliveries(app.ctx)
      return (await counted()) > 0
    })
  } finally {
    ended = true
    await Promise.all(writers)
  }
  await compare(app)
  await app.ctx.db`delete from delivery_queue`
  await app.ctx.db`update deliveries set status = 'delivered' where status = 'pending'`
  await compare(app)
  await advance(app.operator, 40 * 24 * HOUR)
  await beginPartitions(app.ctx)
  await pruneDeliveries(app.ctx)
  await compare(app)
  expect(await counted()).toBe(0)
})

it('deliveries are counted after a dump was restored on a server with lower transaction ids', async () => {
  const { ctx } = await startTestApp({ settings: NO_LIMITS })
  await ctx.db`
    update delivery_count_state set seen_to = counted_to + 1, seen_in = '9000000000000000000'
  `
  await countDeliveries(ctx)
  const [state] = await ctx.db`select counted_to = seen_to as "isCounted" from delivery_count_state`
  expect(state).toEqual({ isCounted: true })
})

it('the repair of docs/partitions.md waits for a job that hides deliveries, and all are counted once after it', async () => {
  const guide = readFileSync(new URL('../../docs/partitions.md', import.meta.url), 'utf8')
  const [, sql = ''] = /```sql\nbegin;\n(.+?)commit;/s.exec(guide) ?? []
  const app = await startTestApp({ settings: NO_LIMITS })
  const { ctx } = app
  const shop = await app.seller()
  const { id: endpointId } = await subscribe(shop, 'https://nowhere.invalid/')
  const data = { order_id: 1, cancelled_by: 'buyer' as const }
  const event = { accountId: shop.accountId, event: 'order.cancelled', data } as const
  for (let n = 0; n < 3; n++) await recordEvents(ctx, [event])
  for (let run = 0; run < 2; run++) await countDeliveries(ctx)
  const { rows } = await listDeliveries(ctx, { endpointId }, PAGE)

  let repaired: Promise<unknown> | undefined
  await inTransaction(ctx, async (tx) => {
    await tx.db`select from delivery_count_state for update`
    repaired = ctx.begin(async (db) => {
      for (const statement of sql.split(';\n').filter(Boolean)) await db.unsafe(statement)
    })
    await untilLockWaiters(ctx.db)
    await hideDeliveries(tx, rows[0]!.id)
  })
  await repaired
  for (let run = 0; run < 2; run++) await countDeliveries(ctx)
  expect((await listDeliveries(ctx, { endpointId }, PAGE)).total).toBe(3)
})

it('the total of the deliveries of an event is counted without a look at the events', async () => {
  const app = await startTestApp({ settings: NO_LIMITS })
  const { ctx } = app
  const { accountId, ...seller } = await app.seller()
  const { id: endpointId } = await subscribe(seller, 'https://nowhere.invalid/')
  const data = { order_id: 1, cancelled_by: 'buyer' as const }
  for (let n = 0; n < 3; n++)
    await recordEvents(ctx, [{ accountId, event: 'order.cancelled', data }])
  await sendTestEvent(ctx, accountId, endpointId, { event: 'listing.sold', data: {} })
  await ctx.db`delete from delivery_queue`
  await ctx.db`update deliveries set status = 'delivered'`
  await ctx.db`delete from events`
  const totalOf = async (event: WebhookEvent, status?: 'delivered') =>
    (await listDeliveries(ctx, { accountId, event, status }, PAGE)).total
  expect(await totalOf('order.cancelled')).toBe(3)
  expect(await totalOf('order.cancelled', 'delivered')).toBe(3)
  expect(await totalOf('listing.sold')).toBe(1)
})

import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Context } from '../context.ts'
import { connect } from '../database/connect.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { migrate } from '../database/migrate.ts'
import { recordEvents } from '../events/record.ts'
import { currentPosition, eventsAfter, hasReached, positionIn } from '../events/stream.ts'
import { pruneOAuth } from '../oauth/grants.ts'
import { runSchedule } from '../schedule.ts'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { databaseAtVersion } from '../test/database.ts'
import { deliveriesIn, endpointOf, sendSampleEvent, subscribe } from '../test/fakes/receiver.ts'
import { advance, NO_LIMITS } from '../test/fixtures/listings.ts'
import { connected, errorOf, refresh } from '../test/fixtures/oauth.ts'
import { untilLockWaiters } from '../test/lock-waiters.ts'
import { until } from '../test/until.ts'
import { whenFileEnds } from '../test/when-file-ends.ts'
import { pruneDeliveries } from './deliveries.ts'
import { beginPartitions } from './partitions.ts'
import { resendDelivery } from './resend.ts'

const HOUR = 60 * 60
const DAY = 24 * HOUR
const HOOK = 'https://nowhere.invalid/'
const TABLES = ['events', 'deliveries']
const DATA = '{"order_id":1,"cancelled_by":"buyer"}'

let app: TestApp
let other: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ settings: NO_LIMITS })
  const { databaseUrl } = app
  other = await startTestApp({ databaseUrl, settings: NO_LIMITS })
  seller = await app.seller()
  await subscribe(seller, HOOK)
  await subscribe(seller, HOOK)
  // Their deliveries are skipped: none is queued.
  await app.ctx.db`update webhook_endpoints set disabled_at = now()`
})

/** Names of the partitions of both tables, oldest first. */
const partitions = async ({ db }: Pick<Context, 'db'> = app.ctx) => {
  const rows = await db<{ name: string }[]>`
    select relname as name
    from pg_inherits
    join pg_class on oid = inhrelid
    where inhparent = any(${TABLES}::text[]::regclass[])
    order by inhparent, oid
  `
  return rows.map(({ name }) => name)
}
/** The partitions that have rows, and their number. */
const filled = async ({ db }: Pick<Context, 'db'> = app.ctx) => {
  const rows = await db<{ partition: string; rows: number }[]>`
    select tableoid::regclass::text as partition, count(*)::int as rows from events group by 1
    union all
    select tableoid::regclass::text, count(*)::int from deliveries group by 1
    order by 1
  `
  return Object.fromEntries(rows.map(({ partition, rows }) => [partition, rows]))
}
const send = async () =>
  expect(await sendSampleEvent(app, seller.accountId)).toMatchObject({ status: 202 })
/** The context of the other process with the clock of the first one, which it follows with a delay. */
const otherCtx = () => ({ ...other.ctx, now: app.ctx.now })
const passes = async (seconds: number) => {
  await advance(app.operator, seconds)
  await runSchedule(app.ctx)
}

/** Stores an event in the last partition, which has to get an end before the next one begins. */
async function fillLast(): Promise<string> {
  const last = (await partitions()).findLast((name) => name.startsWith('events'))!
  await app.ctx.db`
    select setval(pg_get_serial_sequence('events', 'id'), ${Number(last.match(/\d+/)) + 5})
  `
  await send()
  await advance(app.operator, 6 * DAY)
  return last
}

it('a partition of both tables begins after a fifth of the retention, and is dropped as a whole', async () => {
  await send()
  await passes(5 * DAY)
  await send()
  expect(await filled()).toEqual({ events_from_0: 2, deliveries_from_0: 4 })
  await passes(1 * DAY)
  await send()
  const next = { events_from_4000000: 1, deliveries_from_4000000: 2 }
  expect(await filled()).toEqual({ events_from_0: 2, deliveries_from_0: 4, ...next })
  // The first event is past its retention, the second isn't.
  await passes(24 * DAY)
  expect(await filled()).toEqual({ events_from_0: 2, deliveries_from_0: 4, ...next })
  expect(await deliveriesIn(app, `account_id=${seller.accountId}`)).toHaveLength(4)
  const [oldest] = (await positionsIn(app)).slice(-1)
  await passes(5 * DAY)
  expect(await filled()).toEqual(next)
  expect(await hasReached(app.ctx, oldest!), 'the position of a deleted event').toBe(true)
  expect((await partitions()).filter((name) => /_from_0$/.test(name))).toEqual([])
})

it('a resend that is requested while its partition is dropped keeps the partition', async () => {
  const id = (await subscribe(await app.seller(), HOOK)).id
  await app.ctx.db`
    with happened as (
      insert into events (account_id, event, data, created_at)
      select account_id, 'order.cancelled', ${DATA}, ${app.ctx.now()}
      from webhook_endpoints
      where id = ${id}
      returning id, created_at
    )
    insert into deliveries (event_id, endpoint_id, status, created_at)
    select id, ${id}::bigint, 'failed', created_at from happened
  `
  const [delivery] = await deliveriesIn(app, `endpoint_id=${id}`)
  await passes(7 * DAY)
  const [{ partition }] = await app.ctx.db<[{ partition: string }]>`
    select tableoid::regclass::text as partition from deliveries where id = ${delivery.id}
  `
  const requested = Promise.withResolvers<void>()
  const permitted = Promise.withResolvers<void>()
  const resent = inTransaction(app.ctx, async (tx) => {
    await resendDelivery(tx, delivery.id)
    requested.resolve()
    await permitted.promise
  })
  await requested.promise
  await advance(app.operator, 40 * DAY)
  let ended = false
  const job = pruneDeliveries(otherCtx()).then(() => {
    ended = true
  })
  await until('the job waits for the transaction', async () => {
    const waiting = await app.ctx.db`
      select from pg_stat_activity
      where
        datname = current_database()
        and wait_event_type = 'Lock'
        and wait_event <> 'object'
    `
    return ended || waiting.length > 0
  })
  permitted.resolve()
  await resent
  await job
  await runSchedule(app.ctx)
  expect(await partitions()).toContain(partition)
  expect(await deliveriesIn(app, `endpoint_id=${id}`)).toMatchObject([{ id: delivery.id }])
  await app.runDeliveries()
  await app.ctx.db`delete from delivery_queue`
  await runSchedule(app.ctx)
  expect(await partitions()).not.toContain(partition)
  expect(await deliveriesIn(app, `endpoint_id=${id}`)).toEqual([])
})

it('a prune that begins together with a partition keeps the new partition', async () => {
  const last = (await partitions()).findLast((name) => name.startsWith('events'))!
  const firstId = Number(last.split('_').at(-1))
  let pruned: Promise<void> | undefined
  await inTransaction(app.ctx, async ({ db }) => {
    await db`lock table only events in access exclusive mode`
    await db`drop table ${db(last)}`
    await db`select add_partition('events', ${firstId}, ${firstId + 4_000_000})`
    await db`select add_partition('events', ${firstId + 4_000_000}, null)`
    await db`select setval(pg_get_serial_sequence('events', 'id'), ${firstId})`
    pruned = pruneDeliveries(otherCtx())
    await untilLockWaiters(app.ctx.db)
  })
  await pruned
  expect(await partitions()).toContain(last)
  await send()
  expect(await filled()).toMatchObject({ [last]: 1 })
})

it('a partition that two processes begin at the same time keeps the end that the first one gave it', async () => {
  const last = (await partitions()).findLast((name) => name.startsWith('events'))!
  const firstId = Number(last.split('_').at(-1))
  const endId = firstId + 4_000_000
  let begun: Promise<void> | undefined
  await inTransaction(app.ctx, async ({ db }) => {
    await db`lock table only events in access exclusive mode`
    // It has read the partitions, and waits for the newest id.
    begun = beginPartitions(other.ctx)
    await untilLockWaiters(app.ctx.db)
    await db`drop table ${db(last)}`
    await db`select add_partition('events', ${firstId}, ${endId})`
    await db`select add_partition('events', ${endId}, null)`
    await db`select setval(pg_get_serial_sequence('events', 'id'), ${firstId})`
    await db`
      insert into events (account_id, event, data, created_at)
      select ${seller.accountId}, 'order.cancelled', ${DATA}, ${app.ctx.now()}
      from generate_series(1, 2)
    `
  })
  await begun
  const [{ bounds }] = await app.ctx.db<[{ bounds: string }]>`
    select pg_get_expr(relpartbound, oid) as bounds from pg_class where relname = ${last}
  `
  expect(bounds).toBe(`FOR VALUES FROM ('${firstId}') TO ('${endId}')`)
})

it('writers never fail and lose nothing while two processes begin and drop partitions', async () => {
  const written: { number: number; at: Date }[] = []
  let number = 0
  let ended = false
  const underWay = new Set<Promise<unknown>>()
  const write = async (ctx: Context) => {
    while (!ended) {
      const batch = Array.from({ length: 3 }, () => ({ number: ++number, at: ctx.now() }))
      const recorded = recordEvents(
        ctx,
        batch.map(({ number }) => ({
          accountId: seller.accountId,
          event: 'order.cancelled',
          data: { order_id: number, cancelled_by: 'buyer' },
        })),
      )
      underWay.add(recorded)
      await recorded
      underWay.delete(recorded)
      written.push(...batch)
    }
  }
  const before = await partitions()
  const enough = Number(before.at(-1)!.match(/\d+/)) + 6 * 4_000_000
  const processes = [app.ctx, otherCtx()]
  const writers = [...processes, ...processes].map(write)
  try {
    await until('six partitions have begun, and the first has been dropped', async () => {
      await advance(app.operator, 7 * DAY)
      // The first row of a new partition must have the new time: the order of ids is that of time.
      await Promise.all(underWay)
      await Promise.all(processes.map(beginPartitions))
      await Promise.all(processes.map(pruneDeliveries))
      const names = await partitions()
      return !names.includes(before[0]!) && Number(names.at(-1)!.match(/\d+/)) >= enough
    })
  } finally {
    ended = true
    await Promise.all(writers)
  }
  const since = new Date(app.ctx.now().getTime() - 29 * DAY * 1000)
  const stored = await app.ctx.db<{ number: number; endpoints: number; deliveries: number }[]>`
    select
      (data::jsonb ->> 'order_id')::int as number,
      count(distinct endpoint_id)::int as endpoints,
      count(*)::int as deliveries
    from events
    join deliveries on event_id = events.id
    where events.created_at > ${since} and events.event = 'order.cancelled'
    group by 1
    order by 1
  `
  const expected = written.filter(({ at }) => at > since).map(({ number }) => number)
  expect(stored).toEqual(
    expected.toSorted((a, b) => a - b).map((number) => ({ number, endpoints: 2, deliveries: 2 })),
  )
})

it('rows beyond the ids of the current partition are stored in the last one, which gets a distant end', async () => {
  const [last] = (await partitions()).filter((name) => name.startsWith('events')).slice(-1)
  const [row] = await app.ctx.db<{ end: number }[]>`
    select setval(pg_get_serial_sequence('events', 'id'), ${Number(last!.match(/\d+/)) + 5}) as end
  `
  await send()
  expect(await filled()).toMatchObject({ [last!]: 1 })
  await beginPartitions(app.ctx)
  await send()
  expect(await filled()).toMatchObject({ [last!]: 2 })
  await passes(6 * DAY)
  await send()
  expect(await filled()).toMatchObject({ [last!]: 2, events_from_2000000000: 1 })
  const ids = await app.ctx.db<{ id: number }[]>`select id from events order by id desc limit 2`
  expect(ids.map(({ id }) => id)).toEqual([2_000_000_001, row!.end + 2])
  await passes(40 * DAY)
  await passes(40 * DAY)
  expect(await filled()).toEqual({})
})

it('after a restore, the SQL of docs/operating.md gives no number again, lets no stream or feed miss a change, ends sessions and access but no registration, and deletes endpoints, and partitions begin as before', async () => {
  // The second database is a backup of the first: both have the same rows.
  const [lost, restored] = [await newShop(), await newShop()]
  expect(await lost.send()).toBe(await restored.send())
  await advance(lost.app.operator, 7 * DAY)
  await beginPartitions(lost.app.ctx)
  const newest = await lost.send()
  const [lostEvent, keptEvent] = await positionsIn(lost.app)
  const { app } = restored
  const { member, clientId, refreshToken } = await connected(app)
  await app.ctx.db`update oauth_clients set keep_until = clock_timestamp()`
  expect((await member.get('/dashboard/api/me')).status).toBe(200)
  const feed = (await restored.merchant.get('/tools/v1/changes')).body
  const feedAfter = `/tools/v1/changes?cursor=${feed.next}`
  expect((await restored.merchant.get(feedAfter)).status).toBe(200)
  // A stream that began shortly before the lost server had its last transaction.
  const { transaction } = await currentPosition(app.ctx)
  const gap = { transaction: String(BigInt(transaction) + 1_000_000n), eventId: 0 }
  const guide = await readFile(new URL('../../docs/operating.md', import.meta.url), 'utf8')
  const [section] = /### After a restore.*?\n## /s.exec(guide)!
  const statements = [...section.matchAll(/```sql\n(.*?)```/gs)].map(([, sql]) => sql!)
  const { id: deleted } = await subscribe(restored.merchant, HOOK)
  for (const sql of statements) {
    const id = sql.includes('webhook_endpoints') ? deleted : 0
    await app.ctx.db.unsafe(sql.replaceAll('…', String(id)))
  }
  expect(await endpointOf(restored.merchant, deleted)).toBeUndefined()
  expect((await member.get('/dashboard/api/me')).status).toBe(401)
  await pruneOAuth(app.ctx)
  expect(errorOf(await refresh(app, clientId, refreshToken))).toEqual([400, 'invalid_grant'])
  const first = await restored.send()
  expect((await restored.merchant.get(feedAfter)).status).toBe(410)
  // An event is in the stream when all transactions of the server that began earlier have ended.
  await expect.poll(() => eventsAfter(app.ctx, restored.merchant.accountId, gap)).toHaveLength(1)
  // Otherwise a stream that continues after a lost event could leave out events that follow the restore.
  expect(await hasReached(app.ctx, lostEvent!)).toBe(false)
  expect(await hasReached(app.ctx, keptEvent!)).toBe(true)
  await advance(app.operator, 7 * DAY)
  await beginPartitions(app.ctx)
  const next = await restored.send()
  expect(first).toBeGreaterThan(newest)
  expect(next).toBeGreaterThan(first)
  // The last partition, which now has rows, has got an end, and another one has begun.
  expect(await filled(app.ctx)).toMatchObject({ deliveries_from_0: 1, deliveries_from_4000000: 1 })
  expect(Object.keys(await filled(app.ctx))).toHaveLength(6)
})

/** The positions of all events, the newest first. */
async function positionsIn({ ctx }: TestApp) {
  const rows = await ctx.db<{ position: string }[]>`
    select written_in || '-' || id as position from events order by id desc
  `
  return rows.map(({ position }) => positionIn(position))
}

/** A service with a database of its own and an endpoint. `send` returns the id of the delivery. */
async function newShop() {
  const app = await startTestApp({ settings: NO_LIMITS })
  const merchant = await app.seller()
  await subscribe(merchant, HOOK)
  const send = async () => {
    await sendSampleEvent(app, merchant.accountId)
    const [delivery] = await deliveriesIn(app)
    return delivery.id as number
  }
  return { app, merchant, send }
}

it('writers go on after a crash before any commit of the job, and after its next run partitions begin', async () => {
  for (const crashAt of [1, 2, 3]) {
    const [last] = (await partitions()).filter((name) => name.startsWith('events')).slice(-1)
    await app.ctx.db`
      select setval(pg_get_serial_sequence('events', 'id'), ${Number(last!.match(/\d+/)) + 5})
    `
    await send()
    await advance(app.operator, 6 * DAY)
    let begun = 0
    await beginPartitions({
      ...app.ctx,
      begin: (work, mode) =>
        app.ctx.begin(async (db) => {
          const result = await work(db)
          if (++begun === crashAt) throw new Error('crashed')
          return result
        }, mode),
    }).catch((error) => expect(error.message).toBe('crashed'))
    expect(begun, 'transactions').toBe(crashAt)
    await send()
    await beginPartitions(app.ctx)
    await send()
    const before = await filled()
    await passes(6 * DAY)
    await send()
    const [newest] = Object.keys(await filled()).filter((name) => !(name in before))
    expect(newest, `after a crash before commit ${crashAt}`).toMatch(/^(events|deliveries)_from/)
  }
})

it('a last partition with rows gets an end even if validating it takes longer than the time limit of statements', async () => {
  const { ctx } = app
  const last = await fillLast()
  const limits = { statementMs: 2_000, suspectMs: 1_000, maxStatements: 100 }
  const db = connect(app.databaseUrl, { limits })
  whenFileEnds(() => db.end({ timeout: 1 }))
  const locked = Promise.withResolvers<void>()
  const permitted = Promise.withResolvers<void>()
  let user: Promise<void> | undefined
  let rows = 0
  let ended = false
  const job = beginPartitions({
    ...ctx,
    db,
    begin: async (work, mode) => {
      const result = await ctx.begin(async (tx) => {
        const result = await work(tx)
        const [scan] = await tx<{ rows: number }[]>`
          select seq_tup_read as rows from pg_stat_xact_user_tables where relname = ${last}
        `
        rows += scan?.rows ?? 0
        return result
      }, mode)
      // The constraint is added. Its validation has to wait for this lock, as if the partition were large.
      user ??= inTransaction(ctx, async (tx) => {
        await tx.db`lock table ${tx.db(last)} in share update exclusive mode`
        locked.resolve()
        await permitted.promise
      })
      await locked.promise
      return result
    },
  }).finally(() => {
    ended = true
  })
  await until('the validation has taken longer than the time limit of statements', async () => {
    const [validation] = await ctx.db`
      select
      from pg_stat_activity
      where
        datname = current_database()
        and wait_event_type = 'Lock'
        and query like ${`alter table ${last} validate%`}
        and clock_timestamp() - query_start > interval '3 seconds'
    `
    return ended || validation !== undefined
  })
  permitted.resolve()
  await user
  await job
  expect(rows, 'rows read under a lock').toBe(0)
  await send()
  expect(await filled()).toMatchObject({ [last]: 1 })
})

it('after a crash, the next run does not validate the end of the last partition again', async () => {
  const { ctx } = app
  const last = await fillLast()
  let transactions = 0
  const crashed = beginPartitions({
    ...ctx,
    begin: (work, mode) =>
      ++transactions === 2 ? Promise.reject(new Error('crash')) : ctx.begin(work, mode),
  })
  await expect(crashed).rejects.toThrow('crash')
  // A validation needs a connection of its own.
  await beginPartitions({ ...ctx, databaseUrl: 'postgres://nowhere.invalid/none' })
  await send()
  expect(await filled()).toMatchObject({ [last]: 1 })
})

it.each(['with rows', 'without rows'])(
  'a beginning that finds the last partition %s in use changes nothing, and writers go on',
  async (kind) => {
    const before = await partitions()
    const [last] = before.filter((name) => name.startsWith('events')).slice(-1)
    if (kind === 'with rows') {
      const id = Number(last!.match(/\d+/)) + 5
      await app.ctx.db`select setval(pg_get_serial_sequence('events', 'id'), ${id})`
    }
    await send()
    await advance(app.operator, 6 * DAY)
    const rows = await filled()
    const locked = Promise.withResolvers<void>()
    const permitted = Promise.withResolvers<void>()
    const user = inTransaction(app.ctx, async ({ db }) => {
      await db`lock table ${db(last!)} in share update exclusive mode`
      locked.resolve()
      await permitted.promise
    })
    await locked.promise
    await beginPartitions(app.ctx)
    expect(await partitions()).toEqual(before)
    await send()
    const names = Object.keys(rows)
    expect(Object.keys(await filled())).toEqual(names)
    permitted.resolve()
    await user
    await beginPartitions(app.ctx)
    await send()
    expect(Object.keys(await filled())).toEqual(expect.arrayContaining(names))
    expect(Object.keys(await filled()).length).toBeGreaterThan(names.length)
  },
)

describe('an earlier database', () => {
  it('the migration makes the tables of an earlier version the first partitions', async () => {
    const url = await databaseAtVersion(37)
    const db = connect(url, { max: 1 })
    await db`
      with account as (
        insert into accounts (shop_name, slug, email, created_at)
        values ('Shop', 'shop', 'shop@mail.example', now())
        returning id
      ),
      endpoint as (
        insert into webhook_endpoints (account_id, place, url, events, secret, created_at)
        select id, 1, ${HOOK}, array['order.cancelled'], '', now() from account
        returning id, account_id
      ),
      happened as (
        insert into events (account_id, event, data, created_at)
        select account_id, 'order.cancelled', ${DATA}, now() - make_interval(days => 40 - day)
        from endpoint
        cross join generate_series(0, 40, 8) as day
        returning id, created_at
      ),
      logged as (
        insert into deliveries (event_id, endpoint_id, status, created_at)
        select
          happened.id,
          endpoint.id,
          (array['pending', 'failed', 'skipped'])[1 + happened.id % 3],
          happened.created_at
        from happened
        cross join endpoint
        returning id, event_id, endpoint_id, status
      )
      insert into delivery_queue (delivery_id, event_id, endpoint_id, next_attempt_at)
      select id, event_id, endpoint_id, now() from logged where status = 'pending'
    `
    await migrate(db, url)
    await db.end()
    const migrated = await startTestApp({ databaseUrl: url })
    const statuses = async () =>
      (await deliveriesIn(migrated)).map(({ status }: { status: string }) => status)
    expect(await statuses()).toEqual([
      ...['pending', 'skipped', 'failed'],
      ...['pending', 'skipped', 'failed'],
    ])
    expect(await deliveriesIn(migrated, 'status=skipped')).toHaveLength(2)
    await runSchedule(migrated.ctx)
    // Two are past their retention, after 40 and 32 days.
    expect(await statuses()).toEqual(['pending', 'skipped', 'failed', 'pending'])
    const [, , failed] = await deliveriesIn(migrated)
    const { status } = await migrated.operator.post(`/operator/v1/deliveries/${failed.id}/resend`)
    expect(status).toBe(202)
    await migrated.ctx.db`delete from delivery_queue`
    await advance(migrated.operator, 31 * DAY)
    await runSchedule(migrated.ctx)
    expect([await statuses(), await filled(migrated.ctx)]).toEqual([[], {}])
    expect(await partitions(migrated.ctx)).toEqual([
      ...['events_from_4000006', 'events_from_8000006'],
      ...['deliveries_from_4000006', 'deliveries_from_8000006'],
    ])
  })
})

import { beforeAll, describe, expect, it } from 'vitest'
import type { Context } from '../context.ts'
import { LISTING_STATUSES, ORDER_STATUSES } from '../enums.ts'
import { listAllListings } from '../listings/all-listings.ts'
import { listListings } from '../listings/listings.ts'
import { listPayouts } from '../money/payouts.ts'
import { listAllOrders, listOrders } from '../orders/orders.ts'
import { listShipments } from '../shipping/all-shipments.ts'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { list, NO_LIMITS, productItem } from '../test/fixtures/listings.ts'
import { buy, cancel, openShop, ship } from '../test/fixtures/orders.ts'
import { rowsRead, vacuumed } from '../test/rows-read.ts'
import { until } from '../test/until.ts'
import { foldCounts } from './counts.ts'
import { inTransaction } from './in-transaction.ts'
import type { Page } from './paging.ts'
import type { Db } from './sql.ts'

let app: TestApp
/** Another service on the same database. */
let other: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  other = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
})

const random = (below: number) => Math.floor(Math.random() * below)
const pick = <T>(values: readonly T[]): T => values[random(values.length)]!

/** A list that has counts. */
type CountedList = {
  table: string
  /** The operator's list of all sellers. */
  isOfAll?: boolean
  /** It has a filter by the time of the last change. */
  canBeSynced?: boolean
  /** Rows that the list never shows. */
  hidden: string[]
  statuses: readonly string[]
  newestFirst: string
  read: (
    ctx: Context,
    accountId: number,
    filters: { status: never; since: Date | undefined; updatedSince?: Date },
    page: Page,
  ) => Promise<{ rows: { id: number }[]; total: number }>
}
const ANY_LISTING = [...LISTING_STATUSES, 'removed']
const LISTS: CountedList[] = [
  {
    ...{ table: 'listings', newestFirst: 'id desc', statuses: LISTING_STATUSES },
    hidden: ['removed'],
    canBeSynced: true,
    read: (ctx, accountId, { status, updatedSince }, page) =>
      listListings(ctx, accountId, { status, updatedSince }, page),
  },
  {
    ...{ table: 'listings', newestFirst: 'id desc', statuses: ANY_LISTING, hidden: [] },
    read: (ctx, accountId, { status }, page) => listAllListings(ctx, { accountId, status }, page),
  },
  {
    ...{ table: 'listings', newestFirst: 'id desc', statuses: ANY_LISTING, hidden: [] },
    isOfAll: true,
    read: (ctx, _accountId, { status }, page) => listAllListings(ctx, { status }, page),
  },
  {
    ...{ table: 'orders', newestFirst: 'created_at desc, id desc', statuses: ORDER_STATUSES },
    hidden: [],
    canBeSynced: true,
    read: listOrders,
  },
  {
    ...{ table: 'orders', newestFirst: 'created_at desc, id desc', statuses: ORDER_STATUSES },
    hidden: [],
    isOfAll: true,
    read: (ctx, _accountId, { status, since }, page) =>
      listAllOrders(ctx, { status, from: since }, page),
  },
]
/** Compares random pages of each list with those that plain SQL selects in the same snapshot. */
async function comparePages(ctx: Context, accountId: number, pages: number): Promise<void> {
  await ctx.begin(async (db) => {
    for (const { table, isOfAll = false, hidden, statuses, newestFirst, read } of LISTS) {
      for (let i = 0; i < pages; i++) {
        const status = pick([undefined, ...statuses])
        const since = table === 'orders' ? pick([undefined, await timeOfAnOrder(db)]) : undefined
        const isMatch = db`
          account_id ${isOfAll ? db`> 0` : db`= ${accountId}`}
          and status <> all(${hidden}::text[])
          and status = coalesce(${status ?? null}, status)
          ${since === undefined ? db`` : db`and created_at >= ${since}`}
        `
        const [{ plainTotal } = { plainTotal: 0 }] = await db<{ plainTotal: number }[]>`
          select count(*) as "plainTotal" from ${db(table)} where ${isMatch}
        `
        const perPage = 1 + random(100)
        const page = 1 + random(Math.ceil(plainTotal / perPage) + 1)
        const offset = (page - 1) * perPage
        const plain = await db<{ id: number }[]>`
          select id
          from ${db(table)}
          where ${isMatch}
          order by ${db.unsafe(newestFirst)}
          limit ${perPage}
          offset ${offset}
        `
        const filters = { status: status as never, since }
        const { rows, total } = await read({ ...ctx, db }, accountId, filters, {
          ...{ page, perPage, offset },
        })
        const context = { table, isOfAll, filters, offset }
        expect({ ...context, total, ids: idsOf(rows) }).toEqual({
          ...{ ...context, total: plainTotal, ids: idsOf(plain) },
        })
      }
    }
  }, 'snapshot')
}

/** The time of a random order row, or one just before or after it; undefined if there is none. */
async function timeOfAnOrder(db: Db): Promise<Date | undefined> {
  const [row] = await db<{ at: Date }[]>`
    select created_at + (floor(random() * 3) - 1) * interval '1 ms' as at
    from orders
    order by random()
    limit 1
  `
  return row?.at
}

const idsOf = (rows: { id: number }[]) => rows.map(({ id }) => id)

/** The last key of inserted rows. Keys are dense, with gaps that put them into many blocks of every level. */
let last = 1_000_000
function nextKeys(count: number): number[] {
  last++
  return Array.from({ length: count }, () => {
    last += random(20) === 0 ? random(20_000) : random(3)
    return last
  })
}

async function insertRows({ db }: Context, accountId: number, count: number): Promise<void> {
  const keys = nextKeys(count)
  await db`
    insert into listings (
      id, account_id, card_id, price_cents, quantity, condition, language, status, created_at, updated_at
    )
    overriding system value
    select
      id, ${accountId}, 'sv3-125', 100, case when status = 'sold' then 0 else 1 end, 'NM', 'EN', status,
      '2026-01-01', '2026-01-01'
    from (
      select id, (array['active', 'active', 'sold', 'hidden', 'removed'])[1 + id % 5] as status
      from (select distinct unnest(${keys}::bigint[]) as id) keys
    ) new
  `
  // Several rows have the same second, and some the same time.
  await db`
    with sold as (
      insert into checkouts (buyer_name, buyer_email, created_at)
      select 'Misty', 'misty@mail.example', '2025-01-01'::timestamptz + key * interval '0.9 s'
      from unnest(${keys}::bigint[]) as key
      returning id, created_at
    ),
    slices as (
      insert into slices (
        checkout_id, account_id, slice_key, shipping_code, shipping_method, fulfilment, tracked,
        shipping_cents, created_at
      )
      select
        id, ${accountId}, 'counted-' || id, 'letter', 'Letter', 'self_ship', false, 120, created_at
      from sold
      returning id, created_at
    )
    insert into orders (
      slice_id, account_id, status, quantity, price_cents, commission_rate, commission_cents, created_at,
      shipped_at, received_at, disputed_at, cancelled_at, cancelled_by, refunded_cents
    )
    select
      slices.id, ${accountId}, status, 1, 100, 500, 5, created_at, later, later, later,
      case when status = 'cancelled' then created_at end, case when status = 'cancelled' then 'buyer' end,
      case when status = 'cancelled' then 100 else 0 end
    from slices
    cross join unnest(${[...ORDER_STATUSES]}::text[]) with ordinality as known (status, place)
    cross join lateral (select case when status <> 'pending' then created_at end as later) times
    where known.place - 1 = slices.id % 7 or known.place - 1 = slices.id % 5
  `
}

/** Adds a payout and a shipment to each of a seller's slices that have none. */
const insertPayoutsAndShipments = ({ db }: Context, accountId: number) => db`
  with new as (
    select id, created_at, (array['due', 'sent', 'paid', 'paid', 'failed'])[1 + id % 5] as state
    from slices
    where account_id = ${accountId} and not exists (select from payouts where slice_id = slices.id)
  ),
  posted as (
    insert into postings (kind, account_id, slice_id, seller_cents, payouts_cents, created_at)
    select 'payout', ${accountId}, id, -5, 5, created_at from new
    returning id, slice_id
  ),
  paid as (
    insert into payouts (
      account_id, slice_id, amount_cents, state, reason, posting_id, created_at, sent_at, paid_at
    )
    select
      ${accountId}, new.id, 5, state, case when state = 'failed' then 'Closed' end, posted.id,
      created_at, created_at, case when state = 'paid' then created_at end
    from new
    join posted on posted.slice_id = new.id
    order by new.id
  )
  insert into shipments (
    slice_id, order_id, reference, provider, state, in_doubt, lines, carrier_id, status, bought_at,
    label_name, created_at
  )
  select
    new.id, min(orders.id), 'r' || new.id, 'simulated', kind,
    new.id % 4 = 1, 1, case when kind = 'bought' then 'c' || new.id end,
    case when kind = 'bought' then 'ready' end, case when kind = 'bought' then new.created_at end,
    'l' || new.id, new.created_at
  from new
  join orders on orders.slice_id = new.id
  cross join lateral (select case when new.id % 4 < 2 then 'buying' else 'bought' end as kind) k
  group by new.id, new.created_at, kind
`

/** Compares pages of payouts and shipments with those that plain SQL selects in the same snapshot. */
async function comparePayoutsAndShipments(ctx: Context, accountId: number): Promise<void> {
  await ctx.begin(async (db) => {
    const inSnapshot: Context = { ...ctx, db, begin: (work) => work(db) }
    for (let i = 0; i < 12; i++) {
      const account = pick([undefined, accountId])
      const state = pick([undefined, 'sent', 'paid', 'failed'] as const)
      const payouts = await db<{ id: number }[]>`
        select id
        from payouts
        where
          account_id = coalesce(${account ?? null}::bigint, account_id)
          and state = coalesce(${state ?? null}::text, state)
        order by id desc
      `
      const shipments = await db<{ sliceKey: string }[]>`
        select slice_key as "sliceKey"
        from shipments
        join slices on id = slice_id
        where
          account_id = coalesce(${account ?? null}::bigint, account_id)
          and (state = 'bought' or in_doubt)
        order by shipments.created_at desc, id desc
      `
      const perPage = 1 + random(100)
      const page = 1 + random(Math.ceil(payouts.length / perPage) + 1)
      const requested = { page, perPage, offset: (page - 1) * perPage }
      const paid = await listPayouts(inSnapshot, { accountId: account, state }, requested)
      const shipped = await listShipments(inSnapshot, { accountId: account }, requested)
      const shown = [requested.offset, requested.offset + perPage]
      expect({ account, state, ...paid, rows: idsOf(paid.rows) }).toEqual({
        ...{ account, state, total: payouts.length, rows: idsOf(payouts.slice(...shown)) },
      })
      const keys = (rows: { sliceKey: string }[]) => rows.map(({ sliceKey }) => sliceKey)
      expect({ account, ...shipped, rows: keys(shipped.rows) }).toEqual({
        ...{ account, total: shipments.length, rows: keys(shipments.slice(...shown)) },
      })
    }
  }, 'snapshot')
}

const deltas = () => app.ctx.db`select from count_deltas`

describe('the counts of listings and orders', () => {
  it('pages and totals of a large shop and of all shops are those of plain SQL, before and after its counts are added up', async () => {
    const { accountId } = await app.seller()
    await insertRows(app.ctx, accountId, 900)
    await foldCounts(app.ctx)
    await comparePages(app.ctx, accountId, 4)
    // The shop becomes large: its counts get all levels.
    await insertRows(app.ctx, accountId, 2_000)
    await comparePages(app.ctx, accountId, 3)
    await foldCounts(app.ctx)
    await comparePages(app.ctx, accountId, 8)
    // Deltas next to the levels.
    await insertRows(app.ctx, accountId, 300)
    await app.ctx.db`
      update listings set status = 'hidden', quantity = 1 where account_id = ${accountId} and id % 7 = 0
    `
    await app.ctx.db`
      update orders set status = 'disputed', shipped_at = created_at, disputed_at = created_at
      where account_id = ${accountId} and id % 7 = 0 and status <> 'cancelled'
    `
    await comparePages(app.ctx, accountId, 8)
    await foldCounts(app.ctx)
    await comparePages(app.ctx, accountId, 8)
    expect(await deltas()).toHaveLength(0)
  })

  it('statements that skip the program and ordinary triggers are counted as well', async () => {
    const { accountId } = await app.seller()
    await app.ctx.begin(async (db) => {
      await db`set local session_replication_role = replica`
      await insertRows({ ...app.ctx, db }, accountId, 50)
      await db`update listings set status = 'removed' where account_id = ${accountId} and id % 4 = 0`
      await db`delete from listings where account_id = ${accountId} and id % 3 = 0`
      await db`
        update orders set status = 'received', shipped_at = created_at, received_at = created_at
        where account_id = ${accountId} and id % 4 = 0 and status <> 'cancelled'
      `
      await db`delete from orders where account_id = ${accountId} and id % 3 = 0`
    })
    await comparePages(app.ctx, accountId, 6)
  })

  it('pages and totals of payouts and shipments are those of plain SQL, before and after their counts are added up', async () => {
    const { accountId } = await app.seller()
    const { db } = app.ctx
    const small = await app.seller()
    await insertRows(app.ctx, small.accountId, 40)
    await insertPayoutsAndShipments(app.ctx, small.accountId)
    for (const rows of [1_800, 200]) {
      await insertRows(app.ctx, accountId, rows)
      await insertPayoutsAndShipments(app.ctx, accountId)
      await comparePayoutsAndShipments(app.ctx, accountId)
      await foldCounts(app.ctx)
      await comparePayoutsAndShipments(app.ctx, accountId)
    }
    await db`
      update payouts set state = 'paid', paid_at = created_at where state = 'sent' and id % 3 = 0
    `
    await db`delete from payouts where state = 'due' and id % 2 = 0`
    await db`update shipments set in_doubt = not in_doubt where state = 'buying' and lines = 1`
    await db`
      update shipments
      set
        state = 'bought', in_doubt = false, status = 'ready', carrier_id = 'c' || slice_id,
        bought_at = created_at
      where state = 'buying' and order_id % 2 = 0
    `
    await comparePayoutsAndShipments(app.ctx, accountId)
    await foldCounts(app.ctx)
    await comparePayoutsAndShipments(app.ctx, accountId)
    await comparePayoutsAndShipments(app.ctx, small.accountId)
  })

  it('a change of price, stock or description writes no delta, and a checkout one for each seller', async () => {
    const seller = await openShop(app)
    const ids = await list(seller, productItem({ quantity: 9 }), productItem({ quantity: 9 }))
    await foldCounts(app.ctx)
    const payload = { price: 7, quantity: 4, description: 'Sealed', status: 'active' }
    expect((await seller.patch(`/v1/listings/${ids[0]}`, { payload })).status).toBe(200)
    expect(await deltas()).toHaveLength(0)
    await buy(
      app,
      ids.map((id) => [id, 1]),
    )
    expect(await deltas()).toHaveLength(1)
  })

  it('every snapshot has exact pages while two services write, sell, ship and add up the counts', async () => {
    const shops = [await openShop(app), await openShop(app)]
    for (const { accountId } of shops) await insertRows(app.ctx, accountId, 1_200)
    let writing = 2 * shops.length
    const write = async (service: TestApp, seller: Seller) => {
      for (let i = 0; i < 4; i++) {
        const ids = await list(
          seller,
          ...Array.from({ length: 1 + random(5) }, () => productItem({ quantity: 2 })),
        )
        const [status] = ['hidden', 'sold'].slice(random(2))
        const payload = status === 'sold' ? { quantity: 0 } : { status }
        const { orderIds } = await buy(
          service,
          ids.map((id) => [id, 1 + random(2)]),
        )
        await (random(2)
          ? ship(seller, orderIds[0]!, { tracking_code: '3SABC' })
          : cancel(service, orderIds[0]!))
        await seller.patch(`/v1/listings/${ids[0]}`, { payload })
        if (random(2)) await seller.delete(`/v1/listings/${ids.at(-1)}`)
        await service.ctx.db`
          update listings
          set status = 'hidden'
          where id in (
            select id
            from listings
            where
              account_id = ${seller.accountId}
              and card_id is not null
              and status = 'active'
              and id % 8 = ${i}
            for update skip locked
          )
        `
      }
      writing--
    }
    const fold = async ({ ctx }: TestApp) => {
      while (writing > 0) await foldCounts(ctx)
    }
    const compare = async ({ ctx }: TestApp) => {
      while (writing > 0) await comparePages(ctx, shops[random(2)]!.accountId, 1)
    }
    // Without a transaction around it, the total and the rows of a response must still be of one snapshot.
    const read = async (seller: Seller, path: string) => {
      let page = 1
      while (writing > 0) {
        const { data, meta } = (await seller.get(`${path}?per_page=100&page=${page}`)).body
        expect(data).toHaveLength(Math.min(100, Math.max(0, meta.total - 100 * (page - 1))))
        page = meta.last_page
      }
    }
    await Promise.all([
      ...shops.flatMap((seller) => [write(app, seller), write(other, seller)]),
      ...[app, other].flatMap((service) => [fold(service), compare(service)]),
      ...shops.flatMap((seller) => [read(seller, '/v1/listings'), read(seller, '/v1/orders')]),
    ])
    await foldCounts(app.ctx)
    for (const { accountId } of shops) await comparePages(other.ctx, accountId, 8)
    expect(await deltas()).toHaveLength(0)
  })

  it('what changed since a time and its total are those of plain SQL, for few rows, nearly all, and half of them', async () => {
    const { accountId } = await app.seller()
    await insertRows(app.ctx, accountId, 3_000)
    await foldCounts(app.ctx)
    await insertRows(app.ctx, accountId, 500)
    await app.ctx.db`
      update listings
      set updated_at = '2026-01-01'::timestamptz + id % 1000 * interval '1 s'
      where account_id = ${accountId}
    `
    for (const { table, hidden, read } of LISTS.filter(({ canBeSynced }) => canBeSynced)) {
      const isMatch = app.ctx.db`account_id = ${accountId} and status <> all(${hidden}::text[])`
      const [{ times } = { times: [] }] = await app.ctx.db<{ times: Date[] }[]>`
        select percentile_disc(array[0, 0.01, 0.5, 0.99, 1]) within group (order by updated_at) as times
        from ${app.ctx.db(table)}
        where ${isMatch}
      `
      expect(times).toHaveLength(5)
      for (const updatedSince of times) {
        for (const status of [undefined, 'sold', 'shipped'] as never[]) {
          const [plain] = await app.ctx.db<{ total: number }[]>`
            select count(*) as total
            from ${app.ctx.db(table)}
            where
              ${isMatch}
              and status = coalesce(${status ?? null}, status)
              and updated_at >= ${updatedSince}
          `
          const filters = { status, since: undefined, updatedSince }
          const offset = random(plain!.total)
          const ids = await app.ctx.db<{ id: number }[]>`
            select id
            from ${app.ctx.db(table)}
            where
              ${isMatch}
              and status = coalesce(${status ?? null}, status)
              and updated_at >= ${updatedSince}
            order by updated_at, id
            limit 10
            offset ${offset}
          `
          const page = { page: 1 + offset / 10, perPage: 10, offset }
          const { rows, total } = await read(app.ctx, accountId, filters, page)
          expect({ table, filters, total, ids: idsOf(rows) }).toEqual({
            ...{ table, filters, ...plain, ids: idsOf(ids) },
          })
        }
      }
    }
  })

  it('a sync of one status reads few rows besides its own, however early it begins', async () => {
    const { db } = app.ctx
    const { accountId } = await app.seller()
    await insertRows(app.ctx, accountId, 3_000)
    // Each of the lists has a hundred rows that changed last, and in front of them only rows that have another status.
    await db`
      update listings
      set status = case when quantity > 0 then 'active' else 'sold' end
      where account_id = ${accountId} and status = 'hidden'
    `
    await db`
      update listings
      set status = 'hidden', updated_at = '2026-01-02'
      where id = any(array(select id from listings where account_id = ${accountId} and status = 'active' limit 100))
    `
    await db`
      update orders
      set status = 'received', shipped_at = created_at, received_at = created_at
      where account_id = ${accountId} and status in ('pending', 'shipped')
    `
    await db`
      update orders
      set status = 'shipped', changed_at = '2027-01-01'
      where id = any(array(select id from orders where account_id = ${accountId} and status = 'received' limit 100))
    `
    await vacuumed(db, 'listings')
    await vacuumed(db, 'orders')
    for (const { table, read } of LISTS.filter(({ canBeSynced }) => canBeSynced)) {
      const status = (table === 'orders' ? 'shipped' : 'hidden') as never
      const filters = { status, since: undefined, updatedSince: new Date(0) }
      const count = await inTransaction(app.ctx, (tx) =>
        rowsRead(tx.db, table, async () => {
          const page = { perPage: 10, offset: 0 }
          expect(await read(tx, accountId, filters, page)).toMatchObject({ total: 100 })
        }),
      )
      expect(count, table).toBeLessThan(200)
    }
  })

  it('pages pass deltas that were added up without visiting them in the table', async () => {
    const { accountId } = await app.seller()
    const buffers = async () => {
      const [row] = await app.ctx.db<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }[]>`
        explain (analyze, buffers, format json)
        select * from page_of_counts('listings', ${accountId}, '{1,1,1}', 0)
      `
      const { Plan: plan } = row!['QUERY PLAN'][0]
      return plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
    }
    // The first one reads the catalog of the database as well.
    await buffers()
    const before = await buffers()
    await app.ctx.db`
      insert into count_deltas
      select 'listings', ${accountId}, 1, 0, 0, 0, 0, 0 from generate_series(1, 20000)
    `
    await app.ctx.db`analyze count_deltas`
    expect(await buffers()).toBeGreaterThan(before + 200)
    await foldCounts(app.ctx)
    const [{ xid } = {}] = await app.ctx.db<{ xid?: string }[]>`
      select pg_current_xact_id()::text as xid
    `
    // Transactions of other tests on the server can begin before the deltas are deleted.
    await until('no transaction can see the deltas', async () => {
      const rows = await app.ctx.db`
        select where pg_snapshot_xmin(pg_current_snapshot()) > ${xid!}::xid8
      `
      return rows.length > 0
    })
    // The first one marks them in the index, whose pages it still reads.
    await buffers()
    expect(await buffers()).toBeLessThan(before + 50)
  })

  it('the job recognises a large shop by one of its counts', async () => {
    const { accountId } = await app.seller()
    await insertRows(app.ctx, accountId, 3_000)
    await foldCounts(app.ctx)
    await app.ctx.db`analyze counts`
    const read = await inTransaction(app.ctx, async ({ db }) => {
      // A few hundred counts would be read from end to end.
      await db`set local enable_seqscan = off`
      return rowsRead(
        db,
        'counts',
        () => db`select add_count_levels('listings', array[${accountId}::bigint])`,
      )
    })
    expect(read).toBeLessThan(10)
  })

  it('a page of payouts in a state reads few of those in front of it', async () => {
    const { accountId } = await app.seller()
    await insertRows(app.ctx, accountId, 6_000)
    await insertPayoutsAndShipments(app.ctx, accountId)
    await foldCounts(app.ctx)
    await app.ctx.db`analyze payouts`
    const page = { perPage: 25, offset: 1_000 }
    for (const account of [undefined, accountId]) {
      const read = await app.ctx.begin(
        (db) =>
          rowsRead(db, 'payouts', async () => {
            const inSnapshot: Context = { ...app.ctx, db, begin: (work) => work(db) }
            const { rows } = await listPayouts(
              inSnapshot,
              { accountId: account, state: 'paid' },
              page,
            )
            expect(rows).toHaveLength(25)
          }),
        'snapshot',
      )
      expect(read).toBeLessThan(1_000)
    }
  })

  it('the few shipments of a seller are found without looking at those of others', async () => {
    const { accountId } = await app.seller()
    const other = await app.seller()
    await insertRows(app.ctx, accountId, 10)
    await insertPayoutsAndShipments(app.ctx, accountId)
    await insertRows(app.ctx, accountId, 300)
    await insertRows(app.ctx, other.accountId, 2_000)
    await insertPayoutsAndShipments(app.ctx, other.accountId)
    await foldCounts(app.ctx)
    await app.ctx.db`analyze slices, shipments`
    const page = { perPage: 25, offset: 0 }
    const read = await app.ctx.begin(
      (db) =>
        rowsRead(db, 'slices', async () => {
          const inSnapshot: Context = { ...app.ctx, db, begin: (work) => work(db) }
          const { rows, total } = await listShipments(inSnapshot, { accountId }, page)
          expect(rows).toHaveLength(total)
          expect(total).toBeGreaterThan(0)
        }),
      'snapshot',
    )
    expect(read).toBeLessThan(500)
  })

  it('a page of a small shop reads few rows of others, where two shops have nearly all of them', async () => {
    const { ctx, seller } = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
    const [small, ...large] = [await seller(), await seller(), await seller()]
    await insertRows(ctx, small.accountId, 5)
    // In turn, so that the rows of a shop don't lie together.
    for (let i = 0; i < 60; i++) await insertRows(ctx, large[i % 2]!.accountId, 150)
    await foldCounts(ctx)
    await ctx.db`analyze listings, orders`
    const page = { perPage: 50, offset: 0 }
    for (const { table, isOfAll, statuses, read } of LISTS) {
      if (isOfAll) continue
      for (const status of [undefined, ...statuses] as never[]) {
        for (const since of table === 'orders' ? [undefined, new Date(0)] : [undefined]) {
          const rows = await inTransaction(ctx, async (tx) => {
            // As in a session that has run the statement often.
            await tx.db`set local plan_cache_mode = force_generic_plan`
            return rowsRead(tx.db, table, () =>
              read({ ...ctx, db: tx.db }, small.accountId, { status, since }, page),
            )
          })
          expect(rows, `${table} ${status} ${since}`).toBeLessThan(200)
        }
      }
    }
  })

  it('the job reads few counts of other shops, where one shop has nearly all of them', async () => {
    const { ctx, seller } = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
    const large = await seller()
    await insertRows(ctx, large.accountId, 6_000)
    await foldCounts(ctx)
    await ctx.db`analyze counts`
    const small = await seller()
    await list(small, productItem())
    const read = await inTransaction(ctx, ({ db }) =>
      rowsRead(db, 'counts', () => foldCounts({ db, begin: (work) => work(db) })),
    )
    expect(read).toBeLessThan(50)
  })

  it('a page of orders since a time reads few counts, in a market of many shops', async () => {
    const { ctx, seller } = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
    const { accountId } = await seller()
    await insertRows(ctx, accountId, 6_000)
    await foldCounts(ctx)
    await ctx.db`alter table counts alter account_id set (n_distinct = 20000)`
    await ctx.db`analyze counts`
    const [{ since } = { since: new Date() }] = await ctx.db<{ since: Date }[]>`
      select max(created_at) as since from orders
    `
    const page = { perPage: 50, offset: 0 }
    const read = await inTransaction(ctx, (tx) =>
      rowsRead(tx.db, 'counts', () =>
        listOrders({ ...ctx, db: tx.db }, accountId, { since }, page),
      ),
    )
    expect(read).toBeLessThan(100)
  })

  it('counting again gives the same counts', async () => {
    const counts = () => app.ctx.db`
      select *
      from counts
      where n1 + n2 + n3 + n4 + n5 > 0
      order by subject, account_id, level, block
    `
    await foldCounts(app.ctx)
    const before = await counts()
    expect(before.length).toBeGreaterThan(200)
    for (const subject of ['listings', 'orders', 'payouts', 'shipments'])
      await app.ctx.db`select recount(${subject})`
    expect(await counts()).toEqual(before)
  })
})

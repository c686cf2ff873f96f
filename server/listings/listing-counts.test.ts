import { beforeAll, describe, expect, it } from 'vitest'
import type { Context } from '../context.ts'
import { LISTING_STATUSES } from '../enums.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { list, NO_LIMITS, productItem } from '../test/fixtures/listings.ts'
import { foldListingCounts } from './listing-counts.ts'
import { listListings } from './listings.ts'

type Seller = Awaited<ReturnType<TestApp['seller']>>

let app: TestApp
/** Another service on the same database. */
let other: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  other = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
})

const random = (below: number) => Math.floor(Math.random() * below)

/** Ids of the inserted rows: dense ones, and gaps that put them into many blocks of every level. */
let nextId = 1_000_000
async function insertListings({ db }: Context, accountId: number, count: number): Promise<void> {
  const ids: number[] = []
  for (let i = 0; i < count; i++) {
    nextId += random(20) === 0 ? random(20_000) : 1 + random(3)
    ids.push(nextId)
  }
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
      from unnest(${ids}::bigint[]) as id
    ) new
  `
}

/** Compares random pages with those that plain SQL selects in the same snapshot. */
async function comparePages(ctx: Context, accountId: number, pages: number): Promise<void> {
  await ctx.begin(async (db) => {
    for (let i = 0; i < pages; i++) {
      const status = [undefined, ...LISTING_STATUSES][random(4)]
      const plain = await db<{ id: number }[]>`
        select id
        from listings
        where
          account_id = ${accountId} and status <> 'removed' and status = coalesce(${status ?? null}, status)
        order by id desc
      `
      const perPage = 1 + random(100)
      const page = 1 + random(Math.ceil(plain.length / perPage) + 1)
      const offset = (page - 1) * perPage
      const { rows, total } = await listListings(
        { ...ctx, db },
        accountId,
        { status },
        {
          page,
          perPage,
          offset,
        },
      )
      expect({ status, offset, total, ids: rows.map(({ id }) => id) }).toEqual({
        status,
        offset,
        total: plain.length,
        ids: plain.slice(offset, offset + perPage).map(({ id }) => id),
      })
    }
  }, 'snapshot')
}

describe('the counts of listings', () => {
  it('pages and totals of a large shop are those of plain SQL, before and after its counts are added up', async () => {
    const { accountId } = await app.seller()
    await insertListings(app.ctx, accountId, 900)
    await foldListingCounts(app.ctx)
    await comparePages(app.ctx, accountId, 20)
    // The shop becomes large: its counts get all levels.
    await insertListings(app.ctx, accountId, 2_500)
    await comparePages(app.ctx, accountId, 10)
    await foldListingCounts(app.ctx)
    await comparePages(app.ctx, accountId, 60)
    // Deltas next to the levels.
    await insertListings(app.ctx, accountId, 300)
    await app.ctx.db`
      update listings set status = 'hidden', quantity = 1 where account_id = ${accountId} and id % 7 = 0
    `
    await comparePages(app.ctx, accountId, 60)
    await foldListingCounts(app.ctx)
    await comparePages(app.ctx, accountId, 60)
    expect(await app.ctx.db`select from listing_count_deltas`).toHaveLength(0)
  })

  it('statements that skip the program and ordinary triggers are counted as well', async () => {
    const { accountId } = await app.seller()
    await app.ctx.begin(async (db) => {
      await db`set local session_replication_role = replica`
      await insertListings({ ...app.ctx, db }, accountId, 50)
      await db`update listings set status = 'removed' where account_id = ${accountId} and id % 4 = 0`
      await db`delete from listings where account_id = ${accountId} and id % 3 = 0`
    })
    await comparePages(app.ctx, accountId, 10)
  })

  it('a change of price, stock or description writes no delta', async () => {
    const seller = await app.seller()
    const [id] = await list(seller, productItem())
    await foldListingCounts(app.ctx)
    const payload = { price: 7, quantity: 4, description: 'Sealed', status: 'active' }
    expect((await seller.patch(`/v1/listings/${id}`, { payload })).status).toBe(200)
    expect(await app.ctx.db`select from listing_count_deltas`).toHaveLength(0)
  })

  it('every snapshot has exact pages while two services write, sell and add up the counts', async () => {
    const shops = [await app.seller(), await app.seller()]
    for (const { accountId } of shops) await insertListings(app.ctx, accountId, 1_500)
    let writing = 2 * shops.length
    const write = async ({ ctx }: TestApp, seller: Seller) => {
      for (let i = 0; i < 10; i++) {
        const ids = await list(
          seller,
          ...Array.from({ length: 1 + random(5) }, () => productItem()),
        )
        const [status] = ['hidden', 'sold'].slice(random(2))
        const payload = status === 'sold' ? { quantity: 0 } : { status }
        await seller.patch(`/v1/listings/${ids[0]}`, { payload })
        if (random(2)) await seller.delete(`/v1/listings/${ids.at(-1)}`)
        await ctx.db`
          update listings
          set status = 'hidden'
          where id in (
            select id
            from listings
            where account_id = ${seller.accountId} and status = 'active' and id % 20 = ${i}
            for update skip locked
          )
        `
      }
      writing--
    }
    const fold = async ({ ctx }: TestApp) => {
      while (writing > 0) await foldListingCounts(ctx)
    }
    const compare = async ({ ctx }: TestApp) => {
      while (writing > 0) await comparePages(ctx, shops[random(2)]!.accountId, 3)
    }
    // Without a transaction around it, the total and the rows of a response must still be of one snapshot.
    const read = async (seller: Seller) => {
      let page = 1
      while (writing > 0) {
        const { data, meta } = (await seller.get(`/v1/listings?per_page=100&page=${page}`)).body
        expect(data).toHaveLength(Math.min(100, Math.max(0, meta.total - 100 * (page - 1))))
        page = meta.last_page
      }
    }
    await Promise.all([
      ...shops.flatMap((seller) => [write(app, seller), write(other, seller)]),
      ...[app, other].flatMap((service) => [fold(service), compare(service)]),
      ...shops.flatMap((seller) => [read(seller), read(seller)]),
    ])
    await foldListingCounts(app.ctx)
    for (const { accountId } of shops) await comparePages(other.ctx, accountId, 30)
    expect(await app.ctx.db`select from listing_count_deltas`).toHaveLength(0)
  })

  it('counting again gives the same counts', async () => {
    const counts = () => app.ctx.db`
      select account_id, level, block, active, sold, hidden
      from listing_counts
      where active + sold + hidden > 0
      order by account_id, level, block
    `
    await foldListingCounts(app.ctx)
    const before = await counts()
    expect(before.length).toBeGreaterThan(100)
    await app.ctx.db`select recount_listings(array(select id from accounts))`
    expect(await counts()).toEqual(before)
  })
})

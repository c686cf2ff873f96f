import { beforeAll, describe, expect, it } from 'vitest'
import { syncListings } from '../../../docs/examples/sync-listings.ts'
import { randomNumbers } from '../../../scripts/random.ts'
import { type Client, startTestApp, type TestApp } from '../../test/app.ts'
import { advance, cardItem, list, NO_LIMITS } from '../../test/fixtures/listings.ts'
import { buy, cancel, SHIPS, sendCart } from '../../test/fixtures/orders.ts'
import { freePort } from '../../test/free-port.ts'
import { untilLockWaiters } from '../../test/lock-waiters.ts'
import { until } from '../../test/until.ts'

/** Tests docs/sync.md with its example: over a socket, following the links of the responses like any client. */

const HOUR_MS = 60 * 60 * 1000
const PER_PAGE = 100

type Shop = Client & { key: string; accountId: number }
type Listing = { id: number; price: number; updated_at: string }
type Copy = Map<number, Listing>

let app: TestApp
let baseUrl: string
beforeAll(async () => {
  const port = await freePort()
  baseUrl = `http://127.0.0.1:${port}/v1`
  app = await startTestApp({
    template: 'fixture',
    settings: {
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      ...NO_LIMITS,
    },
  })
  await app.app.listen({ port, host: '127.0.0.1' })
})

describe('a copy kept with docs/examples/sync-listings.ts', () => {
  it('a first sync copies every listing; later ones fetch only changes and the overlap', async () => {
    const shop = await app.seller()
    const ids = await insertListings(shop, 250)
    const copy: Copy = new Map()
    const first = await sync(shop, '1970-01-01', copy)
    expect(first.seen.toSorted((a, b) => a - b)).toEqual(ids)
    expect([...copy.values()].toSorted(byId)).toEqual(await fullList(shop))

    // No changes: the overlap returns the newest listing again.
    const second = await sync(shop, first.since, copy)
    expect(second).toEqual({ since: first.since, seen: [ids.at(-1)] })

    await patch(shop, ids[3]!, { price: 77 })
    const added = await listOne(shop)
    const third = await sync(shop, second.since, copy)
    expect(third.seen).toEqual([ids.at(-1), ids[3], added])
    expect([...copy.values()].toSorted(byId)).toEqual(await fullList(shop))

    await advance(app.operator, 60)
    await patch(shop, ids[4]!, { price: 78 })
    const fourth = await sync(shop, third.since, copy)
    expect(fourth.seen).toEqual([ids.at(-1), ids[3], added, ids[4]])
    expect((await sync(shop, fourth.since, copy)).seen).toEqual([ids[4]])
  })

  it('a sync without changes keeps its start and returns no listings of other sellers', async () => {
    await insertListings(await app.seller(), 3)
    const copy: Copy = new Map()
    const nothing = await sync(await app.seller(), '2026-01-01', copy)
    expect(nothing).toEqual({ since: '2026-01-01', seen: [] })
  })

  it('the next sync starts 30 seconds before the newest change', async () => {
    const shop = await app.seller()
    await insertListings(shop, 120)
    const { since } = await sync(shop, '1970-01-01', new Map())
    const newest = (await fullList(shop))
      .map(({ updated_at }) => updated_at)
      .sort()
      .at(-1)!
    expect(Date.parse(newest) - Date.parse(since)).toBe(30_000)
  })

  it('a sync finds all listings that changed at the same moment, on several pages', async () => {
    const shop = await app.seller()
    const ids = await insertListings(shop, 350, 0)
    const copy: Copy = new Map()
    const { since } = await sync(shop, '1970-01-01', copy)
    expect([...copy.keys()].toSorted((a, b) => a - b)).toEqual(ids)
    copy.clear()
    await sync(shop, since, copy)
    expect(copy.size).toBe(350)
  })

  it('a sync waits and retries after a 429', async () => {
    let began = 0
    const slow = await startTestApp({
      settings: { PUBLIC_URL: 'http://127.0.0.1', RATE_LIMIT_READ: '1' },
      databaseUrl: app.databaseUrl,
      // The next rate-limit window starts in two seconds.
      rateLimitTime: () => 58_000 + performance.now() - began,
    })
    await slow.app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = slow.app.server.address() as { port: number }
    const shop = await app.seller()
    const ids = await insertListings(shop, 3)
    const url = `http://127.0.0.1:${port}/v1`
    const seen: number[] = []
    began = performance.now()
    await fetch(`${url}/me`, { headers: { authorization: `Bearer ${shop.key}` } })
    await syncListings(url, shop.key, '1970-01-01', ({ id }) => void seen.push(id))
    expect(seen).toEqual(ids)
  })
})

describe('listings that change between two pages', () => {
  it('reading forwards loses a listing when another one changes between two pages', async () => {
    const shop = await app.seller()
    const ids = await insertListings(shop, 250)
    const copy: Copy = new Map()
    let pages = 0
    const { newest } = await readForwards(shop, '1970-01-01', async (page) => {
      for (const listing of page) copy.set(listing.id, listing)
      if (++pages === 1) await patch(shop, ids[5]!, { price: 77 })
    })
    // The first listing of the second page has moved to the end of the first page.
    const missing = ids[PER_PAGE]!
    expect(ids.filter((id) => !copy.has(id))).toEqual([missing])
    const since = new Date(Date.parse(newest) - 30_000).toISOString()
    await readForwards(shop, since, (page) => {
      for (const listing of page) copy.set(listing.id, listing)
    })
    expect(copy.has(missing)).toBe(false)
  })

  it('reading backwards loses no listing when another one changes between two pages', async () => {
    const shop = await app.seller()
    const ids = await insertListings(shop, 250)
    const copy: Copy = new Map()
    const changes = new Map([
      // While the last page is read, change a listing of the first; while the second is read, one seen already.
      [ids[249]!, ids[5]!],
      [ids[150]!, ids[240]!],
    ])
    const { since } = await sync(shop, '1970-01-01', copy, async ({ id }) => {
      const changing = changes.get(id)
      changes.delete(id)
      if (changing) await patch(shop, changing, { price: 77 })
    })
    // A listing that changed before its page was read moved to a page already read: the next sync returns it.
    expect(ids.filter((id) => !copy.has(id))).toEqual([ids[5]])
    await sync(shop, since, copy)
    expect([...copy.values()].toSorted(byId)).toEqual(await fullList(shop))
  })

  it('reading backwards loses no listing when others are created and deleted', async () => {
    const shop = await app.seller()
    const ids = await insertListings(shop, 450)
    const copy: Copy = new Map()
    let seen = 0
    const { since } = await sync(shop, '1970-01-01', copy, async () => {
      seen++
      if (seen === 20) await shop.delete(`/v1/listings/${ids[10]}`)
      if (seen === 30) for (let i = 0; i < 3; i++) await listOne(shop)
      if (seen === 150) await shop.delete(`/v1/listings/${ids[449]}`)
    })
    expect(ids.filter((id) => !copy.has(id))).toEqual([ids[10]])
    await sync(shop, since, copy)
    copy.delete(ids[449]!)
    expect([...copy.values()].toSorted(byId)).toEqual(await fullList(shop))
  })

  it('a concurrent new listing does not shift the page that is being read', async () => {
    const shop = await app.seller()
    const ids = await insertListings(shop, 250)
    const page = '/v1/listings?updated_since=1970-01-01&per_page=100&page=2'
    // A page counts first. Held up between the count and the rows, it would see one more listing.
    const held = await app.ctx.begin(async (db) => {
      await db`lock table reservations in access exclusive mode`
      const response = shop.get(page)
      await untilLockWaiters(app.ctx.db)
      await listOne(shop)
      return { response }
    })
    const { body } = await held.response
    expect(body.data.map(({ id }: Listing) => id)).toEqual(ids.slice(100, 200))
  })
})

describe('changes that commit late', () => {
  it('the next sync finds a change that committed after a newer one was read', async () => {
    const shop = await app.seller()
    const ids = await insertListings(shop, 250)
    const copy: Copy = new Map()
    let since = ''
    await app.ctx.begin(async (db) => {
      await db`
        update listings set price_cents = 7700, updated_at = ${secondsAgo(9)} where id = ${ids[7]!}
      `
      await patch(shop, ids[8]!, { price: 78 })
      ;({ since } = await sync(shop, '1970-01-01', copy))
      expect(copy.get(ids[8]!)?.price).toBe(78)
    })
    expect(copy.get(ids[7]!)?.price).not.toBe(77)
    await sync(shop, since, copy)
    expect(copy.get(ids[7]!)?.price).toBe(77)
    expect([...copy.values()].toSorted(byId)).toEqual(await fullList(shop))
  })

  it('a change that commits late during a sync is found by the next one and hides no other', async () => {
    const shop = await app.seller()
    // All within the overlap of two syncs, so that the late change can sort among the oldest.
    const ids = await insertListings(shop, 250, 4000)
    const copy: Copy = new Map()
    const late = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const writing = app.ctx.begin(async (db) => {
      await db`
        update listings
        set
          price_cents = 7700,
          updated_at = (select updated_at from listings where id = ${ids[31]!})
        where id = ${ids[249]!}
      `
      begun.resolve()
      await late.promise
    })
    await begun.promise
    let seen = 0
    const { since } = await sync(shop, '1970-01-01', copy, async () => {
      if (++seen !== 50) return
      late.resolve()
      await writing
    })
    // Every later listing moved by one place, one of them to a page already read.
    expect(ids.filter((id) => !copy.has(id))).toEqual([ids[199]])
    await sync(shop, since, copy)
    expect([...copy.values()].toSorted(byId)).toEqual(await fullList(shop))
  })

  it.each([
    ['PATCH', (shop: Shop, id: number) => patch(shop, id, { price: 77 })],
    [
      'a batch',
      (shop: Shop, id: number) =>
        shop.post('/tools/v1/listings/changes', { payload: { items: [{ id, price: 77 }] } }),
    ],
    ['DELETE', (shop: Shop, id: number) => shop.delete(`/v1/listings/${id}`)],
    ['a sale', (_: Shop, id: number) => sendCart(app, [[id, 1]])],
    [
      'a cancellation',
      async (_: Shop, id: number) => cancel(app, (await buy(app, [[id, 1]])).orderIds[0]!),
    ],
  ])('%s never moves updated_at backwards, even if it is ahead of the clock', async (_, act) => {
    const shop = await app.seller({ account: SHIPS })
    const id = await listOne(shop)
    // Written by a process whose clock is ahead.
    const ahead = new Date(app.ctx.now().getTime() + HOUR_MS)
    await app.ctx.db`update listings set updated_at = ${ahead} where id = ${id}`
    expect((await act(shop, id)).status).toBeLessThan(300)
    const [row] = await app.ctx.db`select updated_at from listings where id = ${id}`
    expect(row!.updated_at).toEqual(ahead)
  })
})

describe('a copy kept during writes', () => {
  it('a copy equals the list after the writers stop and one more sync', async () => {
    const shop = await app.seller()
    const ids = await insertListings(shop, 1000)
    const copy: Copy = new Map()
    const deleted = new Set<number>()
    const errors: unknown[] = []
    let calls = 0
    let writing = 0
    let since = '1970-01-01'

    const random = randomNumbers(20_260_301)
    const randomId = () => ids[Math.floor(random() * ids.length)]!
    const expectDone = ({ status }: { status: number }) => {
      // Another writer may have deleted it.
      if (status !== 200 && status !== 204 && status !== 404) errors.push(status)
    }
    const writer = async () => {
      for (let i = 0; i < 120; i++) {
        const kind = random()
        if (kind < 0.6)
          expectDone(await patch(shop, randomId(), { price: 1 + Math.floor(random() * 900) }))
        else if (kind < 0.8) ids.push(await listOne(shop))
        else {
          const id = randomId()
          expectDone(await shop.delete(`/v1/listings/${id}`))
          deleted.add(id)
        }
      }
    }
    // Changes that commit long after their timestamp: they wait until two syncs have passed it.
    const lateWriter = async () => {
      // The first sync copies everything, which a busy machine may not finish within the time of a transaction.
      await until('the first sync is over', () => calls > 0)
      for (let i = 0; i < 3; i++) {
        await app.ctx.begin(async (db) => {
          const id = randomId()
          await db`
            update listings
            set price_cents = 99900 + ${i}::int, updated_at = greatest(updated_at, ${secondsAgo(8)})
            where id = ${id} and status <> 'removed'
          `
          const before = calls
          await until('two syncs have passed the change', () => calls > before + 1, 9000)
        })
      }
    }
    const writers = [writer(), writer(), writer(), writer(), lateWriter()].map(async (done) => {
      writing++
      await done.catch((error) => errors.push(error))
      writing--
    })
    while (writing > 0) {
      ;({ since } = await sync(shop, since, copy))
      calls++
    }
    await Promise.all(writers)
    expect(errors).toEqual([])
    await sync(shop, since, copy)

    for (const id of deleted) copy.delete(id)
    const whole = await fullList(shop)
    expect(calls).toBeGreaterThan(2)
    expect(deleted.size).toBeGreaterThan(50)
    expect(whole.length).toBeGreaterThan(900)
    expect([...copy.values()].toSorted(byId)).toEqual(whole)
  })
})

/** Runs the example once; returns the next start and the ids that it received, in order. */
async function sync(
  shop: Shop,
  since: string,
  copy: Copy,
  onSaved: (listing: Listing) => void | Promise<void> = () => {},
) {
  const seen = new Set<number>()
  const next = await syncListings(baseUrl, shop.key, since, async (listing) => {
    seen.add(listing.id)
    copy.set(listing.id, listing as Listing)
    await onSaved(listing as Listing)
  })
  return { since: next, seen: [...seen] }
}

/** The obvious but wrong algorithm: from the first page on. */
async function readForwards(
  shop: Shop,
  since: string,
  onPage: (page: Listing[]) => void | Promise<void>,
) {
  let newest = since
  for (let page = 1; ; page++) {
    const { body } = await shop.get(
      `/v1/listings?updated_since=${since}&per_page=${PER_PAGE}&page=${page}`,
    )
    newest = body.data.at(-1)?.updated_at ?? newest
    await onPage(body.data)
    if (!body.links.next) return { newest }
  }
}

/** The whole list, without the filter under test. */
async function fullList(shop: Shop): Promise<Listing[]> {
  const found: Listing[] = []
  for (let page = 1; ; page++) {
    const { body } = await shop.get(`/v1/listings?per_page=${PER_PAGE}&page=${page}`)
    found.push(...body.data)
    if (!body.links.next) return found.toSorted(byId)
  }
}

const byId = (a: Listing, b: Listing) => a.id - b.id

/** Inserts listings whose last changes are spread evenly over the time until now; returns their ids in order. */
async function insertListings(
  shop: Shop,
  count: number,
  spreadMs = 5 * HOUR_MS,
): Promise<number[]> {
  const now = app.ctx.now().getTime()
  const rows = await app.ctx.db<{ id: number }[]>`
    insert into listings (
      account_id, card_id, price_cents, quantity, condition, language, created_at, updated_at
    )
    select
      ${shop.accountId}, 'swsh9-1', 100 + n, 3, 'NM', 'EN', moment, moment
    from
      generate_series(1, ${count}) n,
      lateral (
        select ${new Date(now)}::timestamptz
          - make_interval(secs => (${count} - n) * ${spreadMs / 1000 / count}::float8) as moment
      ) at
    order by n
    returning id
  `
  return rows.map(({ id }) => id)
}

async function listOne(shop: Shop): Promise<number> {
  const [id] = await list(shop, cardItem({ card: 'swsh9-1' }))
  return id!
}

/** The timestamp of a transaction that started this number of seconds ago. */
const secondsAgo = (seconds: number) => new Date(app.ctx.now().getTime() - seconds * 1000)

const patch = (shop: Shop, id: number, payload: object) =>
  shop.patch(`/v1/listings/${id}`, { payload })

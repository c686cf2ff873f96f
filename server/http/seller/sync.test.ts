import { beforeAll, describe, expect, it } from 'vitest'
import { syncListings } from '../../../docs/examples/sync-listings.ts'
import { type Client, startTestApp, type TestApp } from '../../test/app.ts'
import { importCatalogFixture } from '../../test/catalog-fixture.ts'
import { freePort } from '../../test/free-port.ts'
import { until } from '../../test/until.ts'

/**
 * What docs/sync.md promises to tools that keep a copy, with the example that it shows: over a socket, by the links
 * of the answers, as anybody would use it.
 */

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
    settings: {
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      RATE_LIMIT_READ: '1000000',
      RATE_LIMIT_WRITE: '1000000',
    },
  })
  await app.app.listen({ port, host: '127.0.0.1' })
  await importCatalogFixture(app.operator)
})

describe('a copy kept with docs/examples/sync-listings.ts', () => {
  it('has everything after the first call, and gets only what changed with the next ones', async () => {
    const shop = await app.seller()
    const ids = await stocked(shop, 250)
    const copy: Copy = new Map()
    const first = await sync(shop, '1970-01-01', copy)
    expect(first.seen.toSorted((a, b) => a - b)).toEqual(ids)
    expect([...copy.values()].toSorted(byId)).toEqual(await fullList(shop))

    // Nothing new: what the overlap covers comes again, the newest one here.
    const second = await sync(shop, first.since, copy)
    expect(second).toEqual({ since: first.since, seen: [ids.at(-1)] })

    await patch(shop, ids[3]!, { price: 77 })
    const added = await listed(shop)
    const third = await sync(shop, second.since, copy)
    expect(third.seen).toEqual([ids.at(-1), ids[3], added])
    expect([...copy.values()].toSorted(byId)).toEqual(await fullList(shop))

    await advance(60)
    await patch(shop, ids[4]!, { price: 78 })
    const fourth = await sync(shop, third.since, copy)
    expect(fourth.seen).toEqual([ids.at(-1), ids[3], added, ids[4]])
    expect((await sync(shop, fourth.since, copy)).seen).toEqual([ids[4]])
  })

  it('begins where it began when there is nothing, and has nothing of other sellers', async () => {
    await stocked(await app.seller(), 3)
    const copy: Copy = new Map()
    const nothing = await sync(await app.seller(), '2026-01-01', copy)
    expect(nothing).toEqual({ since: '2026-01-01', seen: [] })
  })

  it('begins the next time 30 seconds before the newest change it has read', async () => {
    const shop = await app.seller()
    await stocked(shop, 120)
    const { since } = await sync(shop, '1970-01-01', new Map())
    const newest = (await fullList(shop))
      .map(({ updated_at }) => updated_at)
      .sort()
      .at(-1)!
    expect(Date.parse(newest) - Date.parse(since)).toBe(30_000)
  })

  it('finds all listings that changed at one and the same moment, though they fill several pages', async () => {
    const shop = await app.seller()
    const ids = await stocked(shop, 350, 0)
    const copy: Copy = new Map()
    const { since } = await sync(shop, '1970-01-01', copy)
    expect([...copy.keys()].toSorted((a, b) => a - b)).toEqual(ids)
    copy.clear()
    await sync(shop, since, copy)
    expect(copy.size).toBe(350)
  })

  it('asks again when it has asked too often, and then goes on', async () => {
    let began = 0
    const slow = await startTestApp({
      settings: { PUBLIC_URL: 'http://127.0.0.1', RATE_LIMIT_READ: '1' },
      databaseUrl: app.databaseUrl,
      // The next window, and with it the next request, is two seconds away.
      rateLimitTime: () => 58_000 + performance.now() - began,
    })
    await slow.app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = slow.app.server.address() as { port: number }
    const shop = await app.seller()
    const ids = await stocked(shop, 3)
    const url = `http://127.0.0.1:${port}/v1`
    const seen: number[] = []
    began = performance.now()
    await fetch(`${url}/me`, { headers: { authorization: `Bearer ${shop.key}` } })
    await syncListings(url, shop.key, '1970-01-01', ({ id }) => void seen.push(id))
    expect(seen).toEqual(ids)
  })
})

describe('a listing that changes between two pages', () => {
  it('hides another one from whoever reads forwards, and that one stays missing', async () => {
    const shop = await app.seller()
    const ids = await stocked(shop, 250)
    const copy: Copy = new Map()
    let pages = 0
    const { newest } = await readForwards(shop, '1970-01-01', async (page) => {
      for (const listing of page) copy.set(listing.id, listing)
      if (++pages === 1) await patch(shop, ids[5]!, { price: 77 })
    })
    // The first of the second page has moved to the end of the first.
    const missing = ids[PER_PAGE]!
    expect(ids.filter((id) => !copy.has(id))).toEqual([missing])
    const since = new Date(Date.parse(newest) - 30_000).toISOString()
    await readForwards(shop, since, (page) => {
      for (const listing of page) copy.set(listing.id, listing)
    })
    expect(copy.has(missing)).toBe(false)
  })

  it('hides none from whoever reads backwards', async () => {
    const shop = await app.seller()
    const ids = await stocked(shop, 250)
    const copy: Copy = new Map()
    const changes = new Map([
      // While the last page is read, one of the first; while the second is read, one of those seen already.
      [ids[249]!, ids[5]!],
      [ids[150]!, ids[240]!],
    ])
    const { since } = await sync(shop, '1970-01-01', copy, async ({ id }) => {
      const changing = changes.get(id)
      changes.delete(id)
      if (changing) await patch(shop, changing, { price: 77 })
    })
    // One that changed before its page was read has gone to where we have been: it comes with the next call.
    expect(ids.filter((id) => !copy.has(id))).toEqual([ids[5]])
    await sync(shop, since, copy)
    expect([...copy.values()].toSorted(byId)).toEqual(await fullList(shop))
  })

  it('hides none from whoever reads backwards when others are added and deleted, too', async () => {
    const shop = await app.seller()
    const ids = await stocked(shop, 450)
    const copy: Copy = new Map()
    let seen = 0
    const { since } = await sync(shop, '1970-01-01', copy, async () => {
      seen++
      if (seen === 20) await shop.delete(`/v1/listings/${ids[10]}`)
      if (seen === 30) for (let i = 0; i < 3; i++) await listed(shop)
      if (seen === 150) await shop.delete(`/v1/listings/${ids[449]}`)
    })
    expect(ids.filter((id) => !copy.has(id))).toEqual([ids[10]])
    await sync(shop, since, copy)
    copy.delete(ids[449]!)
    expect([...copy.values()].toSorted(byId)).toEqual(await fullList(shop))
  })

  it('moves no other out of a page that is being read at that moment', async () => {
    const shop = await app.seller()
    const ids = await stocked(shop, 250)
    const page = '/v1/listings?updated_since=1970-01-01&per_page=100&page=2'
    // A page is found by counting first. Held up between the count and the rows, it sees a listing more.
    const held = await app.ctx.begin(async (db) => {
      await db`lock table reservations in access exclusive mode`
      const answer = shop.get(page)
      await until('it waits for the lock', async () => {
        const waiting = await db`select from pg_locks where not granted`
        return waiting.length > 0
      })
      await listed(shop)
      return { answer }
    })
    const { body } = await held.answer
    expect(body.data.map(({ id }: Listing) => id)).toEqual(ids.slice(100, 200))
  })
})

describe('a change that takes its time', () => {
  it('is found by the call after it, though it was made before what the last one saw', async () => {
    const shop = await app.seller()
    const ids = await stocked(shop, 250)
    const copy: Copy = new Map()
    let since = ''
    await app.ctx.begin(async (db) => {
      await db`
        update listings set price_cents = 7700, updated_at = ${ago(9)} where id = ${ids[7]!}
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

  it('hides no other although it comes in the middle of what is being read', async () => {
    const shop = await app.seller()
    // All of the last seconds: a late one finds its place among them.
    const ids = await stocked(shop, 250, 4000)
    const copy: Copy = new Map()
    const late = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const writing = app.ctx.begin(async (db) => {
      await db`update listings set price_cents = 7700, updated_at = ${ago(3.5)} where id = ${ids[249]!}`
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
    // All after it have moved up by one, one of them to a page that was read before.
    expect(ids.filter((id) => !copy.has(id))).toHaveLength(1)
    await sync(shop, since, copy)
    expect([...copy.values()].toSorted(byId)).toEqual(await fullList(shop))
  })

  it.each([
    ['PATCH', (shop: Shop, id: number) => patch(shop, id, { price: 77 })],
    ['DELETE', (shop: Shop, id: number) => shop.delete(`/v1/listings/${id}`)],
  ])('never sets updated_at back: %s keeps one that is ahead of its own clock', async (_, act) => {
    const shop = await app.seller()
    const id = await listed(shop)
    // As a process leaves it whose clock is ahead.
    const ahead = new Date(app.ctx.now().getTime() + 5000)
    await app.ctx.db`update listings set updated_at = ${ahead} where id = ${id}`
    expect((await act(shop, id)).status).toBeLessThan(300)
    const [row] = await app.ctx.db`select updated_at from listings where id = ${id}`
    expect(row!.updated_at).toEqual(ahead)
  })
})

describe('a copy that is kept while others write', () => {
  it('equals the list once they have stopped and it was called once more', async () => {
    const shop = await app.seller()
    const ids = await stocked(shop, 1000)
    const copy: Copy = new Map()
    const deleted = new Set<number>()
    const errors: unknown[] = []
    let calls = 0
    let writing = 0
    let since = '1970-01-01'

    const random = dice(20_260_301)
    const oneOf = () => ids[Math.floor(random() * ids.length)]!
    const expectDone = ({ status }: { status: number }) => {
      // Another writer may have deleted it.
      if (status !== 200 && status !== 204 && status !== 404) errors.push(status)
    }
    const writer = async () => {
      for (let i = 0; i < 120; i++) {
        const kind = random()
        if (kind < 0.6)
          expectDone(await patch(shop, oneOf(), { price: 1 + Math.floor(random() * 900) }))
        else if (kind < 0.8) ids.push(await listed(shop))
        else {
          const id = oneOf()
          expectDone(await shop.delete(`/v1/listings/${id}`))
          deleted.add(id)
        }
      }
    }
    // Changes that got their time long before they can be seen: they wait for two calls to pass their place.
    const lateWriter = async () => {
      for (let i = 0; i < 3; i++) {
        await app.ctx.begin(async (db) => {
          const id = oneOf()
          await db`
            update listings
            set price_cents = 99900 + ${i}::int, updated_at = greatest(updated_at, ${ago(8)})
            where id = ${id} and status <> 'removed'
          `
          const before = calls
          await until('a call has passed it', () => calls > before + 1, 9000)
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
  }, 60_000)
})

/** A call of the example, and which listings it brought, in the order of their ids. */
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

/** What anybody would write first: from the first page on. */
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

/** The whole list, without the filter that is put to the test. */
async function fullList(shop: Shop): Promise<Listing[]> {
  const found: Listing[] = []
  for (let page = 1; ; page++) {
    const { body } = await shop.get(`/v1/listings?per_page=${PER_PAGE}&page=${page}`)
    found.push(...body.data)
    if (!body.links.next) return found.toSorted(byId)
  }
}

const byId = (a: Listing, b: Listing) => a.id - b.id

/** Listings whose last changes are spread evenly over the time up to now, in the order of their ids. */
async function stocked(shop: Shop, count: number, spreadMs = 5 * HOUR_MS): Promise<number[]> {
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

async function listed(shop: Shop): Promise<number> {
  const item = { card: 'swsh9-1', condition: 'NM', language: 'EN', price: 4.5, quantity: 3 }
  const { body } = await shop.post('/v1/listings', { payload: { items: [item] } })
  return body.results[0].listing.id
}

/** As a transaction has it that takes so long. */
const ago = (seconds: number) => new Date(app.ctx.now().getTime() - seconds * 1000)

const advance = async (seconds: number) => {
  const payload = { advance_seconds: seconds > 0 ? seconds : seconds + 60 }
  await app.operator.post('/operator/v1/sandbox/clock', { payload })
}

const patch = (shop: Shop, id: number, payload: object) =>
  shop.patch(`/v1/listings/${id}`, { payload })

/** Numbers from 0 to 1 that come the same every time. */
function dice(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}

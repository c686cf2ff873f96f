import { isDeepStrictEqual } from 'node:util'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { inTransaction } from '../database/in-transaction.ts'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { FEED, startCursor } from '../test/fixtures/changes.ts'
import { advance, cardItem, hold, list, NO_LIMITS, productItem } from '../test/fixtures/listings.ts'
import { act, buy, cancel, openShop, sellEach, sendCart, ship } from '../test/fixtures/orders.ts'
import { untilLockWaiters, whileLocked } from '../test/lock-waiters.ts'
import { rowsRead } from '../test/rows-read.ts'
import { until } from '../test/until.ts'
import { haveChanges, type Position, pruneChanges } from './changes.ts'

type Change = { kind: string; id: number; change: string; record: { id: number } | null }

let app: TestApp
/** Another service on the same database. */
let other: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  other = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
})

const DAY_S = 24 * 60 * 60

/** All changes after the cursor, and the cursor after them. */
async function changesAfter(seller: Pick<Seller, 'get'>, cursor: string) {
  const changes: Change[] = []
  let next = cursor
  for (;;) {
    const { status, body, text } = await seller.get(`${FEED}?cursor=${next}`)
    expect(status, text).toBe(200)
    changes.push(...body.data)
    next = body.next
    if (!body.has_more) return { changes, next }
  }
}

/** Waits for transactions of other tests' services to end, then reads as `changesAfter`. */
const readable = async (seller: Seller, cursor: string, count: number) =>
  until(`${count} changes can be read`, async () => {
    const { changes } = await changesAfter(seller, cursor)
    return changes.length >= count && changes
  })

/** Requires that a request which has waited in vain did not miss a change: transactions of other tests hold it back. */
const expectHeldBack = async (seller: Seller, cursor: string) =>
  expect((await changesAfter(seller, cursor)).changes).toEqual([])

/** Calls `seen` for each statement of the service that has this text, until the test ends. */
function onStatement({ ctx }: TestApp, text: RegExp, seen: () => void): void {
  const { db } = ctx
  ctx.db = Object.assign((...query: Parameters<typeof db>) => {
    if (text.test(String(query[0]))) seen()
    return db(...query)
  }, db)
  onTestFinished(() => {
    ctx.db = db
  })
}

/** Resolves once the service asks for changes on behalf of requests that wait: their first look has found none. */
const nextPoll = (app: TestApp) =>
  new Promise<void>((resolve) => onStatement(app, /with ordinality as waiting/, resolve))

const summary = ({ kind, change }: Change) => `${kind} ${change}`

describe('GET /tools/v1/changes', () => {
  it('the feed returns each changed record once, at its last change, with its current state', async () => {
    const seller = await openShop(app)
    const [before] = await list(seller, cardItem())
    const cursor = await startCursor(seller)
    const [kept, gone] = await list(seller, cardItem({ quantity: 3 }), productItem())
    await seller.patch(`/v1/listings/${kept}`, { payload: { price: 7 } })
    await seller.delete(`/v1/listings/${gone}`)
    await seller.patch(`/v1/listings/${before}`, { payload: { price: 8 } })
    const { orderIds } = await buy(app, [[kept!, 1]])
    await ship(seller, orderIds[0]!, { tracking_code: 'CODE' })

    const changes = await readable(seller, cursor, 4)
    expect(changes.map((change) => [summary(change), change.id])).toEqual([
      ['listing deleted', gone],
      ['listing updated', before],
      ['listing created', kept],
      ['order created', orderIds[0]],
    ])
    const records = Object.fromEntries(
      changes.map(({ kind, id, record }) => [`${kind} ${id}`, record]),
    )
    expect(records[`listing ${gone}`]).toBeNull()
    const listing = await seller.get(`/tools/v1/listings/${kept}`)
    expect(records[`listing ${kept}`]).toEqual(listing.body.data)
    const orders = await seller.get('/tools/v1/orders')
    expect(records[`order ${orderIds[0]}`]).toEqual(orders.body.data[0])
    expect(records[`order ${orderIds[0]}`]).toMatchObject({ status: 'shipped' })
  })

  it('a page has at most 100 changes, and the next page continues after it', async () => {
    const seller = await app.seller()
    const cursor = await startCursor(seller)
    const ids: number[] = []
    for (let i = 0; i < 3; i++) {
      ids.push(...(await list(seller, ...Array.from({ length: 70 }, () => cardItem()))))
    }
    await readable(seller, cursor, ids.length)
    const { body } = await seller.get(`${FEED}?cursor=${cursor}`)
    expect([body.data.length, body.has_more]).toEqual([100, true])
    const { changes, next } = await changesAfter(seller, cursor)
    expect(changes.map(({ id }) => id)).toEqual(ids)
    expect((await changesAfter(seller, next)).changes).toEqual([])
  })

  it('the feed misses no change where the ids of transactions get one more digit', async () => {
    const seller = await app.seller()
    const [registration, , , issued] = (await startCursor(seller)).split('-')
    const ids = Array.from({ length: 120 }, (_, n) => 1_000_000_000 + n)
    const xids = ids.map((_, n) => (n < 10 ? '9' : '10'))
    await app.ctx.db`
      insert into changes (xid, account_id, kind, record_id, change)
      select xid, ${seller.accountId}, 'listing', record_id, 'updated'
      from unnest(${xids}::text[]::xid8[], ${ids}::bigint[]) as new_change (xid, record_id)
    `
    const { changes } = await changesAfter(seller, `${registration}-8-0-${issued}`)
    expect(changes.map(({ id }) => id)).toEqual(ids)
  })

  it('a key gets only the kinds that its scopes permit, and without either scope 403', async () => {
    const shop = await openShop(app)
    const withScopes = async (...scopes: string[]) => {
      const { body } = await app.operator.post(`/operator/v1/accounts/${shop.accountId}/keys`, {
        payload: { scopes },
      })
      return app.withKey(body.key)
    }
    const cursor = await startCursor(shop)
    await sellEach(app, shop, cardItem())
    await readable(shop, cursor, 2)
    const kinds = async (...scopes: string[]) => {
      const { changes } = await changesAfter(await withScopes(...scopes), cursor)
      return [...new Set(changes.map(({ kind }) => kind))]
    }
    expect(await kinds('listings:read')).toEqual(['listing'])
    expect(await kinds('orders:read', 'catalog:read')).toEqual(['order'])
    expect((await (await withScopes('catalog:read')).get(FEED)).status).toBe(403)
  })

  it('a seller sees no changes of another seller, not even with the cursor of that seller', async () => {
    const [seller, stranger] = [await app.seller(), await app.seller()]
    const cursor = await startCursor(seller)
    await startCursor(stranger)
    await list(seller, cardItem())
    await readable(seller, cursor, 1)
    expect((await stranger.get(`${FEED}?cursor=${cursor}`)).status).toBe(410)
  })

  it('nothing is recorded for a seller whose software never followed the feed', async () => {
    const seller = await openShop(app)
    await sellEach(app, seller, cardItem(), productItem())
    const rows = await app.ctx.db`select from changes where account_id = ${seller.accountId}`
    expect(rows).toHaveLength(0)
  })

  it('the change feed has no change for a reservation', async () => {
    const seller = await app.seller()
    const [id] = await list(seller, cardItem({ quantity: 2 }))
    const cursor = await startCursor(seller)
    await hold(app.operator, id!, 1)
    await seller.patch(`/v1/listings/${id}`, { payload: { price: 3 } })
    expect((await readable(seller, cursor, 1)).map(summary)).toEqual(['listing updated'])
  })

  it('a cursor that this service never issued is refused', async () => {
    const seller = await app.seller()
    const [registration, xid, id, at] = (await startCursor(seller)).split('-')
    for (const cursor of [
      'x',
      `${registration}-${xid}-${id}`,
      `${registration}-${xid}-${id}-${at}-0`,
      `${registration}-${'9'.repeat(40)}-${id}-${at}`,
    ]) {
      const { status, body } = await seller.get(`${FEED}?cursor=${cursor}`)
      expect([cursor, status, body.error?.fields && Object.keys(body.error.fields)]).toEqual([
        cursor,
        422,
        ['cursor'],
      ])
    }
    expect((await seller.get(`${FEED}?wait=31`)).status).toBe(422)
  })

  it('wait keeps the request open until a change happens or its time is over', async () => {
    const seller = await app.seller()
    const cursor = await startCursor(seller)
    const waiting = seller.get(`${FEED}?cursor=${cursor}&wait=30`)
    const [id] = await list(other.withKey(seller.key), cardItem())
    let { body } = await waiting
    while (body.data.length === 0) {
      await expectHeldBack(seller, body.next)
      ;({ body } = await seller.get(`${FEED}?cursor=${body.next}&wait=30`))
    }
    expect(body.data.map((change: Change) => [summary(change), change.id])).toEqual([
      ['listing created', id],
    ])
    const nothing = await seller.get(`${FEED}?cursor=${body.next}&wait=1`)
    expect([nothing.status, nothing.body.data]).toEqual([200, []])
  })

  it('an account’s eleventh waiting request and further ones get the change as well, and seldom read the database', async () => {
    const seller = await app.seller()
    const cursor = await startCursor(seller)
    const waitForChange = (seconds: number) =>
      Array.from({ length: 30 }, () => seller.get(`${FEED}?cursor=${cursor}&wait=${seconds}`))
    let reads = 0
    onStatement(app, /\bfrom (changes|change_followers)\b/, () => reads++)
    await Promise.all(waitForChange(2))
    expect(reads).toBeLessThan(250)
    const lengths = async (waiting: ReturnType<typeof waitForChange>) =>
      (await Promise.all(waiting)).map(({ body }) => body.data.length)
    const waiting = waitForChange(30)
    await list(other.withKey(seller.key), cardItem())
    let found = await lengths(waiting)
    while (!found.includes(1)) {
      await expectHeldBack(seller, cursor)
      found = await lengths(waitForChange(30))
    }
    expect(found).toEqual(Array(30).fill(1))
  })

  it('a request whose key is revoked while it waits gets 401, and no changes', async () => {
    const seller = await app.seller()
    const cursor = await startCursor(seller)
    const keys = `/operator/v1/accounts/${seller.accountId}/keys`
    const payload = { scopes: ['listings:read', 'listings:write'] }
    const { data, key } = (await app.operator.post(keys, { payload })).body
    const isWaiting = nextPoll(app)
    const waiting = app.withKey(key).get(`${FEED}?cursor=${cursor}&wait=30`)
    await isWaiting
    await app.operator.delete(`${keys}/${data.id}`)
    await list(seller, cardItem())
    const { status, body } = await waiting
    expect([status, body.error?.message]).toEqual([401, 'The API key has been revoked.'])
  })

  it('a shutdown ends the requests that wait for a change', async () => {
    const stopped = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
    const { key } = await app.seller()
    const cursor = await startCursor(stopped.withKey(key))
    const isWaiting = nextPoll(stopped)
    const waiting = stopped.withKey(key).get(`${FEED}?cursor=${cursor}&wait=30`)
    await isWaiting
    await stopped.app.close()
    expect((await waiting).body.data).toEqual([])
  })
})

describe('a cursor', () => {
  it('a cursor works for 30 days, then the response is 410 and explains how to start over', async () => {
    const own = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
    const seller = await own.seller()
    const cursor = await startCursor(seller)
    const [id] = await list(seller, cardItem())
    await readable(seller, cursor, 1)
    await advance(own.operator, 30 * DAY_S - 600)
    await pruneChanges(own.ctx)
    const { changes, next } = await changesAfter(seller, cursor)
    expect(changes.map((change) => change.id)).toEqual([id])
    await advance(own.operator, 1_200)
    const { status, body } = await seller.get(`${FEED}?cursor=${cursor}`)
    expect([status, body.error.type]).toEqual([410, 'cursor_expired'])
    expect(body.error.message).toContain('list all of your records again')
    await changesAfter(seller, next)

    // Nobody reads for long enough: the registration ends, and its cursors with it.
    await advance(own.operator, 32 * DAY_S)
    await pruneChanges(own.ctx)
    expect(await own.ctx.db`select from change_followers`).toHaveLength(0)
    const again = await startCursor(seller)
    expect((await seller.get(`${FEED}?cursor=${next}`)).status).toBe(410)
    expect((await changesAfter(seller, again)).changes).toEqual([])
  })

  it('a cursor that leaves older changes unread expires with the one before it', async () => {
    const own = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
    const seller = await own.seller()
    const cursor = await startCursor(seller)
    await list(seller, ...Array.from({ length: 100 }, () => cardItem()))
    await list(seller, cardItem())
    await readable(seller, cursor, 101)
    await advance(own.operator, 29 * DAY_S)
    const page = async (after: string) => (await seller.get(`${FEED}?cursor=${after}`)).body
    const { next, has_more } = await page(cursor)
    expect(has_more).toBe(true)
    const { next: last } = await page(next)
    await advance(own.operator, 2 * DAY_S)
    expect((await page(next)).error.type).toBe('cursor_expired')
    expect(await page(last)).toMatchObject({ data: [], has_more: false })
  })

  it('a cursor after a change that a restored database has lost ends the registration with 410', async () => {
    for (const isFirst of [false, true]) {
      const seller = await app.seller()
      const first = await startCursor(seller)
      const [id] = await list(seller, cardItem())
      await readable(seller, first, 1)
      const next = isFirst ? await startCursor(seller) : (await changesAfter(seller, first)).next
      const { changes } = await changesAfter(seller, next)
      expect(changes).toEqual([])
      // The restored database has used the same transaction id and row number for another change.
      await app.ctx.db`
        update changes
        set created_at = created_at + interval '1 hour'
        where account_id = ${seller.accountId}
      `
      await seller.patch(`/v1/listings/${id}`, { payload: { price: 9 } })
      expect((await seller.get(`${FEED}?cursor=${next}`)).status).toBe(410)
      expect((await seller.get(`${FEED}?cursor=${first}`)).status).toBe(410)
    }
  })

  it('a cursor works on after the change before it has become old enough to be pruned', async () => {
    const seller = await app.seller()
    const first = await startCursor(seller)
    await list(seller, cardItem(), cardItem())
    await readable(seller, first, 2)
    const { next } = await changesAfter(seller, first)
    await app.ctx.db`
      update changes
      set created_at = created_at - interval '40 days'
      where account_id = ${seller.accountId}
    `
    const { next: later } = await changesAfter(seller, await startCursor(seller))
    const [id] = await list(seller, cardItem())
    await pruneChanges(app.ctx)
    const left = await app.ctx.db`select from changes where account_id = ${seller.accountId}`
    expect(left).toHaveLength(2)
    const [change] = await readable(seller, later, 1)
    expect(change!.id).toBe(id)
    expect((await seller.get(`${FEED}?cursor=${next}`)).status).toBe(410)
  })

  it('a cursor that the database has not reached, because a backup was restored, ends the registration with 410', async () => {
    const seller = await app.seller()
    const cursor = await startCursor(seller)
    const [registration, , id, at] = cursor.split('-')
    for (const ended of [`${registration}-999999999999999999-${id}-${at}`, cursor]) {
      const { status, body } = await seller.get(`${FEED}?cursor=${ended}`)
      expect([ended, status, body.error?.type]).toEqual([ended, 410, 'cursor_expired'])
    }
  })

  it('a dump that is restored on another server ends the registrations whose changes have its transaction ids', async () => {
    const seller = await app.seller()
    const cursor = await startCursor(seller)
    const bystander = await app.seller()
    const kept = await startCursor(bystander)
    const { db } = app.ctx
    for (const follower of [seller, bystander]) await list(follower, cardItem())
    await db`
      update changes set xid = '999999999999999999' where account_id = ${seller.accountId}
    `
    await pruneChanges(app.ctx)
    expect((await seller.get(`${FEED}?cursor=${cursor}`)).status).toBe(410)
    expect(await db`select from changes where account_id = ${seller.accountId}`).toHaveLength(0)
    await readable(bystander, kept, 1)
  })

  it('a first cursor waits for transactions that wrote before it was registered', async () => {
    const seller = await app.seller()
    const [id] = await list(seller, cardItem())
    const late = await changePrice(id!)
    let cursor: string | undefined
    const started = startCursor(seller).then((next) => {
      cursor = next
    })
    await registered(seller)
    expect(cursor).toBeUndefined()
    await late.commit()
    await started
    // The change is older than the cursor: a seller who lists everything now sees it there.
    const { body } = await seller.get('/v1/listings')
    expect(body.data[0].price).toBe(7.77)
  })

  it('a first cursor waits for a transaction that wrote during its registration', async () => {
    const seller = await app.seller()
    const [id] = await list(seller, cardItem())
    const { late, started } = await whileLocked(
      app.ctx,
      // The registration has its transaction id, and waits for the account.
      (db) => db`select from accounts where id = ${seller.accountId} for update`,
      async () => {
        const started = startCursor(seller).then(() => seller.get('/v1/listings'))
        await untilLockWaiters(app.ctx.db)
        return { late: await changePrice(id!), started }
      },
    )
    await registered(seller)
    // A cursor that doesn't wait for the transaction is there before the last of these.
    for (let request = 0; request < 50; request++) await other.anyone.get('/health/ready')
    await late.commit()
    expect((await started).body.data[0].price).toBe(7.77)
  })

  /** Changes the price of a listing to 7.77 in a transaction that stays open. */
  async function changePrice(id: number): Promise<{ commit: () => Promise<void> }> {
    const changed = Promise.withResolvers<void>()
    const permitted = Promise.withResolvers<void>()
    const ended = app.ctx.begin(async (db) => {
      await db`update listings set price_cents = 777 where id = ${id}`
      changed.resolve()
      await permitted.promise
    })
    await changed.promise
    return {
      commit() {
        permitted.resolve()
        return ended
      },
    }
  }

  const registered = (seller: Seller) =>
    until('the seller is registered', async () => {
      const rows = await app.ctx.db`
        select from change_followers where account_id = ${seller.accountId}
      `
      return rows.length > 0
    })
})

it('a follower ends in the state of the database while eight writers on two services create, change, sell, delete and hold transactions open', async () => {
  const seller = await openShop(app)
  const cursor = await startCursor(seller)
  const random = (below: number) => Math.floor(Math.random() * below)
  const copy = new Map<string, unknown>()
  let isFollowing = true

  const follow = async (service: TestApp) => {
    const client = service.withKey(seller.key)
    let next = cursor
    while (isFollowing) {
      const read = await changesAfter(client, next)
      for (const { kind, id, record } of read.changes) {
        if (record) copy.set(`${kind} ${id}`, record)
        else copy.delete(`${kind} ${id}`)
      }
      next = read.next
    }
  }
  const write = async (service: TestApp) => {
    const client = service.withKey(seller.key)
    for (let round = 0; round < 6; round++) {
      const ids = await list(client, cardItem({ quantity: 4 }), productItem({ quantity: 2 }))
      const [first, second] = ids as [number, number]
      await Promise.all([
        client.patch(`/v1/listings/${first}`, { payload: { price: 1 + random(9) } }),
        sendCart(service, [
          [first, 1],
          [second, 1],
        ]),
      ])
      const { orderIds } = await buy(service, [[first, 1]])
      if (random(2)) await ship(client, orderIds[0]!, { tracking_code: 'CODE' })
      else await cancel(service, orderIds[0]!)
      if (random(2)) await act(service, orderIds[0]!, 'receive')
      // A transaction with an old id that commits late.
      await service.ctx.begin(async (db) => {
        await db`select pg_current_xact_id()`
        await list(client, cardItem())
        await db`update listings set description = 'late' where id = ${second}`
      })
      if (random(2)) await client.delete(`/v1/listings/${(await list(client, cardItem()))[0]}`)
    }
  }
  const following = follow(app)
  await Promise.all(Array.from({ length: 8 }, (_, i) => write(i % 2 ? app : other)))
  const all = async (path: string) => {
    const records: { id: number }[] = []
    for (let page = 1; ; page++) {
      const { body } = await seller.get(`${path}?per_page=100&page=${page}`)
      records.push(...body.data)
      if (page >= body.meta.last_page) return records
    }
  }
  const expected = new Map<string, unknown>()
  for (const record of await all('/tools/v1/listings')) expected.set(`listing ${record.id}`, record)
  for (const record of await all('/tools/v1/orders')) expected.set(`order ${record.id}`, record)
  expect(expected.size).toBeGreaterThan(100)
  // Transactions of other tests on the same server hold the end of the feed back.
  const object = (records: Map<string, unknown>) => Object.fromEntries(records)
  await until('the copy has every change', () =>
    isDeepStrictEqual(object(copy), object(expected)),
  ).catch(() => expect(object(copy)).toEqual(object(expected)))
  isFollowing = false
  await following
})

it('with few shops, neither a waiting request nor a deletion of old changes searches the changes of other shops', async () => {
  const own = await startTestApp({ settings: NO_LIMITS })
  const { db } = own.ctx
  const sellers = await Promise.all([own.seller(), own.seller(), own.seller()])
  for (const seller of sellers) await startCursor(seller)
  const accounts = sellers.map(({ accountId }) => accountId)
  const insert = (age: string, shops: number[], count: number) => db`
    insert into changes (account_id, kind, record_id, change, created_at)
    select (${shops}::bigint[])[1 + n % ${shops.length}], 'order', n, 'updated', clock_timestamp() - ${age}::interval
    from generate_series(1, ${count}::int) n
  `
  const [quiet, ...active] = accounts
  await insert('50 days', [quiet!], 1)
  const OLD = 10_000
  await insert('40 days', active, OLD)
  await insert('1 day', active, OLD)
  await db`analyze changes`
  const { pos } = (
    await db<{ pos: Position }[]>`
    select json_build_object('xid', max(xid)::text, 'id', max(id)) as pos from changes
  `
  )[0]!
  await inTransaction(own.ctx, async (tx) => {
    const asked = accounts.map((accountId) => ({ accountId, position: pos }))
    expect(await rowsRead(tx.db, 'changes', () => haveChanges(tx, asked))).toBeLessThan(10)
    expect(await rowsRead(tx.db, 'changes', () => pruneChanges(tx))).toBeLessThan(10 * OLD)
  })
  expect(await db`select from changes`).toHaveLength(OLD + accounts.length)
})

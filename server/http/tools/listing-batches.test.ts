import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, startTestApp, type TestApp } from '../../test/app.ts'
import { advance, cardItem, hold, items, list, NO_LIMITS } from '../../test/fixtures/listings.ts'
import { call } from '../../test/fixtures/mcp.ts'
import { grantAccess } from '../../test/fixtures/oauth.ts'
import { buy, cancel, openShop, SHIPS, sendCart } from '../../test/fixtures/orders.ts'
import { untilLockWaiters, whileLocked } from '../../test/lock-waiters.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
})

const change = async (seller: Client, ...items: unknown[]) => {
  const { status, body, text } = await seller.post('/tools/v1/listings/changes', {
    payload: { items },
  })
  expect(status, text).toBe(200)
  expect(body.changed + body.failed).toBe(items.length)
  return body.results
}
const remove = async (seller: Client, ...items: unknown[]) =>
  (await seller.post('/tools/v1/listings/deletions', { payload: { items } })).body
const read = async (seller: Client, id: number) =>
  (await seller.get(`/tools/v1/listings/${id}`)).body.data
const errorsOf = (results: { errors?: object }[]) => results.map(({ errors }) => errors)

describe('POST /tools/v1/listings/changes', () => {
  it('a batch has the same effect as its changes sent as PATCH requests one after the other', async () => {
    const [batch, single] = [await app.seller(), await app.seller()]
    const changes = [
      { price: 7.005 },
      { quantity: 0 },
      { status: 'hidden' },
      { status: 'sold', quantity: 2 },
      { description: '' },
      { description: 'Sleeved', status: 'active' },
      {},
    ]
    const [ours, theirs] = [await list(batch, ...items(7)), await list(single, ...items(7))]
    // Each listing gets two changes in one batch.
    const pairs = changes.flatMap((change, i) => [
      [i, change] as const,
      [i, changes[(i * 3 + 1) % 7]!] as const,
    ])
    const results = await change(batch, ...pairs.map(([i, change]) => ({ id: ours[i], ...change })))
    for (const [n, [i, change]] of pairs.entries()) {
      const { body } = await single.patch(`/v1/listings/${theirs[i]}`, { payload: change })
      const { price, quantity, status, description } = body.data
      expect(results[n].listing, String(n)).toMatchObject({
        id: ours[i],
        ...{ price, quantity, status, description },
      })
    }
    for (const [i, id] of ours.entries()) {
      const { price, quantity, status, description, quantity_available } = await read(
        single,
        theirs[i]!,
      )
      const expected = { price, quantity, status, description, quantity_available }
      expect(await read(batch, id)).toMatchObject(expected)
    }
  })

  it('an item of a batch fails alone, with messages for its fields', async () => {
    const [seller, other] = [await app.seller(), await app.seller()]
    const [id, second, last] = (await list(
      seller,
      ...[cardItem(), cardItem(), cardItem({ quantity: 1 })],
    )) as [number, number, number]
    const [foreign] = await list(other, cardItem())
    const results = await change(
      seller,
      { id: foreign, price: 1 },
      { id: 999_999, price: 1 },
      { reference: 'nothing', price: 1 },
      { price: 1 },
      { id, price: 0 },
      { id, quantity: 1, quantity_delta: 1 },
      { id, quantity_delta: -4 },
      { id: last, quantity_delta: -3 },
      { id, quantity_delta: 997 },
      { id, status: 'removed' },
      'text',
      { id: second, price: 9 },
    )
    expect(errorsOf(results)).toEqual([
      { id: ['There is no such listing.'] },
      { id: ['There is no such listing.'] },
      { reference: ['There is no such listing.'] },
      { id: ['Send the id or the reference of a listing.'] },
      { price: ['The price field must be at least 0.01.'] },
      { quantity_delta: ['Send either quantity or quantity_delta.'] },
      { quantity_delta: ['The stock would be -1 units: only 3 are in stock.'] },
      { quantity_delta: ['The stock would be -2 units: only 1 is in stock.'] },
      { quantity_delta: ['The stock would be 1000 units: the maximum is 999.'] },
      { status: [expect.stringContaining('Possible: active, sold, hidden')] },
      { item: ['The item must be an object.'] },
      undefined,
    ])
    expect(results.map(({ index }: { index: number }) => index)).toEqual([...results.keys()])
    expect(await read(seller, second)).toMatchObject({ price: 9 })
    expect(await read(other, foreign!)).toMatchObject({ price: 4.5 })
    for (const payload of [{}, { items: [] }, { items: Array(1_001).fill({ id }) }]) {
      const { status } = await seller.post('/tools/v1/listings/changes', { payload })
      expect(status).toBe(422)
    }
  })

  it('a stock that a cancelled order has raised above 999 can be lowered by quantity_delta, but not raised', async () => {
    const seller = await openShop(app)
    const [id] = (await list(seller, cardItem({ quantity: 2 }))) as [number]
    const { orderIds } = await buy(app, [[id, 2]])
    await change(seller, { id, quantity: 999 })
    await cancel(app, orderIds[0]!)
    const results = await change(
      seller,
      { id, quantity_delta: 1 },
      { id, quantity_delta: 0 },
      { id, quantity_delta: -1 },
    )
    expect(errorsOf(results)).toEqual([
      { quantity_delta: ['The stock would be 1002 units: the maximum is 999.'] },
      undefined,
      undefined,
    ])
    expect(await read(seller, id)).toMatchObject({ quantity: 1_000 })
  })

  it('only listings that change get a new updated_at', async () => {
    const seller = await app.seller()
    const [same, changed] = (await list(seller, cardItem(), cardItem())) as [number, number]
    const before = await read(seller, same)
    await advance(app.operator, 60)
    await change(seller, { id: same, price: 4.5, quantity_delta: 0 }, { id: changed, price: 5 })
    expect(await read(seller, same)).toEqual(before)
    expect((await read(seller, changed)).updated_at > before.updated_at).toBe(true)
  })

  it('references are unique among a seller’s listings, and items see the references that earlier items set', async () => {
    const [seller, other] = [await app.seller(), await app.seller()]
    const [a, b] = (await list(seller, cardItem(), cardItem())) as [number, number]
    const [foreign] = await list(other, cardItem())
    await change(other, { id: foreign, reference: 'A' })
    const first = await change(
      seller,
      { id: a, reference: 'A' },
      { id: b, reference: 'A' },
      { reference: 'A', price: 8 },
      { reference: 'B', price: 8 },
    )
    const taken = { reference: ['Another of your listings has this reference.'] }
    expect(errorsOf(first)).toEqual([
      undefined,
      taken,
      undefined,
      { reference: ['There is no such listing.'] },
    ])
    expect(await read(seller, a)).toMatchObject({ reference: 'A', price: 8 })
    // A reference moves within one batch, and two listings exchange theirs.
    const moved = await change(
      seller,
      { id: a, reference: null },
      { id: b, reference: 'A' },
      { id: a, reference: 'B' },
    )
    expect(errorsOf(moved)).toEqual([undefined, undefined, undefined])
    await change(
      seller,
      { id: a, reference: 'x' },
      { id: b, reference: 'B' },
      { id: a, reference: 'A' },
    )
    expect([(await read(seller, a)).reference, (await read(seller, b)).reference]).toEqual([
      'A',
      'B',
    ])
    const { body } = await seller.get('/tools/v1/listings?reference=B')
    expect(body.data.map(({ id }: { id: number }) => id)).toEqual([b])
    // A deleted listing releases its reference.
    expect(await remove(seller, { reference: 'B' })).toMatchObject({ deleted: 1 })
    expect(errorsOf(await change(seller, { id: a, reference: 'B' }))).toEqual([undefined])
    expect((await seller.get('/v1/listings')).text).not.toContain('reference')
  })

  it('concurrent batches that set the same references leave each with one listing, and none fails as a whole', async () => {
    const seller = await app.seller()
    const ids = await list(seller, ...items(40))
    const names = Array.from({ length: 20 }, (_, i) => `R${i}`)
    const batches = Array.from({ length: 8 }, (_, n) => {
      const own = ids.slice(n * 5, n * 5 + 5)
      return own.map((id, i) => ({ id, reference: names[(n % 2 ? 19 - i : i) % 20] }))
    })
    const results = (await Promise.all(batches.map((batch) => change(seller, ...batch)))).flat()
    const { body } = await seller.get('/tools/v1/listings?per_page=100')
    const held = body.data.flatMap(({ reference }: { reference: string | null }) => reference ?? [])
    expect(new Set(held).size).toBe(held.length)
    expect(held.length).toBe(results.filter(({ status }) => status === 'changed').length)
  })

  it('a quantity_delta that is repeated with its Idempotency-Key counts once', async () => {
    const seller = await app.seller()
    const [id] = await list(seller, cardItem())
    const send = () =>
      seller.post('/tools/v1/listings/changes', {
        payload: { items: [{ id, quantity_delta: -1 }] },
        headers: { 'idempotency-key': 'once' },
      })
    const [first, second] = await Promise.all([send(), send()])
    expect(first.text).toBe(second.text)
    expect(await read(seller, id!)).toMatchObject({ quantity: 2 })
  })

  it('a batch counts as one write for each 100 items, and one beyond the limit has no effect', async () => {
    const limited = await startTestApp({
      template: 'fixture',
      settings: { RATE_LIMIT_WRITE: '12' },
      rateLimitTime: () => 0,
    })
    const seller = await limited.seller()
    const [id] = await list(seller, cardItem())
    const send = (count: number, price: number) =>
      seller.post('/tools/v1/listings/changes', {
        payload: { items: Array(count).fill({ id, price }) },
      })
    expect((await send(100, 1)).headers['x-ratelimit-remaining']).toBe('10')
    expect((await send(101, 2)).headers['x-ratelimit-remaining']).toBe('8')
    const refused = await send(1_000, 3)
    expect([refused.status, refused.body.error.type]).toEqual([429, 'rate_limited'])
    expect(await read(seller, id!)).toMatchObject({ price: 2 })
  })

  it('stock is exact after concurrent sales and changes by quantity_delta in two services', async () => {
    const seller = await app.seller({ account: SHIPS })
    const other = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
    const clients = [seller, other.withKey(seller.key)]
    const ids = await list(seller, ...Array.from({ length: 10 }, () => cardItem({ quantity: 20 })))
    const carts = Array.from({ length: 40 }, (_, n) =>
      sendCart(app, [
        [ids[n % 10]!, 1],
        [ids[(n * 7 + 3) % 10]!, 1],
      ]),
    )
    const batches = Array.from({ length: 10 }, (_, n) => {
      const shuffled = ids.toSorted((a, b) => ((a * 7 + n) % 11) - ((b * 7 + n) % 11))
      const client = clients[Math.floor(n / 2) % 2]!
      return change(client, ...shuffled.map((id) => ({ id, quantity_delta: n % 2 ? 1 : -1 })))
    })
    const [sales] = await Promise.all([Promise.all(carts), Promise.all(batches)])
    expect(sales.map(({ status }) => status)).toEqual(Array(40).fill(201))
    const sold = await app.ctx.db<{ id: number; units: number }[]>`
      select listing_id as id, sum(quantity) as units
      from orders
      where listing_id = any(${ids}::bigint[])
      group by listing_id
    `
    for (const { id, units } of sold) {
      expect(await read(seller, id)).toMatchObject({ quantity: 20 - units })
    }
  })

  it('writes of one seller that wait for a lock delay no other seller and no sale, however many there are', async () => {
    const [busy, other, shop] = [
      await app.seller(),
      await app.seller(),
      await app.seller({ account: SHIPS }),
    ]
    const [[locked], [own], [onSale]] = [
      await list(busy, cardItem()),
      await list(other, cardItem()),
      await list(shop, cardItem()),
    ]
    const member = await app.member(busy.accountId)
    const token = await grantAccess(app, busy.accountId)
    const writes = [
      () => change(busy, { id: locked, price: 5 }),
      () => member.patch(`/dashboard/api/listings/${locked}`, { payload: { price: 6 } }),
      () => call(app, '/mcp/seller', 'change_listing', { listing: locked, price: 7 }, { token }),
      () => remove(busy, { id: locked! }),
    ]
    let ended = 0
    const { waiting } = await whileLocked(
      app.ctx,
      (db) => db`select from listings where id = ${locked!} for update`,
      async () => {
        // More of each kind than there are connections for transactions.
        const waiting = writes.flatMap((write) =>
          Array.from({ length: 12 }, () => write().finally(() => ended++)),
        )
        await untilLockWaiters(app.ctx.db)
        const responses = await Promise.all([
          change(other, { id: own, price: 5 }),
          list(other, ...items(2)),
          other.patch(`/v1/listings/${own}`, { payload: { price: 6 } }),
          buy(app, [[onSale!, 1]]),
        ])
        expect(responses[0]).toMatchObject([{ status: 'changed' }])
        expect(responses[2].status).toBe(200)
        expect(ended).toBe(0)
        return { waiting }
      },
    )
    expect(JSON.stringify(await Promise.all(waiting))).not.toContain('service_unavailable')
  })
})

describe('POST /tools/v1/listings/deletions', () => {
  it('a batch deletes listings by the rules of DELETE, each on its own', async () => {
    const [seller, other] = [await app.seller({ account: SHIPS }), await app.seller()]
    const [open, done, held, plain] = (await list(
      seller,
      ...Array.from({ length: 4 }, () => cardItem()),
    )) as [number, number, number, number]
    const [foreign] = await list(other, cardItem())
    await buy(app, [[open, 1]])
    const { orderIds } = await buy(app, [[done, 1]])
    await cancel(app, orderIds[0]!)
    await hold(app.operator, held, 1)
    const { results, deleted, failed } = await remove(
      seller,
      { id: open },
      { id: done },
      { id: held },
      { id: foreign },
      { id: plain },
      { id: plain },
      {},
    )
    const missing = { id: ['There is no such listing.'] }
    expect(errorsOf(results)).toEqual([
      { id: ['The listing has an open order: it can be deleted once that is completed.'] },
      undefined,
      undefined,
      missing,
      undefined,
      missing,
      { id: ['Send the id or the reference of a listing.'] },
    ])
    expect([deleted, failed]).toEqual([3, 4])
    const { body } = await seller.get('/v1/listings')
    expect(body.data.map(({ id }: { id: number }) => id)).toEqual([open])
    expect((await seller.get(`/v1/orders/${orderIds[0]}`)).status).toBe(200)
    const [left] = await app.ctx.db<{ count: number }[]>`
      select count(*) as count from reservations where listing_id = ${held}
    `
    expect(left!.count).toBe(0)
  })
})

describe('POST /tools/v1/listings', () => {
  it('items are listed with references; one whose reference is taken fails alone', async () => {
    const seller = await app.seller()
    const send = (...items: object[]) => seller.post('/tools/v1/listings', { payload: { items } })
    const { body } = await send(
      cardItem({ reference: 'A' }),
      cardItem({ reference: 'A' }),
      cardItem({ reference: null }),
      cardItem({ reference: 'x'.repeat(101) }),
      cardItem({ reference: 'a\nb' }),
    )
    const taken = ['Another of your listings has this reference.']
    expect(errorsOf(body.results)).toEqual([
      undefined,
      { reference: taken },
      undefined,
      { reference: ['The reference field must not be longer than 100 characters.'] },
      { reference: [expect.stringContaining('line breaks')] },
    ])
    const again = await send(cardItem({ reference: 'A' }), cardItem({ reference: 'B' }))
    expect(again.body).toMatchObject({ created: 1, failed: 1 })
    const { data } = (await seller.get('/tools/v1/listings')).body
    expect(data.map(({ reference }: { reference: string }) => reference)).toEqual(['B', null, 'A'])
  })

  it('a new reference has no blanks at its ends, which imports remove; a stored one still names its listing', async () => {
    const seller = await app.seller()
    const message = { reference: ['The reference field must not begin or end with a blank.'] }
    const references = ['A ', ' A', ' ', 'A\u00a0', '\u3000A', 'A B']
    const payload = { items: references.map((reference) => cardItem({ reference })) }
    const created = await seller.post('/tools/v1/listings', { payload })
    const expected = [...Array(5).fill(message), undefined]
    expect(errorsOf(created.body.results)).toEqual(expected)
    const checked = await seller.post('/tools/v1/listings/checks', { payload })
    expect(errorsOf(checked.body.data)).toEqual(expected)
    const [id] = await list(seller, cardItem())
    expect(errorsOf(await change(seller, { id, reference: 'C ' }))).toEqual([message])
    // An earlier version has stored it, with a mark of direction that was copied from a spreadsheet.
    const stored = '\u202aC '
    await app.ctx.db`update listings set reference = ${stored} where id = ${id!}`
    const kept = await change(
      seller,
      { id, reference: stored, price: 3 },
      { reference: stored, price: 4 },
    )
    expect(errorsOf(kept)).toEqual([undefined, undefined])
    expect(await read(seller, id!)).toMatchObject({ reference: stored, price: 4 })
    expect(await remove(seller, { reference: stored })).toMatchObject({ deleted: 1 })
  })

  it('the seller API ignores a reference, and names it in X-Ignored-Fields', async () => {
    const seller = await app.seller()
    const { headers } = await seller.post('/v1/listings', {
      payload: { items: [cardItem({ reference: 'A' })] },
    })
    expect(headers['x-ignored-fields']).toBe('items.0.reference')
    expect((await seller.get('/tools/v1/listings')).body.data[0].reference).toBeNull()
  })
})

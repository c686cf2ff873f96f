import { getEventListeners } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { startTestApp, type TestApp } from '../../server/test/app.ts'
import { CARDS } from '../../server/test/catalog-fixture.ts'
import { startWebServer } from '../../server/test/fakes/network.ts'
import { cardItem, NO_LIMITS, productItem } from '../../server/test/fixtures/listings.ts'
import { allowDevice } from '../../server/test/fixtures/oauth.ts'
import { buy, LABEL, openShop, PARCEL } from '../../server/test/fixtures/orders.ts'
import { freePort } from '../../server/test/free-port.ts'
import { streamsStartNow } from '../../server/test/streams-start-now.ts'
import { until } from '../../server/test/until.ts'
import {
  AmbiguousIdentifierError,
  AuthenticationError,
  Cardstall,
  CardstallError,
  type ClientOptions,
  ConflictError,
  ConnectionError,
  type ListingItem,
  NotFoundError,
  PermissionError,
  RateLimitError,
  type RequestEvent,
  ServerError,
  TimeoutError,
  ValidationError,
} from './index.ts'

let app: TestApp
let seller: Awaited<ReturnType<typeof openShop>>
let baseUrl: string
let client: Cardstall
beforeAll(async () => {
  app = await startTestApp({
    template: 'fixture',
    settings: { ...NO_LIMITS, WEBHOOK_ALLOW_PRIVATE: 'true' },
  })
  await app.app.listen({ port: 0, host: '127.0.0.1' })
  baseUrl = `http://127.0.0.1:${(app.app.server.address() as AddressInfo).port}/v1`
  seller = await openShop(app, PARCEL, LABEL)
  client = new Cardstall({ key: seller.key, baseUrl })
})

const CARD = CARDS[0]!.id
const card = (more: object = {}) => cardItem({ quantity: 5, ...more }) as ListingItem
const PRODUCT = 'obsidian-flames-booster-box'

const sell = async (listing: number, option = PARCEL) => {
  const shipping = [{ account_id: seller.accountId, option: option.code }]
  return (await buy(app, [[listing, 1]], { shipping })).orderIds[0]!
}

async function listed(...items: ListingItem[]): Promise<number[]> {
  const { results } = await client.listings.create(items.length > 0 ? items : [card()])
  return results.map((result) => (result as { listing: { id: number } }).listing.id)
}

/** A first cursor. Long transactions of other tests on the same server can delay it beyond its limit. */
const firstChanges = () => client.tools.changes({}, { maxRetries: Infinity })

const endpoint = async () =>
  (await client.webhooks.create({ url: 'https://hooks.example/', events: ['order.created'] }))
    .endpoint.id

/** Every operation of both APIs by a method. Each resolves only if its request succeeds. */
const METHODS: Record<string, () => Promise<unknown>> = {
  listSeries: () => client.series.list(),
  listSets: async () => client.sets.list({ q: 'flames' }),
  getSet: () => client.sets.get('sv3', { include: 'cards' }),
  listCards: async () => client.cards.list({ q: 'charizard', per_page: 2 }),
  getCard: () => client.cards.get(CARD, { include: 'listings' }),
  listProducts: async () => client.products.list(),
  getProduct: () => client.products.get(PRODUCT),
  listListings: async () => client.listings.list({ updated_since: new Date(0) }),
  createListings: () => client.listings.create([card()]),
  changeListing: async () => client.listings.update((await listed())[0]!, { price: 3 }),
  deleteListing: async () => client.listings.delete((await listed())[0]!),
  listOrders: async () => client.orders.list({ since: new Date(0) }),
  getOrder: async () => client.orders.get(await sell((await listed())[0]!)),
  shipOrder: async () =>
    client.orders.ship(await sell((await listed())[0]!), { trackingCode: 'CODE' }),
  buyLabel: async () => client.orders.buyLabel(await sell((await listed())[0]!, LABEL)),
  listWebhooks: () => client.webhooks.list(),
  createWebhook: () =>
    client.webhooks.create({ url: 'https://hooks.example/', events: ['order.created'] }),
  deleteWebhook: async () => {
    const [endpoint] = await client.webhooks.list()
    return client.webhooks.delete(endpoint!.id)
  },
  getMe: () => client.me(),
  listOwnListings: async () => client.tools.listings.list({ reference: 'SHELF' }),
  createOwnListings: () => client.tools.listings.create([{ ...card(), reference: 'A' }]),
  getOwnListing: async () => client.tools.listings.get((await listed())[0]!),
  checkListings: () => client.tools.listings.check([card()]),
  changeListings: async () =>
    client.tools.listings.changeMany([{ id: (await listed())[0]!, quantity_delta: -1 }]),
  deleteListings: async () => client.tools.listings.deleteMany([{ id: (await listed())[0]! }]),
  listChanges: firstChanges,
  listOwnOrders: async () => client.tools.orders.list({ updated_since: new Date(0) }),
  getPacking: () => client.tools.orders.packing(),
  cancelOwnOrder: async () =>
    client.tools.orders.cancel(await sell((await listed())[0]!), { reason: 'buyer_asked' }),
  listOwnDisputes: async () => client.tools.disputes.list({ state: 'open' }),
  listOwnReviews: async () => client.tools.reviews.list({ stars: 5 }),
  replyToReview: async () => {
    const order = await sell((await listed())[0]!)
    await client.orders.ship(order, { trackingCode: 'CODE' })
    await app.operator.post(`/operator/v1/orders/${order}/receive`)
    await app.operator.post(`/operator/v1/orders/${order}/review`, { payload: { stars: 5 } })
    const [review] = await client.tools.reviews.list().all(1)
    return client.tools.reviews.reply(review!.id, 'Thank you!')
  },
  answerDispute: async () => {
    const order = await sell((await listed())[0]!)
    await client.orders.ship(order, { trackingCode: 'CODE' })
    await app.operator.post(`/operator/v1/orders/${order}/dispute`)
    return client.tools.disputes.answer(order, { message: 'It was sent.' })
  },
  buyLabels: async () => client.tools.labels.buy([await sell((await listed())[0]!, LABEL)]),
  listOwnPayouts: async () => client.tools.payouts.list({ state: 'due' }),
  listOwnDeliveries: async () =>
    client.tools.deliveries.list({ event: 'order.created', from: new Date(0) }),
  resendOwnDelivery: async () => {
    const { id } = await client.tools.webhooks.test(await endpoint(), 'order.created')
    return client.tools.deliveries.resend(id)
  },
  resendOwnDeliveries: async () =>
    client.tools.webhooks.resend(await endpoint(), { from: new Date(0), to: new Date() }),
  testWebhook: async () => client.tools.webhooks.test(await endpoint(), 'order.created'),
  rotateWebhookSecret: async () => client.tools.webhooks.rotateSecret(await endpoint()),
  sendOwnSampleEvent: () => client.tools.events.send('order.created'),
  followOwnEvents: async () => {
    const stop = new AbortController()
    const feed = client.tools.events.follow('0-0', { signal: stop.signal })
    for await (const { event } of feed) {
      expect(event).toBe('order.created')
      stop.abort()
    }
    expect(feed.cursor()).toMatch(/^\d+-\d+$/)
  },
  listShippingOptions: () => client.tools.shippingOptions.list(),
  replaceShippingOptions: async () =>
    client.tools.shippingOptions.replace(await client.tools.shippingOptions.list()),
  createOwnKey: async () => {
    const key = await allowDevice(app, await app.member(seller.accountId))
    return new Cardstall({ key, baseUrl }).tools.key.create({ scopes: ['orders:read'] })
  },
  revokeOwnKey: async () => {
    const { key } = await app.seller()
    return new Cardstall({ key, baseUrl }).tools.key.revoke()
  },
  getHoliday: () => client.tools.holiday.get(),
  setHoliday: () => client.tools.holiday.set(false),
  getStatement: () => client.tools.statements.get(new Date().toISOString().slice(0, 7)),
}

describe('the client', () => {
  it('every operation of the seller API and the tools API has a method that succeeds', async () => {
    const operations: string[] = []
    for (const name of ['seller', 'tools']) {
      const file = new URL(`../../openapi/${name}.json`, import.meta.url)
      const { paths } = JSON.parse(await readFile(file, 'utf8'))
      for (const item of Object.values(paths as Record<string, object>)) {
        operations.push(...Object.values(item).map(({ operationId }) => operationId))
      }
    }
    expect(Object.keys(METHODS).sort()).toEqual(operations.sort())
    for (const [name, call] of Object.entries(METHODS)) {
      await expect(call(), name).resolves.not.toThrow()
    }
  })

  it('a list is one page when awaited, and the records of all pages when iterated', async () => {
    const page = await client.cards.list({ per_page: 2 })
    expect([page.data.length, page.meta.per_page]).toEqual([2, 2])
    const ids: string[] = []
    for await (const { id } of client.cards.list({ per_page: 2 })) ids.push(id)
    expect(ids).toHaveLength(page.meta.total)
    expect(new Set(ids).size).toBe(page.meta.total)
    expect((await client.cards.list().all(3)).map(({ id }) => id)).toEqual(ids.slice(0, 3))
    let pages = 0
    for await (const { data } of client.cards.list({ per_page: 2 }).pages()) pages += data.length
    expect(pages).toBe(page.meta.total)
  })

  it('a query is sent also where URLSearchParams has no size, as in browsers of 2022', async () => {
    const size = Object.getOwnPropertyDescriptor(URLSearchParams.prototype, 'size')!
    Object.defineProperty(URLSearchParams.prototype, 'size', {
      value: undefined,
      configurable: true,
    })
    try {
      expect((await client.cards.list({ per_page: 2 })).meta.per_page).toBe(2)
    } finally {
      Object.defineProperty(URLSearchParams.prototype, 'size', size)
    }
  })

  it('createAll lists any number of items in batches, with indexes across them', async () => {
    const progress: object[] = []
    const items = Array.from({ length: 205 }, (_, i) => (i === 150 ? card({ price: -1 }) : card()))
    const results = []
    for await (const result of client.listings.createAll(items, {
      onProgress: (now) => progress.push(now),
    })) {
      results.push(result)
    }
    expect(results.map(({ index }) => index)).toEqual(items.map((_, i) => i))
    expect(results.filter(({ status }) => status === 'failed').map(({ index }) => index)).toEqual([
      150,
    ])
    expect(progress.at(-1)).toEqual({ sent: 205, created: 204, failed: 1, total: 205 })
  })

  it('the progress of createAll has the warnings about the account, such as one without a shipping option', async () => {
    const { key } = await app.seller()
    const progress: object[] = []
    const options = { onProgress: (now: object) => progress.push(now) }
    for await (const _ of new Cardstall({ key, baseUrl }).listings.createAll([card()], options));
    expect(progress).toMatchObject([
      { created: 1, warnings: [expect.stringContaining('No shipping option')] },
    ])
  })

  it('the same createAll with the same key lists nothing twice, even if the first was interrupted', async () => {
    const items = Array.from({ length: 150 }, () => card())
    const before = (await client.listings.list()).meta.total
    for await (const { index } of client.listings.createAll(items, { idempotencyKey: 'import' })) {
      if (index === 120) break
    }
    let created = 0
    for await (const _ of client.listings.createAll(items, { idempotencyKey: 'import' })) created++
    expect(created).toBe(150)
    expect((await client.listings.list()).meta.total).toBe(before + 150)
  })

  it('createAll of the tools API lists any number of items with their references, and nothing twice', async () => {
    const items = Array.from({ length: 150 }, (_, i) => ({ ...card(), reference: `SKU-${i}` }))
    const statuses: string[] = []
    for (let run = 0; run < 2; run++) {
      const all = client.tools.listings.createAll(items, { idempotencyKey: 'references' })
      for await (const { status, index } of all) statuses[index] = status
      expect(statuses).toEqual(items.map(() => 'created'))
    }
    for (const reference of ['SKU-0', 'SKU-149']) {
      expect((await client.tools.listings.list({ reference })).data).toMatchObject([{ reference }])
    }
  })

  it('changes returns every listing that changed since the bookmark, and the next bookmark', async () => {
    const other = await app.seller()
    const own = new Cardstall({ key: other.key, baseUrl })
    await own.listings.create(Array.from({ length: 70 }, () => card()))
    await own.listings.create(Array.from({ length: 70 }, () => card()))
    const changes = own.listings.changes(new Date(0))
    const ids = new Set<number>()
    for await (const { id } of changes) ids.add(id)
    expect(ids.size).toBe(140)
    const next = Date.parse(changes.next())
    expect(next).toBeLessThan(Date.now())
    expect(next).toBeGreaterThan(Date.now() - 10 * 60_000)
  })

  it('changes without any returns the same bookmark, which the API reads as UTC if it has no offset', async () => {
    const bookmark = async (since: string | Date) => {
      const changes = client.listings.changes(since)
      for await (const listing of changes) expect(listing).toBeUndefined()
      return changes.next()
    }
    for (const since of ['2999-01-01', '2999-01-01T00:00:00', '2999-01-01T02:00:00+02:00']) {
      expect(await bookmark(since)).toBe(since)
    }
    const date = new Date('2999-01-01T00:00:00Z')
    expect(await bookmark(date)).toBe(date.toISOString())
  })

  it('follow yields changes as they happen, and its cursor misses none', async () => {
    const stop = new AbortController()
    const { next } = await firstChanges()
    const [id] = await listed()
    const feed = client.tools.follow(next, { signal: stop.signal })
    for await (const change of feed) {
      expect(change).toMatchObject({ kind: 'listing', id, change: 'created' })
      // The kind tells the type of the record.
      if (change.kind === 'listing') expect(change.record?.listable?.type).toBe('card')
      else expect(change.record?.slice_key).toBeDefined()
      break
    }
    for await (const { id: again } of client.tools.follow(feed.cursor())) {
      expect(again).toBe(id)
      break
    }
    stop.abort()
  })

  it('a feed of events leaves no listener of a lost connection on its signal, and an abort ends it at once', async () => {
    let connections = 0
    let isCancelled = false
    const message = new TextEncoder().encode('id: 1-0\ndata: {"event":"order.created"}\n\n')
    const { client: flaky } = scripted([], {
      fetch: async () => {
        const isLast = ++connections === 3
        const stream = new ReadableStream<Uint8Array>({
          start(controller) {
            controller.enqueue(message)
            if (!isLast) controller.close()
          },
          cancel() {
            isCancelled = true
          },
        })
        return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
      },
    })
    const stop = new AbortController()
    const states: string[] = []
    const feed = flaky.tools.events.follow(undefined, {
      signal: stop.signal,
      onConnection: (state) => states.push(state),
    })
    const events = feed[Symbol.asyncIterator]()
    const listeners: number[] = []
    for (let i = 0; i < 3; i++) {
      expect((await events.next()).value).toEqual({ event: 'order.created' })
      listeners.push(getEventListeners(stop.signal, 'abort').length)
    }
    expect(listeners).toEqual([1, 1, 1])
    const end = events.next()
    stop.abort()
    expect(await end).toEqual({ done: true, value: undefined })
    expect([connections, isCancelled]).toEqual([3, true])
    expect(states).toEqual(['open', 'lost', 'open', 'lost', 'open'])
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
  })

  it('a feed of events connects again after 45 silent seconds, also while the service still counts the lost connection', async () => {
    let connections = 0
    const { client: silent } = scripted([], {
      fetch: async () => {
        if (++connections === 2) return refusal(409)
        const message = `id: ${connections}-0\ndata: {"event":"order.created"}\n\n`
        const stream = new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(new TextEncoder().encode(message)),
        })
        return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
      },
    })
    const stop = new AbortController()
    const states: string[] = []
    const feed = silent.tools.events.follow(undefined, {
      signal: stop.signal,
      onConnection: (state) => states.push(state),
    })
    const events = feed[Symbol.asyncIterator]()
    const timers = vi.spyOn(globalThis, 'setTimeout')
    onTestFinished(() => void timers.mockRestore())
    const silences = () => timers.mock.calls.filter(([, ms]) => ms === 45_000)
    await events.next()
    const next = events.next()
    await until('the feed waits for a second message', () => silences().length === 2)
    const [endSilence] = silences()[1]!
    endSilence()
    expect((await next).value).toEqual({ event: 'order.created' })
    expect([connections, feed.cursor()]).toEqual([3, '3-0'])
    expect(states).toEqual(['open', 'lost', 'open'])
    stop.abort()
  })

  it('rows that are added while a list is read hide none of the others', async () => {
    const other = await app.seller()
    const own = new Cardstall({ key: other.key, baseUrl })
    const { results } = await own.listings.create(Array.from({ length: 6 }, () => card()))
    const unseen = new Set(
      results.map((result) => (result as { listing: { id: number } }).listing.id),
    )
    for await (const { id } of own.listings.list({ per_page: 2 })) {
      if (unseen.delete(id) && unseen.size % 2 === 0) await own.listings.create([card()])
    }
    expect([...unseen]).toEqual([])
  })

  it('a loop that takes records out of the filter meets each of them once', async () => {
    const other = await openShop(app, PARCEL)
    const own = new Cardstall({ key: other.key, baseUrl })
    const { results } = await own.listings.create(Array.from({ length: 11 }, () => card()))
    const ids = results.map((result) => (result as { listing: { id: number } }).listing.id)
    const shipping = [{ account_id: other.accountId, option: PARCEL.code }]
    for (const id of ids) await buy(app, [[id, 1]], { shipping })
    let shipped = 0
    for await (const { orders } of own.orders.slices({ status: 'pending', per_page: 2 })) {
      shipped += (await own.orders.ship(orders[0]!.id, { trackingCode: 'CODE' })).shipped_lines
    }
    expect(shipped).toBe(11)

    const { key } = await app.seller()
    const unsold = new Cardstall({ key, baseUrl })
    await unsold.listings.create(Array.from({ length: 11 }, () => card()))
    const before = (await unsold.listings.list()).data.map(({ id }) => id)
    const met: number[] = []
    for await (const { id } of unsold.tools.listings.list({ per_page: 3 })) {
      met.push(id)
      await unsold.listings.delete(id)
      if (met.length % 4 === 0) await unsold.listings.create([card()])
    }
    expect(met.filter((id) => before.includes(id))).toEqual(before)
  })

  it('a list that stays as it is costs one request for each page', async () => {
    const { client: counting, sent } = scripted([])
    const { meta } = await client.cards.list({ per_page: 2 })
    expect(await counting.cards.list({ per_page: 2 }).all(meta.total)).toHaveLength(meta.total)
    for await (const { data } of counting.cards.list({ per_page: 2 }).pages()) {
      expect(data.length).toBeGreaterThan(0)
    }
    expect(sent).toHaveLength(2 * meta.last_page)
  })

  it('feeds survive lost connections, and begin after their cursor', async () => {
    const stop = new AbortController()
    const { signal } = stop
    const { next } = await firstChanges()
    const [id] = await listed()
    const { client: flaky, sent } = scripted([lostConnection(), refusal(503)], { maxRetries: 0 })
    for await (const change of flaky.tools.follow(next, { signal })) {
      expect(change.id).toBe(id)
      expect(sent.length).toBeGreaterThanOrEqual(3)
      break
    }

    // The first connection of the stream ends after its first event.
    const states: string[] = []
    let connections = 0
    const cut = new Cardstall({
      key: seller.key,
      baseUrl,
      fetch: async (url, init) => {
        const response = await fetch(url, init)
        return ++connections === 1 ? new Response(firstEvent(response.body!), response) : response
      },
    })
    await streamsStartNow(app.ctx.db)
    const start = await new Promise<string>((resolve) => {
      const feed = client.tools.events.follow(undefined, {
        signal,
        onConnection: () => resolve(feed.cursor()!),
      })
      feed[Symbol.asyncIterator]().next()
    })
    const events = ['order.created', 'listing.sold', 'order.cancelled'] as const
    await client.tools.events.send(events[0])
    const feed = cut.tools.events.follow(start, { signal, onConnection: (to) => states.push(to) })
    const received: [string, string][] = []
    for await (const { event } of feed) {
      received.push([event, feed.cursor()!])
      const next = events[received.length]
      if (next === undefined) break
      await client.tools.events.send(next)
    }
    expect(received.map(([event]) => event)).toEqual(events)
    expect(states).toEqual(['open', 'lost', 'open'])
    // A later run begins after the event whose cursor was stored.
    for await (const { event } of client.tools.events.follow(received[1]![1], { signal })) {
      expect(event).toBe('order.cancelled')
      break
    }
    stop.abort()
  })

  it('an event whose texts have line separators of Unicode is received whole', async () => {
    const stop = new AbortController()
    const { signal } = stop
    const states: string[] = []
    const onConnection = (state: string) => states.push(state)
    await streamsStartNow(app.ctx.db)
    const feed = client.tools.events.follow(undefined, { signal, onConnection })
    const first = feed[Symbol.asyncIterator]().next()
    await until('the stream is open', () => states.length > 0)
    const buyer = { name: 'Misty\u2028Water\u2029flower', email: 'misty@mail.example' }
    const { orderIds } = await buy(app, [[(await listed())[0]!, 1]], { buyer })
    expect((await first).value).toMatchObject({
      event: 'order.created',
      data: { order_id: orderIds[0], buyer_name: buyer.name },
    })
    stop.abort()
  })

  it('feeds without a cursor begin when the service can be reached again', async () => {
    const stop = new AbortController()
    const { signal } = stop
    const outage = () => scripted([lostConnection(), refusal(503)], { maxRetries: 0 })
    const changes = outage()
    const feed = changes.client.tools.follow(undefined, { signal })
    const change = feed[Symbol.asyncIterator]().next()
    await until('the feed has a cursor', () => changes.events.some(({ status }) => status === 200))
    const [id] = await listed()
    expect((await change).value).toMatchObject({ kind: 'listing', id })

    await streamsStartNow(app.ctx.db)
    const events = outage()
    const states: string[] = []
    const onConnection = (state: string) => states.push(state)
    const stream = events.client.tools.events.follow(undefined, { signal, onConnection })
    const event = stream[Symbol.asyncIterator]().next()
    await until('the stream is open', () => states.length > 0)
    await client.tools.events.send('order.created')
    expect((await event).value).toMatchObject({ event: 'order.created' })
    expect([states, events.sent.length]).toEqual([['open'], 3])
    stop.abort()
  })

  it.each([
    [120, 120_000],
    [86_400, 300_000],
  ])(
    'feeds wait %d seconds if the service demands it, but five minutes at most',
    async (seconds, ms) => {
      const busy = () => scripted([refusal(503, { 'retry-after': `${seconds}` })])
      const timers = vi.spyOn(globalThis, 'setTimeout')
      onTestFinished(() => void timers.mockRestore())
      for (const follow of [
        (tools: Cardstall['tools'], signal: AbortSignal) => tools.follow('0', { signal }),
        (tools: Cardstall['tools'], signal: AbortSignal) => tools.events.follow('0', { signal }),
      ]) {
        const { client: limited, sent } = busy()
        const stop = new AbortController()
        timers.mockClear()
        const end = follow(limited.tools, stop.signal)[Symbol.asyncIterator]().next()
        await until('the feed waits', () => timers.mock.calls.some(([, delay]) => delay === ms))
        stop.abort()
        expect([await end, sent.length]).toEqual([{ done: true, value: undefined }, 1])
      }
    },
  )

  it('feeds without a cursor end with an error that another attempt does not overcome', async () => {
    const unknown = new Cardstall({ key: `svc_live_${'x'.repeat(40)}`, baseUrl })
    for (const feed of [unknown.tools.follow(), unknown.tools.events.follow()]) {
      await expect(feed[Symbol.asyncIterator]().next()).rejects.toThrow(AuthenticationError)
    }
    const tooMany = scripted([refusal(409)]).client.tools.events.follow()
    await expect(tooMany[Symbol.asyncIterator]().next()).rejects.toThrow(ConflictError)
  })

  it('slices yields each slice once, and waitForLabel returns its label', async () => {
    const other = await openShop(app, LABEL)
    const own = new Cardstall({ key: other.key, baseUrl })
    const { results } = await own.listings.create([card(), productItem() as ListingItem])
    const lines = results.map((result): [number, number] => [
      (result as { listing: { id: number } }).listing.id,
      1,
    ])
    const { orderIds, sliceKey } = await buy(app, lines)
    const slices = []
    for await (const slice of own.orders.slices()) slices.push(slice)
    expect(slices.map(({ slice_key, orders }) => [slice_key, orders.length])).toEqual([
      [sliceKey, 2],
    ])
    expect((await own.orders.waitForLabel(orderIds[0]!)).status).toBe('ready')
  })

  it('labels are one PDF, and a statement is a table', async () => {
    const order = await sell((await listed())[0]!, LABEL)
    const { pdf, missing } = await client.tools.labels.merge([order, 999_999])
    expect(new TextDecoder().decode(pdf.slice(0, 5))).toBe('%PDF-')
    expect(missing).toEqual([999_999])
    await expect(client.tools.labels.merge([999_999])).rejects.toThrow(CardstallError)
    const csv = await client.tools.statements.csv(new Date().toISOString().slice(0, 7))
    expect(csv.split('\n').length).toBeGreaterThan(1)
  })

  it('a client without a key or with an address that is not the API’s is refused at once', () => {
    for (const options of [
      { key: 'x' },
      { baseUrl },
      { key: 'x', baseUrl: 'cards.example' },
      { key: 'x', baseUrl: 'https://cards.example' },
      { key: 'x', baseUrl: 'ftp://cards.example/v1' },
    ]) {
      expect(() => new Cardstall(options)).toThrow(TypeError)
    }
    // `fetch` would quote them in its error.
    for (const key of ['svc_live_a\nb', 'svc_live_€', 'svc_live_ a']) {
      expect(() => new Cardstall({ key, baseUrl })).toThrow(/^(?!.*svc_live_).*special character/)
    }
  })
})

describe('errors', () => {
  it('an empty id, an invalid date, and a value that JSON or a header cannot have are refused before a request, which would return a list or be repeated', async () => {
    const { client, sent, events } = scripted([])
    for (const id of ['', '.', '..']) {
      await expect(client.cards.get(id)).rejects.toThrow(TypeError)
      await expect(client.tools.statements.csv(id)).rejects.toThrow(TypeError)
    }
    const updated_since = new Date('no date')
    await expect(client.listings.list({ updated_since })).rejects.toThrow(RangeError)
    const period = { from: updated_since, to: new Date() }
    await expect(client.tools.webhooks.resend(1, period)).rejects.toThrow(RangeError)
    const bigint = { id: 5n as unknown as number, price: 4 }
    await expect(client.tools.listings.changeMany([bigint])).rejects.toThrow(TypeError)
    const named = { idempotencyKey: 'łódź' }
    await expect(client.listings.create([card()], named)).rejects.toThrow(TypeError)
    const { client: renamed } = scripted([], { headers: { 'x-shop': 'łódź' } })
    await expect(renamed.me()).rejects.toThrow(TypeError)
    expect([sent, events]).toEqual([[], []])
  })

  it('each error of the API has a class with its details, and none contains the key', async () => {
    const noScopes = await app.seller({ scopes: ['orders:read'] })
    const wrongKey = `svc_live_${'x'.repeat(40)}`
    const caught = async (call: Promise<unknown>) => {
      const error = await call.then(
        () => undefined,
        (error) => error,
      )
      expect(error).toBeInstanceOf(CardstallError)
      expect(`${error.stack}${JSON.stringify(error)}`).not.toMatch(/svc_live_/)
      return error as CardstallError
    }
    const withKey = (key: string) => new Cardstall({ key, baseUrl })
    expect(await caught(withKey(wrongKey).me())).toBeInstanceOf(AuthenticationError)
    expect(await caught(withKey(noScopes.key).series.list())).toBeInstanceOf(PermissionError)
    expect(await caught(client.cards.get('nothing-1'))).toBeInstanceOf(NotFoundError)
    const invalid = await caught(client.listings.update((await listed())[0]!, { price: -1 }))
    expect(invalid).toBeInstanceOf(ValidationError)
    expect(invalid).toMatchObject({
      status: 422,
      type: 'validation_error',
      fields: { price: [expect.any(String)] },
      requestId: expect.any(String),
    })
    const ambiguous = await caught(client.sets.get('brs'))
    expect(ambiguous).toBeInstanceOf(AmbiguousIdentifierError)
    const ids = (ambiguous as AmbiguousIdentifierError).candidates.map(({ id }) => id)
    expect(ids).toContain('swsh9')
    const unreachable = new Cardstall({
      key: wrongKey,
      baseUrl: `http://127.0.0.1:${await freePort()}/v1`,
      maxRetries: 0,
    })
    const lost = await caught(unreachable.me())
    expect(lost).toBeInstanceOf(ConnectionError)
    expect(lost.message).toContain('ECONNREFUSED')
  })

  it('a redirect is an error, because following it would send the key elsewhere', async () => {
    const redirecting = scripted([new Response(null, { status: 308, headers: { location: '/' } })])
    await expect(redirecting.client.me()).rejects.toThrow(/redirected/)
    expect(redirecting.sent).toHaveLength(1)
    // The status of a redirect in a browser.
    expect(Response.error().status).toBe(0)
    await expect(scripted([Response.error()]).client.me()).rejects.toThrow(/redirected/)

    let followed = 0
    const elsewhere = await startWebServer((_request, response) => {
      followed++
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":{}}')
    })
    for (const status of [302, 308]) {
      const { port } = await startWebServer((_request, response) => {
        response.writeHead(status, { location: `http://127.0.0.1:${elsewhere.port}/` }).end()
      })
      const moved = new Cardstall({ key: seller.key, baseUrl: `http://127.0.0.1:${port}/v1` })
      await expect(moved.me()).rejects.toThrow(/redirected/)
      await expect(moved.listings.create([card()])).rejects.toThrow(/redirected/)
    }
    expect(followed).toBe(0)
  })

  it('a page that is not the API’s is an error that names baseUrl, and the cause of a lost connection is named', async () => {
    for (const type of ['text/html', 'application/json', 'application/octet-stream']) {
      const headers = { 'content-type': type }
      const page = scripted([new Response('<html>', { headers })])
      await expect(page.client.me()).rejects.toThrow(/not of the API: check `baseUrl`/)
    }
    for (const body of [null, new TextEncoder().encode('<html>')]) {
      const untyped = scripted([new Response(body)])
      await expect(untyped.client.me()).rejects.toThrow(/not of the API: check `baseUrl`/)
    }
    for (const call of [
      (c: Cardstall) => c.tools.statements.csv('2026-03'),
      (c: Cardstall) => c.tools.labels.merge([1]),
      (c: Cardstall) => c.tools.events.follow()[Symbol.asyncIterator]().next(),
    ]) {
      const headers = { 'content-type': 'text/html; charset=utf-8' }
      const page = scripted([new Response('<html>', { headers })])
      await expect(call(page.client)).rejects.toThrow(/not of the API: check `baseUrl`/)
    }
    const lost = scripted([lostConnection()], { maxRetries: 0 })
    await expect(lost.client.me()).rejects.toThrow(
      'The request failed: reset by a peer, ECONNRESET.',
    )
  })
})

/** The stream of events up to its first event, after which the connection is lost. */
async function* firstEvent(stream: ReadableStream<Uint8Array>) {
  let text = ''
  for await (const part of stream) {
    yield part
    text += new TextDecoder().decode(part)
    if (text.includes('data: ')) throw new TypeError('terminated')
  }
}

/** A client whose attempts fail as listed, before the remaining ones reach the service. */
function scripted(
  script: (Response | Error | 'lost response')[],
  options: Partial<ClientOptions> = {},
) {
  const sent: { method: string; headers: Headers; body: unknown }[] = []
  const events: RequestEvent[] = []
  const client = new Cardstall({
    key: seller.key,
    baseUrl,
    onRequest: (event) => events.push(event),
    fetch: async (url, init) => {
      const step = script[sent.length]
      const { method, headers, body } = init!
      sent.push({ method: method!, headers: new Headers(headers), body })
      if (step instanceof Response) return step.clone()
      if (step instanceof Error) throw step
      const response = await fetch(url, init)
      if (step === 'lost response') throw lostConnection()
      return response
    },
    ...options,
  })
  return { client, sent, events }
}

const lostConnection = () =>
  new TypeError('fetch failed', {
    cause: Object.assign(new Error('reset by a peer'), { code: 'ECONNRESET' }),
  })
const refusedConnection = () =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) })
const refusal = (status: number, headers: Record<string, string> = { 'retry-after': '0' }) =>
  new Response('{"error":{"type":"server_error","message":"No."}}', {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  })

describe('retries', () => {
  it('a bulk create whose response is lost is repeated with the same key and lists everything once', async () => {
    const before = (await client.listings.list()).meta.total
    const { client: flaky, sent } = scripted(['lost response', 'lost response'])
    const { created } = await flaky.listings.create([card(), card()])
    expect(created).toBe(2)
    const keys = sent.map(({ headers }) => headers.get('idempotency-key'))
    expect(keys).toHaveLength(3)
    expect(new Set(keys).size).toBe(1)
    expect((await client.listings.list()).meta.total).toBe(before + 2)
  })

  it('a write that is repeated after a lost response has a key, even if the caller’s key is undefined', async () => {
    const options = { idempotencyKey: undefined }
    const [id] = await listed()
    const hook = await endpoint()
    const events = ['order.created' as const]
    for (const call of [
      (c: Cardstall) => c.listings.create([card()], options),
      (c: Cardstall) => c.tools.listings.create([card()], options),
      (c: Cardstall) => c.tools.listings.changeMany([{ id: id!, quantity_delta: 1 }], options),
      (c: Cardstall) => c.tools.webhooks.rotateSecret(hook, options),
      (c: Cardstall) => c.webhooks.create({ url: 'https://once.example/', events }, options),
    ]) {
      const { client: flaky, sent } = scripted(['lost response'])
      await call(flaky)
      const keys = sent.map(({ headers }) => headers.get('idempotency-key'))
      expect(keys).toEqual([expect.stringMatching(/^\S{36}$/), keys[0]])
    }
    expect((await client.tools.listings.get(id!)).quantity).toBe(6)
    const urls = (await client.webhooks.list()).map(({ url }) => url)
    expect(urls.filter((url) => url === 'https://once.example/')).toHaveLength(1)
  })

  it('in Deno, which repeats a request itself unless its body is a stream, a write that must not be repeated is streamed', async () => {
    vi.stubGlobal('Deno', {})
    onTestFinished(() => void vi.unstubAllGlobals())
    const [id] = await listed()
    const order = await sell(id!)
    const { client: limited, sent } = scripted([refusal(429)])
    await limited.orders.ship(order, { trackingCode: 'CODE' })
    await limited.listings.update(id!, { quantity: 3 })
    await limited.listings.update(id!, { price: 4 })
    await limited.webhooks.create({ url: 'https://hooks.example/', events: ['order.created'] })
    // The attempt after a 429 needs a stream that was not read.
    expect(sent[0]!.body).not.toBe(sent[1]!.body)
    expect(sent.map(({ body }) => typeof body)).toEqual([
      ...['object', 'object', 'object'],
      ...['string', 'string'],
    ])
    expect(await client.tools.listings.get(id!)).toMatchObject({ quantity: 3, price: 4 })
  })

  it('a write whose response was lost is not repeated after the computer has slept: the service has forgotten its key', async () => {
    const [id] = await listed()
    const total = async () => (await client.listings.list()).meta.total
    const before = await total()
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const sleepForADay = () => vi.setSystemTime(Date.now() + 25 * 60 * 60 * 1000)
    for (const call of [
      (c: Cardstall) => c.listings.create([card()]),
      (c: Cardstall) => c.tools.listings.changeMany([{ id: id!, quantity_delta: 1 }]),
    ]) {
      const { client: asleep } = scripted(['lost response'], { onRequest: sleepForADay })
      await expect(call(asleep)).rejects.toThrow(ConnectionError)
    }
    expect([await total(), (await client.tools.listings.get(id!)).quantity]).toEqual([
      before + 1,
      6,
    ])
    const { client: reader } = scripted(['lost response'], { onRequest: sleepForADay })
    await expect(reader.me()).resolves.toBeDefined()
  })

  it('a deletion whose response is lost succeeds, and a deletion of an unknown listing fails', async () => {
    const [id] = await listed()
    const { client: flaky } = scripted(['lost response'])
    await flaky.listings.delete(id!)
    await expect(client.listings.delete(id!)).rejects.toThrow(NotFoundError)
    const [other] = await listed()
    const { client: lost } = scripted(['lost response', refusal(429)])
    await lost.request('DELETE', `/listings/${other}`)
  })

  it('a repeated deletion fails, and deletes nothing, if only the page of a proxy says that the listing is not found', async () => {
    const [id] = await listed()
    const headers = { 'content-type': 'text/plain' }
    const page = new Response('404 page not found', { status: 404, headers })
    const { client: flaky, sent } = scripted([refusal(502), page])
    await expect(flaky.listings.delete(id!)).rejects.toThrow(NotFoundError)
    expect(sent).toHaveLength(2)
    expect((await client.tools.listings.get(id!)).status).toBe('active')
  })

  it('a repeated deletion of an unknown listing fails if no earlier attempt can have deleted it', async () => {
    const refusedInFormerBun = Object.assign(new Error('Unable to connect.'), {
      code: 'ConnectionRefused',
    })
    for (const failure of [refusal(429), refusedConnection(), refusedInFormerBun]) {
      const { client: flaky, sent } = scripted([failure])
      await expect(flaky.listings.delete(999_999)).rejects.toThrow(NotFoundError)
      expect(sent).toHaveLength(2)
    }
  })

  it.each([
    ['reads', 'lost response', 2, (c: Cardstall) => c.me()],
    [
      'price changes',
      'lost response',
      2,
      async (c: Cardstall) => c.listings.update((await listed())[0]!, { price: 4 }),
    ],
    [
      'quantity changes',
      'lost response',
      1,
      async (c: Cardstall) => c.listings.update((await listed())[0]!, { quantity: 4 }),
    ],
    [
      'quantity changes',
      'refused connection',
      1,
      async (c: Cardstall) => c.listings.update((await listed())[0]!, { quantity: 4 }),
    ],
    [
      'quantity changes',
      '429',
      2,
      async (c: Cardstall) => c.listings.update((await listed())[0]!, { quantity: 4 }),
    ],
    [
      'labels',
      'lost response',
      2,
      async (c: Cardstall) => c.orders.buyLabel(await sell((await listed())[0]!, LABEL)),
    ],
    [
      'shipping',
      'lost response',
      1,
      async (c: Cardstall) =>
        c.orders.ship(await sell((await listed())[0]!), { trackingCode: 'C' }),
    ],
    [
      'shipping',
      '503',
      1,
      async (c: Cardstall) =>
        c.orders.ship(await sell((await listed())[0]!), { trackingCode: 'C' }),
    ],
    [
      'shipping',
      'refused connection',
      2,
      async (c: Cardstall) =>
        c.orders.ship(await sell((await listed())[0]!), { trackingCode: 'C' }),
    ],
    [
      'new endpoints',
      'lost response',
      2,
      (c: Cardstall) =>
        c.webhooks.create({ url: 'https://hooks.example/', events: ['order.created'] }),
    ],
  ] as const)('%s after a %s: %i attempts', async (_, failure, attempts, call) => {
    const step = {
      'lost response': 'lost response' as const,
      'refused connection': refusedConnection(),
      '429': refusal(429),
      '503': refusal(503),
    }[failure]
    const { client: flaky, sent } = scripted([step])
    const outcome = await call(flaky).then(
      () => 'succeeded',
      () => 'failed',
    )
    expect([sent.length, outcome]).toEqual([attempts, attempts > 1 ? 'succeeded' : 'failed'])
  })

  it.each([408, 429, 500, 502, 503, 504])('a read is repeated after %i', async (status) => {
    const { client: flaky, events } = scripted([refusal(status)])
    await flaky.me()
    expect(events.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, status],
      [2, 200],
    ])
  })

  it('no other refusal is repeated, and no request more often than maxRetries says', async () => {
    for (const status of [400, 401, 403, 404, 409, 410, 422]) {
      const { client: flaky, sent } = scripted([refusal(status)])
      await expect(flaky.me()).rejects.toThrow(CardstallError)
      expect(sent).toHaveLength(1)
    }
    const { client: flaky, sent } = scripted(Array(9).fill(refusal(503)))
    await expect(flaky.me({ maxRetries: 3 })).rejects.toThrow(ServerError)
    expect(sent).toHaveLength(4)
  })

  it('a Retry-After above a minute is an error of the call at once', async () => {
    const { client: limited, sent } = scripted([refusal(429, { 'retry-after': '61' })])
    await expect(limited.me()).rejects.toMatchObject({ retryAfter: 61 })
    await expect(limited.me()).resolves.toBeDefined()
    expect(sent).toHaveLength(2)
    expect(new RateLimitError('').retryAfter).toBeUndefined()
  })

  it('a Retry-After may be a date, by the clock of the service or by the client’s', async () => {
    const after = async (headers: Record<string, string>) => {
      const { client: limited } = scripted([refusal(503, headers)], { maxRetries: 0 })
      return limited.me().catch((error: CardstallError) => error.retryAfter)
    }
    const date = 'Sun, 06 Nov 1994 08:49:37 GMT'
    const later = 'Sun, 06 Nov 1994 08:50:07 GMT'
    expect(await after({ date, 'retry-after': later })).toBe(30)
    expect(await after({ 'retry-after': later })).toBe(0)
    expect(await after({ 'retry-after': 'soon' })).toBeUndefined()
    expect(await after({})).toBeUndefined()
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const soon = new Date(Date.now() + 90_000).toUTCString()
    expect(await after({ 'retry-after': soon })).toBe(90)

    const { client: limited, sent } = scripted([refusal(503, { date, 'retry-after': later })], {
      timeoutMs: 5_000,
    })
    const stop = new AbortController()
    const call = limited.me({ signal: stop.signal })
    await expect(Promise.race([call, sleep(1_500, 'still waiting')])).resolves.toBe('still waiting')
    expect(sent).toHaveLength(1)
    stop.abort()
    await expect(call).rejects.toThrow(DOMException)
  })

  it('a response that takes longer than timeoutMs is a TimeoutError, and an abort ends the call with its reason', async () => {
    const never = { fetch: (_: unknown, { signal }: RequestInit = {}) => aborted(signal!) }
    const { client: silent } = scripted([], never as Partial<ClientOptions>)
    await expect(silent.me({ timeoutMs: 20, maxRetries: 1 })).rejects.toThrow(TimeoutError)
    const reason = new Error('the user left')
    const abort = new AbortController()
    const call = silent.me({ signal: abort.signal })
    abort.abort(reason)
    await expect(call).rejects.toBe(reason)
  })

  it.each<[string, () => Promise<Response>]>([
    ['never responds', () => new Promise(() => {})],
    ['never ends its body', async () => new Response(new ReadableStream())],
  ])('a fetch that ignores its signal and %s cannot hold a call up', async (_, fetch) => {
    const { client: deaf, events } = scripted([], { fetch, maxRetries: 0 })
    await expect(deaf.me({ timeoutMs: 20 })).rejects.toThrow(TimeoutError)
    const reason = new Error('the user left')
    const abort = new AbortController()
    const call = deaf.me({ signal: abort.signal })
    abort.abort(reason)
    await expect(call).rejects.toBe(reason)
    expect(events).toHaveLength(2)
  })

  it('a call whose signal is aborted already sends nothing, also with a fetch that ignores it', async () => {
    let sent = 0
    const { client: deaf } = scripted([], { fetch: async () => Response.json({ data: ++sent }) })
    const signal = AbortSignal.abort()
    await expect(deaf.me({ signal })).rejects.toBe(signal.reason)
    expect(sent).toBe(0)
  })

  it.each([Number.POSITIVE_INFINITY, 2 ** 31])(
    'a timeoutMs of %d means no limit',
    async (timeoutMs) => {
      const late: typeof fetch = (_, { signal } = {}) =>
        Promise.race([sleep(50).then(() => Response.json({ data: [] })), aborted(signal!)])
      const { client: patient } = scripted([], { fetch: late, timeoutMs, maxRetries: 0 })
      await expect(patient.series.list()).resolves.toEqual([])
    },
  )

  it('labels may take longer than the timeoutMs of the client, but not longer than that of the call', async () => {
    const late: typeof fetch = (_, { signal } = {}) =>
      Promise.race([sleep(100).then(() => Response.json({ data: [] })), aborted(signal!)])
    const { client: patient } = scripted([], { fetch: late, timeoutMs: 20, maxRetries: 0 })
    await expect(patient.tools.labels.buy([1])).resolves.toEqual([])
    await expect(patient.orders.buyLabel(1)).resolves.toEqual([])
    await expect(patient.tools.labels.merge([1])).resolves.toMatchObject({ missing: [] })
    await expect(patient.tools.labels.buy([1], { timeoutMs: 20 })).rejects.toThrow(TimeoutError)
    await expect(patient.orders.buyLabel(1, { timeoutMs: 20 })).rejects.toThrow(TimeoutError)
    await expect(patient.me()).rejects.toThrow(TimeoutError)
  })

  it('a resend of many deliveries may take longer than the timeoutMs of the client', async () => {
    const late: typeof fetch = (_, { signal } = {}) =>
      Promise.race([
        sleep(100).then(() => Response.json({ data: { deliveries: 3 } })),
        aborted(signal!),
      ])
    const { client: patient } = scripted([], { fetch: late, timeoutMs: 20, maxRetries: 0 })
    const period = { from: '2026-01-01', to: '2026-02-01' }
    await expect(patient.tools.webhooks.resend(1, period)).resolves.toBe(3)
  })

  it('onRequest is called for every attempt, whatever its end', async () => {
    const page = new Response('<html>', { headers: { 'x-request-id': 'req_page' } })
    const { client: flaky, events } = scripted([lostConnection(), refusal(503), page])
    await expect(flaky.me()).rejects.toThrow(/not of the API/)
    await flaky.me()
    const abort = new AbortController()
    const call = flaky.me({ signal: abort.signal })
    abort.abort()
    await expect(call).rejects.toThrow(DOMException)
    expect(events).toMatchObject([
      { attempt: 1, error: expect.any(ConnectionError) },
      { attempt: 2, status: 503, error: expect.any(ServerError) },
      { attempt: 3, status: 200, requestId: 'req_page', error: expect.any(CardstallError) },
      { attempt: 1, status: 200, requestId: expect.stringMatching(/^req_/) },
      { attempt: 1, error: expect.any(DOMException) },
    ])
    expect(events[3]).not.toHaveProperty('error')
  })
})

describe('callbacks', () => {
  it('an error of a callback neither repeats nor hides a response, and is an uncaught one of the program', async () => {
    const uncaught: unknown[] = []
    const others = process.rawListeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.on('uncaughtException', (error) => uncaught.push(error))
    try {
      const broken = new Error('the log is full')
      const fail = () => {
        throw broken
      }
      const before = (await client.webhooks.list()).length
      const { client: own, sent } = scripted([refusal(429)], { onRequest: fail })
      const body = { url: 'https://hooks.example/', events: ['order.created' as const] }
      expect((await own.webhooks.create(body)).secret).toMatch(/^svc_whsec_/)
      expect((await client.webhooks.list()).length).toBe(before + 1)
      await until('both are reported', () => uncaught.length === 2)
      expect([sent.length, ...uncaught]).toEqual([2, broken, broken])

      const stop = new AbortController()
      await client.tools.events.send('order.created')
      const options = { signal: stop.signal, onConnection: fail }
      for await (const { event } of client.tools.events.follow('0-0', options)) {
        expect(event).toBe('order.created')
        stop.abort()
      }
      expect(uncaught.slice(2)).toEqual([broken])
    } finally {
      process.removeAllListeners('uncaughtException')
      for (const listener of others) process.on('uncaughtException', listener as () => void)
    }
  })
})

const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { newBudget, withBudget } from '../database/budget.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { CARDS, importRecords } from '../test/catalog-fixture.ts'
import {
  advance,
  cardItem,
  changeAccount,
  gradedItem,
  hold,
  list,
  NO_LIMITS,
  productItem,
} from '../test/fixtures/listings.ts'
import { buy, openShop } from '../test/fixtures/orders.ts'
import { untilLockWaiters, whileLocked } from '../test/lock-waiters.ts'
import { rowsRead } from '../test/rows-read.ts'
import { until } from '../test/until.ts'
import type { OfferChanges } from './offer-changes.ts'
import { openOfferModel } from './offer-model.ts'
import { OFFER, offersFrom } from './offer-store.ts'
import { offersOf } from './offers.ts'

let app: TestApp
/** Another service on the same database. */
let other: TestApp
/** A third one, which reads every offer from the database. */
let reference: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  other = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
  reference = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
  Object.assign(reference.ctx.offers, { read: async () => undefined, peek: () => undefined })
})

const random = (below: number) => Math.floor(Math.random() * below)

const ITEMS = [
  { path: '/v1/cards/sv3-125', of: { cardId: 'sv3-125', productSlug: null }, item: cardItem },
  {
    path: '/v1/products/obsidian-flames-booster-box',
    of: { cardId: null, productSlug: 'obsidian-flames-booster-box' },
    item: productItem,
  },
] as const

/** The same seller as a client of another service. */
const at = (service: TestApp, seller: Seller) => service.withKey(seller.key)

/** The response with all offers, and its tag. */
async function offersAt(service: TestApp, reader: Seller, path: string) {
  const { status, text, headers } = await at(service, reader).get(`${path}?include=listings`)
  expect(status).toBe(200)
  return { text, tag: headers.etag }
}

type ServerRow = Pick<OfferChanges, 'position'> & { xmin: string; server: string }

/** A model that reads the database of `app`. `change` changes the rows that tell it about the server. */
function modelOf(change: (row: ServerRow) => Partial<ServerRow>) {
  const db = new Proxy(app.ctx.db, {
    apply(target, self, parameters) {
      const query = Reflect.apply(target, self, parameters)
      const isAboutServer = String(parameters[0]).includes('pg_postmaster_start_time')
      return isAboutServer ? query.then((rows: ServerRow[]) => rows.map(change)) : query
    },
  })
  const model = openOfferModel({ ...app.ctx, db }, app.ctx.signals)
  onTestFinished(() => model.close())
  return model
}

const offerOf = ({ text }: { text: string }, id: number) =>
  JSON.parse(text).data.listings.find((offer: { id: number }) => offer.id === id)

describe('offers in memory', () => {
  it('two services show the offers of the database after concurrent writes to both, and own writes at once', async () => {
    const sellers = [await app.seller(), await app.seller(), await app.seller()]
    const [reader] = sellers as [Seller]
    const work = async (service: TestApp, seller: Seller) => {
      const client = at(service, seller)
      const { path, item } = ITEMS[random(ITEMS.length)]!
      const [id] = await list(client, random(4) ? item({ price: 1 + random(5) }) : gradedItem())
      const shown = async () => offerOf(await offersAt(service, reader, path), id!)
      const listing = `/v1/listings/${id}`
      for (let step = 0; step < 4; step++) {
        switch (random(6)) {
          case 0: {
            const price = (100 + random(500)) / 100
            await client.patch(listing, { payload: { price } })
            const offer = await shown()
            if (offer) expect(offer.price).toBe(price)
            break
          }
          case 1:
            await client.patch(listing, { payload: { status: 'hidden' } })
            expect(await shown()).toBeUndefined()
            await client.patch(listing, { payload: { status: 'active', quantity: 5 } })
            break
          case 2: {
            await client.patch(listing, { payload: { quantity: 9, status: 'active' } })
            const before = (await shown())?.quantity_available
            const held = await hold(service.operator, id!, 2, { ttl_seconds: 60 + random(600) })
            if (before !== undefined) expect((await shown()).quantity_available).toBe(before - 2)
            if (random(2)) await service.operator.delete(`/operator/v1/reservations/${held}`)
            break
          }
          case 3:
            await client.patch(listing, { payload: { description: `“${step}” \\ é\n` } })
            break
          case 4:
            await changeAccount(service, seller.accountId, {
              shop_name: `Shop ${random(1000)}`,
              api_access: 'enabled',
              reviews: random(100),
              rating: random(500) / 100,
            })
            break
          default:
            await client.patch(listing, { payload: { quantity: 0 } })
        }
      }
      if (random(3) === 0) await client.delete(listing)
    }
    for (let round = 0; round < 4; round++) {
      await Promise.all(
        sellers.flatMap((seller) => [work(app, seller), work(other, seller), work(app, seller)]),
      )
      // Reservations expire by the clock alone.
      await advance(app.operator, 120)
      await until('the clocks of all services have moved', () => {
        const times = [app, other, reference].map(({ ctx }) => ctx.now().getTime())
        return Math.max(...times) - Math.min(...times) < 60_000
      })
      for (const { path } of ITEMS) {
        // Each service learns of the other's writes shortly after they commit.
        for (const service of [app, other]) {
          await until('the service has the changes', async () => {
            const expected = await offersAt(reference, reader, path)
            const { text, tag } = await offersAt(service, reader, path)
            return text === expected.text && tag === expected.tag
          })
        }
      }
    }
  })

  it('a change by SQL, of a photo or of a suspended shop reaches the offers in memory', async () => {
    const seller = await app.seller()
    const reader = await app.seller()
    const { path, of, item } = ITEMS[0]
    const [id] = await list(seller, item(), item())
    await offersAt(app, reader, path)
    expect(app.ctx.offers.peek(of) ?? (await app.ctx.offers.read(of))).toBeDefined()
    const matches = () =>
      until('the service has the change', async () => {
        const expected = await offersAt(reference, reader, path)
        return (await offersAt(app, reader, path)).text === expected.text
      })
    await app.ctx.db`update listings set price_cents = 77, photos = '{a,b}' where id = ${id!}`
    await matches()
    expect(offerOf(await offersAt(app, reader, path), id!)).toMatchObject({ price: 0.77 })
    await app.ctx.begin(async (db) => {
      await db`set local session_replication_role = replica`
      await db`delete from listings where id = ${id!}`
    })
    await matches()
    await app.ctx.db`update accounts set api_access = 'suspended' where id = ${seller.accountId}`
    await matches()
    await app.ctx.db`update accounts set api_access = 'enabled' where id = ${seller.accountId}`
    await matches()
    await app.ctx.db`update accounts set on_holiday = true where id = ${seller.accountId}`
    await matches()
  })

  it('a transaction that commits after later ones have been read is not missed', async () => {
    const seller = await app.seller()
    const { path, item } = ITEMS[0]
    const [early, late] = await list(seller, item(), item())
    await offersAt(app, seller, path)
    await app.ctx.begin(async (db) => {
      await db`update listings set price_cents = 1111 where id = ${early!}`
      await seller.patch(`/v1/listings/${late}`, { payload: { price: 22.22 } })
      const shown = await offersAt(app, seller, path)
      expect([offerOf(shown, early!).price, offerOf(shown, late!).price]).toEqual([4.5, 22.22])
    })
    await until('the service has the early change', async () => {
      return offerOf(await offersAt(app, seller, path), early!).price === 11.11
    })
  })

  it('offers are served from memory after a restored dump brought changes of another server', async () => {
    const { offers } = app.ctx
    const { of, item } = ITEMS[0]
    const seller = await app.seller()
    await app.ctx.db`
      insert into offer_changes (xid, listing_ids) values ('9000000000000000000', null)
    `
    await offers.prune()
    await offers.read(of)
    // The next read follows the feed.
    await list(seller, item())
    expect(await offers.read(of)).toBeDefined()
  })

  it('a change that left the feed while the machine of a process was paused is not missed', async () => {
    const seller = await app.seller()
    const { of, item } = ITEMS[0]
    const [id] = await list(seller, item())
    let pauseMs = 0
    const model = modelOf((read) => ({
      ...read,
      position: { ...read.position, readAt: read.position.readAt + pauseMs },
    }))
    const shown = async () => {
      const offers = offersFrom(model, (await model.read(of))!, app.ctx.now())
      return offers.find((offer) => offer.id === id)!.priceCents
    }
    expect(await shown()).toBe(450)
    await app.ctx.db`update listings set price_cents = 3333 where id = ${id!}`
    await app.ctx.db`delete from offer_changes`
    pauseMs = 61_000
    await until('the model has the change', async () => (await shown()) === 3333)
  })

  it('changes on a server made from a dump stay in the feed, whatever the ids of its predecessor’s transactions', async () => {
    const seller = await app.seller()
    const [id] = await list(seller, cardItem())
    let isPredecessor = true
    const model = modelOf((read) =>
      isPredecessor ? { xmin: '9000000000000000000', server: 'another' } : read,
    )
    await model.prune()
    isPredecessor = false
    await seller.patch(`/v1/listings/${id}`, { payload: { price: 5.5 } })
    const later = performance.now() + 180_000
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => later)
    await model.prune().finally(() => clock.mockRestore())
    const feed = await app.ctx
      .db`select from offer_changes where listing_ids @> array[${id!}::bigint]`
    expect(feed).not.toEqual([])
  })

  it('a card that an import changes while its offers are read gets another tag', async () => {
    const seller = await app.seller()
    const card = CARDS.find(({ id }) => id === 'swsh9-2')!
    const path = `/v1/cards/${card.id}`
    const { tag } = await offersAt(reference, seller, path)
    let reading: ReturnType<typeof offersAt> | undefined
    await whileLocked(
      app.ctx,
      (db) => db`lock table offer_changes`,
      async () => {
        reading = offersAt(app, seller, path)
        await untilLockWaiters(app.ctx.db)
        await importRecords(app.operator, [{ ...card, name: 'Renamed' }])
      },
    )
    expect((await reading!).tag).toBe(tag)
    const renamed = await offersAt(app, seller, path)
    expect(JSON.parse(renamed.text).data.name).toBe('Renamed')
    expect(renamed.tag).not.toBe(tag)
    await importRecords(app.operator, [card])
    expect((await offersAt(app, seller, path)).tag).toBe(tag)
  })

  it('a catalog that an import has replaced is not kept in memory by offers', async () => {
    const seller = await app.seller()
    const [card] = CARDS
    const read = () => offersAt(app, seller, `/v1/cards/${card!.id}`)
    await read()
    const former = new WeakRef(app.ctx.catalog.current)
    await importRecords(app.operator, [{ ...card, name: 'Renamed' }])
    await importRecords(app.operator, [card!])
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    await until('the former catalog is collected', () => {
      collect()
      return former.deref() === undefined
    })
  })

  it('a request waits for the offers that another one reads only as long as it has time for the database', async () => {
    const budget = newBudget(50)
    const { offers } = app.ctx
    const unread = (cardId: string) => offers.read({ cardId, productSlug: null })
    let others: Promise<unknown> | undefined
    await app.ctx.begin(async (tx) => {
      await tx`lock table offer_changes`
      // The fast lane's reads have no budget.
      others = unread('one')
      expect(await withBudget(budget, () => unread('another'))).toBeUndefined()
    })
    await others
    // A timer may be a millisecond early.
    expect(budget.leftMs).toBeLessThanOrEqual(1)
  })

  it('the memory of offers is bounded: items that were not read lately are dropped', async () => {
    const seller = await app.seller()
    const cards = ['sv3-125', 'swsh9-1', 'swsh9-2', 'sv3-1']
    for (const card of cards) {
      await list(seller, ...Array.from({ length: 20 }, () => cardItem({ card })))
    }
    const all = cards.map((cardId) => ({ cardId, productSlug: null }))
    const model = openOfferModel(app.ctx, app.ctx.signals, { maxBytes: 6_000 })
    try {
      for (const of of [...all, ...all]) {
        await model.read(of)
        expect(model.bytes).toBeLessThanOrEqual(6_000)
      }
      expect(model.bytes).toBeGreaterThan(1_000)
    } finally {
      model.close()
    }
  })

  it('an item with more than 500 offers is read from the database until it has fewer', async () => {
    const seller = await app.seller()
    const card = 'swsh9-de-1'
    const ids: number[] = []
    for (let i = 0; i < 6; i++) {
      ids.push(...(await list(seller, ...Array.from({ length: 90 }, () => cardItem({ card })))))
    }
    const path = `/v1/cards/${card}`
    expect(JSON.parse((await offersAt(app, seller, path)).text).data.listings).toHaveLength(540)
    const read = (cardId = card) => app.ctx.offers.read({ cardId, productSlug: null })
    expect(await read()).toBeUndefined()
    for (const id of ids.slice(500)) await seller.delete(`/v1/listings/${id}`)
    // The read of another item refreshes the model.
    await read('sv3-1')
    expect((await read())?.numbers).toHaveLength(500 * OFFER.size)
  })

  it('the offers of an item are read from the database once, also while the statistics expect few of them', async () => {
    const seller = await app.seller()
    const of = { cardId: 'swsh9-de-9', productSlug: null }
    for (let i = 0; i < 2; i++) {
      await list(seller, ...Array.from({ length: 100 }, () => cardItem({ card: of.cardId })))
    }
    await app.ctx.db`
      insert into reservations (listing_id, cart_id, quantity, created_at, expires_at)
      select id, 'buyer', 1, ${app.ctx.now()}, ${new Date(app.ctx.now().getTime() + 60_000)}
      from listings
      where card_id = ${of.cardId}
    `
    await inTransaction(app.ctx, async (tx) => {
      const read = async () => {
        const { batches } = await offersOf(tx, of)
        const offers = (await Array.fromAsync(batches)).flat()
        expect(offers.map(({ reserved }) => reserved)).toEqual(Array(200).fill(1))
      }
      expect(await rowsRead(tx.db, 'listings', read)).toBeLessThan(1_000)
      expect(await rowsRead(tx.db, 'reservations', read)).toBeLessThan(1_000)
    })
  })

  it('offers that are read from the database have stock and reservations of the same moment', async () => {
    const seller = await openShop(app)
    const { of, item } = ITEMS[1]
    const [id] = await list(seller, item({ quantity: 10 }))
    await hold(app.operator, id!, 5, { cart_id: 'buyer' })
    const { batches } = await offersOf(app.ctx, of)
    await buy(app, [[id!, 5]], { cart_id: 'buyer' })
    const offers = (await Array.fromAsync(batches)).flat()
    expect(offers.find((offer) => offer.id === id)).toMatchObject({ quantity: 5, reserved: 0 })
  })
})

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { inTransaction } from '../database/in-transaction.ts'
import { WEBHOOK_EVENTS, type WebhookEvent } from '../enums.ts'
import { recordEvents } from '../events/record.ts'
import { checkOut } from '../orders/checkout.ts'
import { cancelOrder } from '../orders/transitions.ts'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { fakeNetwork } from '../test/fakes/network.ts'
import { deliveriesIn, endpointOf, sendSampleEvent, subscribe } from '../test/fakes/receiver.ts'
import { advance, cardItem, list, NO_LIMITS, productItem } from '../test/fixtures/listings.ts'
import {
  ADDRESS,
  act,
  BUYER,
  buy,
  cancel,
  LABEL,
  LETTER,
  sendCart,
  ship,
  shipsBy,
} from '../test/fixtures/orders.ts'
import { timestamp } from '../time/timestamp.ts'

let app: TestApp
let seller: Seller
beforeAll(async () => {
  const internet = fakeNetwork()
  internet.names.set('dead.example', ['10.0.0.1'])
  app = await startTestApp({ template: 'fixture', network: internet, settings: NO_LIMITS })
})
beforeEach(async () => {
  seller = await shop()
})

const HOOK = 'https://shop.example/hooks'
const shop = () => app.seller({ account: shipsBy(LETTER, LABEL) })
const endpoint = async (events?: readonly string[], by = seller) =>
  (await subscribe(by, HOOK, events)).id

/** The deliveries of an endpoint, oldest first. */
const sentTo = async (id: number) =>
  (await deliveriesIn(app, `endpoint_id=${id}`)).toReversed() as {
    id: number
    event: string
    status: string
    created_at: string
    payload: { delivery_id: number; created_at: string; data: Record<string, unknown> }
  }[]
const eventsTo = async (id: number) => (await sentTo(id)).map(({ event }) => event)
const dataTo = async (id: number) =>
  (await sentTo(id)).map(({ event, payload }) => [event, payload.data])

/** The numbers of all events and deliveries. */
const written = async () => {
  const [row] = await app.ctx.db`
    select
      (select count(*) from events)::int as events,
      (select count(*) from deliveries)::int as deliveries
  `
  return row
}

describe('a checkout', () => {
  it('a checkout sends order.created and listing.sold for each order row to each endpoint', async () => {
    const endpoints = [await endpoint(), await endpoint(), await endpoint()]
    const [card, box] = await list(seller, cardItem(), productItem())
    const { orderIds, sliceKey } = await buy(app, [
      [card!, 2],
      [box!, 2],
    ])
    const common = {
      slice_key: sliceKey,
      currency: 'EUR',
      buyer_name: BUYER.name,
      delivery_address: ADDRESS,
    }
    for (const id of endpoints) {
      expect(await dataTo(id)).toEqual([
        [
          'order.created',
          {
            ...common,
            order_id: orderIds[0],
            listing_id: card,
            quantity: 2,
            price: 4.5,
            item_name: 'Charizard ex',
          },
        ],
        [
          'listing.sold',
          { listing_id: card, order_id: orderIds[0], quantity_sold: 2, remaining_quantity: 1 },
        ],
        [
          'order.created',
          {
            ...common,
            order_id: orderIds[1],
            listing_id: box,
            quantity: 2,
            price: 129.99,
            item_name: 'Obsidian Flames Booster Box',
          },
        ],
        [
          'listing.sold',
          { listing_id: box, order_id: orderIds[1], quantity_sold: 2, remaining_quantity: 0 },
        ],
      ])
    }
  })

  it('deliveries of the same event have different ids', async () => {
    const endpoints = [await endpoint(), await endpoint(), await endpoint()]
    const [card] = await list(seller, cardItem())
    await buy(app, [[card!, 1]])
    const all = (await Promise.all(endpoints.map(sentTo))).flat()
    expect(all).toHaveLength(6)
    expect(new Set(all.map(({ id }) => id)).size).toBe(6)
    for (const { id, payload } of all) expect(payload.delivery_id).toBe(id)
  })

  it('the events of a checkout have the time of its order, even when they are read later', async () => {
    const id = await endpoint()
    const [card] = await list(seller, cardItem())
    await advance(app.operator, 3_600)
    const { orderIds } = await buy(app, [[card!, 1]])
    const { created_at } = (await seller.get(`/v1/orders/${orderIds[0]}`)).body.data.orders[0]
    const sent = await sentTo(id)
    expect(sent).toHaveLength(2)
    for (const delivery of sent) {
      expect(delivery.created_at).toBe(created_at)
      expect(delivery.payload.created_at).toBe(created_at)
    }
    await advance(app.operator, 86_400)
    expect(await sentTo(id)).toEqual(sent)
  })

  it('an endpoint gets only the events that it is subscribed to', async () => {
    const endpoints = await Promise.all(
      [['order.created'], ['listing.sold'], ['order.cancelled', 'order.label_ready']].map(
        (events) => endpoint(events),
      ),
    )
    const [card] = await list(seller, cardItem())
    await buy(app, [[card!, 1]])
    expect(await Promise.all(endpoints.map(eventsTo))).toEqual([
      ['order.created'],
      ['listing.sold'],
      [],
    ])
  })

  it('each seller gets the events of their own order rows only', async () => {
    const [other, bystander] = [await shop(), await shop()]
    const mine = await endpoint()
    const theirs = await endpoint(WEBHOOK_EVENTS, other)
    const elsewhere = await endpoint(WEBHOOK_EVENTS, bystander)
    const [card] = await list(seller, cardItem())
    const [box, tin] = await list(other, productItem(), productItem())
    const { slices } = await buy(app, [
      [card!, 1],
      [box!, 1],
      [tin!, 1],
    ])
    const sliceOf = (by: typeof seller) =>
      slices.find(({ account_id }) => account_id === by.accountId)!
    for (const [id, by, rows] of [
      [mine, seller, 1],
      [theirs, other, 2],
    ] as const) {
      const { order_ids, slice_key } = sliceOf(by)
      const sent = await dataTo(id)
      expect(sent).toHaveLength(rows * 2)
      expect(order_ids).toHaveLength(rows)
      expect(sent.map(([, data]) => (data as { order_id: number }).order_id)).toEqual(
        order_ids.flatMap((order) => [order, order]),
      )
      for (const [event, data] of sent) {
        if (event === 'order.created') expect(data).toMatchObject({ slice_key })
      }
    }
    expect(await eventsTo(elsewhere)).toEqual([])
  })

  it('endpoints deleted before an event or registered after it do not get it', async () => {
    const gone = await endpoint()
    await seller.delete(`/v1/webhooks/${gone}`)
    const [card] = await list(seller, cardItem())
    await buy(app, [[card!, 1]])
    const late = await endpoint()
    await app.runDeliveries()
    expect([await eventsTo(gone), await eventsTo(late)]).toEqual([[], []])
    await buy(app, [[card!, 1]])
    expect([await eventsTo(gone), await eventsTo(late)]).toEqual([
      [],
      ['order.created', 'listing.sold'],
    ])
  })

  it('deliveries to a disabled endpoint are skipped, and other endpoints get theirs', async () => {
    const dead = (await subscribe(seller, 'https://dead.example/')).id
    for (let failure = 0; failure < 10; failure++) await sendSampleEvent(app, seller.accountId)
    await app.runDeliveries()
    expect(await endpointOf(seller, dead)).toMatchObject({ active: false })
    const alive = await endpoint()
    const [card] = await list(seller, cardItem())
    await buy(app, [[card!, 1]])
    expect((await sentTo(dead)).slice(10)).toMatchObject([
      { event: 'order.created', status: 'skipped', attempts: [], next_attempt_at: null },
      { event: 'listing.sold', status: 'skipped', attempts: [], next_attempt_at: null },
    ])
    expect(await sentTo(alive)).toMatchObject([{ status: 'pending' }, { status: 'pending' }])
  })

  it('events are recorded even if no endpoint is subscribed', async () => {
    const [card] = await list(seller, cardItem())
    const before = await written()
    await buy(app, [[card!, 1]])
    expect(await written()).toEqual({
      events: before!.events + 2,
      deliveries: before!.deliveries,
    })
  })
})

describe('a checkout that fails', () => {
  let card: number
  beforeEach(async () => {
    await endpoint()
    card = (await list(seller, cardItem()))[0]!
  })

  /** Runs `attempt` and checks that it records no event and no delivery. */
  const leavesNothing = async (attempt: () => Promise<unknown>) => {
    const before = await written()
    const result = await attempt()
    expect(await written()).toEqual(before)
    return result
  }

  it('a checkout refused for too little stock records no event and no delivery', async () => {
    const { status } = (await leavesNothing(() => sendCart(app, [[card, 4]]))) as never
    expect(status).toBe(409)
  })

  it('a checkout refused because of one seller’s line records no event for the other seller', async () => {
    const other = await shop()
    await endpoint(WEBHOOK_EVENTS, other)
    const [theirs] = await list(other, cardItem())
    const lines: [number, number][] = [
      [card, 1],
      [theirs!, 4],
    ]
    const { status } = (await leavesNothing(() => sendCart(app, lines))) as never
    expect(status).toBe(409)
  })

  it('a checkout refused for an unknown shipping option records no event', async () => {
    const shipping = [{ account_id: seller.accountId, option: 'drone' }]
    const { status } = (await leavesNothing(() =>
      sendCart(app, [[card, 1]], { shipping }),
    )) as never
    expect(status).toBe(422)
  })

  it('a checkout whose transaction is rolled back records no event and sells nothing', async () => {
    const failed = leavesNothing(() =>
      inTransaction(app.ctx, async (tx) => {
        await checkOut(tx, {
          buyer: BUYER,
          address: null,
          lines: [{ listingId: card, quantity: 1 }],
          cartId: undefined,
          shipping: [],
        })
        const [inside] = await tx.db`select count(*)::int as events from events`
        const outside = await written()
        expect(inside!.events).toBe(outside!.events + 2)
        throw new Error('the connection broke')
      }).catch((error) => error.message),
    )
    expect(await failed).toBe('the connection broke')
    expect((await seller.get('/v1/listings')).body.data[0].quantity).toBe(3)
  })

  it('a checkout whose deliveries the database refuses fails with 500 and sells nothing', async () => {
    const { db } = app.ctx
    await db`alter table deliveries add constraint nothing_more check (event_id < 0) not valid`
    try {
      const { status } = (await leavesNothing(() => sendCart(app, [[card, 1]]))) as never
      expect(status).toBe(500)
    } finally {
      await db`alter table deliveries drop constraint nothing_more`
    }
    expect((await seller.get('/v1/orders')).body.data).toEqual([])
    expect((await seller.get('/v1/listings')).body.data[0].quantity).toBe(3)
  })
})

describe('an event', () => {
  it('the database refuses a second delivery of an event to the same endpoint', async () => {
    const id = await endpoint()
    await sendSampleEvent(app, seller.accountId)
    await expect(
      app.ctx.db`
        insert into deliveries (event_id, endpoint_id, status, created_at)
        select event_id, endpoint_id, 'failed', created_at
        from deliveries
        where endpoint_id = ${id}
      `,
    ).rejects.toThrow(/deliveries_from_0_once/)
  })

  it('events of one transaction keep their order', async () => {
    const id = await endpoint()
    const { accountId } = seller
    const data = (number: number) => ({ order_id: number, cancelled_by: 'buyer' })
    const many = Array.from({ length: 50 }, (_, number) => ({
      accountId,
      event: 'order.cancelled' as WebhookEvent,
      data: data(number),
    }))
    expect(await recordEvents(app.ctx, many)).toBe(50)
    expect(await dataTo(id)).toEqual(many.map(({ event, data }) => [event, data]))
    expect(await recordEvents(app.ctx, [])).toBe(0)
  })

  it('quotes, line separators and emoji in a buyer’s name reach the payload unchanged', async () => {
    const id = await endpoint(['order.created'])
    const [card] = await list(seller, cardItem())
    const name = '“Misty” \\ \'";--\u2028 ポケ 🂡'
    await buy(app, [[card!, 1]], { buyer: { ...BUYER, name }, address: null })
    expect(await dataTo(id)).toMatchObject([
      ['order.created', { buyer_name: name, delivery_address: null }],
    ])
  })
})

describe('order.cancelled', () => {
  const sold = async () => {
    const id = await endpoint(['order.cancelled'])
    const [card] = await list(seller, cardItem())
    const { orderIds } = await buy(app, [[card!, 1]])
    return { id, order: orderIds[0]! }
  }

  it.each(['buyer', 'seller', 'admin', 'system'])(
    'order.cancelled names the %s as the party that cancelled',
    async (by) => {
      const { id, order } = await sold()
      await cancel(app, order, { cancelled_by: by })
      expect(await dataTo(id)).toEqual([['order.cancelled', { order_id: order, cancelled_by: by }]])
    },
  )

  it('a refused cancellation records no order.cancelled', async () => {
    const { id, order } = await sold()
    await cancel(app, order)
    expect((await cancel(app, order)).status).toBe(409)
    expect(await eventsTo(id)).toHaveLength(1)
  })

  it('two concurrent cancellations of an order row record one order.cancelled', async () => {
    const id = await endpoint(['order.cancelled'])
    const [card, box] = await list(seller, cardItem(), productItem())
    const { orderIds } = await buy(app, [
      [card!, 1],
      [box!, 1],
    ])
    await Promise.all([cancel(app, orderIds[1]!), cancel(app, orderIds[1]!)])
    expect(await dataTo(id)).toEqual([
      ['order.cancelled', { order_id: orderIds[1], cancelled_by: 'buyer' }],
    ])
  })

  it('only a dispute resolved for the buyer records order.cancelled', async () => {
    const { id, order } = await sold()
    const other = await sold()
    for (const one of [order, other.order]) {
      await ship(seller, one)
      await act(app, one, 'dispute')
    }
    expect(await eventsTo(id)).toEqual([])
    await act(app, other.order, 'resolve', { in_favour_of: 'seller' })
    expect(await eventsTo(id)).toEqual([])
    await act(app, order, 'resolve', { in_favour_of: 'buyer' })
    expect(await dataTo(id)).toEqual([
      ['order.cancelled', { order_id: order, cancelled_by: 'admin' }],
    ])
  })

  it('order.cancelled has exactly the time of the cancellation', async () => {
    const { id, order } = await sold()
    await advance(app.operator, 3_600)
    // A clock that advances by a second with each reading.
    let seconds = 0
    const now = () => new Date(app.ctx.now().getTime() + ++seconds * 1000)
    const wanted = { cancelledBy: 'buyer', restock: true } as const
    const { cancelledAt, createdAt } = await cancelOrder({ ...app.ctx, now }, order, wanted)
    const [sent] = await sentTo(id)
    expect(sent!.created_at).toBe(timestamp(cancelledAt!))
    expect(cancelledAt!.getTime() - createdAt.getTime()).toBeGreaterThan(3_600_000)
  })
})

describe('order.label_ready', () => {
  const carrier = (payload: object = {}) =>
    app.operator.put('/operator/v1/sandbox/carrier', { payload })
  beforeEach(() => carrier())

  const sold = async () => {
    const id = await endpoint(['order.label_ready'])
    const [card] = await list(seller, cardItem())
    const shipping = [{ account_id: seller.accountId, option: 'label' }]
    const { orderIds, sliceKey } = await buy(app, [[card!, 1]], { shipping })
    return { id, order: orderIds[0]!, sliceKey }
  }
  const label = (order: number) => seller.post(`/v1/orders/${order}/label`)
  const report = (sliceKey: string, tracking_code: string) =>
    app.operator.post(`/operator/v1/slices/${sliceKey}/tracking`, { payload: { tracking_code } })

  it('order.label_ready is sent for the label, and again for a tracking code that arrives later', async () => {
    await carrier({ tracking: 'late' })
    const { id, order, sliceKey } = await sold()
    const { body } = await label(order)
    const { label_url } = body.data
    const first = { order_id: order, has_label: true, label_url, tracking_code: null }
    expect(await dataTo(id)).toEqual([['order.label_ready', first]])
    await advance(app.operator, 60)
    await report(sliceKey, '3SCODE')
    expect(await dataTo(id)).toEqual([
      ['order.label_ready', first],
      [
        'order.label_ready',
        // The link is signed again, valid for five days from now.
        { ...first, label_url: expect.stringContaining('/labels/'), tracking_code: '3SCODE' },
      ],
    ])
    const [early, late] = await sentTo(id)
    expect(late!.id).toBeGreaterThan(early!.id)
    expect(Date.parse(late!.created_at)).toBeGreaterThan(Date.parse(early!.created_at))
  })

  it('requesting a label again or reporting the same code records no order.label_ready', async () => {
    await carrier({ tracking: 'late' })
    const { id, order, sliceKey } = await sold()
    await label(order)
    await label(order)
    await Promise.all([label(order), label(order)])
    expect(await eventsTo(id)).toHaveLength(1)
    await report(sliceKey, '3SCODE')
    await report(sliceKey, '3SCODE')
    await label(order)
    expect(await eventsTo(id)).toHaveLength(2)
  })

  it('order.label_ready is not sent when the carrier fails or the seller ships without a label', async () => {
    await carrier({ label: 'error' })
    const { id, order } = await sold()
    expect((await label(order)).status).toBe(502)
    const [card] = await list(seller, cardItem())
    const { orderIds } = await buy(app, [[card!, 1]])
    expect((await label(orderIds[0]!)).body.data.status).toBe('self_ship')
    expect(await eventsTo(id)).toEqual([])
  })
})

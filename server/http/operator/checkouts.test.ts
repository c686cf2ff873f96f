import { beforeAll, describe, expect, it } from 'vitest'
import { checkOut } from '../../orders/checkout.ts'
import { type Seller, startTestApp, type TestApp } from '../../test/app.ts'
import {
  cardItem,
  changeAccount,
  list,
  NO_LIMITS,
  productItem,
} from '../../test/fixtures/listings.ts'
import {
  ADDRESS,
  BUYER,
  buy,
  eventsOf,
  LABEL,
  LETTER,
  type Line,
  PARCEL,
  rowOf,
  SHIPS,
  sendCart,
  shipsBy,
  sliceOf,
} from '../../test/fixtures/orders.ts'

const CHECKOUTS = '/operator/v1/checkouts'

let app: TestApp
let firstSeller: Seller
let secondSeller: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  firstSeller = await app.seller({ account: shipsBy(PARCEL) })
  secondSeller = await app.seller({ account: shipsBy(LABEL) })
})

const listing = async (seller: Seller, more: object = {}) =>
  (await list(seller, cardItem(more)))[0]!

describe('POST /operator/v1/checkouts', () => {
  it('POST /operator/v1/checkouts creates a slice for each seller and an order row for each listing', async () => {
    const [card, box] = await list(firstSeller, cardItem(), productItem())
    const theirs = await listing(secondSeller)
    const response = await sendCart(app, [
      [theirs, 1],
      [box!, 1],
      [card!, 2],
    ])
    expect(response.status).toBe(201)
    expect(response.body).toEqual({
      data: {
        id: expect.any(Number),
        slices: [
          {
            slice_key: expect.any(String),
            account_id: firstSeller.accountId,
            order_ids: [expect.any(Number), expect.any(Number)],
            shipping_price: 6.95,
          },
          {
            slice_key: expect.any(String),
            account_id: secondSeller.accountId,
            order_ids: [expect.any(Number)],
            shipping_price: 4.95,
          },
        ],
      },
    })
    const [ours, other] = response.body.data.slices
    const slice = await sliceOf(firstSeller, ours.order_ids[0])
    expect(slice.slice_key).toBe(ours.slice_key)
    const { id: checkout_id } = response.body.data
    expect(slice.orders).toMatchObject([
      { id: ours.order_ids[0], listing_id: card, quantity: 2, status: 'pending', checkout_id },
      { id: ours.order_ids[1], listing_id: box, quantity: 1, status: 'pending', checkout_id },
    ])
    const theirSlice = await sliceOf(secondSeller, other.order_ids[0])
    expect(theirSlice.slice_key).toBe(other.slice_key)
    expect(theirSlice.orders).toMatchObject([{ listing_id: theirs, quantity: 1 }])
  })

  it('every slice gets its own key with 128 random bits', async () => {
    const [ours, theirs] = [
      await listing(firstSeller, { quantity: 20 }),
      await listing(secondSeller),
    ]
    const keys = new Set<string>()
    for (let i = 0; i < 20; i++) {
      const lines: Line[] = i === 0 ? [[theirs, 1]] : []
      const { slices } = await buy(app, [[ours, 1], ...lines])
      for (const { slice_key } of slices) keys.add(slice_key)
    }
    expect(keys.size).toBe(21)
    // 128 bits as base64url.
    for (const key of keys) expect(key).toMatch(/^slc_[A-Za-z0-9_-]{22}$/)
  })

  it('a checkout merges the lines of one listing into one order row', async () => {
    const id = await listing(firstSeller, { quantity: 5 })
    const other = await listing(firstSeller)
    const { orderIds } = await buy(app, [
      [id, 1],
      [other, 1],
      [id, 3],
    ])
    expect(orderIds).toHaveLength(2)
    expect(await rowOf(firstSeller, orderIds[0]!)).toMatchObject({ listing_id: id, quantity: 4 })
    const refused = await sendCart(app, [
      [other, 1],
      [other, 2],
    ])
    expect(refused.status).toBe(409)
  })

  it('a checkout does not merge different listings of one card', async () => {
    const ids = await list(firstSeller, cardItem(), cardItem(), cardItem({ condition: 'LP' }))
    const { orderIds } = await buy(
      app,
      ids.map((id) => [id, 1]),
    )
    const { orders } = await sliceOf(firstSeller, orderIds[0]!)
    expect(orders.map(({ listing_id }: { listing_id: number }) => listing_id)).toEqual(ids)
  })

  it('a new order row is pending and has only its time of sale, by the service’s clock', async () => {
    const before = Math.floor(app.ctx.now().getTime() / 1000) * 1000
    const { orderIds } = await buy(app, [[await listing(firstSeller), 1]])
    const row = await rowOf(firstSeller, orderIds[0]!)
    expect(row).toMatchObject({
      status: 'pending',
      shipped_at: null,
      received_at: null,
      cancelled_at: null,
      disputed_at: null,
      tracking: { code: null, url: null, status: null, updated_at: null },
      financial: { refunded_amount: 0 },
    })
    expect(Date.parse(row.created_at)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(row.created_at)).toBeLessThanOrEqual(app.ctx.now().getTime())
  })

  it('a checkout sells the listings of a shop without verified payout or API access', async () => {
    const shop = await app.seller({ account: shipsBy(LETTER) })
    const id = await listing(shop)
    await changeAccount(app, shop.accountId, { payout_verified: false, api_access: 'disabled' })
    expect((await sendCart(app, [[id, 1]])).status).toBe(201)
  })

  it('a checkout may have a thousand lines, not 1001', async () => {
    const id = await listing(firstSeller, { quantity: 999 })
    const lines = Array.from({ length: 999 }, (): Line => [id, 1])
    const other = await listing(firstSeller)
    const sold = await buy(app, [...lines, [other, 1]])
    expect(await rowOf(firstSeller, sold.orderIds[0]!)).toMatchObject({ quantity: 999 })
    const { status, body } = await sendCart(app, [...lines, [other, 1], [other, 1]])
    expect([status, Object.keys(body.error.fields)]).toEqual([422, ['lines']])
  })
})

describe('shipping options of a slice', () => {
  // Sorted neither by price nor by name.
  const expensive = { ...PARCEL, code: 'courier', name: 'Courier', priceCents: 2_000 }
  const options = [{ ...PARCEL, enabled: false }, LABEL, LETTER, expensive]

  const shop = () => app.seller({ account: shipsBy(...options) })

  it('a slice ships by the seller’s first enabled option by default', async () => {
    const seller = await shop()
    const { slices, orderIds } = await buy(app, [[await listing(seller), 1]])
    expect(slices).toMatchObject([{ shipping_price: 4.95 }])
    const slice = await sliceOf(seller, orderIds[0]!)
    expect(slice.shipping).toMatchObject({ method: 'Platform label', paid_to: 'platform' })
    expect(slice.orders[0].tracking.fulfilment).toBe('platform')
  })

  it('a buyer can choose a shipping option for each seller', async () => {
    const [first, second] = [await shop(), await shop()]
    const { slices } = await buy(
      app,
      [
        [await listing(first), 1],
        [await listing(second), 1],
      ],
      { shipping: [{ account_id: second.accountId, option: LETTER.code }] },
    )
    expect(slices.map(({ shipping_price }) => shipping_price)).toEqual([4.95, 1.2])
    const slice = await sliceOf(second, slices[1]!.order_ids[0]!)
    expect(slice.shipping).toMatchObject({
      method: LETTER.name,
      price: 1.2,
      paid_to: 'seller',
      seller_share: 1.2,
    })
    expect(slice.totals.shipping).toBe(1.2)
    expect(slice.orders[0].tracking.fulfilment).toBe('self_ship')
  })

  it.each([
    ['does not exist', 'pigeon'],
    ['is disabled', 'parcel'],
    ['is spelled in another case', 'Letter'],
  ])('a chosen shipping option that %s gets a 422, and nothing is sold', async (_, option) => {
    const seller = await shop()
    const id = await listing(seller)
    const { status, body } = await sendCart(app, [[id, 1]], {
      shipping: [
        { account_id: firstSeller.accountId, option: 'x' },
        { account_id: seller.accountId, option },
      ],
    })
    expect([status, body.error.type]).toEqual([422, 'validation_error'])
    expect(Object.keys(body.error.fields)).toEqual(['shipping.1.option'])
    expect((await seller.get('/v1/orders')).body.meta.total).toBe(0)
    expect(await eventsOf(app, seller.accountId)).toEqual([])
  })

  it('a shipping choice for an account that sells nothing in the checkout is ignored', async () => {
    const seller = await shop()
    const { slices } = await buy(app, [[await listing(seller), 1]], {
      shipping: [
        { account_id: firstSeller.accountId, option: 'no such' },
        { account_id: 999_999, option: 'parcel' },
      ],
    })
    expect(slices).toMatchObject([{ account_id: seller.accountId, shipping_price: 4.95 }])
  })

  it.each([
    ['has no shipping option', []],
    ['has disabled every shipping option', [{ ...PARCEL, enabled: false }]],
  ])(
    'a checkout that includes a seller who %s gets a 409 and sells nothing',
    async (_, options) => {
      const seller = await app.seller({ account: shipsBy(...options) })
      const [mine, theirs] = [await listing(firstSeller), await listing(seller)]
      const eventsBefore = await eventsOf(app, firstSeller.accountId)
      const { status, body } = await sendCart(
        app,
        [
          [mine, 1],
          [theirs, 1],
        ],
        { shipping: [{ account_id: seller.accountId, option: 'parcel' }] },
      )
      expect([status, body.error.type]).toEqual([409, 'conflict'])
      expect(body.error.message).toContain(`Seller ${seller.accountId}`)
      expect((await seller.get('/v1/orders')).body.meta.total).toBe(0)
      expect(await eventsOf(app, firstSeller.accountId)).toEqual(eventsBefore)
    },
  )

  it('a shipping option may cost nothing', async () => {
    const seller = await app.seller({ account: shipsBy({ ...LETTER, priceCents: 0 }) })
    const { slices } = await buy(app, [[await listing(seller), 1]])
    expect(slices).toMatchObject([{ shipping_price: 0 }])
  })
})

describe('events of a sale', () => {
  it('a sale records order.created and listing.sold for each row, with the specified keys', async () => {
    const [seller, other] = [
      await app.seller({ account: shipsBy(PARCEL) }),
      await app.seller({ account: shipsBy(LABEL) }),
    ]
    const [card, box] = await list(seller, cardItem({ quantity: 3 }), productItem({ quantity: 1 }))
    const theirs = await listing(other, { quantity: 2, price: 0.07 })
    const { slices } = await buy(app, [
      [theirs, 2],
      [card!, 2],
      [box!, 1],
    ])
    const [ours, others] = slices
    const buyer = {
      currency: 'EUR',
      buyer_name: BUYER.name,
      delivery_address: ADDRESS,
    }
    const events = await eventsOf(app, seller.accountId)
    expect(events).toEqual([
      {
        event: 'order.created',
        data: {
          order_id: ours!.order_ids[0],
          slice_key: ours!.slice_key,
          listing_id: card,
          quantity: 2,
          price: 4.5,
          item_name: 'Charizard ex',
          ...buyer,
        },
      },
      {
        event: 'listing.sold',
        data: {
          listing_id: card,
          order_id: ours!.order_ids[0],
          quantity_sold: 2,
          remaining_quantity: 1,
        },
      },
      {
        event: 'order.created',
        data: {
          order_id: ours!.order_ids[1],
          slice_key: ours!.slice_key,
          listing_id: box,
          quantity: 1,
          price: 129.99,
          item_name: 'Obsidian Flames Booster Box',
          ...buyer,
        },
      },
      {
        event: 'listing.sold',
        data: {
          listing_id: box,
          order_id: ours!.order_ids[1],
          quantity_sold: 1,
          remaining_quantity: 0,
        },
      },
    ])
    expect(await eventsOf(app, other.accountId)).toMatchObject([
      { event: 'order.created', data: { order_id: others!.order_ids[0], price: 0.07 } },
      { event: 'listing.sold', data: { quantity_sold: 2, remaining_quantity: 0 } },
    ])
    expect(Object.keys(events[0]!.data)).toEqual([
      ...['order_id', 'slice_key', 'listing_id', 'quantity', 'price', 'currency'],
      ...['item_name', 'buyer_name', 'delivery_address'],
    ])
    expect(Object.keys(events[0]!.data.delivery_address as object)).toEqual(Object.keys(ADDRESS))
    expect(Object.keys(events[1]!.data)).toEqual([
      ...['listing_id', 'order_id', 'quantity_sold', 'remaining_quantity'],
    ])
  })

  it.each([
    ['null', { address: null }],
    ['left out', { address: undefined }],
  ])('order.created has the delivery_address null when the address is %s', async (_, more) => {
    const seller = await app.seller({ account: shipsBy(PARCEL) })
    await buy(app, [[await listing(seller), 1]], more)
    const [created] = await eventsOf(app, seller.accountId)
    expect(created!.data).toMatchObject({ delivery_address: null })
  })

  it('remaining_quantity in listing.sold includes reserved units', async () => {
    const seller = await app.seller({ account: shipsBy(PARCEL) })
    const id = await listing(seller, { quantity: 5 })
    await app.operator.post('/operator/v1/reservations', {
      payload: { listing_id: id, quantity: 3, cart_id: 'another' },
    })
    await buy(app, [[id, 2]])
    const [, sold] = await eventsOf(app, seller.accountId)
    expect(sold!.data).toMatchObject({ remaining_quantity: 3 })
  })

  it('the events of a sale are written in its transaction, with or without an Idempotency-Key', async () => {
    const seller = await app.seller({ account: shipsBy(PARCEL) })
    for (const headers of [undefined, { 'idempotency-key': 'whole' }]) {
      const id = await listing(seller)
      await sendCart(app, [[id, 1]], {}, headers)
      const written = await app.ctx.db`
        select bool_and(o.xmin = l.xmin and o.xmin = e.xmin) as together, count(*) as events
        from orders o
        join listings l on l.id = o.listing_id
        join events e on (e.data::jsonb ->> 'order_id')::bigint = o.id
        where l.id = ${id}
      `
      expect([...written]).toEqual([{ together: true, events: 2 }])
    }
  })

  it('the events of a sale have its time', async () => {
    const seller = await app.seller({ account: shipsBy(PARCEL) })
    const { orderIds } = await buy(app, [[await listing(seller), 1]])
    const { created_at } = await rowOf(seller, orderIds[0]!)
    const rows = await app.ctx.db<{ created_at: Date }[]>`
      select created_at from events where account_id = ${seller.accountId}
    `
    for (const event of rows) {
      expect(Math.abs(event.created_at.getTime() - Date.parse(created_at))).toBeLessThan(2_000)
    }
  })
})

describe('the time of a sale', () => {
  it('checkout, slice, order row and events have the same time, however long the sale takes', async () => {
    const seller = await app.seller({ account: SHIPS })
    const listingId = await listing(seller)
    let ms = app.ctx.now().getTime()
    const ticking = () => {
      ms += 1_000
      return new Date(ms)
    }
    const { id } = await checkOut(
      { ...app.ctx, now: ticking },
      {
        buyer: { name: 'Ash', email: 'ash@mail.example' },
        address: null,
        lines: [{ listingId, quantity: 1 }],
        cartId: undefined,
        shipping: [],
      },
    )
    const moments = await app.ctx.db<{ at: Date }[]>`
      select created_at as at from checkouts where id = ${id}
      union all
      select created_at from slices where checkout_id = ${id}
      union all
      select created_at from orders where listing_id = ${listingId}
      union all
      select created_at from events where account_id = ${seller.accountId}
    `
    expect(moments).toHaveLength(5)
    expect(new Set(moments.map(({ at }) => at.getTime())).size).toBe(1)
  })
})

describe('GET /operator/v1/checkouts/{id}', () => {
  it('GET /operator/v1/checkouts/{id} returns the response of the POST, byte for byte', async () => {
    const made = await sendCart(app, [
      [await listing(secondSeller), 1],
      [await listing(firstSeller), 2],
      [await listing(firstSeller), 1],
    ])
    const read = await app.operator.get(`${CHECKOUTS}/${made.body.data.id}`)
    expect(read.status).toBe(200)
    expect(read.text).toBe(made.text)
  })

  it('GET /operator/v1/checkouts/{id} is unaffected by later changes to shops, prices and listings', async () => {
    const seller = await app.seller({ account: shipsBy(PARCEL) })
    const id = await listing(seller)
    const made = await sendCart(app, [[id, 1]])
    await changeAccount(app, seller.accountId, { shipping_options: [] })
    await app.operator.post(`/operator/v1/orders/${made.body.data.slices[0].order_ids[0]}/cancel`, {
      payload: { cancelled_by: 'seller' },
    })
    await seller.delete(`/v1/listings/${id}`)
    expect((await app.operator.get(`${CHECKOUTS}/${made.body.data.id}`)).text).toBe(made.text)
  })

  it('GET /operator/v1/checkouts/{id} returns 404 for an unknown checkout', async () => {
    const { status, body } = await app.operator.get(`${CHECKOUTS}/999999`)
    expect([status, body.error.type]).toEqual([404, 'not_found'])
  })

  it('only the operator can create and read checkouts', async () => {
    const { id } = await buy(app, [[await listing(firstSeller), 1]])
    expect((await firstSeller.get(`${CHECKOUTS}/${id}`)).status).toBe(401)
    expect((await firstSeller.post(CHECKOUTS, { payload: {} })).status).toBe(401)
  })
})

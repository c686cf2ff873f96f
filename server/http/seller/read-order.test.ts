import { beforeAll, describe, expect, it } from 'vitest'
import type { ShippingOption } from '../../accounts/account.ts'
import { type Seller, startTestApp, type TestApp } from '../../test/app.ts'
import { cardItem, gradedItem, list, NO_LIMITS, productItem } from '../../test/fixtures/listings.ts'
import {
  ADDRESS,
  act,
  BUYER,
  buy,
  cancel,
  LABEL,
  LETTER,
  openShop,
  PARCEL,
  sellEach,
  ship,
  shipsBy,
  sliceOf,
} from '../../test/fixtures/orders.ts'

const ORDERS = '/v1/orders'
const SHIPPING_KEYS = [
  ...['method', 'price', 'paid_to', 'seller_share', 'provider', 'has_label'],
  ...['tracking_code', 'tracking_status', 'label_url', 'expires_at'],
]

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
})

const shop = (...options: ShippingOption[]) => openShop(app, ...options)
const sell = (seller: Seller, ...items: object[]) => sellEach(app, seller, ...items)

describe('GET /v1/orders/{order}', () => {
  it('GET /v1/orders/{order} shows the whole slice with exactly the specified fields, in order', async () => {
    const seller = await shop(LABEL, PARCEL)
    const [card, box] = await list(seller, cardItem({ price: 4.35 }), productItem())
    const other = await shop()
    const [theirs] = await list(other, cardItem())
    const { slices } = await buy(
      app,
      [
        [card!, 3],
        [theirs!, 1],
        [box!, 1],
      ],
      { shipping: [{ account_id: seller.accountId, option: 'parcel' }] },
    )
    const [{ order_ids, slice_key }] = slices as [(typeof slices)[number]]
    const { body } = await seller.get(`${ORDERS}/${order_ids[0]}`)
    const rows = (await seller.get(ORDERS)).body.data
    expect(body).toEqual({
      data: {
        slice_key,
        orders: rows.toReversed(),
        buyer: { name: BUYER.name, address: ADDRESS },
        totals: { merchandise: 143.04, shipping: 6.95, seller_net: 142.84, currency: 'EUR' },
        shipping: {
          method: 'Tracked parcel',
          price: 6.95,
          paid_to: 'seller',
          seller_share: 6.95,
          provider: null,
          has_label: false,
          tracking_code: null,
          tracking_status: null,
          label_url: null,
          expires_at: null,
        },
      },
    })
    const slice = body.data
    expect(Object.keys(slice)).toEqual(['slice_key', 'orders', 'buyer', 'totals', 'shipping'])
    expect(Object.keys(slice.totals)).toEqual(['merchandise', 'shipping', 'seller_net', 'currency'])
    expect(Object.keys(slice.shipping)).toEqual(SHIPPING_KEYS)
    for (const [i, row] of slice.orders.entries()) {
      expect(Object.keys(row)).toEqual(Object.keys(rows.at(-1 - i)))
    }
  })

  it('GET /v1/orders/{order} shows the fields of the address in order', async () => {
    const seller = await shop()
    const [id] = await sell(seller, cardItem())
    const { buyer } = await sliceOf(seller, id!)
    expect(Object.keys(buyer)).toEqual(['name', 'address'])
    expect(Object.keys(buyer.address)).toEqual(Object.keys(ADDRESS))
  })

  it('the shipping price of a platform label is paid to the platform', async () => {
    const seller = await shop(LABEL)
    const [id] = await sell(seller, cardItem({ price: 4.5 }))
    const slice = await sliceOf(seller, id!)
    expect(slice.totals).toMatchObject({ merchandise: 4.5, shipping: 4.95, seller_net: 4.27 })
    expect(slice.shipping).toMatchObject({
      method: 'Platform label',
      price: 4.95,
      paid_to: 'platform',
      seller_share: 0,
    })
  })

  it('GET /v1/orders/{order} returns the same bytes for every row of a slice', async () => {
    const seller = await shop(LETTER)
    const ids = await sell(seller, cardItem(), productItem(), cardItem(), gradedItem())
    await cancel(app, ids[1]!)
    await ship(seller, ids[0]!)
    await act(app, ids[2]!, 'dispute')
    const texts = await Promise.all(
      ids.map(async (id) => (await seller.get(`${ORDERS}/${id}`)).text),
    )
    expect(new Set(texts).size).toBe(1)
  })

  it('GET /v1/orders/{order} reads slice and rows from one snapshot', async () => {
    const seller = await shop()
    for (let round = 0; round < 20; round++) {
      const [id] = await sell(seller, cardItem(), cardItem())
      const early = Array.from({ length: 4 }, () => sliceOf(seller, id!))
      const shipped = ship(seller, id!, { tracking_code: 'X' })
      const late = Array.from({ length: 12 }, () => sliceOf(seller, id!))
      expect((await shipped).status).toBe(200)
      for (const { orders, shipping } of await Promise.all([...early, ...late])) {
        const status = shipping.tracking_code === null ? 'pending' : 'shipped'
        expect(orders).toMatchObject([{ status }, { status }])
      }
    }
  })

  it('GET /v1/orders/{order} shows the address null when none is stored', async () => {
    const seller = await shop()
    const [listing] = await list(seller, cardItem())
    const { orderIds } = await buy(app, [[listing!, 1]], { address: null })
    expect((await sliceOf(seller, orderIds[0]!)).buyer).toEqual({ name: BUYER.name, address: null })
  })

  it('reading another seller’s order, even as its buyer, gets the same 404 as an unknown order', async () => {
    const seller = await shop()
    const buyer = await app.seller({
      account: { shopName: BUYER.name, email: BUYER.email, ...shipsBy(PARCEL) },
    })
    const [ours, theirs] = [await list(seller, cardItem()), await list(buyer, cardItem())]
    const { slices } = await buy(app, [
      [ours[0]!, 1],
      [theirs[0]!, 1],
    ])
    const [order] = slices[0]!.order_ids
    for (const stranger of [await shop(), buyer]) {
      const { status, text } = await stranger.get(`${ORDERS}/${order}`)
      expect(status).toBe(404)
      expect(text).toBe((await stranger.get(`${ORDERS}/999999`)).text)
    }
  })

  it('GET /v1/orders/{order} returns 404 for an unknown order', async () => {
    const { status, body } = await (await shop()).get(`${ORDERS}/999999`)
    expect([status, body.error.type]).toEqual([404, 'not_found'])
  })

  it('GET /v1/orders/{order} without the scope orders:read returns 403 before the id is checked', async () => {
    const writer = await app.seller({ scopes: ['orders:write'] })
    for (const id of ['1', '999999', 'x']) {
      const { status, body } = await writer.get(`${ORDERS}/${id}`)
      expect([status, body.error.type]).toEqual([403, 'authorization_error'])
    }
  })
})

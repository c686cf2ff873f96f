import { beforeAll, describe, expect, it } from 'vitest'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { advance, cardItem, hold, list, listed, NO_LIMITS } from '../test/fixtures/listings.ts'
import { act, buy, cancel, PARCEL, rowOf, ship, shipsBy, sliceOf } from '../test/fixtures/orders.ts'

let app: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await app.seller({ account: shipsBy(PARCEL) })
})

const patch = (listing: number, payload: object) =>
  seller.patch(`/v1/listings/${listing}`, { payload })

const remove = (listing: number) => seller.delete(`/v1/listings/${listing}`)

/** A listing that had `stock` units, and an order of `units` of them. */
async function ordered(stock: number, units: number): Promise<{ listing: number; order: number }> {
  const [listing] = await list(seller, cardItem({ quantity: stock }))
  const { orderIds } = await buy(app, [[listing!, units]])
  return { listing: listing!, order: orderIds[0]! }
}

/** An order of two out of five units, after these transitions. */
async function orderedThen(...steps: ('ship' | 'receive' | 'dispute')[]) {
  const { listing, order } = await ordered(5, 2)
  for (const step of steps) {
    const { status } =
      step === 'ship'
        ? await ship(seller, order, { tracking_code: 'X' })
        : await act(app, order, step)
    expect(status).toBe(200)
  }
  return { listing, order }
}

describe('units of a cancelled order', () => {
  it.each([
    ['by default', {}],
    ['with restock', { restock: true }],
  ])('the units of a cancelled order are for sale again %s', async (_, more) => {
    const { listing, order } = await ordered(5, 2)
    const was = await listed(seller, listing)
    await advance(app.operator, 60)
    await cancel(app, order, more)
    const is = await listed(seller, listing)
    expect(is).toMatchObject({ quantity: 5, quantity_available: 5, status: 'active' })
    expect(Date.parse(is.updated_at)).toBeGreaterThan(Date.parse(was.updated_at))
    expect((await rowOf(seller, order)).quantity).toBe(2)
  })

  it('cancelling without restock does not change the listing', async () => {
    const { listing, order } = await ordered(5, 2)
    const was = await listed(seller, listing)
    await advance(app.operator, 60)
    await cancel(app, order, { restock: false })
    expect(await listed(seller, listing)).toEqual(was)
  })

  it('cancelling puts a sold-out listing on sale again', async () => {
    const { listing, order } = await ordered(2, 2)
    expect(await listed(seller, listing)).toMatchObject({ status: 'sold' })
    await cancel(app, order)
    expect(await listed(seller, listing)).toMatchObject({ status: 'active', quantity: 2 })
    expect((await buy(app, [[listing, 2]])).orderIds).toHaveLength(1)
  })

  it('cancelling without restock leaves a sold-out listing sold', async () => {
    const { listing, order } = await ordered(2, 2)
    await cancel(app, order, { restock: false })
    expect(await listed(seller, listing)).toMatchObject({ status: 'sold', quantity: 0 })
  })

  it.each([
    ['remaining stock', 5, 5],
    ['no stock', 2, 2],
  ])(
    'cancelling leaves a hidden listing with %s hidden, and adds the units',
    async (_, stock, after) => {
      const { listing, order } = await ordered(stock, 2)
      await patch(listing, { status: 'hidden' })
      await cancel(app, order)
      expect(await listed(seller, listing)).toMatchObject({ status: 'hidden', quantity: after })
    },
  )

  it('units of a cancelled order add to the current stock, even beyond 999', async () => {
    const { listing, order } = await ordered(999, 999)
    await patch(listing, { quantity: 998 })
    const { status } = await cancel(app, order)
    expect(status).toBe(200)
    expect(await listed(seller, listing)).toMatchObject({ quantity: 1997, status: 'active' })
    // Other changes of the listing are still accepted.
    const { status: patched, body } = await patch(listing, { price: 5 })
    expect([patched, body.data.quantity]).toEqual([200, 1997])
    expect((await buy(app, [[listing, 1500]])).orderIds).toHaveLength(1)
  })

  it('units of a cancelled order are available although carts have reserved all other units', async () => {
    const { listing, order } = await ordered(5, 2)
    await hold(app.operator, listing, 3)
    expect((await listed(seller, listing)).quantity_available).toBe(0)
    await cancel(app, order)
    expect(await listed(seller, listing)).toMatchObject({ quantity: 5, quantity_available: 2 })
  })

  it.each([
    ['shipped', ['ship']],
    ['disputed', ['ship', 'dispute']],
  ] as const)(
    'the units of a %s order are for sale again after its cancellation',
    async (_, steps) => {
      const { listing, order } = await orderedThen(...steps)
      await cancel(app, order)
      expect(await listed(seller, listing)).toMatchObject({ quantity: 5 })
    },
  )

  it('cancelling does not restore a deleted listing', async () => {
    const { listing, order } = await orderedThen('ship', 'receive')
    expect((await remove(listing)).status).toBe(204)
    await act(app, order, 'dispute')
    const { status, body } = await cancel(app, order)
    expect(status).toBe(200)
    expect(body.data).toMatchObject({ status: 'cancelled', listing_id: null })
    expect(await listed(seller, listing)).toBeUndefined()
    const [row] = await app.ctx.db`select status, quantity from listings where id = ${listing}`
    expect(row).toEqual({ status: 'removed', quantity: 3 })
  })

  it('resolving a dispute for the buyer never returns units to the stock', async () => {
    for (const stock of [5, 2]) {
      const { listing, order } = await ordered(stock, 2)
      await ship(seller, order, { tracking_code: 'X' })
      await act(app, order, 'dispute')
      const was = await listed(seller, listing)
      await advance(app.operator, 60)
      await act(app, order, 'resolve', { in_favour_of: 'buyer', restock: true })
      expect(await listed(seller, listing)).toEqual(was)
    }
  })
})

describe('DELETE of a listing', () => {
  it.each([
    ['pending', []],
    ['shipped', ['ship']],
    ['disputed', ['ship', 'dispute']],
    ['disputed after it was received', ['ship', 'receive', 'dispute']],
  ] as const)(
    'deleting a listing with an order that is %s is refused with 409 and changes nothing',
    async (_, steps) => {
      const { listing, order } = await orderedThen(...steps)
      await hold(app.operator, listing, 1)
      const [was, row] = [await listed(seller, listing), await rowOf(seller, order)]
      const { status, body } = await remove(listing)
      expect(status).toBe(409)
      expect(body.error).toEqual({
        type: 'conflict',
        message: expect.stringContaining('open order'),
      })
      expect(await listed(seller, listing)).toEqual(was)
      expect(await rowOf(seller, order)).toEqual(row)
    },
  )

  it.each<[string, (order: number) => Promise<unknown>]>([
    ['cancelled', (order) => cancel(app, order, { restock: false })],
    [
      'received',
      async (order) => {
        await ship(seller, order, { tracking_code: 'X' })
        await act(app, order, 'receive')
      },
    ],
    [
      'resolved for the buyer',
      async (order) => {
        await ship(seller, order, { tracking_code: 'X' })
        await act(app, order, 'dispute')
        await act(app, order, 'resolve', { in_favour_of: 'buyer' })
      },
    ],
  ])(
    'deleting a listing whose orders are %s succeeds and only clears their listing_id',
    async (_, end) => {
      const { listing, order } = await ordered(5, 2)
      const other = await buy(app, [[listing, 1]])
      await end(order)
      await end(other.orderIds[0]!)
      const before = await sliceOf(seller, order)
      expect(before.orders[0].listing_id).toBe(listing)
      expect((await remove(listing)).status).toBe(204)
      const after = await sliceOf(seller, order)
      expect(after).toEqual({ ...before, orders: [{ ...before.orders[0], listing_id: null }] })
      expect(after.orders[0].item).toMatchObject({ name: 'Charizard ex', id: 'sv3-125' })
      expect((await rowOf(seller, other.orderIds[0]!)).listing_id).toBeNull()
    },
  )

  it('one open order among completed orders prevents the deletion of a listing', async () => {
    const { listing, order } = await orderedThen('ship', 'receive')
    const open = await buy(app, [[listing, 1]])
    expect((await remove(listing)).status).toBe(409)
    expect((await rowOf(seller, order)).listing_id).toBe(listing)
    await cancel(app, open.orderIds[0]!, { restock: false })
    expect((await remove(listing)).status).toBe(204)
  })

  it('open orders of other listings do not prevent the deletion of a listing', async () => {
    const listings = await list(seller, cardItem(), cardItem())
    const { orderIds } = await buy(
      app,
      listings.map((listing) => [listing, 1]),
    )
    await cancel(app, orderIds[0]!)
    expect((await remove(listings[0]!)).status).toBe(204)
    expect((await remove(listings[1]!)).status).toBe(409)
    expect((await sliceOf(seller, orderIds[0]!)).orders).toMatchObject([
      { listing_id: null },
      { listing_id: listings[1] },
    ])
  })

  it('either a checkout or a concurrent deletion of a listing succeeds, never both', async () => {
    for (let round = 0; round < 10; round++) {
      const [listing] = await list(seller, cardItem())
      const sale = () =>
        buy(app, [[listing!, 1]]).then(
          () => 201,
          () => 409,
        )
      const [sold, { status: deleted }] = await (round % 2
        ? Promise.all([sale(), remove(listing!)])
        : Promise.all([remove(listing!), sale()]).then(([a, b]) => [b, a] as const))
      expect([sold, deleted]).toBeOneOf([
        [201, 409],
        [409, 204],
      ])
    }
  })
})

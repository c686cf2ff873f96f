import { beforeAll, describe, expect, it } from 'vitest'
import type { ShippingOption } from '../../accounts/account.ts'
import { inTransaction } from '../../database/in-transaction.ts'
import { type Seller, startTestApp, type TestApp } from '../../test/app.ts'
import { advance, cardItem, changeAccount, list, NO_LIMITS } from '../../test/fixtures/listings.ts'
import {
  act,
  buy,
  cancel,
  eventsOf,
  LABEL,
  LETTER,
  type Line,
  PARCEL,
  ship,
  shipsBy,
  sliceOf,
} from '../../test/fixtures/orders.ts'
import { endLockWaiters, untilLockWaiters, whileLocked } from '../../test/lock-waiters.ts'

let app: TestApp
/** Offers all three shipping options. */
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await app.seller({ account: shipsBy(PARCEL, LETTER, LABEL) })
})

/** Sells a slice of `rows` order rows; returns their ids. */
async function ordered(
  rows: number,
  { by = PARCEL, of = seller }: { by?: ShippingOption; of?: Seller } = {},
): Promise<number[]> {
  const listings = await list(of, ...Array.from({ length: rows }, () => cardItem()))
  const { orderIds } = await buy(
    app,
    listings.map((id): Line => [id, 1]),
    { shipping: [{ account_id: of.accountId, option: by.code }] },
  )
  return orderIds
}

const statuses = async (order: number): Promise<string[]> =>
  (await sliceOf(seller, order)).orders.map(({ status }: { status: string }) => status)

describe('POST /v1/orders/{order}/ship', () => {
  it('an order whose label cannot be read for the response is not shipped', async () => {
    const [order] = await ordered(1)
    const { status } = await whileLocked(
      app.ctx,
      (db) => db`lock table shipments in access exclusive mode`,
      async () => {
        const shipping = ship(seller, order!, { tracking_code: '3SABC' })
        await untilLockWaiters(app.ctx.db)
        await endLockWaiters(app.ctx.db)
        return shipping
      },
    )
    expect(status).toBe(503)
    expect(await statuses(order!)).toEqual(['pending'])
  })

  it('POST /v1/orders/{order}/ship ships every pending row of the slice and returns the slice', async () => {
    const ids = await ordered(3)
    const before = await sliceOf(seller, ids[0]!)
    await advance(app.operator, 60)
    const now = Math.floor(app.ctx.now().getTime() / 1000) * 1000
    const { status, body } = await ship(seller, ids[1]!, { tracking_code: '3SABC' })
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['data'])
    const { shipped_lines, ...slice } = body.data
    expect(shipped_lines).toBe(3)
    expect(slice).toEqual(await sliceOf(seller, ids[0]!))
    const { shipped_at } = slice.orders[0]
    expect(Date.parse(shipped_at)).toBeGreaterThanOrEqual(now)
    const tracking = {
      code: '3SABC',
      url: null,
      status: null,
      updated_at: expect.any(String),
      fulfilment: 'self_ship',
    }
    expect(slice).toEqual({
      ...before,
      orders: before.orders.map((row: object) => ({
        ...row,
        status: 'shipped',
        shipped_at,
        tracking,
      })),
      shipping: { ...before.shipping, tracking_code: '3SABC' },
    })
  })

  it('shipping skips cancelled rows, which stay as they were', async () => {
    const ids = await ordered(3)
    await cancel(app, ids[0]!)
    const before = await sliceOf(seller, ids[0]!)
    const { body } = await ship(seller, ids[0]!, { tracking_code: '3SABC' })
    expect(body.data.shipped_lines).toBe(2)
    const shipped = { status: 'shipped', tracking: { code: '3SABC' } }
    expect(body.data.orders).toMatchObject([before.orders[0], shipped, shipped])
    const { shipped_lines: _, ...slice } = body.data
    expect(await sliceOf(seller, ids[1]!)).toEqual(slice)
  })

  it('shipping a slice does not ship other slices of its checkout or seller', async () => {
    const other = await app.seller({ account: shipsBy(LETTER) })
    const [ours, theirs] = [await list(seller, cardItem()), await list(other, cardItem())]
    const { slices } = await buy(app, [
      [ours[0]!, 1],
      [theirs[0]!, 1],
    ])
    const [waiting] = await ordered(1)
    await ship(seller, slices[0]!.order_ids[0]!, { tracking_code: 'X' })
    expect(await statuses(waiting!)).toEqual(['pending'])
    expect((await sliceOf(other, slices[1]!.order_ids[0]!)).orders).toMatchObject([
      { status: 'pending', shipped_at: null, tracking: { code: null } },
    ])
  })

  it.each([
    ['shipped', 'ship'],
    ['cancelled', 'cancel'],
    ['received', 'receive'],
    ['disputed', 'dispute'],
  ])('shipping a slice whose rows are all %s gets a 409 and changes nothing', async (_, step) => {
    const ids = await ordered(2)
    if (step === 'cancel') for (const id of ids) await cancel(app, id)
    else await ship(seller, ids[0]!, { tracking_code: 'FIRST' })
    if (step === 'receive' || step === 'dispute') for (const id of ids) await act(app, id, step)
    const before = await sliceOf(seller, ids[0]!)
    await advance(app.operator, 60)
    for (const id of ids) {
      for (const payload of [{ tracking_code: 'SECOND' }, undefined]) {
        const { status, body } = await ship(seller, id, payload)
        expect(status).toBe(409)
        expect(body.error).toEqual({ type: 'conflict', message: expect.any(String) })
      }
    }
    expect(await sliceOf(seller, ids[0]!)).toEqual(before)
  })

  it('shipping without a verified payout setup gets a 409 that says so', async () => {
    const newcomer = await app.seller({ account: shipsBy(LETTER) })
    const [id] = await ordered(1, { by: LETTER, of: newcomer })
    await changeAccount(app, newcomer.accountId, { payout_verified: false })
    const { status, body } = await ship(newcomer, id!)
    expect([status, body.error.type]).toEqual([409, 'conflict'])
    expect(body.error.message).toMatch(/complete and verify the payout setup/i)
    expect((await sliceOf(newcomer, id!)).orders[0].status).toBe('pending')
    await changeAccount(app, newcomer.accountId, { payout_verified: true })
    expect((await ship(newcomer, id!)).status).toBe(200)
  })

  it('shipping records no event', async () => {
    const [id] = await ordered(1)
    const events = await eventsOf(app, seller.accountId)
    await ship(seller, id!, { tracking_code: 'X' })
    expect(await eventsOf(app, seller.accountId)).toEqual(events)
  })

  it('shipping without the scope orders:write returns 403 before the id is checked', async () => {
    const reader = await app.seller({ scopes: ['orders:read'] })
    for (const id of [1, 999_999, 'x' as never]) {
      const { status, body } = await ship(reader, id, { tracking_code: 7 })
      expect([status, body.error.type]).toEqual([403, 'authorization_error'])
      expect(body.error.message).toContain('orders:write')
    }
  })
})

describe('tracking codes', () => {
  const withoutCode: [string, object | undefined][] = [
    ['no body', undefined],
    ['an empty body', {}],
    ['null', { tracking_code: null }],
    ['an empty string', { tracking_code: '' }],
    ['only spaces', { tracking_code: '  ' }],
  ]
  const refused = (fields: object) => ({
    status: 422,
    body: { error: { type: 'validation_error', message: expect.any(String), fields } },
  })
  const refusedOnCode = refused({ tracking_code: [expect.any(String)] })

  it.each(withoutCode)(
    'a tracked shipping option of the seller requires a tracking code: 422 for %s',
    async (_, payload) => {
      const ids = await ordered(2)
      expect(await ship(seller, ids[0]!, payload)).toMatchObject(refusedOnCode)
      expect(await statuses(ids[0]!)).toEqual(['pending', 'pending'])
    },
  )

  it.each(withoutCode)(
    'an untracked shipping option of the seller needs no tracking code: 200 for %s',
    async (_, payload) => {
      const [id] = await ordered(1, { by: LETTER })
      const { status, body } = await ship(seller, id!, payload)
      expect([status, body.data.shipped_lines]).toEqual([200, 1])
      expect(body.data.orders[0].tracking).toMatchObject({ code: null, updated_at: null })
      expect(body.data.shipping.tracking_code).toBeNull()
    },
  )

  it.each(withoutCode)(
    'a platform label needs no tracking code: 200 for %s',
    async (_, payload) => {
      const [id] = await ordered(1, { by: LABEL })
      const { status, body } = await ship(seller, id!, payload)
      expect([status, body.data.shipped_lines]).toEqual([200, 1])
      expect(body.data.orders[0]).toMatchObject({ status: 'shipped', tracking: { code: null } })
    },
  )

  it.each([
    ['an untracked option of the seller', LETTER],
    ['a platform label', LABEL],
    ['an untracked platform label', { ...LABEL, tracked: false }],
  ])('a tracking code for %s gets a 422, and nothing ships', async (_, option) => {
    const shop = await app.seller({ account: shipsBy(option) })
    const [id] = await ordered(1, { by: option, of: shop })
    expect(await ship(shop, id!, { tracking_code: 'X' })).toMatchObject(refusedOnCode)
    expect((await sliceOf(shop, id!)).orders[0]).toMatchObject({
      status: 'pending',
      shipped_at: null,
    })
    expect((await ship(shop, id!)).status).toBe(200)
  })

  const report = async (order: number, payload: object) => {
    const { slice_key } = await sliceOf(seller, order)
    return app.operator.post(`/operator/v1/slices/${slice_key}/tracking`, { payload })
  }

  it('the code of a shipment replaces one that the operator reported before, with its URL', async () => {
    const [id] = await ordered(1)
    await report(id!, { tracking_code: 'FORMER', tracking_url: 'https://carrier.example/FORMER' })
    await ship(seller, id!, { tracking_code: '3SABC' })
    const { orders } = await sliceOf(seller, id!)
    expect(orders[0].tracking).toMatchObject({ code: '3SABC', url: null })
  })

  it('a code that the operator reports after the shipment replaces the seller’s, in the slice and in its rows', async () => {
    const [id] = await ordered(1)
    await ship(seller, id!, { tracking_code: '3SABC' })
    await report(id!, { tracking_code: 'LATER', tracking_url: 'https://carrier.example/LATER' })
    const { orders, shipping } = await sliceOf(seller, id!)
    expect(shipping.tracking_code).toBe('LATER')
    expect(orders[0].tracking).toMatchObject({
      code: 'LATER',
      url: 'https://carrier.example/LATER',
    })
  })

  it('a tracking code is required by the shipping option as it was at the sale', async () => {
    const shop = await app.seller({ account: shipsBy(PARCEL) })
    const [id] = await ordered(1, { of: shop })
    const changed = { code: 'parcel', name: 'x', fulfilment: 'self_ship', tracked: false }
    await changeAccount(app, shop.accountId, {
      shipping_options: [{ ...changed, price: 1, enabled: true }],
    })
    expect((await ship(shop, id!)).status).toBe(422)
    expect((await ship(shop, id!, { tracking_code: 'X' })).status).toBe(200)
  })

  it.each([
    ['100 characters', 'x'.repeat(100)],
    ['100 characters of four bytes each', '𠮷'.repeat(100)],
    ['markup', '<b>"&'],
  ])('a tracking code may be %s', async (_, code) => {
    const [id] = await ordered(1)
    const { status, body } = await ship(seller, id!, { tracking_code: code })
    expect(status).toBe(200)
    expect(body.data.orders[0].tracking.code).toBe(code)
    expect(body.data.shipping.tracking_code).toBe(code)
  })

  it.each([
    ['101 characters', 'x'.repeat(101)],
    ['101 characters of four bytes each', '𠮷'.repeat(101)],
    ['a NUL', 'a\0b'],
    ['a lone surrogate', '\ud83d'],
    ['a number', 7],
    ['true', true],
    ['a list', ['X']],
    ['an object', { code: 'X' }],
  ])('a tracking code may not be %s: 422', async (_, tracking_code) => {
    for (const by of [PARCEL, LETTER, LABEL]) {
      const [id] = await ordered(1, { by })
      expect(await ship(seller, id!, { tracking_code })).toMatchObject(refusedOnCode)
      expect(await statuses(id!)).toEqual(['pending'])
    }
  })

  it.each([
    ['invalid JSON', '{'],
    ['a list', '[]'],
    ['null', 'null'],
    ['a string', '"X"'],
  ])('shipping with a body that is %s gets a 422 on body', async (_, payload) => {
    const [id] = await ordered(1)
    const response = await seller.post(`/v1/orders/${id}/ship`, {
      payload,
      headers: { 'content-type': 'application/json' },
    })
    expect(response).toMatchObject(refused({ body: [expect.any(String)] }))
  })

  it('shipping ignores unknown fields', async () => {
    const [id] = await ordered(1)
    const { status } = await ship(seller, id!, { tracking_code: 'X', carrier: 'PostNL' })
    expect(status).toBe(200)
  })

  it('shipping without a tracking code accepts an empty JSON body', async () => {
    const [id] = await ordered(1, { by: LETTER })
    const { status } = await seller.post(`/v1/orders/${id}/ship`, {
      payload: '',
      headers: { 'content-type': 'application/json' },
    })
    expect(status).toBe(200)
  })
})

describe('order of checks', () => {
  const wrongCode = { tracking_code: 7 }

  it('POST /v1/orders/{order}/ship returns 404 for an unknown order whatever the body', async () => {
    const newcomer = await app.seller({ account: { payoutVerified: false } })
    for (const payload of [undefined, wrongCode, { tracking_code: 'X' }]) {
      for (const shop of [seller, newcomer]) {
        const { status, body } = await ship(shop, 999_999, payload)
        expect([status, body.error.type]).toEqual([404, 'not_found'])
      }
    }
  })

  it('shipping another seller’s order gets the same 404 as an unknown order', async () => {
    const stranger = await app.seller()
    const [id] = await ordered(1)
    for (const payload of [undefined, wrongCode, { tracking_code: 'X' }]) {
      const { status, text } = await ship(stranger, id!, payload)
      expect(status).toBe(404)
      expect(text).toBe((await ship(stranger, 999_999, payload)).text)
    }
    expect(await statuses(id!)).toEqual(['pending'])
  })

  it('the syntax of the body is checked before the order', async () => {
    const { status } = await seller.post('/v1/orders/999999/ship', { payload: '{' })
    expect(status).toBe(422)
  })

  it('shipping checks the body, the payout setup, pending rows and the need for a code, in this order', async () => {
    const shop = await app.seller({ account: shipsBy(PARCEL) })
    const [id] = await ordered(1, { of: shop })
    await ship(shop, id!, { tracking_code: 'X' })
    await changeAccount(app, shop.accountId, { payout_verified: false })
    expect((await ship(shop, id!, wrongCode)).status).toBe(422)
    const unverified = await ship(shop, id!)
    expect([unverified.status, unverified.body.error.message]).toEqual([
      409,
      expect.stringContaining('payout'),
    ])
    await changeAccount(app, shop.accountId, { payout_verified: true })
    const shipped = await ship(shop, id!)
    expect([shipped.status, shipped.body.error.message]).toEqual([
      409,
      expect.not.stringContaining('payout'),
    ])
    const [other] = await ordered(1, { of: shop })
    await changeAccount(app, shop.accountId, { payout_verified: false })
    expect((await ship(shop, other!)).status).toBe(409)
    await changeAccount(app, shop.accountId, { payout_verified: true })
    expect((await ship(shop, other!)).status).toBe(422)
  })
})

describe('concurrent requests', () => {
  it('concurrent shipping requests for one slice: one ships all rows, the others get a 409', async () => {
    for (let round = 0; round < 8; round++) {
      const ids = await ordered(3)
      const responses = await Promise.all(
        ids.map((id, i) => ship(seller, id, { tracking_code: `CODE-${i}` })),
      )
      expect(responses.map(({ status }) => status).sort()).toEqual([200, 409, 409])
      const first = responses.findIndex(({ status }) => status === 200)
      const { shipped_lines, ...shipped } = responses[first]!.body.data
      expect(shipped_lines).toBe(3)
      const slice = await sliceOf(seller, ids[0]!)
      expect(slice).toEqual(shipped)
      for (const { status, tracking } of slice.orders) {
        expect([status, tracking.code]).toEqual(['shipped', `CODE-${first}`])
      }
    }
  })

  it('a row cancelled during shipping ends cancelled, and shipped_lines counts what shipped', async () => {
    for (let round = 0; round < 8; round++) {
      const ids = await ordered(3)
      const [shipped, cancelled] = await Promise.all([
        ship(seller, ids[0]!, { tracking_code: 'X' }),
        cancel(app, ids[2]!),
      ])
      expect([shipped.status, cancelled.status]).toEqual([200, 200])
      const { orders } = await sliceOf(seller, ids[0]!)
      const moved = orders.filter(({ shipped_at }: { shipped_at: unknown }) => shipped_at)
      expect(shipped.body.data.shipped_lines).toBe(moved.length)
      expect(orders[2].status).toBe('cancelled')
    }
  })

  it('shipping waits for a concurrent cancellation and ships the other rows', async () => {
    const ids = await ordered(2)
    const waiting = await inTransaction(app.ctx, async (tx) => {
      await tx.db`
        update orders
        set
          status = 'cancelled', cancelled_at = ${tx.now()}, cancelled_by = 'buyer',
          refunded_cents = price_cents::bigint * quantity
        where id = ${ids[0]!}
      `
      const response = ship(seller, ids[0]!, { tracking_code: 'X' })
      await untilLockWaiters(app.ctx.db)
      return { response }
    })
    const { status, body } = await waiting.response
    expect([status, body.data.shipped_lines]).toEqual([200, 1])
    expect(await statuses(ids[0]!)).toEqual(['cancelled', 'shipped'])
  })
})

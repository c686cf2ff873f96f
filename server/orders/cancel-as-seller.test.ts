import { beforeAll, describe, expect, it } from 'vitest'
import { CANCEL_REASONS, type CancelReason } from '../enums.ts'
import { shipOrder } from '../orders/ship-order.ts'
import { withLabel } from '../shipping/labeled-slice.ts'
import { buyLabel } from '../shipping/labels.ts'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { advance, cardItem, list, listed, NO_LIMITS } from '../test/fixtures/listings.ts'
import {
  act,
  BUYER,
  buy,
  cancel,
  eventsOf,
  LABEL,
  openShop,
  PARCEL,
  rowOf,
  ship,
  shipsBy,
} from '../test/fixtures/orders.ts'
import { cancelAsSeller, cancelOrder } from './transitions.ts'

let app: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await app.seller({ account: shipsBy(PARCEL) })
})

/** An order of two of the five units of a listing. */
async function ordered(shop = seller) {
  const [listing] = await list(shop, cardItem({ quantity: 5 }))
  const { orderIds } = await buy(app, [[listing!, 2]])
  return { listing: listing!, order: orderIds[0]! }
}

const cancelOwn = (order: number, reason: CancelReason, restock?: boolean) =>
  cancelAsSeller(app.ctx, seller.accountId, order, {
    reason,
    ...(restock === undefined ? {} : { restock }),
  })

const unitsOf = async (listing: number) => (await listed(seller, listing)).quantity

describe('a cancellation by the seller', () => {
  it('a cancellation by the seller refunds the row, records the seller and the reason, and sends order.cancelled', async () => {
    const { order } = await ordered()
    const before = await eventsOf(app, seller.accountId)
    await advance(app.operator, 60)
    const row = await cancelOwn(order, 'buyer_asked')
    expect(row).toMatchObject({
      status: 'cancelled',
      cancelledBy: 'seller',
      cancelReason: 'buyer_asked',
      refundedCents: row.priceCents * 2,
      updatedAt: row.cancelledAt,
    })
    expect((await rowOf(seller, order)).status).toBe('cancelled')
    expect((await eventsOf(app, seller.accountId)).slice(before.length)).toEqual([
      { event: 'order.cancelled', data: { order_id: order, cancelled_by: 'seller' } },
    ])
  })

  it('a cancellation by the seller e-mails the buyer the reason and the refund', async () => {
    const { order } = await ordered()
    await cancelOwn(order, 'out_of_stock')
    const { body } = await app.operator.get('/operator/v1/sandbox/mail?per_page=1')
    expect(body.data[0]).toMatchObject({ to: BUYER.email })
    expect(body.data[0].text).toMatch(/because it is out of stock\.\n\nYou will be refunded 9\.00/)
  })

  it.each(CANCEL_REASONS)(
    'a cancellation by the seller puts the units on sale again unless they are out of stock: %s',
    async (reason) => {
      const { listing, order } = await ordered()
      await cancelOwn(order, reason)
      expect(await unitsOf(listing)).toBe(reason === 'out_of_stock' ? 3 : 5)
    },
  )

  it.each([
    ['out_of_stock', true, 5],
    ['other', false, 3],
  ] as const)(
    'a cancellation by the seller follows an explicit choice about the stock: %s, %s',
    async (reason, restock, units) => {
      const { listing, order } = await ordered()
      await cancelOwn(order, reason, restock)
      expect(await unitsOf(listing)).toBe(units)
    },
  )

  it('the seller’s cancellation of an order that is not pending gets 409 and changes nothing', async () => {
    const { listing, order } = await ordered()
    const refused = { type: 'conflict' }
    await ship(seller, order, { tracking_code: 'X' })
    await expect(cancelOwn(order, 'other')).rejects.toMatchObject(refused)
    await act(app, order, 'dispute')
    await expect(cancelOwn(order, 'other')).rejects.toMatchObject(refused)
    expect(await unitsOf(listing)).toBe(3)
    await cancel(app, order)
    await expect(cancelOwn(order, 'other')).rejects.toMatchObject(refused)
    expect(await unitsOf(listing)).toBe(5)
  })

  it('the cancellation of another seller’s order gets 404', async () => {
    const { order } = await ordered()
    const stranger = await openShop(app)
    await expect(
      cancelAsSeller(app.ctx, stranger.accountId, order, { reason: 'other' }),
    ).rejects.toMatchObject({ type: 'not_found' })
    expect((await rowOf(seller, order)).status).toBe('pending')
  })

  it('a seller can’t cancel if a label was or may have been bought, and is referred to the marketplace, but can if the carrier refused', async () => {
    const shop = await openShop(app, LABEL)
    const carrier = (label: string) =>
      app.operator.put('/operator/v1/sandbox/carrier', { payload: { label } })
    const [bought, doubtful, refused] = [
      await ordered(shop),
      await ordered(shop),
      await ordered(shop),
    ]
    await shop.post(`/v1/orders/${bought.order}/label`)
    await carrier('error')
    await shop.post(`/v1/orders/${doubtful.order}/label`)
    await shop.post(`/v1/orders/${refused.order}/label`)
    await carrier('ready')
    await app.ctx.db`
      update shipments set in_doubt = true where order_id = ${doubtful.order}
    `
    const cancelled = ({ order }: { order: number }) =>
      cancelAsSeller(app.ctx, shop.accountId, order, { reason: 'other' })
    const conflict = { type: 'conflict', message: expect.stringContaining('marketplace') }
    await expect(cancelled(bought)).rejects.toMatchObject(conflict)
    await expect(cancelled(doubtful)).rejects.toMatchObject(conflict)
    expect((await cancelled(refused)).status).toBe('cancelled')
  })
})

it('one of concurrent cancellations, shipments and labels in two processes wins, with matching stock and refund', async () => {
  const other = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
  const shop = await openShop(app, LABEL)
  const account = { id: shop.accountId, payoutVerified: true }
  const outcomes = new Set<string>()
  for (let round = 0; round < 16; round++) {
    const { listing, order } = await ordered(shop)
    const attempts = {
      seller: () => cancelAsSeller(app.ctx, shop.accountId, order, { reason: 'buyer_asked' }),
      again: () => cancelAsSeller(other.ctx, shop.accountId, order, { reason: 'other' }),
      operator: () => cancelOrder(other.ctx, order, { cancelledBy: 'admin', restock: true }),
      ship: () => shipOrder(app.ctx, account, order, null, withLabel),
      label: () => buyLabel(other.ctx, { account, orderId: order }),
    }
    const names = Object.keys(attempts) as (keyof typeof attempts)[]
    // Each round starts with another attempt, and two rounds in three leave the operator out.
    const sequence = [...names.slice(round % 5), ...names.slice(0, round % 5)].filter(
      (name) => name !== 'operator' || round % 3 === 0,
    )
    const settled = await Promise.allSettled(sequence.map((name) => attempts[name]()))
    const won = sequence.filter((_, at) => settled[at]!.status === 'fulfilled')
    for (const { reason } of settled.filter((one) => one.status === 'rejected')) {
      expect(reason).toMatchObject({ type: 'conflict' })
    }
    outcomes.add(won.toSorted().join())

    const cancellations = won.filter((name) => ['seller', 'again', 'operator'].includes(name))
    const row = await rowOf(shop, order)
    expect(cancellations.length).toBeLessThanOrEqual(1)
    expect(row.status).toBe(cancellations.length === 1 ? 'cancelled' : 'shipped')
    expect(row.financial.refunded_amount).toBe(cancellations.length === 1 ? 9 : 0)
    expect((await listed(shop, listing)).quantity).toBe(cancellations.length === 1 ? 5 : 3)
    // The seller's cancellation excludes both shipping and a label.
    if (won.includes('seller') || won.includes('again')) expect(won).toHaveLength(1)
    const cancelledEvents = (await eventsOf(app, shop.accountId)).filter(
      ({ event, data }) => event === 'order.cancelled' && data.order_id === order,
    )
    expect(cancelledEvents).toHaveLength(cancellations.length)
  }
  expect(outcomes.size).toBeGreaterThan(1)
})

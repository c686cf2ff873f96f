import { beforeAll, describe, expect, it } from 'vitest'
import { inTransaction } from '../database/in-transaction.ts'
import { CANCELLERS, ORDER_STATUSES, type OrderStatus } from '../enums.ts'
import { type Seller, startTestApp, type TestApp, type TestResponse } from '../test/app.ts'
import { advance, cardItem, list, NO_LIMITS } from '../test/fixtures/listings.ts'
import {
  act,
  buy,
  cancel,
  eventsOf,
  PARCEL,
  rowOf,
  ship,
  shipsBy,
} from '../test/fixtures/orders.ts'
import { untilLockWaiters } from '../test/lock-waiters.ts'

let app: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await app.seller({ account: shipsBy(PARCEL) })
})

/** An order of two units in this status, and its listing. */
async function orderIn(status: OrderStatus): Promise<{ id: number; listing: number }> {
  const [listing] = await list(seller, cardItem({ quantity: 5 }))
  const { orderIds } = await buy(app, [[listing!, 2]])
  const id = orderIds[0]!
  if (status === 'cancelled') await cancel(app, id)
  else if (status !== 'pending') await ship(seller, id, { tracking_code: 'CODE' })
  if (status === 'received') await act(app, id, 'receive')
  if (status === 'disputed') await act(app, id, 'dispute')
  expect((await rowOf(seller, id)).status).toBe(status)
  return { id, listing: listing! }
}

const TRANSITIONS = {
  ship: (id: number) => ship(seller, id, { tracking_code: 'CODE' }),
  cancel: (id: number) => cancel(app, id),
  receive: (id: number) => act(app, id, 'receive'),
  dispute: (id: number) => act(app, id, 'dispute'),
  'resolve for the seller': (id: number) => act(app, id, 'resolve', { in_favour_of: 'seller' }),
  'resolve for the buyer': (id: number) => act(app, id, 'resolve', { in_favour_of: 'buyer' }),
}
type Transition = keyof typeof TRANSITIONS

/** Every legal transition and the status after it. All others are illegal. */
const LEGAL: [OrderStatus, Transition, OrderStatus][] = [
  ['pending', 'ship', 'shipped'],
  ['pending', 'cancel', 'cancelled'],
  ['shipped', 'cancel', 'cancelled'],
  ['shipped', 'receive', 'received'],
  ['shipped', 'dispute', 'disputed'],
  ['received', 'dispute', 'disputed'],
  ['disputed', 'cancel', 'cancelled'],
  ['disputed', 'resolve for the seller', 'received'],
  ['disputed', 'resolve for the buyer', 'cancelled'],
]

const EVERY = ORDER_STATUSES.flatMap((status) =>
  (Object.keys(TRANSITIONS) as Transition[]).map((transition) => [status, transition] as const),
)
const ILLEGAL = EVERY.filter(
  ([status, transition]) => !LEGAL.some(([from, by]) => from === status && by === transition),
)

/** Everything that a transition can change: the order row, its listing and the recorded events. */
const everythingOf = async ({ id, listing }: { id: number; listing: number }) => ({
  row: await rowOf(seller, id),
  listing: [...(await app.ctx.db`select * from listings where id = ${listing}`)],
  events: await eventsOf(app, seller.accountId),
})

/** The order row in a response of the seller API or the operator API. */
const rowIn = ({ body }: TestResponse, id: number) =>
  body.data.orders?.find((row: { id: number }) => row.id === id) ?? body.data

describe('a transition', () => {
  it.each(LEGAL)(
    'a %s order accepts the transition “%s” and is %s afterwards',
    async (from, by, to) => {
      const order = await orderIn(from)
      const before = await everythingOf(order)
      await advance(app.operator, 60)
      const response = await TRANSITIONS[by](order.id)
      expect(response.status).toBe(200)
      const after = await everythingOf(order)
      expect(rowIn(response, order.id)).toEqual(after.row)
      expect(after.row.status).toBe(to)

      // The new status has the current time, and earlier times stay.
      const at = `${to}_at`
      expect(before.row[at]).toBeNull()
      expect(Date.parse(after.row[at])).toBeGreaterThan(Date.parse(before.row.created_at) + 59_000)
      const isRefunded = to === 'cancelled'
      const isShipped = to === 'shipped'
      expect(after.row).toEqual({
        ...before.row,
        status: to,
        [at]: after.row[at],
        financial: { ...before.row.financial, refunded_amount: isRefunded ? 9 : 0 },
        tracking: isShipped ? after.row.tracking : before.row.tracking,
      })

      // Only a cancellation records an event.
      const events = after.events.slice(before.events.length)
      const cancelledBy = by === 'cancel' ? 'buyer' : 'admin'
      expect(events).toEqual(
        isRefunded
          ? [{ event: 'order.cancelled', data: { order_id: order.id, cancelled_by: cancelledBy } }]
          : [],
      )
      for (const { data } of events) expect(Object.keys(data)).toEqual(['order_id', 'cancelled_by'])
    },
  )

  it.each(ILLEGAL)(
    'a %s order refuses the transition “%s” with 409, and nothing changes',
    async (from, by) => {
      const order = await orderIn(from)
      const before = await everythingOf(order)
      const { status, body } = await TRANSITIONS[by](order.id)
      expect(status).toBe(409)
      expect(body.error).toEqual({ type: 'conflict', message: expect.any(String) })
      expect(await everythingOf(order)).toEqual(before)
    },
  )

  it('the tests cover each transition in each status', () => {
    expect(LEGAL.length + ILLEGAL.length).toBe(5 * 6)
  })

  it('a dispute resolved for the seller keeps the times of shipping, receipt and dispute', async () => {
    const { id } = await orderIn('pending')
    const moments: string[] = []
    const steps: [Transition, string][] = [
      ['ship', 'shipped_at'],
      ['receive', 'received_at'],
      ['dispute', 'disputed_at'],
    ]
    for (const [step, at] of steps) {
      await advance(app.operator, 3600)
      moments.push(rowIn(await TRANSITIONS[step](id), id)[at])
    }
    await advance(app.operator, 3600)
    const { body } = await TRANSITIONS['resolve for the seller'](id)
    expect(body.data).toMatchObject({ status: 'received', cancelled_at: null })
    const { shipped_at, received_at, disputed_at } = body.data
    expect([shipped_at, received_at, disputed_at]).toEqual(moments)
    expect(new Set(moments).size).toBe(3)
  })

  it('transitions change one order row, and leave the other rows of its slice', async () => {
    const listings = await list(seller, cardItem(), cardItem(), cardItem())
    const { orderIds } = await buy(
      app,
      listings.map((listing) => [listing, 1]),
    )
    await ship(seller, orderIds[0]!, { tracking_code: 'CODE' })
    await act(app, orderIds[0]!, 'receive')
    await cancel(app, orderIds[1]!)
    const { body } = await seller.get(`/v1/orders/${orderIds[2]}`)
    expect(body.data.orders.map(({ status }: { status: string }) => status)).toEqual([
      'received',
      'cancelled',
      'shipped',
    ])
  })
})

describe('a cancellation', () => {
  it.each(CANCELLERS)(
    'a cancellation by %s records an event that names them',
    async (cancelled_by) => {
      const { id } = await orderIn('pending')
      const { status, body } = await cancel(app, id, { cancelled_by })
      expect(status).toBe(200)
      expect(body.data).toMatchObject({ id, status: 'cancelled' })
      const events = await eventsOf(app, seller.accountId)
      expect(events.at(-1)).toEqual({
        event: 'order.cancelled',
        data: { order_id: id, cancelled_by },
      })
    },
  )

  it('a cancellation, its restock and its event are one transaction', async () => {
    const { id, listing } = await orderIn('pending')
    await cancel(app, id)
    const written = await app.ctx.db`
      select o.xmin = e.xmin and o.xmin = l.xmin as together
      from orders o
      join listings l on l.id = o.listing_id
      join events e on e.event = 'order.cancelled' and (e.data::jsonb ->> 'order_id')::bigint = o.id
      where o.id = ${id} and l.id = ${listing}
    `
    expect([...written]).toEqual([{ together: true }])
  })

  it('a cancellation that names the status or the refunds that its author has seen is refused with 409 if the row has others by then', async () => {
    const order = await orderIn('pending')
    const seen = { status: 'pending', refunded_amount: 0 }
    await TRANSITIONS.ship(order.id)
    const shipped = await everythingOf(order)
    const late = await cancel(app, order.id, seen)
    expect([late.status, late.body.error?.message]).toEqual([
      409,
      expect.stringContaining('shipped by now'),
    ])
    expect(await everythingOf(order)).toEqual(shipped)
    await act(app, order.id, 'refund', { amount: 1.5, reason: 'A scratch' })
    const refunded = await everythingOf(order)
    const second = await cancel(app, order.id, { ...seen, status: 'shipped' })
    expect([second.status, second.body.error?.message]).toEqual([
      409,
      expect.stringContaining('1.50 EUR'),
    ])
    expect(await everythingOf(order)).toEqual(refunded)
    const current = { status: 'shipped', refunded_amount: 1.5 }
    expect((await cancel(app, order.id, current)).status).toBe(200)
  })

  it.each<[string, object | undefined, string]>([
    ['no body', undefined, 'cancelled_by'],
    ['no canceller', { cancelled_by: undefined }, 'cancelled_by'],
    ['a canceller of null', { cancelled_by: null }, 'cancelled_by'],
    ['an unknown canceller', { cancelled_by: 'Team Rocket' }, 'cancelled_by'],
    ['a canceller in another case', { cancelled_by: 'Buyer' }, 'cancelled_by'],
    ['restock as text', { restock: 'false' }, 'restock'],
    ['restock as a number', { restock: 0 }, 'restock'],
    ['restock as null', { restock: null }, 'restock'],
    ['a status that can’t be cancelled', { status: 'received' }, 'status'],
    ['a negative refunded amount', { refunded_amount: -1 }, 'refunded_amount'],
  ])('a cancellation with %s is refused with 422', async (_, more, field) => {
    const order = await orderIn('pending')
    const before = await everythingOf(order)
    const payload = more && { cancelled_by: 'buyer', ...more }
    const { status, body } = await act(app, order.id, 'cancel', payload)
    expect([status, Object.keys(body.error.fields)]).toEqual([422, [field]])
    expect(await everythingOf(order)).toEqual(before)
  })
})

describe('transitions by the operator', () => {
  it('the operator gets 404 for an unknown order id, whatever the body', async () => {
    for (const action of ['cancel', 'receive', 'dispute', 'resolve'] as const) {
      for (const payload of [undefined, {}, { cancelled_by: 'x', in_favour_of: 'x' }]) {
        const { status, body } = await act(app, 999_999, action, payload)
        expect([action, status, body.error.type]).toEqual([action, 404, 'not_found'])
      }
    }
  })

  it.each([undefined, {}, { in_favour_of: null }, { in_favour_of: 'both' }])(
    'resolving a dispute with the body %o is refused with 422, even if the order is not disputed',
    async (payload) => {
      for (const from of ['disputed', 'shipped'] as const) {
        const order = await orderIn(from)
        const { status, body } = await act(app, order.id, 'resolve', payload)
        expect([status, Object.keys(body.error.fields)]).toEqual([422, ['in_favour_of']])
        expect((await rowOf(seller, order.id)).status).toBe(from)
      }
    },
  )

  it('a seller’s key cannot change orders through the operator API', async () => {
    const { id } = await orderIn('shipped')
    expect((await seller.post(`/operator/v1/orders/${id}/receive`)).status).toBe(401)
    expect((await rowOf(seller, id)).status).toBe('shipped')
  })
})

describe('concurrent transitions', () => {
  const ROUNDS = 5

  it.each<[Transition, Transition, OrderStatus]>([
    ['ship', 'cancel', 'pending'],
    ['receive', 'dispute', 'shipped'],
    ['cancel', 'receive', 'shipped'],
    ['cancel', 'cancel', 'pending'],
    ['resolve for the seller', 'resolve for the buyer', 'disputed'],
    ['resolve for the buyer', 'cancel', 'disputed'],
  ])(
    'the concurrent transitions “%s” and “%s” have the result of one after the other',
    async (one, other, from) => {
      for (let round = 0; round < ROUNDS; round++) {
        const order = await orderIn(from)
        const eventsBefore = (await eventsOf(app, seller.accountId)).length
        const responses = await Promise.all([
          TRANSITIONS[one](order.id),
          TRANSITIONS[other](order.id),
        ])
        const { status } = await rowOf(seller, order.id)
        const [forth, back] = [inTurn(from, [one, other]), inTurn(from, [other, one])]
        // Both succeed if the second is legal after the first.
        expect({ end: status, codes: responses.map((response) => response.status) }).toBeOneOf([
          forth,
          { ...back, codes: back.codes.toReversed() },
        ])
        const cancelled = (await eventsOf(app, seller.accountId)).slice(eventsBefore)
        expect(cancelled).toHaveLength(status === 'cancelled' ? 1 : 0)
        const [listing] = await app.ctx.db<{ quantity: number }[]>`
        select quantity from listings where id = ${order.listing}
      `
        expect(listing!.quantity).toBeOneOf([3, 5])
      }
    },
  )

  it('concurrent cancellations of an order return its units once, and the later ones get 409', async () => {
    const order = await orderIn('pending')
    const waiting = await inTransaction(app.ctx, async (tx) => {
      await tx.db`select from orders where id = ${order.id} for update`
      const responses = Array.from({ length: 4 }, () => cancel(app, order.id))
      // For the row, or for each other.
      await untilLockWaiters(app.ctx.db, 4)
      return { responses }
    })
    const responses = await Promise.all(waiting.responses)
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
    const { body } = await seller.get('/v1/listings')
    expect(body.data[0]).toMatchObject({ id: order.listing, quantity: 5 })
  })

  /** The final status of an order after these transitions in turn, and the status code of each response. */
  function inTurn(from: OrderStatus, way: Transition[]) {
    let end = from
    const codes = way.map((by) => {
      const to = LEGAL.find(([status, legal]) => status === end && legal === by)?.[2]
      end = to ?? end
      return to ? 200 : 409
    })
    return { end, codes }
  }
})

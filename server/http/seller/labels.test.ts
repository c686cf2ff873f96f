import { readdir } from 'node:fs/promises'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CarrierError } from '../../carriers/carrier.ts'
import { type Seller, startTestApp, type TestApp } from '../../test/app.ts'
import { advance, changeAccount, NO_LIMITS } from '../../test/fixtures/listings.ts'
import { type InsertedSlice, insertSlice } from '../../test/fixtures/orders.ts'
import { whileReplaced } from '../../test/while-replaced.ts'

let app: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ settings: NO_LIMITS })
  seller = await app.seller()
})

const DAY = 24 * 60 * 60

/** Sets how the simulated carrier responds. */
const setCarrier = async (label = 'ready', tracking = 'immediate') => {
  const { status } = await app.operator.put('/operator/v1/sandbox/carrier', {
    payload: { label, tracking },
  })
  expect(status).toBe(200)
}
beforeEach(() => setCarrier())

const sell = (options?: Parameters<typeof insertSlice>[2]): Promise<InsertedSlice> =>
  insertSlice(app.ctx.db, seller.accountId, { now: app.ctx.now(), ...options })
const label = ({ orderIds }: InsertedSlice, row = 0) =>
  seller.post(`/v1/orders/${orderIds[row]}/label`)
/** Ships an order row as its seller, or applies another transition as the operator. */
const change = ({ orderIds }: InsertedSlice, row: number, step: string) =>
  step === 'ship'
    ? seller.post(`/v1/orders/${orderIds[row]}/ship`)
    : app.operator.post(`/operator/v1/orders/${orderIds[row]}/${step}`, {
        payload: step === 'cancel' ? { cancelled_by: 'buyer' } : {},
      })
const report = ({ sliceKey }: InsertedSlice, payload: object) =>
  app.operator.post(`/operator/v1/slices/${sliceKey}/tracking`, { payload })

/** The data of each order.label_ready event of a slice, as JSON text. */
const eventData = async ({ orderIds }: InsertedSlice): Promise<string[]> => {
  const rows = await app.ctx.db<{ data: string }[]>`
    select data
    from events
    where event = 'order.label_ready' and account_id = ${seller.accountId}
    order by id
  `
  return rows.map(({ data }) => data).filter((data) => orderIds.includes(JSON.parse(data).order_id))
}
const eventsOf = async (parcel: InsertedSlice) =>
  (await eventData(parcel)).map((data) => JSON.parse(data))
/** The number of shipments that the carrier has sold in total. */
const countShipments = async () => {
  const [row] = await app.ctx.db<{ count: number }[]>`
    select count(*)::int as count from simulated_shipments
  `
  return row!.count
}

describe('POST /v1/orders/{order}/label', () => {
  it('POST /v1/orders/{order}/label buys a label for the whole slice and describes it', async () => {
    const parcel = await sell({ rows: 3 })
    const before = app.ctx.now().getTime()
    const { status, body } = await label(parcel, 1)
    const after = app.ctx.now().getTime()
    expect(status).toBe(200)
    const { label_url, expires_at, tracking_code, order: detail, ...rest } = body.data
    expect(rest).toEqual({
      status: 'ready',
      message: null,
      tracking_url: `https://carrier.example/track/${tracking_code}`,
      provider: 'simulated',
      shipped_lines: 3,
    })
    expect(tracking_code).toMatch(/^SIM\d{10}$/)
    expect(label_url).toMatch(
      /^https:\/\/cards\.example\/labels\/[\w-]{22}\.pdf\?expires=\d+&nonce=/,
    )
    const validFrom = Date.parse(expires_at) - 5 * DAY * 1000
    // In whole seconds.
    expect(validFrom).toBeGreaterThan(before - 1000)
    expect(validFrom).toBeLessThanOrEqual(after)
    expect(detail).toEqual((await seller.get(`/v1/orders/${parcel.orderIds[2]}`)).body.data)
    expect(detail.shipping).toMatchObject({
      provider: 'simulated',
      has_label: true,
      tracking_code,
      label_url,
      expires_at,
    })
    expect(detail.orders[0].tracking).toMatchObject({ code: tracking_code })
    expect(await eventData(parcel)).toEqual([
      `{"order_id":${parcel.orderIds[1]},"has_label":true,"label_url":"${label_url}","tracking_code":"${tracking_code}"}`,
    ])
  })

  it('a label keeps counting the rows that it covered when it was bought', async () => {
    const parcel = await sell({ rows: 3 })
    const cancel = (row: number) =>
      app.operator.post(`/operator/v1/orders/${parcel.orderIds[row]}/cancel`, {
        payload: { cancelled_by: 'buyer' },
      })
    await cancel(0)
    expect((await label(parcel)).body.data.shipped_lines).toBe(2)
    await cancel(1)
    expect((await label(parcel)).body.data.shipped_lines).toBe(2)
  })

  it('a second label request buys nothing, records no event and returns a new link', async () => {
    const parcel = await sell({ rows: 2 })
    const first = await label(parcel)
    const before = await countShipments()
    await advance(app.operator, DAY)
    const again = await label(parcel, 1)
    expect(await countShipments()).toBe(before)
    expect(await eventsOf(parcel)).toHaveLength(1)
    expect(again.body.data).toEqual({
      ...first.body.data,
      label_url: expect.not.stringContaining(first.body.data.label_url),
      expires_at: expect.any(String),
      order: expect.anything(),
    })
    const later = Date.parse(again.body.data.expires_at) - Date.parse(first.body.data.expires_at)
    expect(later / 1000).toBeGreaterThanOrEqual(DAY)
    const { shipping } = (await seller.get(`/v1/orders/${parcel.orderIds[0]}`)).body.data
    expect(shipping.label_url).toBe(again.body.data.label_url)
  })

  it('label requests within one second return different links', async () => {
    const parcel = await sell()
    const links = [await label(parcel), await label(parcel), await label(parcel)].map(
      ({ body }) => body.data.label_url,
    )
    expect(new Set(links).size).toBe(3)
  })

  it('twenty concurrent label requests through two services buy one shipment', async () => {
    const other = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: { ...NO_LIMITS, STORAGE_URL: app.ctx.config.storageUrl },
    })
    const parcel = await sell({ rows: 2 })
    const before = await countShipments()
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (i % 2 ? other : app)
          .withKey(seller.key)
          .post(`/v1/orders/${parcel.orderIds[i % 3 ? 0 : 1]}/label`),
      ),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(new Set(responses.map(({ body }) => body.data.tracking_code)).size).toBe(1)
    expect(new Set(responses.map(({ body }) => body.data.label_url)).size).toBe(20)
    expect(await countShipments()).toBe(before + 1)
    expect(await eventsOf(parcel)).toHaveLength(1)
  })

  it('POST /v1/orders/{order}/label ignores its request body', async () => {
    for (const [payload, type] of [
      ['{"status":', 'application/json'],
      ['<label/>', 'text/xml'],
      ['[1]', 'application/json'],
      ['', ';'],
      ['{}', ';'],
    ] as const) {
      const parcel = await sell()
      const { status } = await seller.post(`/v1/orders/${parcel.orderIds[0]}/label`, {
        payload,
        headers: { 'content-type': type },
      })
      expect(status).toBe(200)
    }
  })

  it('the label of a shipped order can be requested again', async () => {
    const parcel = await sell()
    await label(parcel)
    expect((await seller.post(`/v1/orders/${parcel.orderIds[0]}/ship`)).status).toBe(200)
    const { status, body } = await label(parcel)
    expect([status, body.data.status, body.data.shipped_lines]).toEqual([200, 'ready', 1])
    expect(body.data.label_url).toBeTruthy()
  })
})

describe('labels for shipped orders', () => {
  it('a label bought after shipping gives every shipped row its tracking code', async () => {
    const parcel = await sell({ rows: 3 })
    await change(parcel, 2, 'cancel')
    await change(parcel, 0, 'ship')
    const before = await countShipments()
    const { status, body } = await label(parcel)
    expect([status, body.data.status, body.data.shipped_lines]).toEqual([200, 'ready', 2])
    const { tracking_code, order: slice } = body.data
    expect(tracking_code).toMatch(/^SIM\d{10}$/)
    expect(slice.orders).toMatchObject([
      { status: 'shipped', tracking: { code: tracking_code } },
      { status: 'shipped', tracking: { code: tracking_code } },
      { status: 'cancelled', tracking: { code: null } },
    ])
    expect(slice.shipping).toMatchObject({ has_label: true, tracking_code })
    expect(await eventsOf(parcel)).toMatchObject([{ has_label: true, tracking_code }])
    expect((await label(parcel, 1)).status).toBe(200)
    expect(await countShipments()).toBe(before + 1)
    expect(await eventsOf(parcel)).toHaveLength(1)
  })

  it('a label covers only pending and shipped rows', async () => {
    const parcel = await sell({ rows: 3 })
    await change(parcel, 0, 'ship')
    await change(parcel, 1, 'receive')
    await change(parcel, 2, 'dispute')
    expect((await label(parcel)).body.data.shipped_lines).toBe(1)
  })

  it('label requests that race with shipping buy one shipment', async () => {
    for (let round = 0; round < 5; round++) {
      const parcel = await sell({ rows: 2 })
      const before = await countShipments()
      const [shipped, ...labels] = await Promise.all([
        change(parcel, 0, 'ship'),
        ...[0, 1, 0].map((row) => label(parcel, row)),
      ])
      expect(shipped.body.data.shipped_lines).toBe(2)
      expect(labels.map(({ body }) => body.data.shipped_lines)).toEqual([2, 2, 2])
      expect(await countShipments()).toBe(before + 1)
      const { orders } = (await label(parcel)).body.data.order
      const [{ tracking }] = orders
      expect(tracking.code).toBe(labels[0]!.body.data.tracking_code)
      expect(orders).toMatchObject(Array(2).fill({ status: 'shipped', tracking }))
    }
  })
})

describe('refused label requests', () => {
  it('a label for an unknown or foreign order id returns 404', async () => {
    const other = await app.seller()
    const foreign = await insertSlice(app.ctx.db, other.accountId)
    for (const id of [foreign.orderIds[0], 999_999]) {
      const { status, body } = await seller.post(`/v1/orders/${id}/label`)
      expect([status, body.error.type]).toEqual([404, 'not_found'])
    }
  })

  it('a label request without the scope orders:write returns 403 before the order is looked up', async () => {
    const reader = await app.seller({ scopes: ['orders:read'] })
    expect((await reader.post('/v1/orders/999999/label')).status).toBe(403)
  })

  it('a label without a verified payout setup returns 409, but 404 for an unknown order', async () => {
    const unverified = await app.seller()
    const parcel = await insertSlice(app.ctx.db, unverified.accountId, { fulfilment: 'self_ship' })
    await changeAccount(app, unverified.accountId, { payout_verified: false })
    const { status, body } = await unverified.post(`/v1/orders/${parcel.orderIds[0]}/label`)
    expect([status, body.error.type]).toEqual([409, 'conflict'])
    expect(body.error.message).toMatch(/payout setup/)
    expect((await unverified.post('/v1/orders/999999/label')).status).toBe(404)
  })

  it.each([
    ['cancelled', ['cancel']],
    ['received', ['ship', 'receive']],
    ['disputed', ['ship', 'dispute']],
  ])(
    'a label for an order whose rows are all %s returns 409 and buys nothing',
    async (_, steps) => {
      const parcel = await sell()
      for (const step of steps) await change(parcel, 0, step)
      const before = await countShipments()
      const { status, body } = await label(parcel)
      expect([status, body.error.type]).toEqual([409, 'conflict'])
      expect(await countShipments()).toBe(before)
      expect(await eventsOf(parcel)).toEqual([])
      const { shipping } = (await seller.get(`/v1/orders/${parcel.orderIds[0]}`)).body.data
      expect(shipping).toMatchObject({ provider: null, has_label: false, label_url: null })
    },
  )

  it('a label for an order without an address returns 409', async () => {
    const parcel = await sell({ address: null })
    const { status, body } = await label(parcel)
    expect([status, body.error.type]).toEqual([409, 'conflict'])
  })

  it('a label request for a self-shipped order returns self_ship and buys nothing', async () => {
    const parcel = await sell({ fulfilment: 'self_ship', rows: 2 })
    await setCarrier('error')
    const before = await countShipments()
    const { status, body } = await label(parcel)
    expect(status).toBe(200)
    expect(body.data).toEqual({
      status: 'self_ship',
      label_url: null,
      expires_at: null,
      message: expect.any(String),
      tracking_code: null,
      tracking_url: null,
      provider: null,
      shipped_lines: 0,
      order: expect.objectContaining({ slice_key: parcel.sliceKey }),
    })
    expect(await countShipments()).toBe(before)
    expect(await app.ctx.db`select 1 from shipments where slice_id = ${parcel.sliceId}`).toEqual([])
    expect(await eventsOf(parcel)).toEqual([])
  })
})

describe('carrier failures and delays', () => {
  it('a failing carrier gives 502 without its own message, and the next request buys once', async () => {
    const parcel = await sell()
    await setCarrier('error')
    const before = await countShipments()
    for (let call = 0; call < 3; call++) {
      const { status, body } = await label(parcel)
      expect([status, body.error.type]).toEqual([502, 'provider_error'])
      expect(body.error.message).not.toMatch(/simulated|eventData to fail/)
      const { shipping } = (await seller.get(`/v1/orders/${parcel.orderIds[0]}`)).body.data
      expect(shipping).toMatchObject({ provider: null, has_label: false })
    }
    expect(await countShipments()).toBe(before)
    expect(await eventsOf(parcel)).toEqual([])
    expect(app.logged.findLast(({ message }) => message === 'the carrier failed')).toBeTruthy()

    await setCarrier()
    expect((await label(parcel)).body.data.status).toBe('ready')
    expect((await label(parcel)).body.data.status).toBe('ready')
    expect(await countShipments()).toBe(before + 1)
    expect(await eventsOf(parcel)).toHaveLength(1)
  })

  it('a service without a carrier responds 502, unless there is nothing to buy', async () => {
    const without = await startTestApp({
      settings: { SANDBOX: 'false', SECRET_KEY: 'x'.repeat(32), DATABASE_URL: 'postgres://unused' },
    })
    const shop = await without.seller()
    const [parcel, own] = [
      await insertSlice(without.ctx.db, shop.accountId),
      await insertSlice(without.ctx.db, shop.accountId, { fulfilment: 'self_ship' }),
    ]
    const { status, body } = await shop.post(`/v1/orders/${parcel.orderIds[0]}/label`)
    expect([status, body.error.type]).toEqual([502, 'provider_error'])
    expect((await shop.post(`/v1/orders/${own.orderIds[0]}/label`)).status).toBe(200)
    await without.operator.post(`/operator/v1/orders/${parcel.orderIds[0]}/cancel`, {
      payload: { cancelled_by: 'buyer' },
    })
    expect((await shop.post(`/v1/orders/${parcel.orderIds[0]}/label`)).status).toBe(409)
    expect(await without.ctx.db`select 1 from shipments`).toEqual([])
  })

  it('a label without its file is completed, and announced, by a later request', async () => {
    await setCarrier('processing')
    const parcel = await sell({ rows: 2 })
    const first = (await label(parcel, 1)).body.data
    expect(first).toMatchObject({
      status: 'processing',
      label_url: null,
      expires_at: null,
      message: null,
      provider: 'simulated',
      shipped_lines: 2,
    })
    expect(first.order.shipping).toMatchObject({ provider: 'simulated', has_label: false })
    await label(parcel)
    expect(await eventsOf(parcel)).toHaveLength(1)

    await setCarrier('ready')
    const ready = (await label(parcel, 0)).body.data
    expect(ready).toMatchObject({ status: 'ready', shipped_lines: 2 })
    const [before, after] = await eventsOf(parcel)
    expect(before).toMatchObject({ has_label: false, label_url: null })
    // The event names the row of the first request and carries the link of the second.
    expect(after).toEqual({
      order_id: parcel.orderIds[1],
      has_label: true,
      label_url: ready.label_url,
      tracking_code: ready.tracking_code,
    })
    await setCarrier('processing')
    expect((await label(parcel)).body.data.status).toBe('ready')
    expect(await eventsOf(parcel)).toHaveLength(2)
  })

  it('a withheld label of an order whose items are all cancelled says so, also in the dashboard, and does not ask for another call', async () => {
    await setCarrier('action_required')
    const parcel = await sell()
    const asksMarketplace = /Ask the marketplace .* request the label again\.$/
    expect((await label(parcel)).body.data.message).toMatch(asksMarketplace)
    const order = parcel.orderIds[0]!
    // An earlier version has stored another text.
    await app.ctx.db`
      update shipments
      set
        message = 'The shipment exists, but the carrier withholds its label, most likely because of the balance or the payment method of the carrier account. Resolve this with the carrier, then call again.'
      where order_id = ${order}
    `
    const member = await app.member(seller.accountId)
    const shown = async () =>
      (await member.get(`/dashboard/api/orders/${order}`)).body.data.label.message
    expect(await shown()).toMatch(asksMarketplace)
    expect((await change(parcel, 0, 'cancel')).status).toBe(200)
    const ended =
      /^The carrier withholds the label or has cancelled it, and every row .* cancelled.* nothing to do\.$/
    expect(await shown()).toMatch(ended)
    const { status, body } = await label(parcel)
    expect([status, body.data.status]).toEqual([200, 'action_required'])
    expect(body.data.message).toMatch(ended)
  })

  it('a label that the carrier withholds has status action_required and says what to do', async () => {
    await setCarrier('action_required')
    const parcel = await sell()
    const before = await countShipments()
    for (let call = 0; call < 3; call++) {
      const { status, body } = await label(parcel)
      expect(status).toBe(200)
      expect(body.data).toMatchObject({
        status: 'action_required',
        label_url: null,
        shipped_lines: 1,
      })
      expect(body.data.message).toMatch(/balance or the payment method/)
    }
    expect(await countShipments()).toBe(before + 1)
    expect(await eventsOf(parcel)).toEqual([
      expect.objectContaining({ has_label: false, label_url: null }),
    ])

    await setCarrier('processing')
    expect((await label(parcel)).body.data).toMatchObject({ status: 'processing', message: null })
    expect(await eventsOf(parcel)).toHaveLength(1)
    await setCarrier()
    expect((await label(parcel)).body.data).toMatchObject({ status: 'ready', message: null })
    expect(await eventsOf(parcel)).toHaveLength(2)
    expect(await countShipments()).toBe(before + 1)
  })

  it('a failing carrier gives 502 for an incomplete label and does not affect a complete one', async () => {
    await setCarrier('processing')
    const awaited = await sell()
    await label(awaited)
    await setCarrier('ready', 'late')
    const [complete, withoutCode] = [await sell(), await sell()]
    await label(withoutCode)
    await setCarrier()
    await label(complete)
    await setCarrier('error')
    expect((await label(awaited)).status).toBe(502)
    expect((await label(complete)).body.data.status).toBe('ready')
    expect((await label(withoutCode)).body.data).toMatchObject({
      status: 'ready',
      tracking_code: null,
    })
  })
})

describe('late tracking codes', () => {
  it('a poll one minute later finds a late tracking code and announces it once, with a new link', async () => {
    await setCarrier('ready', 'late')
    const parcel = await sell()
    const first = (await label(parcel)).body.data
    expect(first).toMatchObject({ status: 'ready', tracking_code: null, tracking_url: null })
    await setCarrier()
    await app.runPolls()
    expect(await eventsOf(parcel)).toHaveLength(1)
    await advance(app.operator, 60)
    await app.runPolls()
    const [, second, ...more] = await eventsOf(parcel)
    expect(more).toEqual([])
    expect(second).toMatchObject({
      order_id: parcel.orderIds[0],
      has_label: true,
      tracking_code: expect.stringMatching(/^SIM/),
    })
    expect(second.label_url).not.toBe(first.label_url)
    const { shipping, orders } = (await seller.get(`/v1/orders/${parcel.orderIds[0]}`)).body.data
    expect(shipping).toMatchObject({
      tracking_code: second.tracking_code,
      label_url: second.label_url,
    })
    expect(orders[0].tracking.code).toBe(second.tracking_code)
    await advance(app.operator, DAY)
    await app.runPolls()
    expect(await eventsOf(parcel)).toHaveLength(2)
  })

  it('a late tracking code is polled for after 1, 5, 15 and 60 minutes, then hourly for a week', async () => {
    await setCarrier('ready', 'late')
    const parcel = await sell()
    const state = async () => {
      const [row] = await app.ctx.db<{ polls: number; pollAt: Date | null }[]>`
        select polls, poll_at as "pollAt" from shipments where slice_id = ${parcel.sliceId}
      `
      return row!
    }
    /** When the carrier was last asked, at the earliest and at the latest. */
    let asked = { from: 0, to: 0 }
    const timed = async (ask: () => Promise<unknown>) => {
      const from = app.ctx.now().getTime()
      await ask()
      asked = { from, to: app.ctx.now().getTime() }
    }
    /** Time that the requests below may take. */
    const marginSeconds = 20
    /** Advances the clock to the next poll, which must not happen before; returns the minutes until then. */
    const awaitPoll = async () => {
      const { polls, pollAt } = await state()
      const dueAt = pollAt!.getTime()
      const minutes = Math.floor((dueAt - asked.from) / 60_000)
      expect(dueAt - minutes * 60_000).toBeLessThanOrEqual(asked.to)
      const seconds = Math.ceil((dueAt - app.ctx.now().getTime()) / 1000)
      await advance(app.operator, seconds - marginSeconds)
      await app.runPolls()
      expect((await state()).polls).toBe(polls)
      await advance(app.operator, marginSeconds)
      await timed(() => app.runPolls())
      expect((await state()).polls).toBe(polls + 1)
      return minutes
    }
    await timed(() => label(parcel))
    const waits: number[] = []
    while (waits.length < 6) waits.push(await awaitPoll())
    expect(waits).toEqual([1, 5, 15, 60, 60, 60])
    // Skip the week of hourly polls, except for the last two.
    await app.ctx
      .db`update shipments set polls = ${4 + 7 * 24 - 2} where slice_id = ${parcel.sliceId}`
    expect(await awaitPoll()).toBe(60)
    expect(await awaitPoll()).toBe(60)
    expect(await state()).toEqual({ polls: 4 + 7 * 24, pollAt: null })
    expect(await eventsOf(parcel)).toHaveLength(1)
    // A request by the seller still asks the carrier.
    await setCarrier()
    expect((await label(parcel)).body.data.tracking_code).toMatch(/^SIM/)
  })

  it('the next label request finds a late tracking code and announces it', async () => {
    await setCarrier('ready', 'late')
    const parcel = await sell()
    await label(parcel)
    expect((await label(parcel)).body.data.tracking_code).toBeNull()
    expect(await eventsOf(parcel)).toHaveLength(1)
    await setCarrier()
    const { tracking_code } = (await label(parcel)).body.data
    expect(tracking_code).toMatch(/^SIM/)
    expect((await eventsOf(parcel)).map((data) => data.tracking_code)).toEqual([
      null,
      tracking_code,
    ])
  })

  it('a tracking code from the operator is announced at once, and the carrier cannot replace it', async () => {
    await setCarrier('ready', 'late')
    const parcel = await sell({ rows: 2 })
    await label(parcel, 1)
    const { status, body } = await report(parcel, {
      tracking_code: '3SABCD1234567',
      tracking_url: 'https://carrier.example/3SABCD1234567',
      status: 'En route',
    })
    expect(status).toBe(200)
    expect(body.data).toEqual({
      slice_key: parcel.sliceKey,
      tracking_code: '3SABCD1234567',
      tracking_url: 'https://carrier.example/3SABCD1234567',
      status: 'En route',
      updated_at: expect.any(String),
    })
    const [, second] = await eventsOf(parcel)
    expect(second).toMatchObject({ order_id: parcel.orderIds[1], tracking_code: '3SABCD1234567' })

    for (const tracking of ['late', 'immediate']) {
      await setCarrier('ready', tracking)
      await advance(app.operator, 3_600)
      await app.runPolls()
      expect((await label(parcel)).body.data).toMatchObject({
        tracking_code: '3SABCD1234567',
        tracking_url: 'https://carrier.example/3SABCD1234567',
      })
    }
    const { shipping } = (await seller.get(`/v1/orders/${parcel.orderIds[0]}`)).body.data
    expect(shipping).toMatchObject({ tracking_code: '3SABCD1234567', tracking_status: 'En route' })
    expect(await eventsOf(parcel)).toHaveLength(2)
  })
})

describe('POST /operator/v1/slices/{slice_key}/tracking', () => {
  it('a tracking report keeps omitted fields; a new code is announced, a new status is not', async () => {
    const parcel = await sell()
    await label(parcel)
    await report(parcel, { tracking_code: 'A1', tracking_url: 'https://carrier.example/A1' })
    await report(parcel, { status: 'Delivered' })
    await report(parcel, { tracking_code: 'A1', status: null })
    const { body } = await report(parcel, {})
    expect(body.data).toMatchObject({
      tracking_code: 'A1',
      tracking_url: 'https://carrier.example/A1',
      status: 'Delivered',
    })
    expect(await eventsOf(parcel)).toHaveLength(2)
    // The old URL leads to another parcel.
    expect((await report(parcel, { tracking_code: 'A2' })).body.data.tracking_url).toBeNull()
    expect((await eventsOf(parcel)).map((data) => data.tracking_code)).toEqual([
      expect.stringMatching(/^SIM/),
      'A1',
      'A2',
    ])
  })

  it('a tracking code reported before the purchase is announced with the label', async () => {
    const parcel = await sell()
    expect((await report(parcel, { tracking_code: 'EARLY' })).status).toBe(200)
    expect(await eventsOf(parcel)).toEqual([])
    expect((await label(parcel)).body.data.tracking_code).toBe('EARLY')
    expect((await eventsOf(parcel)).map((data) => data.tracking_code)).toEqual(['EARLY'])
  })

  it('a tracking report returns 404 for an unknown slice and 422 for invalid fields', async () => {
    const parcel = await sell()
    const nowhere = { ...parcel, sliceKey: 'slc_unknown' }
    expect((await report(nowhere, { tracking_code: 1 })).status).toBe(404)
    expect((await report({ ...parcel, sliceKey: '%00' }, {})).status).toBe(404)
    for (const payload of [
      { tracking_code: 7 },
      { tracking_code: '' },
      { tracking_code: ' ' },
      { tracking_code: 'x'.repeat(101) },
      { tracking_url: 'javascript:alert(1)' },
      { status: ' ' },
      { status: ['lost'] },
    ]) {
      const { status, body } = await report(parcel, payload)
      expect([status, Object.keys(body.error.fields)]).toEqual([422, Object.keys(payload)])
    }
    const { body } = await report(parcel, { tracking_url: 'carrier.example' })
    expect(body.error.message).toBe('The tracking_url field must begin with http:// or https://.')
  })
})

describe('PUT /operator/v1/sandbox/carrier', () => {
  it('PUT /operator/v1/sandbox/carrier returns its settings; omitted ones are ready and immediate', async () => {
    const put = (payload: object) => app.operator.put('/operator/v1/sandbox/carrier', { payload })
    expect((await put({ label: 'error', tracking: 'late' })).body.data).toEqual({
      label: 'error',
      tracking: 'late',
    })
    expect((await put({ tracking: 'late' })).body.data).toEqual({
      label: 'ready',
      tracking: 'late',
    })
    expect((await put({})).body.data).toEqual({ label: 'ready', tracking: 'immediate' })
    expect((await put({ label: 'lost' })).status).toBe(422)
  })
})

describe('label links', () => {
  const follow = (link: string) => app.anyone.get(link.replace('https://cards.example', ''))
  const linkOf = async () => (await label(await sell())).body.data.label_url as string

  it('a label link serves the PDF to anyone and forbids caching', async () => {
    const { status, headers, text } = await follow(await linkOf())
    expect(status).toBe(200)
    expect(text).toMatch(/^%PDF-/)
    expect(headers).toMatchObject({
      'content-type': 'application/pdf',
      'cache-control': 'no-store',
      'content-disposition': 'inline; filename="label.pdf"',
      'x-content-type-options': 'nosniff',
    })
  })

  it('a label is served and merged from a storage that does not tell its length', async () => {
    const parcel = await sell()
    const link = (await label(parcel)).body.data.label_url as string
    const { text } = await follow(link)
    const { files } = app.ctx
    const withoutLength: typeof files.get = async (name) => {
      const file = await files.get(name)
      return file && { stream: file.stream, length: undefined }
    }
    const storage = { ...files, get: withoutLength }
    const [served, merged] = await whileReplaced(app.ctx, { files: storage }, async () => [
      await follow(link),
      await seller.post('/tools/v1/labels', { payload: { orders: parcel.orderIds, merge: true } }),
    ])
    expect(served).toMatchObject({ status: 200, text })
    expect(served.headers).not.toHaveProperty('content-length')
    expect(merged.status).toBe(200)
  })

  it('the link of a label whose file is lost fetches it from the carrier again', async () => {
    const link = await linkOf()
    const { text } = await follow(link)
    const { pathname } = new URL(link)
    await app.ctx.files.delete(pathname.slice(1))
    const { label: print } = app.ctx.carrier!
    app.ctx.carrier!.label = () => Promise.reject(new CarrierError('unknown', 'no response'))
    const { status, body } = await follow(link)
    expect([status, body.error.message]).toEqual([
      404,
      'The file of this label is missing. Open the link again later; if it stays missing, ask the marketplace.',
    ])
    app.ctx.carrier!.label = print
    for (let call = 0; call < 2; call++) {
      expect(await follow(link)).toMatchObject({ status: 200, text })
    }
  })

  it('a changed label link returns 403, whichever part was changed', async () => {
    const link = await linkOf()
    const other = await linkOf()
    const changed = (name: string, change: (value: string) => string) => {
      const url = new URL(link)
      url.searchParams.set(name, change(url.searchParams.get(name)!))
      return url.href
    }
    const without = (name: string) => {
      const url = new URL(link)
      url.searchParams.delete(name)
      return url.href
    }
    const withPathOf = (from: string) => {
      const url = new URL(link)
      url.pathname = new URL(from).pathname
      return url.href
    }
    const flip = (text: string) => (text.startsWith('A') ? 'B' : 'A') + text.slice(1)
    for (const tampered of [
      withPathOf(other),
      changed('expires', (seconds) => String(Number(seconds) + 1)),
      changed('expires', (seconds) => `0${seconds}`),
      changed('expires', () => 'never'),
      changed('nonce', flip),
      changed('nonce', () => new URL(other).searchParams.get('nonce')!),
      changed('signature', flip),
      changed('signature', (signature) => signature.slice(0, -1)),
      changed('signature', () => new URL(other).searchParams.get('signature')!),
      changed('signature', () => ''),
      without('expires'),
      without('nonce'),
      without('signature'),
      link.split('?')[0]!,
      'https://cards.example/labels/nothing?expires=1&nonce=1&signature=1',
    ]) {
      const { status, body } = await follow(tampered)
      expect([status, body.error.type], tampered).toEqual([403, 'authorization_error'])
    }
    expect((await follow(link)).status).toBe(200)
  })

  it('a label link lives for five days by the service’s clock; a newer link does not end it', async () => {
    const parcel = await sell()
    const early = (await label(parcel)).body.data
    await advance(app.operator, 4 * DAY)
    const late = (await label(parcel)).body.data
    expect((await follow(early.label_url)).status).toBe(200)
    await advance(app.operator, DAY)
    expect((await follow(early.label_url)).status).toBe(403)
    expect((await follow(late.label_url)).status).toBe(200)
    await advance(app.operator, 4 * DAY)
    expect((await follow(late.label_url)).status).toBe(403)
    const { shipping } = (await seller.get(`/v1/orders/${parcel.orderIds[0]}`)).body.data
    expect(shipping).toMatchObject({ has_label: true, label_url: null, expires_at: null })
  })

  it('a label link of a service with another secret key returns 403', async () => {
    const link = await linkOf()
    const other = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: { SECRET_KEY: 'another', STORAGE_URL: app.ctx.config.storageUrl },
    })
    const path = link.replace('https://cards.example', '')
    expect((await other.anyone.get(path)).status).toBe(403)
  })

  it('repeated label requests store one file per shipment', async () => {
    const storage = new URL(`${app.ctx.config.storageUrl}/labels`)
    const before = (await readdir(storage)).length
    const parcel = await sell()
    for (let call = 0; call < 3; call++) await label(parcel)
    expect((await readdir(storage)).length).toBe(before + 1)
  })
})

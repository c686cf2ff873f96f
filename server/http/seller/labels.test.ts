import { readdir } from 'node:fs/promises'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { advance, changeAccount, NO_LIMITS } from '../../test/fixtures/listings.ts'
import { type Sold, sold } from '../../test/sold.ts'

let app: TestApp
let seller: Awaited<ReturnType<TestApp['seller']>>
beforeAll(async () => {
  app = await startTestApp({ settings: NO_LIMITS })
  seller = await app.seller()
})

const DAY = 24 * 60 * 60

/** How the carrier answers from now on. */
const mood = async (label = 'ready', tracking = 'immediate', of = app) => {
  const { status } = await of.operator.put('/operator/v1/sandbox/carrier', {
    payload: { label, tracking },
  })
  expect(status).toBe(200)
}
beforeEach(() => mood())

const order = (options?: Parameters<typeof sold>[2]): Promise<Sold> =>
  sold(app.ctx.db, seller.accountId, { now: app.ctx.now(), ...options })
const label = ({ orderIds }: Sold, row = 0) => seller.post(`/v1/orders/${orderIds[row]}/label`)
/** A seller ships an order row, or the operator does something else with it. */
const does = ({ orderIds }: Sold, row: number, step: string) =>
  step === 'ship'
    ? seller.post(`/v1/orders/${orderIds[row]}/ship`)
    : app.operator.post(`/operator/v1/orders/${orderIds[row]}/${step}`, {
        payload: step === 'cancel' ? { cancelled_by: 'buyer' } : {},
      })
const report = ({ sliceKey }: Sold, payload: object) =>
  app.operator.post(`/operator/v1/slices/${sliceKey}/tracking`, { payload })

/** What the seller was told of a slice, each event's data as it's sent. */
const told = async ({ orderIds }: Sold): Promise<string[]> => {
  const rows = await app.ctx.db<{ data: string }[]>`
    select data
    from events
    where event = 'order.label_ready' and account_id = ${seller.accountId}
    order by id
  `
  return rows.map(({ data }) => data).filter((data) => orderIds.includes(JSON.parse(data).order_id))
}
const toldOf = async (of: Sold) => (await told(of)).map((data) => JSON.parse(data))
/** How many shipments the carrier has sold in all. */
const bought = async () => {
  const [row] = await app.ctx.db<{ count: number }[]>`
    select count(*)::int as count from simulated_shipments
  `
  return row!.count
}

describe('POST /v1/orders/{order}/label', () => {
  it('buys a label for the whole slice, and says everything about it', async () => {
    const parcel = await order({ rows: 3 })
    const { status, body } = await label(parcel, 1)
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
    expect((Date.parse(expires_at) - app.ctx.now().getTime()) / 1000).toBeCloseTo(5 * DAY, -1)
    expect(detail).toEqual((await seller.get(`/v1/orders/${parcel.orderIds[2]}`)).body.data)
    expect(detail.shipping).toMatchObject({
      provider: 'simulated',
      has_label: true,
      tracking_code,
      label_url,
      expires_at,
    })
    expect(detail.orders[0].tracking).toMatchObject({ code: tracking_code })
    expect(await told(parcel)).toEqual([
      `{"order_id":${parcel.orderIds[1]},"has_label":true,"label_url":"${label_url}","tracking_code":"${tracking_code}"}`,
    ])
  })

  it('covers the rows that are still to be shipped, for good', async () => {
    const parcel = await order({ rows: 3 })
    const cancel = (row: number) =>
      app.operator.post(`/operator/v1/orders/${parcel.orderIds[row]}/cancel`, {
        payload: { cancelled_by: 'buyer' },
      })
    await cancel(0)
    expect((await label(parcel)).body.data.shipped_lines).toBe(2)
    await cancel(1)
    expect((await label(parcel)).body.data.shipped_lines).toBe(2)
  })

  it('called again buys nothing and tells nobody; the link is a fresh one', async () => {
    const parcel = await order({ rows: 2 })
    const first = await label(parcel)
    const before = await bought()
    await advance(app.operator, DAY)
    const again = await label(parcel, 1)
    expect(await bought()).toBe(before)
    expect(await toldOf(parcel)).toHaveLength(1)
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

  it('called again in the same second gives another link all the same', async () => {
    const parcel = await order()
    const links = [await label(parcel), await label(parcel), await label(parcel)].map(
      ({ body }) => body.data.label_url,
    )
    expect(new Set(links).size).toBe(3)
  })

  it('called twenty times at once, through two services on one database, buys one shipment', async () => {
    const other = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: { ...NO_LIMITS, STORAGE_URL: app.ctx.config.storageUrl },
    })
    const parcel = await order({ rows: 2 })
    const before = await bought()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (i % 2 ? other : app)
          .withKey(seller.key)
          .post(`/v1/orders/${parcel.orderIds[i % 3 ? 0 : 1]}/label`),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(new Set(answers.map(({ body }) => body.data.tracking_code)).size).toBe(1)
    expect(new Set(answers.map(({ body }) => body.data.label_url)).size).toBe(20)
    expect(await bought()).toBe(before + 1)
    expect(await toldOf(parcel)).toHaveLength(1)
  })

  it('ignores whatever is sent along', async () => {
    const [first, second, third] = [await order(), await order(), await order()]
    for (const [parcel, payload, type] of [
      [first, '{"status":', 'application/json'],
      [second, '<label/>', 'text/xml'],
      [third, '[1]', 'application/json'],
    ] as const) {
      const { status } = await seller.post(`/v1/orders/${parcel.orderIds[0]}/label`, {
        payload,
        headers: { 'content-type': type },
      })
      expect(status).toBe(200)
    }
  })

  it('reads it again after the order was shipped', async () => {
    const parcel = await order()
    await label(parcel)
    expect((await seller.post(`/v1/orders/${parcel.orderIds[0]}/ship`)).status).toBe(200)
    const { status, body } = await label(parcel)
    expect([status, body.data.status, body.data.shipped_lines]).toEqual([200, 'ready', 1])
    expect(body.data.label_url).toBeTruthy()
  })
})

describe('a label bought after the order was marked as shipped', () => {
  it('is a label like any other, and every shipped row gets its tracking code', async () => {
    const parcel = await order({ rows: 3 })
    await does(parcel, 2, 'cancel')
    await does(parcel, 0, 'ship')
    const before = await bought()
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
    expect(await toldOf(parcel)).toMatchObject([{ has_label: true, tracking_code }])
    expect((await label(parcel, 1)).status).toBe(200)
    expect(await bought()).toBe(before + 1)
    expect(await toldOf(parcel)).toHaveLength(1)
  })

  it('covers the rows that are pending or shipped, and needs one of them', async () => {
    const parcel = await order({ rows: 3 })
    await does(parcel, 0, 'ship')
    await does(parcel, 1, 'receive')
    await does(parcel, 2, 'dispute')
    expect((await label(parcel)).body.data.shipped_lines).toBe(1)
  })

  it('is bought once by calls that race with the shipping', async () => {
    for (let round = 0; round < 5; round++) {
      const parcel = await order({ rows: 2 })
      const before = await bought()
      const [shipped, ...labels] = await Promise.all([
        does(parcel, 0, 'ship'),
        ...[0, 1, 0].map((row) => label(parcel, row)),
      ])
      expect(shipped.body.data.shipped_lines).toBe(2)
      expect(labels.map(({ body }) => body.data.shipped_lines)).toEqual([2, 2, 2])
      expect(await bought()).toBe(before + 1)
      const { orders } = (await label(parcel)).body.data.order
      const [{ tracking }] = orders
      expect(tracking.code).toBe(labels[0]!.body.data.tracking_code)
      expect(orders).toMatchObject(Array(2).fill({ status: 'shipped', tracking }))
    }
  })
})

describe('a label that can’t be had', () => {
  it('of an order that isn’t there, is another’s, or can’t be is 404', async () => {
    const other = await app.seller()
    const foreign = await sold(app.ctx.db, other.accountId)
    for (const id of [foreign.orderIds[0], 999_999, 'abc', '0', '99999999999999999999']) {
      const { status, body } = await seller.post(`/v1/orders/${id}/label`)
      expect([status, body.error.type]).toEqual([404, 'not_found'])
    }
  })

  it('without the scope is 403, before anything is looked up', async () => {
    const reader = await app.seller({ scopes: ['orders:read'] })
    expect((await reader.post('/v1/orders/999999/label')).status).toBe(403)
  })

  it('without a verified payout setup is 409 with what to do, after 404 and before everything else', async () => {
    const unverified = await app.seller()
    const parcel = await sold(app.ctx.db, unverified.accountId, { fulfilment: 'self_ship' })
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
  ])('of rows that are all %s is 409, and leaves nothing behind', async (_, steps) => {
    const parcel = await order()
    for (const step of steps) await does(parcel, 0, step)
    const before = await bought()
    const { status, body } = await label(parcel)
    expect([status, body.error.type]).toEqual([409, 'conflict'])
    expect(await bought()).toBe(before)
    expect(await toldOf(parcel)).toEqual([])
    const { shipping } = (await seller.get(`/v1/orders/${parcel.orderIds[0]}`)).body.data
    expect(shipping).toMatchObject({ provider: null, has_label: false, label_url: null })
  })

  it('without an address to print is 409', async () => {
    const parcel = await order({ address: null })
    const { status, body } = await label(parcel)
    expect([status, body.error.type]).toEqual([409, 'conflict'])
  })

  it('of an order with an option of the seller’s own says so, and nothing happens', async () => {
    const parcel = await order({ fulfilment: 'self_ship', rows: 2 })
    await mood('error')
    const before = await bought()
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
    expect(await bought()).toBe(before)
    expect(await app.ctx.db`select 1 from shipments where slice_id = ${parcel.sliceId}`).toEqual([])
    expect(await toldOf(parcel)).toEqual([])
  })
})

describe('a carrier that', () => {
  it('fails is 502 in words of ours; the next call buys, once', async () => {
    const parcel = await order()
    await mood('error')
    const before = await bought()
    for (let call = 0; call < 3; call++) {
      const { status, body } = await label(parcel)
      expect([status, body.error.type]).toEqual([502, 'provider_error'])
      expect(body.error.message).not.toMatch(/simulated|told to fail/)
      const { shipping } = (await seller.get(`/v1/orders/${parcel.orderIds[0]}`)).body.data
      expect(shipping).toMatchObject({ provider: null, has_label: false })
    }
    expect(await bought()).toBe(before)
    expect(await toldOf(parcel)).toEqual([])
    expect(app.logged.findLast(({ message }) => message === 'the carrier failed')).toBeTruthy()

    await mood()
    expect((await label(parcel)).body.data.status).toBe('ready')
    expect((await label(parcel)).body.data.status).toBe('ready')
    expect(await bought()).toBe(before + 1)
    expect(await toldOf(parcel)).toHaveLength(1)
  })

  it('is not there is 502, unless there is nothing to buy', async () => {
    const without = await startTestApp({
      settings: { SANDBOX: 'false', SECRET_KEY: 'x'.repeat(32), DATABASE_URL: 'postgres://unused' },
    })
    const shop = await without.seller()
    const [parcel, own] = [
      await sold(without.ctx.db, shop.accountId),
      await sold(without.ctx.db, shop.accountId, { fulfilment: 'self_ship' }),
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

  it('has no file yet is asked again by the next call, which tells of the label', async () => {
    await mood('processing')
    const parcel = await order({ rows: 2 })
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
    expect(await toldOf(parcel)).toHaveLength(1)

    await mood('ready')
    const ready = (await label(parcel, 0)).body.data
    expect(ready).toMatchObject({ status: 'ready', shipped_lines: 2 })
    const [before, after] = await toldOf(parcel)
    expect(before).toMatchObject({ has_label: false, label_url: null })
    // Of the row by which it was asked for first, with the link that the call got.
    expect(after).toEqual({
      order_id: parcel.orderIds[1],
      has_label: true,
      label_url: ready.label_url,
      tracking_code: ready.tracking_code,
    })
    await mood('processing')
    expect((await label(parcel)).body.data.status).toBe('ready')
    expect(await toldOf(parcel)).toHaveLength(2)
  })

  it('keeps the label back says what to do; the shipment is there and told of', async () => {
    await mood('action_required')
    const parcel = await order()
    const before = await bought()
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
    expect(await bought()).toBe(before + 1)
    expect(await toldOf(parcel)).toEqual([
      expect.objectContaining({ has_label: false, label_url: null }),
    ])

    await mood('processing')
    expect((await label(parcel)).body.data).toMatchObject({ status: 'processing', message: null })
    expect(await toldOf(parcel)).toHaveLength(1)
    await mood()
    expect((await label(parcel)).body.data).toMatchObject({ status: 'ready', message: null })
    expect(await toldOf(parcel)).toHaveLength(2)
    expect(await bought()).toBe(before + 1)
  })

  it('fails while a label is awaited is 502; what is complete needs no carrier', async () => {
    await mood('processing')
    const awaited = await order()
    await label(awaited)
    await mood('ready', 'late')
    const [complete, withoutCode] = [await order(), await order()]
    await label(withoutCode)
    await mood()
    await label(complete)
    await mood('error')
    expect((await label(awaited)).status).toBe(502)
    expect((await label(complete)).body.data.status).toBe('ready')
    expect((await label(withoutCode)).body.data).toMatchObject({
      status: 'ready',
      tracking_code: null,
    })
  })
})

describe('a tracking code that comes late', () => {
  it('by a poll: a minute later, told once, with a link of its own', async () => {
    await mood('ready', 'late')
    const parcel = await order()
    const first = (await label(parcel)).body.data
    expect(first).toMatchObject({ status: 'ready', tracking_code: null, tracking_url: null })
    await mood()
    await app.runPolls()
    expect(await toldOf(parcel)).toHaveLength(1)
    await advance(app.operator, 60)
    await app.runPolls()
    const [, second, ...more] = await toldOf(parcel)
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
    expect(await toldOf(parcel)).toHaveLength(2)
  })

  it('is asked for after 1, 5, 15 and 60 minutes, then every hour for a week', async () => {
    await mood('ready', 'late')
    const parcel = await order()
    await label(parcel)
    const state = async () => {
      const [row] = await app.ctx.db<{ polls: number; pollAt: Date | null }[]>`
        select polls, poll_at as "pollAt" from shipments where slice_id = ${parcel.sliceId}
      `
      return row!
    }
    /** Waits until it's due, and not a second longer; answers how many minutes that was. */
    const awaitPoll = async () => {
      const { polls, pollAt } = await state()
      const seconds = Math.ceil((pollAt!.getTime() - app.ctx.now().getTime()) / 1000)
      await advance(app.operator, seconds - 2)
      await app.runPolls()
      expect((await state()).polls).toBe(polls)
      await advance(app.operator, 2)
      await app.runPolls()
      expect((await state()).polls).toBe(polls + 1)
      return Math.round(seconds / 60)
    }
    const waits: number[] = []
    while (waits.length < 6) waits.push(await awaitPoll())
    expect(waits).toEqual([1, 5, 15, 60, 60, 60])
    // Rather than a week of hours.
    await app.ctx
      .db`update shipments set polls = ${4 + 7 * 24 - 2} where slice_id = ${parcel.sliceId}`
    expect(await awaitPoll()).toBe(60)
    expect(await awaitPoll()).toBe(60)
    expect(await state()).toEqual({ polls: 4 + 7 * 24, pollAt: null })
    expect(await toldOf(parcel)).toHaveLength(1)
    // The seller's own call still asks.
    await mood()
    expect((await label(parcel)).body.data.tracking_code).toMatch(/^SIM/)
  })

  it('by the next call', async () => {
    await mood('ready', 'late')
    const parcel = await order()
    await label(parcel)
    expect((await label(parcel)).body.data.tracking_code).toBeNull()
    expect(await toldOf(parcel)).toHaveLength(1)
    await mood()
    const { tracking_code } = (await label(parcel)).body.data
    expect(tracking_code).toMatch(/^SIM/)
    expect((await toldOf(parcel)).map((data) => data.tracking_code)).toEqual([null, tracking_code])
  })

  it('from the operator is told at once, and no answer of the carrier takes it away', async () => {
    await mood('ready', 'late')
    const parcel = await order({ rows: 2 })
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
    const [, second] = await toldOf(parcel)
    expect(second).toMatchObject({ order_id: parcel.orderIds[1], tracking_code: '3SABCD1234567' })

    for (const tracking of ['late', 'immediate']) {
      await mood('ready', tracking)
      await advance(app.operator, 3_600)
      await app.runPolls()
      expect((await label(parcel)).body.data).toMatchObject({
        tracking_code: '3SABCD1234567',
        tracking_url: 'https://carrier.example/3SABCD1234567',
      })
    }
    const { shipping } = (await seller.get(`/v1/orders/${parcel.orderIds[0]}`)).body.data
    expect(shipping).toMatchObject({ tracking_code: '3SABCD1234567', tracking_status: 'En route' })
    expect(await toldOf(parcel)).toHaveLength(2)
  })
})

describe('POST /operator/v1/slices/{slice_key}/tracking', () => {
  it('leaves what is left out, and tells of another code but not of another status', async () => {
    const parcel = await order()
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
    expect(await toldOf(parcel)).toHaveLength(2)
    // The old address leads to another parcel.
    expect((await report(parcel, { tracking_code: 'A2' })).body.data.tracking_url).toBeNull()
    expect((await toldOf(parcel)).map((data) => data.tracking_code)).toEqual([
      expect.stringMatching(/^SIM/),
      'A1',
      'A2',
    ])
  })

  it('before a label was bought tells nobody; the label then comes with that code', async () => {
    const parcel = await order()
    expect((await report(parcel, { tracking_code: 'EARLY' })).status).toBe(200)
    expect(await toldOf(parcel)).toEqual([])
    expect((await label(parcel)).body.data.tracking_code).toBe('EARLY')
    expect((await toldOf(parcel)).map((data) => data.tracking_code)).toEqual(['EARLY'])
  })

  it('refuses an unknown slice with 404, whatever is sent, and what can’t be with 422', async () => {
    const parcel = await order()
    const nowhere = { ...parcel, sliceKey: 'slc_unknown' }
    expect((await report(nowhere, { tracking_code: 1 })).status).toBe(404)
    expect((await report({ ...parcel, sliceKey: '%00' }, {})).status).toBe(404)
    for (const payload of [
      { tracking_code: 7 },
      { tracking_code: '' },
      { tracking_code: 'x'.repeat(101) },
      { tracking_url: 'javascript:alert(1)' },
      { status: ['lost'] },
    ]) {
      const { status, body } = await report(parcel, payload)
      expect([status, Object.keys(body.error.fields)]).toEqual([422, Object.keys(payload)])
    }
  })
})

describe('PUT /operator/v1/sandbox/carrier', () => {
  it('says what it is set to; what is left out is ready and immediate', async () => {
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

  it('is not there outside the sandbox', async () => {
    const real = await startTestApp({
      settings: { SANDBOX: 'false', SECRET_KEY: 'x'.repeat(32), DATABASE_URL: 'postgres://unused' },
    })
    expect((await real.operator.put('/operator/v1/sandbox/carrier', { payload: {} })).status).toBe(
      404,
    )
  })
})

describe('a link to a label', () => {
  const follow = (link: string) => app.anyone.get(link.replace('https://cards.example', ''))
  const linkOf = async () => (await label(await order())).body.data.label_url as string

  it('gives the PDF to whoever has it, and nobody on the way may keep it', async () => {
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

  it('is refused with 403 as soon as anything of it is changed', async () => {
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

  it('is good for five days by the service’s clock, and earlier ones live on beside later ones', async () => {
    const parcel = await order()
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

  it('of a service with another secret key is refused', async () => {
    const link = await linkOf()
    const other = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: { SECRET_KEY: 'another', STORAGE_URL: app.ctx.config.storageUrl },
    })
    const path = link.replace('https://cards.example', '')
    expect((await other.anyone.get(path)).status).toBe(403)
  })

  it('leads to one file per shipment, however often it was read', async () => {
    const storage = new URL(`${app.ctx.config.storageUrl}/labels`)
    const before = (await readdir(storage)).length
    const parcel = await order()
    for (let call = 0; call < 3; call++) await label(parcel)
    expect((await readdir(storage)).length).toBe(before + 1)
  })
})

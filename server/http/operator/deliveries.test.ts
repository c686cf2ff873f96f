import type { ServerResponse } from 'node:http'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { WEBHOOK_EVENTS } from '../../enums.ts'
import { type Seller, startTestApp, type TestApp } from '../../test/app.ts'
import { type FakeNetwork, fakeNetwork } from '../../test/fakes/network.ts'
import { type PublicReceiver, startPublicReceiver } from '../../test/fakes/public-receiver.ts'
import {
  deliveriesIn,
  endpointOf,
  isSignedWith,
  sendSampleEvent,
  subscribe,
} from '../../test/fakes/receiver.ts'
import { advance, NO_LIMITS } from '../../test/fixtures/listings.ts'
import { until } from '../../test/until.ts'
import { allRecords, walk } from '../../test/walk.ts'

const DELIVERIES = '/operator/v1/deliveries'

let app: TestApp
let internet: FakeNetwork
let seller: Seller
let hook: PublicReceiver
let endpoint: { id: number; secret: string }
beforeAll(async () => {
  internet = fakeNetwork()
  // One test sends requests while an attempt is open.
  const settings = { ...NO_LIMITS, WEBHOOK_TIMEOUT_MS: '60000' }
  app = await startTestApp({ network: internet, settings })
})
// A delivery is in the queue if and only if it is pending or its resend was requested.
afterEach(async () => {
  const disagreeing = await app.ctx.db`
    select d.id, d.status, q.*
    from deliveries d
    full join delivery_queue q on q.delivery_id = d.id
    where
      d.id is null
      or (d.status = 'pending') is distinct from (q.next_attempt_at is not null)
      or (q.event_id, q.endpoint_id) <> (d.event_id, d.endpoint_id)
  `
  expect(disagreeing).toEqual([])
})
beforeEach(async () => {
  seller = await app.seller()
  hook = await startPublicReceiver(internet)
  endpoint = await subscribe(seller, hook.url)
})

/** A delivery as the operator sees it. */
const deliveryOf = async (id: number) =>
  (await deliveriesIn(app, `account_id=${seller.accountId}`)).find(
    (delivery: { id: number }) => delivery.id === id,
  )
const failures = async () => (await endpointOf(seller, endpoint.id)).consecutive_failures
const resend = (id: number | string) => app.operator.post(`${DELIVERIES}/${id}/resend`)
const enable = () =>
  app.operator.post(`/operator/v1/accounts/${seller.accountId}/webhooks/${endpoint.id}/enable`)

/** Records a sample event for the endpoint; returns the id of its delivery. */
const send = async (event?: string): Promise<number> => {
  await sendSampleEvent(app, seller.accountId, event)
  return (await deliveriesIn(app, `endpoint_id=${endpoint.id}`))[0].id
}

/** Makes `count` deliveries fail at their first attempt; returns the id of the last one. */
const makeFail = async (count = 1): Promise<number> => {
  hook.hide()
  for (let failure = 1; failure < count; failure++) await sendSampleEvent(app, seller.accountId)
  const id = await send()
  await app.runDeliveries()
  hook.show()
  return id
}

/** Creates a delivery in each state that can be resent. */
const deliveryThatIs = {
  async delivered() {
    const id = await send()
    await app.runDeliveries()
    return id
  },
  failed: () => makeFail(),
  async skipped() {
    await makeFail(10)
    const id = await send()
    await enable()
    return id
  },
  async pending() {
    hook.respondWith(500)
    const id = await send()
    await app.runDeliveries()
    return id
  },
}
const STATUSES = Object.keys(deliveryThatIs) as (keyof typeof deliveryThatIs)[]

describe('GET /operator/v1/deliveries', () => {
  it('GET /operator/v1/deliveries shows every field of a delivery, in order', async () => {
    hook.respondWith(200, 'thank you')
    const id = await send('order.cancelled')
    await app.runDeliveries()
    const { status, body } = await app.operator.get(`${DELIVERIES}?endpoint_id=${endpoint.id}`)
    expect(status).toBe(200)
    expect(body.data).toHaveLength(1)
    const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    expect(Object.entries(body.data[0])).toEqual([
      ['id', id],
      ['account_id', seller.accountId],
      ['endpoint_id', endpoint.id],
      ['endpoint_deleted', false],
      ['event', 'order.cancelled'],
      ['status', 'delivered'],
      [
        'attempts',
        [
          {
            at: moment,
            status_code: 200,
            error: null,
            duration_ms: expect.any(Number),
            response: 'thank you',
          },
        ],
      ],
      ['next_attempt_at', null],
      ['created_at', moment],
      ['payload', hook.arrived[0]!.json],
    ])
    expect(Object.keys(body.data[0].attempts[0])).toEqual([
      ...['at', 'status_code', 'error', 'duration_ms', 'response'],
    ])
  })

  it.each(WEBHOOK_EVENTS)(
    'the payload of a %s delivery equals the body sent, byte for byte',
    async (event) => {
      const id = await send(event)
      const { payload } = await deliveryOf(id)
      await app.runDeliveries()
      expect(JSON.stringify(payload)).toBe(hook.arrived[0]!.body.toString())
      expect(JSON.stringify((await deliveryOf(id)).payload)).toBe(hook.arrived[0]!.body.toString())
    },
  )

  it('a delivery without attempts is due at the time of its event', async () => {
    const id = await send()
    const { status, attempts, next_attempt_at, created_at } = await deliveryOf(id)
    expect([status, attempts, next_attempt_at]).toEqual(['pending', [], created_at])
  })

  it('a delivery shows every attempt, oldest first, with its response and duration', async () => {
    const id = await deliveryThatIs.pending()
    hook.respondWith(302, 'elsewhere')
    await advance(app.operator, 61)
    await app.runDeliveries()
    hook.hide()
    await advance(app.operator, 540)
    await app.runDeliveries()
    const { status, attempts, next_attempt_at } = await deliveryOf(id)
    expect([status, next_attempt_at]).toEqual(['failed', null])
    expect(attempts).toMatchObject([
      { status_code: 500, error: 'The receiver responded with status 500.', response: '' },
      {
        status_code: 302,
        error: 'The receiver responded with status 302; redirects are not followed.',
        response: 'elsewhere',
      },
      { status_code: null, error: expect.stringMatching(/private/), response: null },
    ])
    const [first, second, third] = attempts.map(({ at }: { at: string }) => Date.parse(at) / 1000)
    expect(second - first).toBeGreaterThanOrEqual(61)
    expect(third - second).toBeGreaterThanOrEqual(540)
    for (const { duration_ms } of attempts) expect(duration_ms).toBeGreaterThanOrEqual(0)
  })

  it('GET /operator/v1/deliveries lists deliveries newest first', async () => {
    const ids: number[] = []
    for (let i = 0; i < 3; i++) ids.push(await send())
    const listed = await deliveriesIn(app, `endpoint_id=${endpoint.id}`)
    expect(listed.map(({ id }: { id: number }) => id)).toEqual(ids.toReversed())
    const all = (await app.operator.get(`${DELIVERIES}?per_page=3`)).body.data
    expect(all).toEqual(listed)
  })

  it('GET /operator/v1/deliveries filters by account, endpoint and status, alone and combined', async () => {
    const second = await subscribe(seller, hook.url)
    const stranger = await app.seller()
    const theirs = await subscribe(stranger, hook.url)
    await sendSampleEvent(app, seller.accountId)
    await sendSampleEvent(app, stranger.accountId)
    await app.runDeliveries()
    const waiting = await send()
    const found = async (query: string) => {
      const { body } = await app.operator.get(`${DELIVERIES}?per_page=100&${query}`)
      expect(body.meta.total).toBe(body.data.length)
      return body.data.map((delivery: { endpoint_id: number; status: string }) => [
        delivery.endpoint_id,
        delivery.status,
      ])
    }
    const [mine, other, foreign] = [endpoint.id, second.id, theirs.id]
    const account = `account_id=${seller.accountId}`
    expect(waiting).toBeGreaterThan(0)
    expect(await found(account)).toEqual([
      [other, 'pending'],
      [mine, 'pending'],
      [other, 'delivered'],
      [mine, 'delivered'],
    ])
    expect(await found(`${account}&status=pending`)).toEqual([
      [other, 'pending'],
      [mine, 'pending'],
    ])
    expect(await found(`endpoint_id=${mine}`)).toEqual([
      [mine, 'pending'],
      [mine, 'delivered'],
    ])
    expect(await found(`endpoint_id=${mine}&status=delivered`)).toEqual([[mine, 'delivered']])
    expect(await found(`${account}&endpoint_id=${other}&status=pending`)).toEqual([
      [other, 'pending'],
    ])
    expect(await found(`${account}&endpoint_id=${foreign}`)).toEqual([])
    expect(await found(`${account}&status=failed`)).toEqual([])
    expect(await found('account_id=999999')).toEqual([])
    expect(await found('endpoint_id=999999999999999')).toEqual([])
    // Every account.
    expect((await found('status=pending')).slice(0, 2)).toEqual([
      [other, 'pending'],
      [mine, 'pending'],
    ])
    // Empty parameters count as absent; unknown ones are ignored.
    expect(await found(`endpoint_id=${mine}&status=&account_id=&shop=1`)).toHaveLength(2)
  })

  it.each(STATUSES)(
    'GET /operator/v1/deliveries?status=%s lists only deliveries with that status',
    async (status) => {
      const id = await deliveryThatIs[status]()
      const ids = async (query: string) =>
        (await deliveriesIn(app, query)).map((delivery: { id: number }) => delivery.id)
      expect(await ids(`status=${status}`)).toContain(id)
      for (const other of STATUSES) {
        if (other !== status) expect(await ids(`status=${other}`)).not.toContain(id)
      }
      for (const delivery of await deliveriesIn(app, `status=${status}`)) {
        expect(delivery.status).toBe(status)
      }
    },
  )

  it.each([
    ...['0', '-1', '1.5', 'x', '1e3', '9007199254740992', '99999999999999999999'].flatMap(
      (value) => [
        ['account_id', value],
        ['endpoint_id', value],
      ],
    ),
    ['status', 'sent'],
    ['status', 'Failed'],
    ['status', 'failed,skipped'],
    ['status', '%00'],
    ['page', '0'],
    ['page', 'x'],
  ])('GET /operator/v1/deliveries refuses %s=%s with a 422', async (field, value) => {
    const { status, body } = await app.operator.get(`${DELIVERIES}?${field}=${value}`)
    expect([status, body.error.type]).toEqual([422, 'validation_error'])
    expect(Object.keys(body.error.fields)).toEqual([field])
  })

  it('the page links of GET /operator/v1/deliveries keep the filters', async () => {
    for (let i = 0; i < 5; i++) await send()
    const query = `endpoint_id=${endpoint.id}&status=pending&account_id=${seller.accountId}`
    const path = `${DELIVERIES}?${query}&per_page=2`
    const whole = await deliveriesIn(app, query)
    expect(whole).toHaveLength(5)
    expect(await allRecords(app.operator, path)).toEqual(whole)
    const pages = await walk(app.operator, path)
    expect(pages.map(({ body }) => body.data.length)).toEqual([2, 2, 1])
    expect(pages[1]!.body.links).toEqual(
      Object.fromEntries(
        Object.entries({ first: 1, last: 3, prev: 1, next: 3 }).map(([name, page]) => [
          name,
          `https://cards.example${path}&page=${page}`,
        ]),
      ),
    )
    expect(pages[2]!.body.meta).toEqual({
      current_page: 3,
      from: 5,
      last_page: 3,
      path: 'https://cards.example/operator/v1/deliveries',
      per_page: 2,
      to: 5,
      total: 5,
    })
    const past = await app.operator.get(`${path}&page=9`)
    expect([past.status, past.body.data]).toEqual([200, []])
    expect(past.body.meta).toMatchObject({ from: null, to: null, total: 5 })
    expect(past.body.links).toMatchObject({ prev: expect.stringMatching(/page=8$/), next: null })
  })

  it('the deliveries of an account with several endpoints can be paged through', async () => {
    await subscribe(seller, hook.url)
    for (let i = 0; i < 3; i++) await send()
    const query = `account_id=${seller.accountId}`
    const ids = (await allRecords(app.operator, `${DELIVERIES}?${query}&per_page=4`)).map(
      ({ id }: { id: number }) => id,
    )
    expect(ids).toHaveLength(6)
    expect(ids).toEqual(ids.toSorted((a, b) => b - a))
  })

  it('GET /operator/v1/deliveries keeps showing the deliveries of a deleted endpoint', async () => {
    const sent = await deliveryThatIs.delivered()
    const waiting = await send()
    await seller.delete(`/v1/webhooks/${endpoint.id}`)
    for (const query of [`endpoint_id=${endpoint.id}`, `account_id=${seller.accountId}`]) {
      expect(await deliveriesIn(app, query)).toMatchObject([
        { id: waiting, status: 'skipped', attempts: [], next_attempt_at: null },
        { id: sent, status: 'delivered', attempts: [{ status_code: 204 }] },
      ])
    }
  })

  it('only the operator can list and resend deliveries', async () => {
    expect((await app.anyone.get(DELIVERIES)).status).toBe(401)
    expect((await seller.get(DELIVERIES)).status).toBe(401)
    const id = await send()
    expect((await seller.post(`${DELIVERIES}/${id}/resend`)).status).toBe(401)
  })
})

describe('POST /operator/v1/deliveries/{id}/resend', () => {
  it('POST /operator/v1/deliveries/{id}/resend returns 202 with the delivery, which is due at once', async () => {
    const id = await deliveryThatIs.delivered()
    const before = await deliveryOf(id)
    const { status, body } = await resend(id)
    expect(status).toBe(202)
    expect(body.data).toEqual({ ...before, next_attempt_at: expect.any(String) })
    expect(Date.parse(body.data.next_attempt_at)).toBeLessThanOrEqual(app.ctx.now().getTime())
    expect(await deliveryOf(id)).toEqual(body.data)
  })

  it.each(STATUSES)('a %s delivery can be resent once and then is delivered', async (status) => {
    const id = await deliveryThatIs[status]()
    const before = await deliveryOf(id)
    expect(before.status).toBe(status)
    const { length } = hook.arrived
    hook.respondWith(200, 'at last')
    await advance(app.operator, 5)
    await resend(id)
    await app.runDeliveries()
    await advance(app.operator, 86_400)
    await app.runDeliveries()
    expect(hook.arrived).toHaveLength(length + 1)
    expect(await deliveryOf(id)).toEqual({
      ...before,
      status: 'delivered',
      next_attempt_at: null,
      attempts: [
        ...before.attempts,
        expect.objectContaining({ status_code: 200, error: null, response: 'at last' }),
      ],
    })
  })

  it.each(STATUSES)(
    'a failed resend of a %s delivery changes neither its status nor the failure count',
    async (status) => {
      const id = await deliveryThatIs[status]()
      const before = await deliveryOf(id)
      const counted = await failures()
      hook.respondWith(503)
      await resend(id)
      await app.runDeliveries()
      expect(await deliveryOf(id)).toEqual({
        ...before,
        attempts: [...before.attempts, expect.objectContaining({ status_code: 503 })],
      })
      hook.hide()
      await resend(id)
      await app.runDeliveries()
      expect(await deliveryOf(id)).toMatchObject({
        status,
        next_attempt_at: before.next_attempt_at,
        attempts: { length: before.attempts.length + 2 },
      })
      expect(await failures()).toBe(counted)
    },
  )

  it('a resend repeats id, event and body, with a new timestamp and signature', async () => {
    const id = await deliveryThatIs.delivered()
    await advance(app.operator, 3_600)
    await resend(id)
    await app.runDeliveries()
    const [first, again] = hook.arrived
    expect(again!.body.equals(first!.body)).toBe(true)
    expect(again!.headers['x-service-delivery']).toBe(String(id))
    expect(again!.headers['x-service-event']).toBe(first!.headers['x-service-event'])
    const sentAt = [first, again].map((request) => Number(request!.headers['x-service-timestamp']))
    expect(sentAt[1]! - sentAt[0]!).toBeGreaterThanOrEqual(3_600)
    expect(again!.headers['x-service-signature']).not.toBe(first!.headers['x-service-signature'])
    expect(isSignedWith(endpoint.secret, again!)).toBe(true)
  })

  it('a delivery shows its latest fifty attempts, however often it is resent', async () => {
    const id = await deliveryThatIs.delivered()
    await app.ctx.db`
      update deliveries
      set attempts = (
        select jsonb_agg(attempts -> 0 || jsonb_build_object('response', number::text) order by number)
        from generate_series(1, 49) number
      )
      where id = ${id}
    `
    for (const number of [50, 51]) {
      hook.respondWith(500, String(number))
      await resend(id)
      await app.runDeliveries()
    }
    const { attempts } = await deliveryOf(id)
    const numbers = Array.from({ length: 50 }, (_, i) => String(i + 2))
    expect(attempts.map(({ response }: { response: string }) => response)).toEqual(numbers)
  })

  it('a resend leaves a pending delivery’s schedule of five attempts as it was', async () => {
    const id = await deliveryThatIs.pending()
    const firstAt = Date.parse((await deliveryOf(id)).attempts[0].at)
    await resend(id)
    await app.runDeliveries()
    for (const offset of [60, 600, 3_600, 21_600]) {
      const { next_attempt_at } = await deliveryOf(id)
      expect((Date.parse(next_attempt_at) - firstAt) / 1000).toBe(offset)
      const wait = (Date.parse(next_attempt_at) - app.ctx.now().getTime()) / 1000
      await advance(app.operator, Math.ceil(wait) + 1)
      await app.runDeliveries()
    }
    expect(await deliveryOf(id)).toMatchObject({ status: 'failed', attempts: { length: 6 } })
    expect(hook.arrived).toHaveLength(6)
    expect(await failures()).toBe(1)
  })

  it('a resend of a delivery that is due is its next attempt, not an additional one', async () => {
    const id = await send()
    await resend(id)
    hook.respondWith(500)
    await app.runDeliveries()
    expect(hook.arrived).toHaveLength(1)
    const { status, attempts, next_attempt_at } = await deliveryOf(id)
    expect(status).toBe('pending')
    expect(Date.parse(next_attempt_at) - Date.parse(attempts[0].at)).toBe(60_000)
  })

  it('a successful resend resets the endpoint’s failure count; a failed one does not raise it', async () => {
    const delivered = await deliveryThatIs.delivered()
    const failed = await makeFail(3)
    expect(await failures()).toBe(3)
    hook.respondWith(500)
    for (const id of [delivered, failed]) await resend(id)
    await app.runDeliveries()
    expect(await deliveryOf(delivered)).toMatchObject({
      status: 'delivered',
      attempts: { length: 2 },
    })
    expect(await failures()).toBe(3)
    hook.respondWith(204)
    await resend(delivered)
    await app.runDeliveries()
    expect(await failures()).toBe(0)
  })

  it('failed resends never disable an endpoint', async () => {
    const id = await makeFail(9)
    hook.hide()
    for (let time = 0; time < 12; time++) {
      await resend(id)
      await app.runDeliveries()
    }
    expect(await deliveryOf(id)).toMatchObject({ attempts: { length: 13 } })
    expect(await endpointOf(seller, endpoint.id)).toMatchObject({
      active: true,
      consecutive_failures: 9,
    })
  })

  it('POST /operator/v1/deliveries/{id}/resend returns 404 for an unknown delivery', async () => {
    const { status, body } = await resend(999_999)
    expect([status, body.error.type]).toEqual([404, 'not_found'])
  })

  it('a resend to a disabled endpoint gets a 409 and changes nothing', async () => {
    const id = await makeFail(10)
    const before = await deliveryOf(id)
    const { status, body } = await resend(id)
    expect([status, body.error.type]).toEqual([409, 'conflict'])
    await app.runDeliveries()
    expect(await deliveryOf(id)).toEqual(before)
    expect(hook.arrived).toEqual([])
    await enable()
    expect((await resend(id)).status).toBe(202)
  })

  it('a resend to a deleted endpoint gets a 409', async () => {
    const id = await deliveryThatIs.delivered()
    await seller.delete(`/v1/webhooks/${endpoint.id}`)
    const { status, body } = await resend(id)
    expect([status, body.error.type]).toEqual([409, 'conflict'])
    await app.runDeliveries()
    expect(hook.arrived).toHaveLength(1)
  })

  it.each(['failed', 'delivered', 'pending'] as const)(
    'a requested resend of a %s delivery is dropped when its endpoint is deleted',
    async (status) => {
      const id = await deliveryThatIs[status]()
      const { length } = hook.arrived
      const before = await deliveryOf(id)
      await resend(id)
      await seller.delete(`/v1/webhooks/${endpoint.id}`)
      await app.runDeliveries()
      expect(hook.arrived).toHaveLength(length)
      expect(await deliveryOf(id)).toEqual({
        ...before,
        endpoint_deleted: true,
        status: status === 'pending' ? 'skipped' : status,
        next_attempt_at: null,
      })
    },
  )

  it('concurrent resend requests make one attempt, whichever process runs it', async () => {
    const id = await deliveryThatIs.delivered()
    const responses = await Promise.all(Array.from({ length: 8 }, () => resend(id)))
    expect(responses.map(({ status }) => status)).toEqual(Array(8).fill(202))
    await Promise.all([app.runDeliveries(), app.runDeliveries(), app.runDeliveries()])
    expect(hook.arrived).toHaveLength(2)
  })

  it('a resend requested during an attempt makes one more attempt after it', async () => {
    const id = await send()
    const open: ServerResponse[] = []
    hook.respond = (response) => void open.push(response)
    const first = app.runDeliveries()
    await until('the first attempt has arrived', () => open.length === 1)
    await resend(id)
    await resend(id)
    // A second worker cannot claim the delivery.
    await app.runDeliveries()
    expect(hook.arrived).toHaveLength(1)
    hook.respond = (response) => response.writeHead(200).end()
    open[0]!.writeHead(500).end()
    await first
    await app.runDeliveries()
    expect(hook.arrived).toHaveLength(2)
    expect(await deliveryOf(id)).toMatchObject({
      status: 'delivered',
      attempts: [{ status_code: 500 }, { status_code: 200 }],
      next_attempt_at: null,
    })
  })

  it('POST /operator/v1/deliveries/{id}/resend ignores its request body', async () => {
    const id = await deliveryThatIs.delivered()
    const { status } = await app.operator.post(`${DELIVERIES}/${id}/resend`, {
      payload: { delivery_id: 1 },
    })
    expect(status).toBe(202)
  })
})

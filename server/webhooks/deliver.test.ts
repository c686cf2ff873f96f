import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import {
  deliveriesIn,
  endpointOf,
  isSignedWith,
  type Receiver,
  sendSampleEvent,
  startReceiver,
  subscribe,
} from '../test/fakes/receiver.ts'
import { advance, NO_LIMITS } from '../test/fixtures/listings.ts'

let app: TestApp
let seller: Seller
let receiver: Receiver
let endpoint: { id: number; secret: string }

beforeAll(async () => {
  app = await startTestApp({ settings: { ...NO_LIMITS, WEBHOOK_ALLOW_PRIVATE: 'true' } })
})

beforeEach(async () => {
  seller = await app.seller()
  receiver = await startReceiver()
  endpoint = await subscribe(seller, `${receiver.url}?shop=1`)
})

const only = async () => {
  const [delivery, ...others] = await deliveriesIn(app, `endpoint_id=${endpoint.id}`)
  expect(others).toEqual([])
  return delivery
}

describe('a delivery', () => {
  it('a delivery is a POST with the event, the headers and a signature of its bytes', async () => {
    await sendSampleEvent(app, seller.accountId, 'order.cancelled')
    await app.runDeliveries()
    const [delivery, ...others] = receiver.arrived
    expect(others).toEqual([])
    const { id } = await only()
    expect(delivery).toMatchObject({
      method: 'POST',
      path: '/hooks?shop=1',
      headers: {
        host: `localhost:${receiver.port}`,
        'content-type': 'application/json',
        'x-service-event': 'order.cancelled',
        'x-service-delivery': String(id),
        'x-service-timestamp': expect.stringMatching(/^\d{10}$/),
        'x-service-signature': expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    })
    expect(Object.keys(delivery!.json)).toEqual(['event', 'delivery_id', 'created_at', 'data'])
    expect(delivery!.json).toMatchObject({ event: 'order.cancelled', delivery_id: id })
    expect(isSignedWith(endpoint.secret, delivery!)).toBe(true)
    const sentAt = Number(delivery!.headers['x-service-timestamp'])
    expect(Math.abs(sentAt - app.ctx.now().getTime() / 1000)).toBeLessThan(10)
  })

  it('a failed delivery is retried after 1 minute, 10 minutes, 1 hour and 6 hours with the same body', async () => {
    receiver.respondWith(500, 'nope')
    await sendSampleEvent(app, seller.accountId)
    await app.runDeliveries()
    const { created_at } = await only()
    const planned: number[] = []
    for (let tries = 1; tries < 5; tries++) {
      const { attempts, next_attempt_at } = await only()
      planned.push((Date.parse(next_attempt_at) - Date.parse(attempts[0].at)) / 1000)
      const wait = Math.ceil((Date.parse(next_attempt_at) - app.ctx.now().getTime()) / 1000)
      await advance(app.operator, wait - 30)
      await app.runDeliveries()
      expect(receiver.arrived).toHaveLength(tries)
      await advance(app.operator, 31)
      await app.runDeliveries()
      expect(receiver.arrived).toHaveLength(tries + 1)
    }
    expect(planned).toEqual([60, 600, 3600, 21_600])
    await advance(app.operator, 7 * 86_400)
    await app.runDeliveries()
    expect(receiver.arrived).toHaveLength(5)
    expect(new Set(receiver.arrived.map(({ body }) => body.toString())).size).toBe(1)
    for (const one of receiver.arrived) expect(isSignedWith(endpoint.secret, one)).toBe(true)
    expect(
      new Set(receiver.arrived.map(({ headers }) => headers['x-service-timestamp'])).size,
    ).toBe(5)
    expect(await only()).toMatchObject({
      status: 'failed',
      created_at,
      next_attempt_at: null,
      attempts: Array.from({ length: 5 }, () => ({
        status_code: 500,
        error: 'The receiver responded with status 500.',
        response: 'nope',
      })),
    })
    expect(await endpointOf(seller, endpoint.id)).toMatchObject({ consecutive_failures: 1 })
  })
})

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { recordEvents } from '../events/record.ts'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import {
  deliveriesIn,
  endpointOf,
  type Receiver,
  sendSampleEvent,
  startReceiver,
  subscribe,
} from '../test/fakes/receiver.ts'
import { advance, NO_LIMITS } from '../test/fixtures/listings.ts'
import { untilLockWaiters, whileLocked } from '../test/lock-waiters.ts'
import type { ClaimedDelivery } from './delivery.ts'
import { claimForEndpoints, failDelivery, skipUnwanted } from './delivery-queue.ts'

let app: TestApp
/** Two more processes on the same database. */
let others: TestApp[]
beforeAll(async () => {
  const settings = { ...NO_LIMITS, WEBHOOK_ALLOW_PRIVATE: 'true' }
  app = await startTestApp({ settings })
  const { databaseUrl } = app
  others = [
    await startTestApp({ settings, databaseUrl }),
    await startTestApp({ settings, databaseUrl }),
  ]
})

let seller: Seller
let email: string
let receiver: Receiver
let endpoint: { id: number; secret: string }
let sellers = 0
beforeEach(async () => {
  email = `shop-${++sellers}@failing.example`
  seller = await app.seller({ account: { email, shopName: 'Kanto Cards' } })
  receiver = await startReceiver()
  endpoint = await subscribe(
    seller,
    `http://alice:secret@localhost:${receiver.port}/hooks?token=secret`,
  )
})

const events = async (count: number) => {
  for (let i = 0; i < count; i++) await sendSampleEvent(app, seller.accountId)
}

/** Fails `count` deliveries: the receiver refuses the last attempt of each. */
async function fail(count: number) {
  receiver.respondWith(500, 'nope')
  await events(count)
  await bringToLastAttempt()
  await app.runDeliveries()
}

const bringToLastAttempt = () => app.ctx.db`
  update delivery_queue
  set tries = 4, first_attempt_at = next_attempt_at - interval '6 hours'
  where endpoint_id = ${endpoint.id}
`

async function succeed() {
  receiver.respondWith(200)
  await sendSampleEvent(app, seller.accountId)
  await app.runDeliveries()
}

const disable = () => app.ctx.db`
  update webhook_endpoints
  set disabled_at = ${app.ctx.now()}, consecutive_failures = 10
  where id = ${endpoint.id}
`

const seen = () => endpointOf(seller, endpoint.id)
const statuses = async () =>
  (await deliveriesIn(app, `endpoint_id=${endpoint.id}`))
    .map(({ status }: { status: string }) => status)
    .reverse()

/** The e-mails that the seller has received, oldest first. */
async function mails(): Promise<{ to: string; subject: string; text: string }[]> {
  const { body } = await app.operator.get('/operator/v1/sandbox/mail?per_page=100')
  return body.data.filter(({ to }: { to: string }) => to === email).reverse()
}

const WARNING = 'A webhook endpoint is failing'
const DISABLED = 'A webhook endpoint was disabled'
const subjects = async () => (await mails()).map(({ subject }) => subject)

describe('deliveries that failed in a row', () => {
  it('a failed delivery counts once, however many attempts it took', async () => {
    receiver.respondWith(500)
    await sendSampleEvent(app, seller.accountId)
    for (const wait of [61, 600, 3_600, 21_600]) {
      await app.runDeliveries()
      expect(await seen()).toMatchObject({ consecutive_failures: 0 })
      await advance(app.operator, wait)
    }
    await app.runDeliveries()
    expect(receiver.arrived).toHaveLength(5)
    expect(await seen()).toMatchObject({ consecutive_failures: 1, active: true, disabled_at: null })
  })

  it('the fifth failure in a row e-mails the seller one warning, without secrets of the URL', async () => {
    await fail(4)
    expect(await mails()).toEqual([])
    await fail(1)
    const [warning, ...more] = await mails()
    expect(more).toEqual([])
    expect(warning).toMatchObject({ to: email, subject: WARNING })
    expect(warning!.text).toContain(`http://localhost:${receiver.port}/hooks`)
    expect(warning!.text).toContain('Kanto Cards')
    expect(warning!.text).toContain(`${app.ctx.config.publicUrl}/dashboard/webhooks`)
    expect(warning!.text).toContain('The receiver responded with status 500.')
    expect(warning!.text).not.toMatch(/alice|secret|token/)
    await fail(4)
    expect(await subjects()).toEqual([WARNING])
    expect(await seen()).toMatchObject({ consecutive_failures: 9, active: true })
  })

  it('the tenth failure in a row disables the endpoint with one e-mail, and its deliveries are skipped', async () => {
    await fail(9)
    await sendSampleEvent(app, seller.accountId)
    await bringToLastAttempt()
    await app.ctx.db`
      update delivery_queue set next_attempt_at = next_attempt_at - interval '1 minute'
      where endpoint_id = ${endpoint.id}
    `
    // Three more deliveries are due later, so they are not attempted in this run.
    await events(3)
    await advance(app.operator, 7_200)
    await app.ctx.db`
      update delivery_queue set next_attempt_at = next_attempt_at + interval '1 day'
      where endpoint_id = ${endpoint.id} and tries = 0
    `
    const before = receiver.arrived.length
    await app.runDeliveries()
    expect(receiver.arrived).toHaveLength(before + 1)
    const disabled = await seen()
    expect(disabled).toMatchObject({ active: false, consecutive_failures: 10 })
    const off = Date.parse(disabled.disabled_at)
    expect(Math.abs(off - app.ctx.now().getTime())).toBeLessThan(10_000)
    expect(await statuses()).toEqual([...Array(10).fill('failed'), ...Array(3).fill('skipped')])

    await events(2)
    await advance(app.operator, 2 * 86_400)
    await app.runDeliveries()
    expect(receiver.arrived).toHaveLength(before + 1)
    expect((await statuses()).slice(10)).toEqual(Array(5).fill('skipped'))
    const skipped = (await deliveriesIn(app, `endpoint_id=${endpoint.id}`)).slice(0, 5)
    for (const { attempts, next_attempt_at } of skipped) {
      expect([attempts, next_attempt_at]).toEqual([[], null])
    }
    expect(await subjects()).toEqual([WARNING, DISABLED])
    const [, email] = await mails()
    expect(email!.text).toContain(`http://localhost:${receiver.port}/hooks`)
    expect(email!.text).not.toMatch(/alice|secret|token/)
  })

  it('a success resets the count of failures', async () => {
    await fail(9)
    await succeed()
    expect(await seen()).toMatchObject({ consecutive_failures: 0 })
    await fail(9)
    expect(await seen()).toMatchObject({ active: true, consecutive_failures: 9 })
    // One warning for each series of failures.
    expect(await subjects()).toEqual([WARNING, WARNING])
    await fail(1)
    expect(await seen()).toMatchObject({ active: false })
  })

  it('a successful resend resets the count of failures, and a failed resend does not count', async () => {
    await fail(3)
    const [{ id }] = await deliveriesIn(app, `endpoint_id=${endpoint.id}`)
    await app.operator.post(`/operator/v1/deliveries/${id}/resend`)
    await app.runDeliveries()
    expect(await seen()).toMatchObject({ consecutive_failures: 3 })
    receiver.respondWith(200)
    await app.operator.post(`/operator/v1/deliveries/${id}/resend`)
    await app.runDeliveries()
    expect(await seen()).toMatchObject({ consecutive_failures: 0 })
  })

  it('failures count for their endpoint, not for the seller’s other endpoints', async () => {
    const well = await startReceiver()
    const other = await subscribe(seller, well.url)
    await fail(10)
    expect(await seen()).toMatchObject({ active: false })
    expect(await endpointOf(seller, other.id)).toMatchObject({
      active: true,
      consecutive_failures: 0,
    })
    expect(well.arrived).toHaveLength(10)
  })

  it('enabling an endpoint resets the count of failures', async () => {
    await fail(10)
    const enable = `/operator/v1/accounts/${seller.accountId}/webhooks/${endpoint.id}/enable`
    const { status } = await app.operator.post(enable)
    expect(status).toBe(200)
    expect(await seen()).toMatchObject({
      active: true,
      consecutive_failures: 0,
      disabled_at: null,
    })
    await fail(9)
    expect(await seen()).toMatchObject({ active: true, consecutive_failures: 9 })
    await fail(1)
    expect(await seen()).toMatchObject({ active: false, consecutive_failures: 10 })
    expect(await subjects()).toEqual([WARNING, DISABLED, WARNING, DISABLED])
  })
})

describe('deliveries that fail at the same moment', () => {
  it('failures at the same moment disable the endpoint once, with one e-mail of each kind', async () => {
    await events(12)
    await bringToLastAttempt()
    const claimed = await claimAll(12)
    const attempt = {
      at: app.ctx.now(),
      statusCode: 500,
      error: 'The receiver responded with status 500.',
      durationMs: 5,
      response: '',
    }
    const processes = [app, ...others]
    await Promise.all(
      claimed.map((delivery, i) => failDelivery(processes[i % 3]!.ctx, delivery, attempt)),
    )
    expect(await seen()).toMatchObject({ active: false, consecutive_failures: 10 })
    expect(await subjects()).toEqual([WARNING, DISABLED])
    expect(await statuses()).toEqual(Array(12).fill('failed'))
  })

  it('failures in three processes disable the endpoint once', async () => {
    receiver.respondWith(500)
    await events(50)
    await bringToLastAttempt()
    await Promise.all([app, ...others].map((process) => process.runDeliveries()))
    expect(await seen()).toMatchObject({ active: false, consecutive_failures: 10 })
    expect(await subjects()).toEqual([WARNING, DISABLED])
    const ends = await statuses()
    expect(ends).toHaveLength(50)
    expect(ends.filter((end: string) => end === 'failed')).toHaveLength(receiver.arrived.length)
    expect(ends.filter((end: string) => end === 'skipped')).toHaveLength(
      50 - receiver.arrived.length,
    )
    // Ten failures, and the attempts of three processes that were under way or not yet recorded.
    expect(receiver.arrived.length).toBeLessThan(40)
  })

  async function claimAll(count: number): Promise<ClaimedDelivery[]> {
    const capacity = { endpointIds: [endpoint.id], limits: [count], cursors: [] }
    const claimed = await claimForEndpoints(app.ctx, { max: count, capacity })
    expect(claimed).toHaveLength(count)
    return claimed
  }
})

describe('an attempt under way when its endpoint is disabled or deleted', () => {
  /** Starts an attempt at a new delivery, by default the last, whose response waits until `end` is called. */
  async function holdOne(status: number, { isLast = true } = {}) {
    await sendSampleEvent(app, seller.accountId)
    if (isLast) await bringToLastAttempt()
    return holdDue(status)
  }

  /** Starts the attempt that is due, whose response waits until `end` is called. */
  async function holdDue(status: number) {
    const asked = Promise.withResolvers<void>()
    const may = Promise.withResolvers<void>()
    receiver.respond = (response) => {
      asked.resolve()
      void may.promise.then(() => response.writeHead(status).end())
    }
    const run = app.runDeliveries()
    await asked.promise
    return {
      async end() {
        may.resolve()
        await run
      },
    }
  }

  it.each([
    [500, 'failed'],
    [200, 'delivered'],
  ])(
    'an attempt under way when its endpoint is disabled finishes and is not counted: status %i',
    async (status, end) => {
      const attempt = await holdOne(status)
      await disable()
      await attempt.end()
      expect(await statuses()).toEqual([end])
      expect(await seen()).toMatchObject({ active: false, consecutive_failures: 10 })
      expect(await mails()).toEqual([])
    },
  )

  it.each([
    [500, 'failed'],
    [200, 'delivered'],
  ])(
    'an attempt under way when its endpoint is deleted finishes and is not counted: status %i',
    async (status, end) => {
      const attempt = await holdOne(status)
      await events(2)
      expect((await seller.delete(`/v1/webhooks/${endpoint.id}`)).status).toBe(204)
      // Pending deliveries are skipped at once.
      expect((await statuses()).slice(1)).toEqual(['skipped', 'skipped'])
      await attempt.end()
      expect(await statuses()).toEqual([end, 'skipped', 'skipped'])
      expect(receiver.arrived).toHaveLength(1)
      expect(await mails()).toEqual([])
      const [left] = await app.ctx.db`
      select consecutive_failures as failures, secret from webhook_endpoints where id = ${endpoint.id}
    `
      expect(left).toEqual({ failures: 0, secret: null })
    },
  )

  it('a failed attempt is the first to count when its endpoint was disabled and enabled meanwhile', async () => {
    const attempt = await holdOne(500)
    await disable()
    await app.operator.post(
      `/operator/v1/accounts/${seller.accountId}/webhooks/${endpoint.id}/enable`,
    )
    await attempt.end()
    expect(await seen()).toMatchObject({ active: true, consecutive_failures: 1 })
  })

  it('a failed attempt is not retried when its endpoint was deleted meanwhile', async () => {
    const attempt = await holdOne(500, { isLast: false })
    await seller.delete(`/v1/webhooks/${endpoint.id}`)
    await attempt.end()
    expect(await statuses()).toEqual(['skipped'])
    await advance(app.operator, 61)
    await app.runDeliveries()
    expect(receiver.arrived).toHaveLength(1)
  })

  it('a failed resend ends a pending delivery when its endpoint was deleted meanwhile', async () => {
    receiver.respondWith(500)
    await sendSampleEvent(app, seller.accountId)
    await app.runDeliveries()
    const [{ id }] = await deliveriesIn(app, `endpoint_id=${endpoint.id}`)
    await app.operator.post(`/operator/v1/deliveries/${id}/resend`)
    const attempt = await holdDue(500)
    await seller.delete(`/v1/webhooks/${endpoint.id}`)
    await attempt.end()
    const [delivery] = await deliveriesIn(app, `endpoint_id=${endpoint.id}`)
    expect(delivery).toMatchObject({ status: 'skipped', next_attempt_at: null })
  })
})

describe('an endpoint with a long queue', () => {
  const MANY = 5_001
  /** Records deliveries that are due in a day, so that no claim skips them. */
  const queueMany = async () => {
    const data = { order_id: 1, cancelled_by: 'buyer' as const }
    const event = { accountId: seller.accountId, event: 'order.cancelled' as const, data }
    await recordEvents(app.ctx, Array(MANY).fill(event))
    await app.ctx.db`
      update delivery_queue set next_attempt_at = next_attempt_at + interval '1 day'
      where endpoint_id = ${endpoint.id}
    `
  }
  const number = async (status: string) => {
    const { body } = await app.operator.get(
      `/operator/v1/deliveries?endpoint_id=${endpoint.id}&status=${status}&per_page=1`,
    )
    return body.meta.total
  }

  it('deleting an endpoint skips 5,000 pending deliveries, and a job skips the rest', async () => {
    await queueMany()
    await seller.delete(`/v1/webhooks/${endpoint.id}`)
    expect([await number('skipped'), await number('pending')]).toEqual([MANY - 1, 1])
    await Promise.all([skipUnwanted(app.ctx), ...others.map(({ ctx }) => skipUnwanted(ctx))])
    expect([await number('skipped'), await number('pending')]).toEqual([MANY, 0])
  })

  /** Disables the endpoint while it has this many times MANY pending deliveries. */
  const disableWithQueue = async (times: number) => {
    await fail(9)
    for (let i = 0; i < times; i++) await queueMany()
    await sendSampleEvent(app, seller.accountId)
    await app.ctx.db`
      update delivery_queue set tries = 4, first_attempt_at = next_attempt_at - interval '6 hours'
      where endpoint_id = ${endpoint.id} and next_attempt_at <= ${app.ctx.now()}
    `
    await app.runDeliveries()
    expect(await seen()).toMatchObject({ active: false })
    expect([await number('skipped'), await number('pending')]).toEqual([
      5_000,
      times * MANY - 5_000,
    ])
  }
  const enable = () =>
    app.operator.post(`/operator/v1/accounts/${seller.accountId}/webhooks/${endpoint.id}/enable`)

  it('pending deliveries that are left when their endpoint is enabled again are skipped', async () => {
    await disableWithQueue(1)
    expect((await enable()).status).toBe(200)
    expect([await number('skipped'), await number('pending')]).toEqual([MANY, 0])
    await sendSampleEvent(app, seller.accountId)
    expect((await enable()).status).toBe(200)
    expect(await number('pending')).toBe(1)
  })

  it('an endpoint cannot be enabled while a job still skips thousands of its deliveries', async () => {
    await disableWithQueue(2)
    expect((await enable()).body.error).toMatchObject({ type: 'conflict' })
    expect(await seen()).toMatchObject({ active: false })
    await skipUnwanted(app.ctx)
    expect((await enable()).status).toBe(200)
    expect(await number('pending')).toBe(0)
  })

  it('the job that skips deliveries leaves those of an endpoint that is enabled meanwhile', async () => {
    await events(1)
    await disable()
    const { skipping } = await whileLocked(
      app.ctx,
      (db) => db`update webhook_endpoints set disabled_at = null where id = ${endpoint.id}`,
      async () => {
        const skipping = skipUnwanted(app.ctx)
        await Promise.race([untilLockWaiters(app.ctx.db), skipping])
        return { skipping }
      },
    )
    await skipping
    expect(await statuses()).toEqual(['pending'])
  })
})

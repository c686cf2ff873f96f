import { beforeAll, describe, expect, it } from 'vitest'
import { crashTest } from '../../scripts/crash-test/run.ts'
import type { Sql } from '../database/sql.ts'
import { testDatabase } from '../test/database.ts'
import { expectLease } from '../test/delivery-lease.ts'
import { newHome } from '../test/embedded-homes.ts'
import { type Receiver, startReceiver } from '../test/fakes/receiver.ts'
import { newDataDir, type Service, type Settings, startService } from '../test/process.ts'
import { until } from '../test/until.ts'

describe('a market whose processes are killed again and again', () => {
  it('under repeated kill -9, every committed order is announced, nothing else is, and the stock adds up', async () => {
    const { url } = await testDatabase('fixture')
    const { violations, figures } = await crashTest({
      seconds: 60,
      kills: 2,
      processes: 2,
      seed: 1,
      folder: newHome(),
      databaseUrl: url,
      sellers: 3,
      buyers: 12,
      secondsBetweenKills: [0.8, 1.2],
      expiresLeases: true,
    })
    expect(violations).toEqual([])
    expect(figures.kills).toBeGreaterThanOrEqual(2)
    expect(figures['order rows']).toBeGreaterThan(50)
  })
})

/** No attempt may time out, and no lease expire, before the test has seen what it waits for. */
const WEBHOOK_TIMEOUT_MS = 600_000

describe('a delivery that is under way when its process ends', () => {
  let db: Sql
  let settings: Settings
  let receiver: Receiver
  let endpointId: number

  beforeAll(async () => {
    const database = await testDatabase('product')
    db = database.db
    settings = {
      DATABASE_URL: database.url,
      DATA_DIR: newDataDir(),
      SANDBOX: 'true',
      WEBHOOK_ALLOW_PRIVATE: 'true',
      WEBHOOK_TIMEOUT_MS: String(WEBHOOK_TIMEOUT_MS),
    }
    receiver = await startReceiver()
  })

  const started = async () => (await startService(settings)).ready()

  /** A delivery as the operator sees it. */
  const seenBy = async (service: Service, id: number) => {
    const { token } = service.printed()
    const { body } = await service.get(
      `/operator/v1/deliveries?endpoint_id=${endpointId}&per_page=100`,
      token,
    )
    return body.data.find((delivery: { id: number }) => delivery.id === id)
  }

  /** Starts a service and waits until the silent receiver has a delivery from it. */
  async function midAttempt(): Promise<{ service: Service; id: number }> {
    const service = await started()
    const { key, token } = service.printed()
    const { body } = await service.get('/v1/me', key)
    if (endpointId === undefined) {
      const endpoint = await service.call('POST', '/v1/webhooks', {
        token: key,
        body: { url: receiver.url, events: ['order.cancelled'] },
      })
      endpointId = endpoint.body.data.id
    }
    receiver.respond = () => {}
    receiver.arrived.length = 0
    await service.call('POST', '/operator/v1/sandbox/events', {
      token,
      body: { account_id: body.data.id, event: 'order.cancelled' },
    })
    await until('the receiver has the delivery', () => receiver.arrived.length === 1)
    return { service, id: receiver.arrived[0]!.json.delivery_id }
  }

  it('after kill -9, a delivery is sent again unchanged when its lease has expired, and the lost attempt does not count', async () => {
    const { id } = await expectLease(db, WEBHOOK_TIMEOUT_MS, async () => {
      const { service, id } = await midAttempt()
      await service.stop('SIGKILL')
      return { id }
    })

    receiver.respondWith(500)
    const next = await started()
    expect(await seenBy(next, id)).toMatchObject({ status: 'pending', attempts: [] })
    expect(receiver.arrived).toHaveLength(1)

    // End the lease instead of waiting for it.
    await db`update delivery_queue set leased_until = clock_timestamp() where delivery_id = ${id}`
    const tried = await until('the delivery is attempted', async () => {
      const delivery = await seenBy(next, id)
      return delivery.attempts.length > 0 && delivery
    })
    const [first, second, ...others] = receiver.arrived
    expect(others).toEqual([])
    expect(second!.body.equals(first!.body)).toBe(true)
    expect(second!.headers['x-service-delivery']).toBe(String(id))
    // The next attempt is due after a minute, as after a first failure: the interrupted attempt does not count.
    const [attempt] = tried.attempts
    expect(tried).toMatchObject({ status: 'pending', attempts: [{ status_code: 500 }] })
    expect(Date.parse(tried.next_attempt_at) - Date.parse(attempt.at)).toBe(60_000)

    receiver.respondWith(204)
    const { token } = next.printed()
    await next.call('POST', '/operator/v1/sandbox/clock', { token, body: { advance_seconds: 61 } })
    await until(
      'the event is delivered',
      async () => (await seenBy(next, id)).status === 'delivered',
    )
    expect(receiver.arrived).toHaveLength(3)
    expect(await next.stop('SIGTERM')).toMatchObject({ code: 0 })
  })

  it('a shutdown refuses connections at once and releases a delivery after 5 seconds, and the next process sends it at once', async () => {
    const { service, id } = await midAttempt()
    const leases = () => db`
      select from delivery_queue where delivery_id = ${id} and leased_until is not null
    `
    const began = performance.now()
    service.signal('SIGTERM')
    await until('connections are refused', () =>
      service.get('/health/live').then(
        () => false,
        () => true,
      ),
    )
    expect(await leases()).toHaveLength(1)
    expect(await service.ended).toMatchObject({ code: 0 })
    const seconds = (performance.now() - began) / 1000
    expect(seconds).toBeGreaterThan(4)
    expect(seconds).toBeLessThan(60)
    const [left] = await db`
      select status, tries, attempts, leased_until
      from deliveries d
      join delivery_queue on delivery_id = d.id
      where d.id = ${id}
    `
    expect(left).toEqual({ status: 'pending', tries: 0, attempts: [], leased_until: null })

    receiver.respondWith(204)
    const next = await started()
    await until(
      'the event is delivered',
      async () => (await seenBy(next, id)).status === 'delivered',
    )
    const [first, second, ...others] = receiver.arrived
    expect(others).toEqual([])
    expect(second!.body.equals(first!.body)).toBe(true)
    expect(await seenBy(next, id)).toMatchObject({ attempts: [{ status_code: 204 }] })
    await next.stop('SIGKILL')
  })
})

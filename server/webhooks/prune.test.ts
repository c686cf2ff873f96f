import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type NewEvent, recordEvents } from '../events/record.ts'
import { runSchedule } from '../schedule.ts'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { type FakeNetwork, fakeNetwork } from '../test/fakes/network.ts'
import { type PublicReceiver, startPublicReceiver } from '../test/fakes/public-receiver.ts'
import { deliveriesIn, sendSampleEvent, subscribe } from '../test/fakes/receiver.ts'
import { advance, NO_LIMITS } from '../test/fixtures/listings.ts'
import { rowsRead } from '../test/rows-read.ts'
import { hideDeliveries } from './delivery-counts.ts'
import { missedSince } from './resend.ts'

const HOUR = 60 * 60
const DAY = 24 * HOUR

let app: TestApp
let internet: FakeNetwork
let seller: Seller
let hook: PublicReceiver
let id: number
beforeAll(async () => {
  internet = fakeNetwork()
  app = await startTestApp({ network: internet, settings: NO_LIMITS })
})
beforeEach(async () => {
  seller = await app.seller()
  hook = await startPublicReceiver(internet)
  id = (await subscribe(seller, hook.url)).id
})

/** The endpoint's remaining deliveries, oldest first. */
const left = async () => (await deliveriesIn(app, `endpoint_id=${id}`)).toReversed()
const statuses = async () => (await left()).map(({ status }: { status: string }) => status)
const eventsOf = async (of = app, accountId = seller.accountId) => {
  const [row] = await of.ctx.db<{ count: number }[]>`
    select count(*)::int as count from events where account_id = ${accountId}
  `
  return row!.count
}
const endpointIsKnown = async () => {
  const rows = await app.ctx.db`select from webhook_endpoints where id = ${id}`
  return rows.length === 1
}
const send = async () => {
  await sendSampleEvent(app, seller.accountId)
  await app.runDeliveries()
}
const passes = async (seconds: number) => {
  await advance(app.operator, seconds)
  await runSchedule(app.ctx)
}

/** Inserts many deliveries that are never attempted. */
const write = async (count: number) => {
  const data = { order_id: 1, cancelled_by: 'buyer' }
  const event: NewEvent = { accountId: seller.accountId, event: 'order.cancelled', data }
  for (let written = 0; written < count; written += 1_000) {
    await recordEvents(app.ctx, Array<NewEvent>(Math.min(1_000, count - written)).fill(event))
  }
}
/** Fails the endpoint's pending deliveries without attempts. */
const end = ({ ctx: { db } } = app, except = 0) => db`
  with gone as (delete from delivery_queue where delivery_id <> ${except} returning delivery_id)
  update deliveries set status = 'failed' where id in (select delivery_id from gone)
`
const count = async () => {
  const { body } = await app.operator.get(`/operator/v1/deliveries?endpoint_id=${id}`)
  return body.meta.total
}

describe('after 30 days', () => {
  it('finished deliveries are deleted with their events after 30 days', async () => {
    await send()
    hook.hide()
    for (let failure = 0; failure < 10; failure++) await sendSampleEvent(app, seller.accountId)
    await app.runDeliveries()
    await sendSampleEvent(app, seller.accountId)
    expect(await statuses()).toEqual(['delivered', ...Array(10).fill('failed'), 'skipped'])
    await passes(30 * DAY - HOUR)
    expect(await statuses()).toHaveLength(12)
    expect(await eventsOf()).toBe(12)
    await passes(HOUR)
    expect(await statuses()).toEqual([])
    expect(await eventsOf()).toBe(0)
    expect((await seller.get('/v1/webhooks')).body.data).toMatchObject([{ id }])
  })

  it('deliveries younger than 30 days are kept', async () => {
    await send()
    await passes(10 * DAY)
    await send()
    await passes(20 * DAY)
    expect(await statuses()).toEqual(['delivered'])
    expect(await eventsOf()).toBe(1)
    await passes(10 * DAY)
    expect(await statuses()).toEqual([])
  })

  it('a pending delivery is kept with its event until it has finished', async () => {
    await sendSampleEvent(app, seller.accountId)
    await passes(40 * DAY)
    expect(await statuses()).toEqual(['pending'])
    expect(await eventsOf()).toBe(1)
    await app.runDeliveries()
    expect(hook.arrived).toHaveLength(1)
    await runSchedule(app.ctx)
    expect(await statuses()).toEqual([])
    expect(await eventsOf()).toBe(0)
  })

  it('a delivery that is past its retention cannot be listed or resent, although its partition is kept', async () => {
    await send()
    const [{ id: delivery }] = await left()
    await sendSampleEvent(app, seller.accountId)
    await passes(40 * DAY)
    expect(await statuses()).toEqual(['pending'])
    expect(await eventsOf()).toBe(2)
    for (const send of [
      () => app.operator.post(`/operator/v1/deliveries/${delivery}/resend`),
      () => seller.post(`/tools/v1/deliveries/${delivery}/resend`),
    ]) {
      expect((await send()).status).toBe(404)
    }
    await end()
  })

  it('a delivery that is about to be resent is kept', async () => {
    await send()
    const [{ id: delivery }] = await left()
    await app.operator.post(`/operator/v1/deliveries/${delivery}/resend`)
    await passes(40 * DAY)
    expect(await statuses()).toEqual(['delivered'])
    await app.runDeliveries()
    expect(hook.arrived).toHaveLength(2)
  })

  it('an event is kept until its last delivery is deleted', async () => {
    const other = await startPublicReceiver(internet)
    const slow = (await subscribe(seller, other.url)).id
    other.respondWith(500)
    await send()
    await advance(app.operator, 40 * DAY)
    await runSchedule(app.ctx)
    expect(await statuses()).toEqual([])
    expect(await eventsOf()).toBe(1)
    expect(await deliveriesIn(app, `endpoint_id=${slow}`)).toMatchObject([{ status: 'pending' }])
  })

  it('events without deliveries are deleted after 30 days', async () => {
    await seller.delete(`/v1/webhooks/${id}`)
    await sendSampleEvent(app, seller.accountId)
    expect(await eventsOf()).toBe(1)
    await passes(30 * DAY - HOUR)
    expect(await eventsOf()).toBe(1)
    await passes(HOUR)
    expect(await eventsOf()).toBe(0)
  })

  it('a deleted endpoint is pruned after its last delivery', async () => {
    await send()
    await passes(20 * DAY)
    await send()
    await seller.delete(`/v1/webhooks/${id}`)
    await passes(10 * DAY)
    expect([await statuses(), await endpointIsKnown()]).toEqual([['delivered'], true])
    await passes(20 * DAY)
    expect([await statuses(), await endpointIsKnown()]).toEqual([[], false])
  })

  it('a deleted endpoint without deliveries is pruned, an existing one is not', async () => {
    const alive = (await subscribe(seller, hook.url)).id
    await seller.delete(`/v1/webhooks/${id}`)
    await passes(30 * DAY - HOUR)
    expect(await endpointIsKnown()).toBe(true)
    await passes(HOUR)
    expect(await endpointIsKnown()).toBe(false)
    expect((await seller.get('/v1/webhooks')).body.data).toMatchObject([{ id: alive }])
  })

  it('one prune deletes 3,000 deliveries', async () => {
    await write(3_000)
    await end()
    expect(await count()).toBe(3_000)
    await passes(31 * DAY)
    expect([await count(), await eventsOf()]).toEqual([0, 0])
  })

  it('one prune hides 3,000 deliveries behind a pending one, and the next deletes them', async () => {
    const other = (await subscribe(seller, hook.url)).id
    await write(1)
    await seller.delete(`/v1/webhooks/${other}`)
    await write(3_000)
    const [oldest] = await app.ctx.db<{ id: number }[]>`
      select min(id) as id from deliveries where endpoint_id = ${id}
    `
    await end(app, oldest!.id)
    await passes(31 * DAY)
    expect(await left()).toMatchObject([{ id: oldest!.id, status: 'pending' }])
    expect([await count(), await eventsOf()]).toEqual([1, 3_001])
    await end()
    await runSchedule(app.ctx)
    expect([await count(), await eventsOf()]).toEqual([0, 0])
  })

  it('the oldest missed delivery is found without reading the hidden ones before it', async () => {
    await write(3_001)
    await end()
    const { db, begin } = app.ctx
    const [newest] = await db<{ id: number; createdAt: Date }[]>`
      select id, created_at as "createdAt" from deliveries order by id desc limit 1
    `
    await hideDeliveries(app.ctx, newest!.id)
    await db`analyze deliveries`
    const [partition] = await db<{ name: string }[]>`
      select tableoid::regclass::text as name from deliveries where id = ${newest!.id}
    `
    const read = await begin((tx) =>
      rowsRead(tx, partition!.name, async () => {
        const since = await missedSince({ ...app.ctx, db: tx }, seller.accountId)
        expect(since).toEqual(new Map([[id, newest!.createdAt]]))
      }),
    )
    expect(read).toBeLessThan(10)
    // A queued one is shown again, however old it is.
    const [oldest] = await db<{ id: number; createdAt: Date }[]>`
      select id, created_at as "createdAt" from deliveries where endpoint_id = ${id} order by id limit 1
    `
    await db`
      insert into delivery_queue (delivery_id, event_id, endpoint_id, resend_at)
      select id, event_id, endpoint_id, created_at from deliveries where id = ${oldest!.id}
    `
    expect(await missedSince(app.ctx, seller.accountId)).toEqual(new Map([[id, oldest!.createdAt]]))
    await db`delete from delivery_queue where delivery_id = ${oldest!.id}`
  })

  it('two prunes at the same time delete the old deliveries, and neither fails', async () => {
    await write(1_500)
    await end()
    await sendSampleEvent(app, seller.accountId)
    await advance(app.operator, 31 * DAY)
    await Promise.all([runSchedule(app.ctx), runSchedule(app.ctx)])
    expect(await statuses()).toEqual(['pending'])
    await end()
    await Promise.all([runSchedule(app.ctx), runSchedule(app.ctx)])
    await runSchedule(app.ctx)
    expect(await eventsOf()).toBe(0)
  })
})

describe('WEBHOOK_RETENTION_DAYS', () => {
  it('WEBHOOK_RETENTION_DAYS changes how long deliveries are kept', async () => {
    const brief = await startTestApp({ settings: { WEBHOOK_RETENTION_DAYS: '2' } })
    const shop = await brief.seller()
    await subscribe(shop, 'https://nowhere.invalid/')
    await sendSampleEvent(brief, shop.accountId)
    await end(brief)
    for (const [seconds, events] of [
      [2 * DAY - HOUR, 1],
      [HOUR, 0],
    ] as const) {
      await advance(brief.operator, seconds)
      await runSchedule(brief.ctx)
      expect(await eventsOf(brief, shop.accountId)).toBe(events)
      expect(await deliveriesIn(brief)).toHaveLength(events)
    }
  })
})

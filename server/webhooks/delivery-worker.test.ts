import { afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { connect } from '../database/connect.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { recordEvent } from '../events/record.ts'
import { sampleData } from '../sandbox/sample-events.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import {
  type Arrived,
  deliveriesIn,
  endpointOf,
  type Receiver,
  sendSampleEvent,
  startReceiver,
  subscribe,
} from '../test/fakes/receiver.ts'
import { advance, NO_LIMITS } from '../test/fixtures/listings.ts'
import { until } from '../test/until.ts'
import type { ClaimedDelivery } from './delivery.ts'
import {
  claimForAllEndpoints,
  failDelivery,
  recordOutcomes,
  releaseDeliveries,
} from './delivery-queue.ts'
import { startDeliveryWorker } from './delivery-worker.ts'
import { INITIAL_CONCURRENCY, MAX_CONCURRENCY } from './endpoint-concurrency.ts'
import type { Outcome } from './outcome.ts'

/** No look but the first would come by itself. */
const NEVER_LOOKS = { pollIntervalMs: 3_600_000, graceMs: 1 }

let app: TestApp
/** Two more processes on the same database, told apart by how they name themselves. */
let second: TestApp
let third: TestApp
beforeAll(async () => {
  const settings = { ...NO_LIMITS, WEBHOOK_ALLOW_PRIVATE: 'true' }
  app = await startTestApp({ settings })
  const { databaseUrl } = app
  const more = (name: string) =>
    startTestApp({ settings: { ...settings, PUBLIC_URL: `https://${name}.example` }, databaseUrl })
  second = await more('second')
  third = await more('third')
})

let seller: Awaited<ReturnType<TestApp['seller']>>
let receiver: Receiver
let endpoint: { id: number }
beforeEach(async () => {
  seller = await app.seller()
  receiver = await startReceiver()
  endpoint = await subscribe(seller, receiver.url)
})

const workers: { stop(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()))
  // What a test leaves waiting is not sent in the next.
  await app.ctx.db`
    update deliveries
    set status = 'skipped', next_attempt_at = null, leased_until = null
    where status = 'pending'
  `
})

function startWork({ ctx }: TestApp = app, options: { pollIntervalMs?: number } = NEVER_LOOKS) {
  const worker = startDeliveryWorker(ctx, { ...NEVER_LOOKS, ...options })
  workers.push(worker)
  return worker
}

/** A worker that has had its first look, and rests until it's woken. */
async function startWokenWork(): Promise<void> {
  startWork()
  const before = receiver.arrived.length
  await sendSampleEvent(app, seller.accountId)
  await until('the first is sent', () => receiver.arrived.length > before)
  await until('the first is noted', async () => (await waiting()) === 0)
}

/** Writes events as another program would: nobody is woken. */
const write = (count: number, to = endpoint, { accountId } = seller) => app.ctx.db`
  with happened as (
    insert into events (account_id, event, data, created_at)
    select
      ${accountId}::bigint,
      'order.cancelled',
      '{"order_id":501,"cancelled_by":"buyer"}',
      ${app.ctx.now()}::timestamptz
    from generate_series(1, ${count}::int)
    returning id, created_at
  )
  insert into deliveries (event_id, endpoint_id, status, next_attempt_at, created_at)
  select id, ${to.id}::bigint, 'pending', created_at, created_at
  from happened
`
const wake = () => app.ctx.signal('deliveries')

const deliveries = (to = endpoint) => deliveriesIn(app, `endpoint_id=${to.id}`)
async function waiting(to = endpoint): Promise<number> {
  const { body } = await app.operator.get(
    `/operator/v1/deliveries?status=pending&endpoint_id=${to.id}`,
  )
  return body.meta.total
}

type Held = { delivery: Arrived; answer(status?: number): void }

/** Makes a receiver hold what arrives; who is answered, or goes, is no longer among them. */
function holding(at: Receiver): Held[] {
  const held: Held[] = []
  at.respond = (response, delivery) => {
    const leave = () => {
      const place = held.indexOf(one)
      if (place >= 0) held.splice(place, 1)
    }
    const one: Held = {
      delivery,
      answer(status = 204) {
        leave()
        response.writeHead(status).end()
      },
    }
    held.push(one)
    response.on('close', leave)
  }
  return held
}

describe('a delivery is made', () => {
  it('as soon as its event is committed, without waiting for the next look', async () => {
    await startWokenWork()
    const data = sampleData('order.cancelled')
    await inTransaction(app.ctx, async (tx) => {
      await recordEvent(tx, { accountId: seller.accountId, event: 'order.cancelled', data })
    })
    await until('it is sent', () => receiver.arrived.length === 2)
  })

  it('also when another process wrote the event', async () => {
    await startWokenWork()
    await sendSampleEvent(second, seller.accountId)
    await until('it is sent', () => receiver.arrived.length === 2)
    expect(receiver.arrived[1]!.headers['user-agent']).toBe('Cardstall (+https://cards.example)')
  })

  it('when nobody was woken, at the next look', async () => {
    await startWokenWork()
    await write(1)
    startWork(app, { pollIntervalMs: 20 })
    await write(1)
    await until('they are sent', () => receiver.arrived.length === 3)
  })

  it('again as soon as the clock was moved to its time', async () => {
    await startWokenWork()
    receiver.respondWith(500)
    await sendSampleEvent(app, seller.accountId)
    await until('it has failed', async () => (await deliveries())[0].attempts.length === 1)
    receiver.respondWith(200)
    await advance(app.operator, 50)
    expect(receiver.arrived).toHaveLength(2)
    await advance(app.operator, 11)
    await until('it is sent again', () => receiver.arrived.length === 3)
  })

  it('never when its endpoint was disabled at the moment it was written', async () => {
    await app.ctx.db`
      update webhook_endpoints set disabled_at = ${app.ctx.now()} where id = ${endpoint.id}
    `
    await write(3)
    await app.runDeliveries()
    const ends = await deliveries()
    for (const { status, attempts } of ends) expect([status, attempts]).toEqual(['skipped', []])
    expect(receiver.arrived).toEqual([])
  })

  it('while another’s secret can’t be read: that one waits, and the log says so', async () => {
    const foreign = await startTestApp({
      settings: { SECRET_KEY: 'another-key' },
      databaseUrl: app.databaseUrl,
    })
    const other = await foreign.seller()
    const { id } = await subscribe(other, receiver.url)
    await write(1, { id }, other)
    await write(1)
    await app.runDeliveries()
    await app.runDeliveries()
    expect(receiver.arrived).toHaveLength(1)
    expect((await deliveries({ id }))[0]).toMatchObject({ status: 'pending', attempts: [] })
    expect(app.logged.filter(({ level }) => level === 'error').at(-1)).toMatchObject({
      queue: 'deliveries',
    })
  })
})

describe('an endpoint that never answers', () => {
  it('holds up nobody else, however much waits for it, and is at two attempts', async () => {
    const held = holding(receiver)
    await write(1_000)
    startWork()
    await until('it is at work', () => held.length === INITIAL_CONCURRENCY)

    const other = await app.seller()
    const well = await startReceiver()
    const { id } = await subscribe(other, well.url)
    await sendSampleEvent(app, other.accountId)
    await until('the other’s is sent', () => well.arrived.length === 1)
    await until('it is noted', async () => (await waiting({ id })) === 0)
    await write(100, { id }, other)
    wake()
    await until('all of the other’s are', () => well.arrived.length === 101)
    expect(held).toHaveLength(INITIAL_CONCURRENCY)
    expect(receiver.arrived).toHaveLength(INITIAL_CONCURRENCY)
  })

  it('is one of a hundred: they hold up nobody either', async () => {
    const held = holding(receiver)
    for (let i = 0; i < 7; i++) {
      const slow = await app.seller()
      const endpoints = Array.from({ length: 15 }, () => subscribe(slow, receiver.url))
      for (const { id } of await Promise.all(endpoints)) await write(5, { id }, slow)
    }
    startWork()
    await until('all of them are at work', () => held.length === 7 * 15 * INITIAL_CONCURRENCY)

    const well = await startReceiver()
    const other = await app.seller()
    await subscribe(other, well.url)
    await sendSampleEvent(app, other.accountId)
    await until('the other’s is sent', () => well.arrived.length === 1)
    expect(held).toHaveLength(7 * 15 * INITIAL_CONCURRENCY)
  })
})

describe('an endpoint', () => {
  const failed = async () => {
    const [row] = await app.ctx.db<{ count: number }[]>`
      select count(*) from deliveries
      where endpoint_id = ${endpoint.id} and tries = 1 and status = 'pending'
    `
    return row!.count
  }

  it('gets one attempt more at a time with each that it answers well, up to 32, and as few as at first after a failure', async () => {
    const held = holding(receiver)
    await write(200)
    startWork()
    let places = INITIAL_CONCURRENCY
    for (let answered = 1; answered <= MAX_CONCURRENCY + 2; answered++) {
      await until('its places are taken', () => held.length === places)
      // Whatever wakes the worker, there aren't more of them.
      wake()
      held[0]!.answer()
      places = Math.min(places + 1, MAX_CONCURRENCY)
    }
    await until('its places are taken', () => held.length === MAX_CONCURRENCY)
    const arrived = receiver.arrived.length
    expect(arrived).toBe(MAX_CONCURRENCY + 2 + MAX_CONCURRENCY)

    for (let left = MAX_CONCURRENCY; left > INITIAL_CONCURRENCY; left--) {
      held[0]!.answer(500)
      await until('it is noted', async () => (await failed()) === MAX_CONCURRENCY - left + 1)
      wake()
    }
    expect(receiver.arrived).toHaveLength(arrived)
    held[0]!.answer(500)
    await until('another is sent', () => receiver.arrived.length === arrived + 1)
    expect(held).toHaveLength(INITIAL_CONCURRENCY)
  })
})

describe('a thousand that wait for one endpoint', () => {
  it('are all sent with one look, however many are claimed at once', async () => {
    await write(1_000)
    startWork()
    await until('all arrived', () => receiver.arrived.length === 1_000)
    const ids = receiver.arrived.map(({ json }) => json.delivery_id)
    expect(new Set(ids).size).toBe(1_000)
  })
})

describe('what a worker holds for an endpoint that is deleted', () => {
  it('is not sent any more, but for what is under way', async () => {
    await write(40)
    startWork()
    await until('it is known as quick', () => receiver.arrived.length === 40)
    const held = holding(receiver)
    await write(300)
    wake()
    await until('its places are taken', () => held.length === MAX_CONCURRENCY)
    const arrived = receiver.arrived.length
    await seller.delete(`/v1/webhooks/${endpoint.id}`)
    for (const { answer } of [...held]) answer()
    await until('nothing waits', async () => (await waiting()) === 0)
    expect(receiver.arrived).toHaveLength(arrived)
  })
})

describe('several processes', () => {
  it('share the work: each delivery arrives once, and none is under way twice', async () => {
    const endpoints = [endpoint]
    for (let i = 0; i < 4; i++) endpoints.push(await subscribe(seller, receiver.url))
    for (const to of endpoints) await write(100, to)

    const underWay = new Set<number>()
    const twice: number[] = []
    receiver.respond = (response, { json: { delivery_id } }) => {
      if (underWay.has(delivery_id)) twice.push(delivery_id)
      underWay.add(delivery_id)
      setTimeout(() => {
        underWay.delete(delivery_id)
        response.writeHead(204).end()
      }, 5)
    }
    for (const process of [app, second, third]) startWork(process, { pollIntervalMs: 50 })
    await until('nothing waits any more', async () => {
      const left = await Promise.all(endpoints.map((to) => waiting(to)))
      return left.every((count) => count === 0)
    })
    const ids = receiver.arrived.map(({ json }) => json.delivery_id)
    expect([ids.length, new Set(ids).size, twice]).toEqual([500, 500, []])
    for (const to of endpoints) {
      for (const { status, attempts } of await deliveries(to)) {
        expect([status, attempts.length]).toEqual(['delivered', 1])
      }
    }
    const senders = new Set(receiver.arrived.map(({ headers }) => headers['user-agent']))
    expect(senders.size).toBe(3)
  })
})

describe('what a process has claimed', () => {
  /** Claims the only delivery, as a process that then dies. */
  async function claim(): Promise<ClaimedDelivery> {
    const capacity = { endpointIds: [], limits: [], cursors: [] }
    const [claimed] = await claimForAllEndpoints(second.ctx, {
      afterEndpoint: endpoint.id - 1,
      max: 1,
      capacity,
    })
    return claimed!
  }
  const endLease = () => app.ctx.db`
    update deliveries
    set leased_until = clock_timestamp() - interval '1 millisecond'
    where endpoint_id = ${endpoint.id}
  `
  const late = (delivery: ClaimedDelivery): Outcome & { status: 'pending'; attempt: object } => ({
    delivery,
    attempt: {
      at: app.ctx.now(),
      statusCode: 500,
      error: 'The receiver answered with status 500.',
      durationMs: 5,
      response: 'late',
    },
    status: 'pending',
    nextAttemptAt: app.ctx.now(),
  })

  it('is nobody else’s until its lease ends, in real time, wherever the clock is', async () => {
    await write(1)
    await claim()
    const [lease] = await app.ctx.db<{ seconds: number }[]>`
      select extract(epoch from leased_until - clock_timestamp())::float8 as seconds
      from deliveries
      where endpoint_id = ${endpoint.id}
    `
    // The time of an attempt, and 20 seconds.
    expect(lease!.seconds).toBeGreaterThan(25)
    expect(lease!.seconds).toBeLessThanOrEqual(30)
    await app.runDeliveries()
    await advance(app.operator, 365 * 86_400)
    await app.runDeliveries()
    expect(receiver.arrived).toEqual([])
    await endLease()
    await app.runDeliveries()
    expect(receiver.arrived).toHaveLength(1)
    expect((await deliveries())[0]).toMatchObject({ status: 'delivered' })
  })

  it('is not written over by who was taken for dead', async () => {
    await write(1)
    const dead = await claim()
    await endLease()
    await app.runDeliveries()
    const [before] = await deliveries()
    const outcome = late(dead)
    await recordOutcomes(second.ctx, [outcome])
    await failDelivery(second.ctx, dead, outcome.attempt)
    await releaseDeliveries(second.ctx, [dead])
    expect(await deliveries()).toEqual([before])
    expect(await endpointOf(seller, endpoint.id)).toMatchObject({ consecutive_failures: 0 })
  })

  it('is not taken from the next, either, who is at it still', async () => {
    await write(1)
    const dead = await claim()
    await endLease()
    const alive = await claim()
    expect(alive.claims).toBe(dead.claims + 1)
    const outcome = late(dead)
    await recordOutcomes(second.ctx, [{ ...outcome, status: 'delivered', nextAttemptAt: null }])
    await failDelivery(second.ctx, dead, outcome.attempt)
    await releaseDeliveries(second.ctx, [dead])
    await app.runDeliveries()
    expect(receiver.arrived).toEqual([])
    expect(await deliveries()).toMatchObject([{ status: 'pending', attempts: [] }])
    await recordOutcomes(second.ctx, [late(alive)])
    expect(await deliveries()).toMatchObject([{ attempts: [{ response: 'late' }] }])
  })
})

describe('a worker that is told to stop', () => {
  it('lets what is under way finish for a while, and gives the rest back uncounted', async () => {
    const held = holding(receiver)
    const other = await subscribe(seller, receiver.url)
    await write(1)
    await write(1, other)
    const worker = startDeliveryWorker(app.ctx, { ...NEVER_LOOKS, graceMs: 1_500 })
    workers.push(worker)
    await until('both are under way', () => held.length === 2)
    const stopped = worker.stop()
    await write(1)
    wake()
    const id = (await deliveries(other))[0].id
    held.find(({ delivery }) => delivery.json.delivery_id === id)!.answer()
    await until('one is delivered', async () => (await waiting(other)) === 0)
    expect(held).toHaveLength(1)
    await stopped
    expect(receiver.arrived).toHaveLength(2)
    for (const one of await deliveries()) {
      expect(one).toMatchObject({ status: 'pending', attempts: [] })
    }
    const left = await app.ctx.db`
      select tries, leased_until from deliveries where endpoint_id = ${endpoint.id} order by id
    `
    expect(left).toEqual(Array(2).fill({ tries: 0, leased_until: null }))

    // The next has it at once.
    receiver.respondWith(200)
    await app.runDeliveries()
    expect(receiver.arrived).toHaveLength(4)
  })

  it('sends nothing of what it was just claiming', async () => {
    const held = holding(receiver)
    await write(2)
    const worker = startDeliveryWorker(app.ctx, { ...NEVER_LOOKS, graceMs: 0 })
    await worker.stop()
    expect([receiver.arrived.length, held.length]).toEqual([0, 0])
    const left = await app.ctx.db`
      select distinct tries, leased_until from deliveries where endpoint_id = ${endpoint.id}
    `
    expect(left).toEqual([{ tries: 0, leased_until: null }])
  })
})

describe('a database that is away while an answer comes', () => {
  it('has it noted once it’s back, and nothing is sent twice', async () => {
    const settings = { ...NO_LIMITS, WEBHOOK_ALLOW_PRIVATE: 'true' }
    const alone = await startTestApp({ settings })
    const owner = await alone.seller()
    const held = holding(receiver)
    const taken = await subscribe(owner, `${receiver.url}/taken`)
    const refused = await subscribe(owner, `${receiver.url}/refused`)
    await sendSampleEvent(alone, owner.accountId)
    await alone.ctx.db`
      update deliveries
      set tries = 4, first_attempt_at = created_at
      where endpoint_id = ${refused.id}
    `
    startWork(alone, { pollIntervalMs: 100 })
    await until('both are under way', () => held.length === 2)

    const admin = connect(inject('databaseServer'), { max: 1 })
    const name = new URL(alone.databaseUrl).pathname.slice(1)
    try {
      await admin.unsafe(`alter database ${name} with allow_connections false`)
      await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`
      for (const one of [...held]) {
        one.answer(one.delivery.path.endsWith('/taken') ? 200 : 500)
      }
      await until('neither could be noted', () => {
        const said = 'cannot record a delivery attempt; retrying'
        return alone.logged.filter(({ message }) => message === said).length === 2
      })
    } finally {
      await admin.unsafe(`alter database ${name} with allow_connections true`)
      await admin.end()
    }
    await until('both are noted', async () => {
      const { body } = await alone.operator.get('/operator/v1/deliveries')
      return body.data?.every(({ status }: { status: string }) => status !== 'pending')
    })
    expect((await deliveriesIn(alone, `endpoint_id=${taken.id}`))[0]).toMatchObject({
      status: 'delivered',
      attempts: [{ status_code: 200 }],
    })
    expect((await deliveriesIn(alone, `endpoint_id=${refused.id}`))[0]).toMatchObject({
      status: 'failed',
      attempts: [{ status_code: 500 }],
    })
    expect(await endpointOf(owner, refused.id)).toMatchObject({ consecutive_failures: 1 })
    expect(receiver.arrived).toHaveLength(2)
  })
})

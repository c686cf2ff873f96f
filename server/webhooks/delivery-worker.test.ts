import {
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  inject,
  it,
  onTestFinished,
  vi,
} from 'vitest'
import { connect } from '../database/connect.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import { recordEvent } from '../events/record.ts'
import { sampleData } from '../sandbox/sample-events.ts'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { expectLease } from '../test/delivery-lease.ts'
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
import type { ClaimedDelivery, FailedAttempt } from './delivery.ts'
import {
  claimForAllEndpoints,
  claimForEndpoints,
  failDelivery,
  recordOutcomes,
  releaseDeliveries,
} from './delivery-queue.ts'
import { startDeliveryWorker } from './delivery-worker.ts'
import { INITIAL_CONCURRENCY, MAX_CONCURRENCY } from './endpoint-concurrency.ts'
import type { Outcome } from './outcome.ts'

/** The worker polls at its start and at signals only. */
const NO_POLLING = { pollIntervalMs: 3_600_000, graceMs: 1 }

/** No attempt may time out while a receiver holds it, however slow the machine is. */
const settings = { ...NO_LIMITS, WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_TIMEOUT_MS: '600000' }

let app: TestApp
/** Two more processes on the same database. Their User-Agent tells them apart. */
let second: TestApp
let third: TestApp
beforeAll(async () => {
  app = await startTestApp({ settings })
  const { databaseUrl } = app
  const more = (name: string) =>
    startTestApp({ settings: { ...settings, PUBLIC_URL: `https://${name}.example` }, databaseUrl })
  second = await more('second')
  third = await more('third')
})

let seller: Seller
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
  // A test's pending deliveries must not be sent in the next test.
  await app.ctx.db`delete from delivery_queue`
})

function startWorker({ ctx }: TestApp = app, options: { pollIntervalMs?: number } = NO_POLLING) {
  const worker = startDeliveryWorker(ctx, { ...NO_POLLING, ...options })
  workers.push(worker)
  return worker
}

/** Starts a worker that has polled once and waits for a signal. */
async function startIdleWorker(): Promise<void> {
  startWorker()
  const before = receiver.arrived.length
  await sendSampleEvent(app, seller.accountId)
  await until('the first delivery is sent', () => receiver.arrived.length > before)
  await until('its outcome is recorded', async () => (await waiting()) === 0)
}

/** Writes events without a signal. */
const write = (
  count: number,
  to: { id: number } | { id: number }[] = endpoint,
  { accountId } = seller,
) => app.ctx.db`
  with happened as (
    insert into events (account_id, event, data, created_at)
    select
      ${accountId}::bigint,
      'order.cancelled',
      '{"order_id":501,"cancelled_by":"buyer"}',
      ${app.ctx.now()}::timestamptz
    from generate_series(1, ${count}::int)
    returning id, created_at
  ),
  logged as (
    insert into deliveries (event_id, endpoint_id, status, created_at)
    select id, unnest(${[to].flat().map(({ id }) => id)}::bigint[]), 'pending', created_at
    from happened
    returning id, event_id, endpoint_id, created_at
  )
  insert into delivery_queue (delivery_id, event_id, endpoint_id, next_attempt_at)
  select id, event_id, endpoint_id, created_at
  from logged
`
const signal = () => app.ctx.signal('deliveries')

const deliveries = (to = endpoint) => deliveriesIn(app, `endpoint_id=${to.id}`)
async function waiting(to = endpoint): Promise<number> {
  const { body } = await app.operator.get(
    `/operator/v1/deliveries?status=pending&endpoint_id=${to.id}`,
  )
  return body.meta.total
}

type Held = { delivery: Arrived; answer(status?: number): void }

/** Makes a receiver hold requests. Answered and closed requests leave the list. */
function holding(at: Receiver): Held[] {
  const held: Held[] = []
  at.respond = (response, delivery) => {
    const leave = () => {
      const index = held.indexOf(one)
      if (index >= 0) held.splice(index, 1)
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

describe('the start of a delivery', () => {
  it('a delivery is sent as soon as its event is committed, without polling', async () => {
    await startIdleWorker()
    const data = sampleData('order.cancelled')
    await inTransaction(app.ctx, async (tx) => {
      await recordEvent(tx, { accountId: seller.accountId, event: 'order.cancelled', data })
    })
    await until('the delivery is sent', () => receiver.arrived.length === 2)
  })

  it('a delivery is sent as soon as another process commits its event', async () => {
    await startIdleWorker()
    await sendSampleEvent(second, seller.accountId)
    await until('the delivery is sent', () => receiver.arrived.length === 2)
    expect(receiver.arrived[1]!.headers['user-agent']).toBe('Cardstall (+https://cards.example)')
  })

  it('a delivery without a signal is sent at the next poll', async () => {
    await startIdleWorker()
    await write(1)
    startWorker(app, { pollIntervalMs: 20 })
    await write(1)
    await until('the deliveries are sent', () => receiver.arrived.length === 3)
  })

  it('a retry is sent as soon as the clock is moved to its time', async () => {
    await startIdleWorker()
    receiver.respondWith(500)
    await sendSampleEvent(app, seller.accountId)
    await until(
      'the first attempt has failed',
      async () => (await deliveries())[0].attempts.length === 1,
    )
    receiver.respondWith(200)
    await advance(app.operator, 30)
    expect(receiver.arrived).toHaveLength(2)
    await advance(app.operator, 31)
    await until('the delivery is retried', () => receiver.arrived.length === 3)
  })

  it('a delivery to an endpoint that is disabled when it is recorded is never sent', async () => {
    await app.ctx.db`
      update webhook_endpoints set disabled_at = ${app.ctx.now()} where id = ${endpoint.id}
    `
    await write(3)
    await app.runDeliveries()
    const ends = await deliveries()
    for (const { status, attempts } of ends) expect([status, attempts]).toEqual(['skipped', []])
    expect(receiver.arrived).toEqual([])
  })

  it('an endpoint whose secret cannot be decrypted is logged and does not hold up other endpoints', async () => {
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

describe('endpoints that never respond', () => {
  it('an endpoint that never responds gets two attempts at a time and does not hold up other endpoints', async () => {
    const held = holding(receiver)
    await write(1_000)
    startWorker()
    await until('its attempts are under way', () => held.length === INITIAL_CONCURRENCY)

    const other = await app.seller()
    const well = await startReceiver()
    const { id } = await subscribe(other, well.url)
    await sendSampleEvent(app, other.accountId)
    await until('the other endpoint’s delivery is sent', () => well.arrived.length === 1)
    await until('the outcome is recorded', async () => (await waiting({ id })) === 0)
    await write(100, { id }, other)
    signal()
    await until('all deliveries of the other endpoint are sent', () => well.arrived.length === 101)
    expect(held).toHaveLength(INITIAL_CONCURRENCY)
    expect(receiver.arrived).toHaveLength(INITIAL_CONCURRENCY)
  })

  it('a hundred endpoints that never respond do not hold up other endpoints', async () => {
    const held = holding(receiver)
    for (let i = 0; i < 7; i++) {
      const slow = await app.seller()
      const endpoints = Array.from({ length: 15 }, () => subscribe(slow, receiver.url))
      for (const { id } of await Promise.all(endpoints)) await write(5, { id }, slow)
    }
    startWorker()
    await until('their attempts are under way', () => held.length === 7 * 15 * INITIAL_CONCURRENCY)

    const well = await startReceiver()
    const other = await app.seller()
    await subscribe(other, well.url)
    await sendSampleEvent(app, other.accountId)
    await until('the other endpoint’s delivery is sent', () => well.arrived.length === 1)
    expect(held).toHaveLength(7 * 15 * INITIAL_CONCURRENCY)
  })

  it('two sellers whose receivers become slow at maximum concurrency do not hold up other sellers', async () => {
    const slow = [await app.seller(), await app.seller()]
    const endpoints = await Promise.all(
      slow.map((of) => Promise.all(Array.from({ length: 16 }, () => subscribe(of, receiver.url)))),
    )
    const writeToSlow = (count: number) =>
      Promise.all(slow.map((of, i) => write(count, endpoints[i]!, of)))
    await writeToSlow(MAX_CONCURRENCY)
    startWorker()
    const warm = slow.length * 16 * MAX_CONCURRENCY
    await until('the endpoints are warm', () => receiver.arrived.length === warm)
    const held = holding(receiver)
    await writeToSlow(MAX_CONCURRENCY * 2)
    signal()
    await until('the attempts at all claimed deliveries are under way', async () => {
      const [row] = await app.ctx.db<{ claimed: number }[]>`
        select count(*) as claimed from delivery_queue where leased_until is not null
      `
      return held.length > 400 && held.length === row!.claimed
    })

    const well = await startReceiver()
    for (let count = 1; count <= 3; count++) {
      const other = await app.seller()
      await subscribe(other, well.url)
      await sendSampleEvent(app, other.accountId)
      await until(
        'the other seller’s delivery is sent',
        () => well.arrived.length === count,
        10_000,
      )
    }
    expect(receiver.arrived).toHaveLength(warm + held.length)
  })
})

describe('the concurrency of an endpoint', () => {
  const failed = async () => {
    const [row] = await app.ctx.db<{ count: number }[]>`
      select count(*) from delivery_queue
      where endpoint_id = ${endpoint.id} and tries = 1
    `
    return row!.count
  }

  it('the concurrency of an endpoint grows by one with each success up to 32, and a failure resets it', async () => {
    const held = holding(receiver)
    await write(200)
    startWorker()
    let limit = INITIAL_CONCURRENCY
    for (let answered = 1; answered <= MAX_CONCURRENCY + 2; answered++) {
      await until('its attempts are under way', () => held.length === limit)
      // A signal must not start more attempts.
      signal()
      held[0]!.answer()
      limit = Math.min(limit + 1, MAX_CONCURRENCY)
    }
    await until('its attempts are under way', () => held.length === MAX_CONCURRENCY)
    const arrived = receiver.arrived.length
    expect(arrived).toBe(MAX_CONCURRENCY + 2 + MAX_CONCURRENCY)

    for (let left = MAX_CONCURRENCY; left > INITIAL_CONCURRENCY; left--) {
      held[0]!.answer(500)
      await until(
        'the failure is recorded',
        async () => (await failed()) === MAX_CONCURRENCY - left + 1,
      )
      signal()
    }
    expect(receiver.arrived).toHaveLength(arrived)
    held[0]!.answer(500)
    await until('another is sent', () => receiver.arrived.length === arrived + 1)
    expect(held).toHaveLength(INITIAL_CONCURRENCY)
  })
})

describe('a backlog', () => {
  it('a backlog of a thousand deliveries for one endpoint is sent after a single poll', async () => {
    await write(1_000)
    startWorker()
    await until('all deliveries are sent', () => receiver.arrived.length === 1_000)
    const ids = receiver.arrived.map(({ json }) => json.delivery_id)
    expect(new Set(ids).size).toBe(1_000)
  })
})

describe('a deleted endpoint', () => {
  it('deliveries to a deleted endpoint are not sent, except those under way', async () => {
    await write(40)
    startWorker()
    await until('the endpoint is at maximum concurrency', () => receiver.arrived.length === 40)
    const held = holding(receiver)
    await write(300)
    signal()
    await until('its attempts are under way', () => held.length === MAX_CONCURRENCY)
    const arrived = receiver.arrived.length
    await seller.delete(`/v1/webhooks/${endpoint.id}`)
    for (const { answer } of [...held]) answer()
    await until('no delivery is pending', async () => (await waiting()) === 0)
    expect(receiver.arrived).toHaveLength(arrived)
  })

  it('deleted endpoints with long queues do not hold up other endpoints', async () => {
    const { db, now } = app.ctx
    // A claim takes two deliveries of each of these, and no others, because it takes 250 at most.
    const deleted = await db<{ id: number }[]>`
      insert into webhook_endpoints (account_id, url, events, deleted_at, created_at)
      select
        ${seller.accountId}::bigint,
        ${receiver.url}::text,
        '{order.cancelled}'::text[],
        ${now()}::timestamptz,
        ${now()}::timestamptz
      from generate_series(1, 125)
      returning id
    `
    const claimsOfQueue = 30
    await write(INITIAL_CONCURRENCY * claimsOfQueue, deleted)
    const other = await subscribe(seller, receiver.url)
    await write(1, other)
    const held = holding(receiver)
    const [before] = await db<{ claim: number }[]>`select nextval('delivery_claims') as claim`
    startWorker()
    await until('the attempt is under way', () => held.length === 1)
    const [{ claim }] = (await db`
      select claim_id as claim from delivery_queue where endpoint_id = ${other.id}
    `) as [{ claim: number }]
    // Further claims take deliveries of the same endpoints for 20 ms after the first claim.
    expect(claim - before!.claim).toBeLessThan(claimsOfQueue / 2)
  })
})

describe('several processes', () => {
  it('several processes share deliveries: each is sent once', async () => {
    const endpoints = [endpoint]
    for (let i = 0; i < 4; i++) endpoints.push(await subscribe(seller, receiver.url))
    for (const to of endpoints) await write(100, to)

    const underWay = new Set<number>()
    const twice: number[] = []
    const senders = new Set<unknown>()
    const allSend = Promise.withResolvers<void>()
    receiver.respond = (response, { headers, json: { delivery_id } }) => {
      if (underWay.has(delivery_id)) twice.push(delivery_id)
      underWay.add(delivery_id)
      // Two fast processes could send everything before the third one has begun.
      if (senders.add(headers['user-agent']).size === 3) allSend.resolve()
      void allSend.promise.then(() =>
        setTimeout(() => {
          underWay.delete(delivery_id)
          response.writeHead(204).end()
        }, 5),
      )
    }
    for (const process of [app, second, third]) startWorker(process, { pollIntervalMs: 50 })
    await until('no delivery is pending', async () => {
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
  })
})

type PlanStep = { 'Node Type': string; 'Join Filter'?: string; Plans?: PlanStep[] }

/** Runs statements as usual, and adds their plans for any parameters to `plans`. */
function planned(original: Db) {
  const plans: PlanStep[] = []
  const db = new Proxy(original, {
    apply(target, self, parameters) {
      const query = Reflect.apply(target, self, parameters)
      if (!/^\s*(with|update)/.test(parameters[0][0])) return query
      return query.then(async (rows: { statement: { string: string } }) => {
        const [row] = await original.unsafe(
          `explain (generic_plan, format json) ${rows.statement.string}`,
        )
        plans.push(row!['QUERY PLAN'][0].Plan)
        return rows
      })
    },
  })
  return { db, plans }
}

describe('claims', () => {
  /** Claims the only delivery, like a process that then dies. */
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
    update delivery_queue
    set leased_until = clock_timestamp() - interval '1 millisecond'
    where endpoint_id = ${endpoint.id}
  `
  const late = (
    delivery: ClaimedDelivery,
  ): Outcome & { status: 'pending'; attempt: FailedAttempt } => ({
    delivery,
    attempt: {
      at: app.ctx.now(),
      statusCode: 500,
      error: 'The receiver responded with status 500.',
      durationMs: 5,
      response: 'late',
    },
    status: 'pending',
    nextAttemptAt: app.ctx.now(),
  })

  it('no other process claims a delivery until its lease expires in real time, whatever the sandbox clock shows', async () => {
    await write(1)
    await expectLease(app.ctx.db, app.ctx.config.webhookTimeoutMs, claim)
    await app.runDeliveries()
    await advance(app.operator, 365 * 86_400)
    await app.runDeliveries()
    expect(receiver.arrived).toEqual([])
    await endLease()
    await app.runDeliveries()
    expect(receiver.arrived).toHaveLength(1)
    expect((await deliveries())[0]).toMatchObject({ status: 'delivered' })
  })

  it('a success changes no index of the log', async () => {
    await sendSampleEvent(app, seller.accountId)
    const delivery = await claim()
    const updates = await inTransaction(app.ctx, async (tx) => {
      // The connection's earlier transactions count, too.
      const read = () => tx.db<{ others: number; inPlace: number }[]>`
        select
          sum(n_tup_upd - n_tup_hot_upd)::int as others,
          sum(n_tup_hot_upd)::int as "inPlace"
        from pg_stat_xact_user_tables
        where relname like 'deliveries\\_from\\_%'
      `
      const [before] = await read()
      const { attempt } = late(delivery)
      await recordOutcomes(tx, [{ delivery, attempt, status: 'delivered', nextAttemptAt: null }])
      const [after] = await read()
      return { others: after!.others - before!.others, inPlace: after!.inPlace - before!.inPlace }
    })
    expect(updates).toEqual({ others: 0, inPlace: 1 })
  })

  it('the outcomes of a batch are found without comparing each with every delivery of the queue', async () => {
    await write(2)
    // PostgreSQL now expects that no row is leased.
    await app.ctx.db`analyze delivery_queue`
    const capacity = { endpointIds: [endpoint.id], limits: [2], cursors: [undefined] }
    const claimed = await claimForEndpoints(second.ctx, { max: 2, capacity })
    const { attempt } = late(claimed[0]!)
    const queue = connect(app.databaseUrl, { max: 1, forQueue: true })
    onTestFinished(() => queue.end())
    const { db, plans } = planned(queue)
    await releaseDeliveries({ db }, claimed.slice(1))
    await recordOutcomes({ db }, [
      { delivery: claimed[0]!, attempt, status: 'delivered', nextAttemptAt: null },
    ])
    const stepsOf = (step: PlanStep): PlanStep[] => [step, ...(step.Plans ?? []).flatMap(stepsOf)]
    const compared = plans.flatMap(stepsOf).filter((step) => step['Join Filter'])
    expect([plans.length, compared]).toEqual([2, []])
  })

  it('a process whose lease has expired cannot overwrite a recorded outcome', async () => {
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

  it('a process whose lease has expired cannot end the claim of another process', async () => {
    await write(1)
    const dead = await claim()
    await endLease()
    const alive = await claim()
    expect(alive.claimId).not.toBe(dead.claimId)
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

describe('stopping a worker', () => {
  it('a stopping worker lets attempts finish for a grace period, and releases the rest uncounted', async () => {
    const held = holding(receiver)
    const other = await subscribe(seller, receiver.url)
    await write(1)
    await write(1, other)
    const graceMs = 100_000
    const worker = startDeliveryWorker(app.ctx, { ...NO_POLLING, graceMs })
    workers.push(worker)
    await until('both attempts are under way', () => held.length === 2)
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const stopped = worker.stop()
    const [endGrace] = timers.mock.calls.find(([, ms]) => ms === graceMs)!
    timers.mockRestore()
    await write(1)
    signal()
    const id = (await deliveries(other))[0].id
    held.find(({ delivery }) => delivery.json.delivery_id === id)!.answer()
    await until('one delivery has finished', async () => (await waiting(other)) === 0)
    expect(held).toHaveLength(1)
    endGrace()
    await stopped
    expect(receiver.arrived).toHaveLength(2)
    for (const one of await deliveries()) {
      expect(one).toMatchObject({ status: 'pending', attempts: [] })
    }
    const left = await app.ctx.db`
      select tries, leased_until from delivery_queue where endpoint_id = ${endpoint.id}
    `
    expect(left).toEqual(Array(2).fill({ tries: 0, leased_until: null }))

    // Another process can claim the released deliveries at once.
    receiver.respondWith(200)
    await app.runDeliveries()
    expect(receiver.arrived).toHaveLength(4)
  })

  it('a stopping worker does not send deliveries that it is claiming', async () => {
    const held = holding(receiver)
    await write(2)
    const worker = startDeliveryWorker(app.ctx, { ...NO_POLLING, graceMs: 0 })
    await worker.stop()
    expect([receiver.arrived.length, held.length]).toEqual([0, 0])
    const left = await app.ctx.db`
      select distinct tries, leased_until from delivery_queue where endpoint_id = ${endpoint.id}
    `
    expect(left).toEqual([{ tries: 0, leased_until: null }])
  })
})

describe('an unavailable database', () => {
  it('outcomes are recorded once the database is available again, and nothing is sent twice', async () => {
    const alone = await startTestApp({ settings })
    const owner = await alone.seller()
    const held = holding(receiver)
    const taken = await subscribe(owner, `${receiver.url}/taken`)
    const refused = await subscribe(owner, `${receiver.url}/refused`)
    await sendSampleEvent(alone, owner.accountId)
    await alone.ctx.db`
      update delivery_queue
      set tries = 4, first_attempt_at = next_attempt_at
      where endpoint_id = ${refused.id}
    `
    startWorker(alone, { pollIntervalMs: 100 })
    await until('both attempts are under way', () => held.length === 2)

    const admin = connect(inject('databaseServer'), { max: 1 })
    const name = new URL(alone.databaseUrl).pathname.slice(1)
    try {
      await admin.unsafe(`alter database ${name} with allow_connections false`)
      await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`
      for (const one of [...held]) {
        one.answer(one.delivery.path.endsWith('/taken') ? 200 : 500)
      }
      await until('recording has failed for both', () => {
        const warning = 'cannot record a delivery attempt; retrying'
        return alone.logged.filter(({ message }) => message === warning).length === 2
      })
    } finally {
      await admin.unsafe(`alter database ${name} with allow_connections true`)
      await admin.end()
    }
    await until('both outcomes are recorded', async () => {
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

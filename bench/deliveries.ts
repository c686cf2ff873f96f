import { sampleData } from '../server/sandbox/sample-events.ts'
import { MAX_CONCURRENCY } from '../server/webhooks/endpoint-concurrency.ts'
import type { BarePosts } from './bare-posts.ts'
import { type Sample, type Side, settle, usageSince } from './engine.ts'
import type { Market } from './market.ts'
import type { Arrivals, ArrivalsRequest } from './receiver.ts'
import { quantile } from './report.ts'
import { connectTo, type Database } from './service.ts'
import { callWorker, startWorker } from './workers.ts'

/** Sides to compare: the service, and undici with connections that are already open. */
type DeliveryRow = { name: string; service: Side; limit: Side }

export type Deliveries = {
  rows: DeliveryRow[]
  /** Milliseconds from a checkout's response to the arrival of its event, one checkout after the other. */
  latencies(sales: number): Promise<number[]>
  close(): Promise<void>
}

/**
 * Deliveries in the first run of a side, which is its warm-up. V8 compiles code while the loop sends its first 20,000 POSTs,
 * which cost it two to four times as much as later ones.
 */
const WARM_UP = 30_000

/** Measures deliveries to a receiver in a process of its own. */
export async function openDeliveries(market: Market, deliveries: number): Promise<Deliveries> {
  const receiver = startWorker('./receiver.ts')
  const barePosts = startWorker('./bare-posts.ts')
  const port = await callWorker<number>(receiver, {})
  // Its own connection, whose CPU time isn't the service's.
  const db = connectTo(market.address, 1)
  await db`update webhook_endpoints set url = regexp_replace(url, ':\\d+/', ${`:${port}/`})`
  await db`select pg_notify('cardstall', 'endpoints')`
  const [{ pid: ownBackend } = { pid: 0 }] = await db<{ pid: number }[]>`
    select pg_backend_pid() as pid
  `
  const lastId = await lastDelivery(db)
  const arrivalsOf = (arrivals: number) =>
    callWorker<Arrivals>(receiver, { arrivals } satisfies ArrivalsRequest)
  const { service } = market
  const postgres = () => service.postgresPids().filter((pid) => pid !== ownBackend)

  const rowFor = (name: string, endpoints: number[]): DeliveryRow => ({
    name,
    service: afterWarmUp(deliveries, async (deliveries) => {
      const usage = usageSince(service.pids, postgres)
      const all = arrivalsOf(deliveries)
      const last = await addPending(db, endpoints, deliveries)
      const arrivals = await all
      await settle(db, (db) => areDelivered(db, last, deliveries))
      return sampleOf(arrivals, deliveries, ...usage())
    }),
    limit: afterWarmUp(deliveries, async (deliveries) => {
      const all = arrivalsOf(deliveries)
      // As many as the service opens. A post costs more on hundreds of connections than on a few.
      const connections = endpoints.length * MAX_CONCURRENCY
      const posts: BarePosts = { ...post(port), connections, posts: deliveries }
      const { cpu } = await callWorker<{ cpu: number }>(barePosts, posts)
      return sampleOf(await all, deliveries, cpu, 0)
    }),
  })

  return {
    rows: [
      rowFor('deliveries to one endpoint', market.hooks.single.slice(0, 1)),
      rowFor('deliveries to 16 endpoints', market.hooks.single),
    ],
    async latencies(sales) {
      const listingId = await addListing(db, market.hooks.single[0]!)
      const all = arrivalsOf(sales)
      const respondedAt = new Map<number, number>()
      for (let i = 0; i < sales; i++) {
        const { data } = await service.post('/operator/v1/checkouts', {
          buyer: { name: 'Buyer', email: 'buyer@mail.example' },
          address: null,
          lines: [{ listing_id: listingId, quantity: 1 }],
        })
        respondedAt.set(data.slices[0].order_ids[0], performance.timeOrigin + performance.now())
      }
      const { at } = await all
      return [...respondedAt].map(([order, responded]) => at.get(order)! - responded)
    },
    async close() {
      receiver.kill()
      barePosts.kill()
      await db`delete from deliveries where id > ${lastId}`
      // The service rarely runs for as long as autovacuum waits. Dead rows of earlier runs tripled PostgreSQL's time.
      await db`set statement_timeout = 0`
      await db`vacuum analyze deliveries, delivery_queue`
      await db.end()
    },
  }
}

/** Sends WARM_UP deliveries in the first run, and `deliveries` in each later one. */
function afterWarmUp(deliveries: number, run: (deliveries: number) => Promise<Sample>): Side {
  let isWarm = false
  return async () => {
    const sample = await run(isWarm ? deliveries : WARM_UP)
    isWarm = true
    return sample
  }
}

/** A request of the same size and with the same headers as a delivery. */
const post = (port: number): Pick<BarePosts, 'origin' | 'path' | 'headers' | 'body'> => ({
  origin: `http://127.0.0.1:${port}`,
  path: '/hooks',
  headers: {
    'content-type': 'application/json',
    'x-service-event': 'order.created',
    'x-service-delivery': '1000000',
    'x-service-timestamp': '1767225600',
    'x-service-signature': '0'.repeat(64),
    'user-agent': 'Cardstall (+http://localhost:3000)',
    'accept-encoding': 'identity',
  },
  body: `{"event":"order.created","delivery_id":1000000,"created_at":"2026-01-01T00:00:00Z","data":${JSON.stringify(sampleData('order.created'))}}`,
})

/** The rate from the first arrival to the last one. */
const sampleOf = (
  { first, last }: Arrivals,
  deliveries: number,
  service: number,
  postgres: number,
): Sample => ({
  perSecond: (deliveries * 1000) / (last - first),
  service: service / deliveries,
  postgres: postgres / deliveries,
  generator: Number.NaN,
  latencies: [],
})

/** Adds pending deliveries for these endpoints, as after an outage. Returns the largest id before. */
async function addPending(db: Database, endpoints: number[], count: number): Promise<number> {
  const last = await lastDelivery(db)
  await db`
    with happened as (
      insert into events (account_id, event, data, created_at)
      select e.account_id, 'order.created', ${JSON.stringify(sampleData('order.created'))}, now()
      from generate_series(1, ${count}::int) number
      join webhook_endpoints e on e.id = (${endpoints}::bigint[])[1 + number % ${endpoints.length}]
      returning id, account_id, created_at
    ),
    logged as (
      insert into deliveries (event_id, endpoint_id, status, created_at)
      select happened.id, e.id, 'pending', happened.created_at
      from happened
      join webhook_endpoints e
        on e.account_id = happened.account_id and e.id = any(${endpoints}::bigint[])
      returning id, event_id, endpoint_id, created_at
    )
    insert into delivery_queue (delivery_id, event_id, endpoint_id, next_attempt_at)
    select id, event_id, endpoint_id, created_at from logged
  `
  await db`select pg_notify('cardstall', 'deliveries')`
  return last
}

async function lastDelivery(db: Database): Promise<number> {
  const [{ last } = { last: 0 }] = await db<{ last: number }[]>`
    select coalesce(max(id), 0) as last from deliveries
  `
  return last
}

async function areDelivered(db: Database, last: number, count: number): Promise<boolean> {
  const [{ delivered } = { delivered: 0 }] = await db<{ delivered: number }[]>`
    select count(*) as delivered from deliveries where id > ${last} and status = 'delivered'
  `
  return delivered === count
}

async function addListing(db: Database, endpoint: number): Promise<number> {
  const [listing] = await db<{ id: number }[]>`
    insert into listings (
      account_id, card_id, price_cents, quantity, condition, language, created_at, updated_at
    )
    select account_id, 'swsh9-18', 450, 9999, 'NM', 'EN', '2026-01-01', '2026-01-01'
    from webhook_endpoints
    where id = ${endpoint}
    returning id
  `
  return listing!.id
}

/** Figures of the latencies, in milliseconds. */
export const latencyFigures = (latencies: number[]) => [
  { name: 'event after its checkout, idle, p50', value: quantile(latencies, 0.5), unit: 'ms' },
  {
    name: 'event after its checkout, idle, p99',
    value: quantile(latencies, 0.99),
    unit: 'ms',
    atMost: 10,
  },
]

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '../server/database/connect.ts'
import { startEmbedded } from '../server/database/embedded/embedded.ts'
import type { Sql } from '../server/database/sql.ts'
import { sampleData } from '../server/sandbox/sample-events.ts'
import { MAX_CONCURRENCY } from '../server/webhooks/endpoint-concurrency.ts'
import type { BarePosts } from './bare-posts.ts'
import {
  alternate,
  type Comparison,
  callWorker,
  type Rate,
  showComparisons,
  startWorker,
} from './compare.ts'
import type { Arrivals, ArrivalsRequest } from './receiver.ts'
import { type Figure, median, quantile, showFigures } from './report.ts'
import { type Service, startService } from './service.ts'
import { usageOf } from './usage.ts'

const DELIVERIES = 10_000
const SELLERS = 16
const ENDPOINTS = 16
const FINISHED = 1_000_000
const IDLE_SALES = 200
const BUYERS = 16
const LOADED_SALES = 3_000
const SINGLE_SALES = 300

/** Measures the rate of deliveries compared with undici alone, their latency, and the cost of endpoints for a checkout. */
export async function benchDeliveries(folder: string): Promise<void> {
  const dataDir = join(folder, 'deliveries')
  const service = await startService(dataDir, [], { WEBHOOK_ALLOW_PRIVATE: 'true' })
  // `startEmbedded` shares the server that the service already runs.
  const database = await startEmbedded({ dataDir })
  const db = connect(database.url, { max: 1 })
  await db`set statement_timeout = 0`
  const receiver = startWorker('./receiver.ts')
  const barePosts = startWorker('./bare-posts.ts')
  try {
    const port = (await callWorker(receiver, {})) as number
    const market = await openMarket(service, dataDir, db, `http://localhost:${port}/hooks`)
    const waitForArrivals = (arrivals: number) =>
      callWorker(receiver, { arrivals } satisfies ArrivalsRequest) as Promise<Arrivals>

    const compare = (name: string, endpoints: number[], connections: number) =>
      alternate(
        { name, atLeast: 0.5 },
        async () => {
          const before = usageOf(service.pid)
          const all = waitForArrivals(DELIVERIES)
          await addPending(db, endpoints)
          return rateOf(await all, usageOf(service.pid).cpuMs - before.cpuMs)
        },
        async () => {
          const all = waitForArrivals(DELIVERIES)
          const posts: BarePosts = { ...post(port), connections, posts: DELIVERIES }
          const { cpuMs } = (await callWorker(barePosts, posts)) as { cpuMs: number }
          return rateOf(await all, cpuMs)
        },
      )
    const compareAll = async (): Promise<Comparison[]> => [
      await compare('to one endpoint', market.endpoints.slice(0, 1), MAX_CONCURRENCY),
      await compare(`to ${SELLERS} of ${SELLERS} sellers`, market.endpoints, 4 * MAX_CONCURRENCY),
    ]

    const empty = await compareAll()
    const figures = [
      ...(await measureLatency('idle', market, waitForArrivals, { sales: IDLE_SALES, buyers: 1 })),
      ...(await measureLatency(`${BUYERS} concurrent buyers`, market, waitForArrivals, {
        sales: LOADED_SALES,
        buyers: BUYERS,
      })),
      ...(await costOfEndpoints(market, waitForArrivals)),
    ]
    await addFinished(db, market.endpoints)
    const full = await compareAll()
    console.log(`${showComparisons('deliveries', empty)}\n`)
    console.log(`${showComparisons('deliveries, 1,000,000 in the log', full)}\n`)
    console.log(`${showFigures([...figures, ...growth(empty, full)])}\n`)
  } finally {
    receiver.kill()
    barePosts.kill()
    await db.end()
    await database.stop()
    await service.stop()
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
const rateOf = ({ first, last }: Arrivals, cpuMs: number): Rate => ({
  perSecond: (DELIVERIES * 1000) / (last - first),
  cpuPerRequest: (cpuMs * 1000) / DELIVERIES,
  busy: cpuMs / (last - first),
  generatorBusy: Number.NaN,
})

type Market = {
  /** One endpoint of each of sixteen sellers. */
  endpoints: number[]
  /** Listings of sellers with one, no and sixteen endpoints. */
  listings: { one: number; none: number; many: number }
  /** Sells a unit and returns the id of its order row. */
  sell(listingId: number): Promise<number>
}

async function openMarket(
  { port }: Service,
  dataDir: string,
  db: Sql,
  url: string,
): Promise<Market> {
  const token = readFileSync(join(dataDir, 'secrets/operator-token'), 'utf8').trim()
  const call = async (path: string, key: string, body: object) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    // biome-ignore lint/suspicious/noExplicitAny: the shapes of these responses are known
    return (await response.json()) as any
  }
  const openSeller = async (name: string, endpoints: number) => {
    const { data: account } = await call('/operator/v1/accounts', token, {
      shop_name: name,
      email: `${name}@shops.example`,
      api_access: 'enabled',
      payout_verified: true,
      shipping_options: [
        {
          code: 'letter',
          name: 'Letter',
          fulfilment: 'self_ship',
          tracked: false,
          price: 1.5,
          enabled: true,
        },
      ],
    })
    const { key } = await call(`/operator/v1/accounts/${account.id}/keys`, token, {
      scopes: ['webhooks:manage'],
    })
    const ids: number[] = []
    for (let i = 0; i < endpoints; i++) {
      const { data } = await call('/v1/webhooks', key, { url, events: ['order.created'] })
      ids.push(data.id)
    }
    const [listing] = await db<{ id: number }[]>`
      insert into listings (
        account_id, card_id, price_cents, quantity, condition, language, created_at, updated_at
      )
      values (${account.id}, 'swsh9-18', 450, 1000000, 'NM', 'EN', '2026-01-01', '2026-01-01')
      returning id
    `
    return { ids, listingId: listing!.id }
  }
  const sellers = []
  for (let i = 0; i < SELLERS; i++) sellers.push(await openSeller(`one-${i}`, 1))
  const none = await openSeller('none', 0)
  const many = await openSeller('many', ENDPOINTS)
  return {
    endpoints: sellers.flatMap(({ ids }) => ids),
    listings: {
      one: sellers[0]!.listingId,
      none: none.listingId,
      many: many.listingId,
    },
    async sell(listing_id) {
      const { data } = await call('/operator/v1/checkouts', token, {
        buyer: { name: 'Buyer', email: 'buyer@mail.example' },
        address: null,
        lines: [{ listing_id, quantity: 1 }],
      })
      return data.slices[0].order_ids[0]
    },
  }
}

/** Adds pending deliveries for these endpoints, as after an outage. */
async function addPending(db: Sql, endpointIds: number[]): Promise<void> {
  await db`
    with happened as (
      insert into events (account_id, event, data, created_at)
      select e.account_id, 'order.created', ${JSON.stringify(sampleData('order.created'))}, '2026-01-01'
      from generate_series(1, ${DELIVERIES}::int) number
      join webhook_endpoints e
        on e.id = (${endpointIds}::bigint[])[1 + number % ${endpointIds.length}]
      returning id, account_id, created_at
    )
    insert into deliveries (event_id, endpoint_id, status, next_attempt_at, created_at)
    select happened.id, e.id, 'pending', happened.created_at, happened.created_at
    from happened
    join webhook_endpoints e
      on e.account_id = happened.account_id and e.id = any(${endpointIds}::bigint[])
  `
  await db`select pg_notify('cardstall', 'deliveries')`
}

/** Adds a month of finished deliveries. */
async function addFinished(db: Sql, endpointIds: number[]): Promise<void> {
  await db`
    with happened as (
      insert into events (account_id, event, data, created_at)
      select e.account_id, 'order.created', ${JSON.stringify(sampleData('order.created'))}, '2026-01-01'
      from generate_series(1, ${FINISHED}::int) number
      join webhook_endpoints e
        on e.id = (${endpointIds}::bigint[])[1 + number % ${endpointIds.length}]
      returning id, account_id, created_at
    )
    insert into deliveries (
      event_id, endpoint_id, status, attempts, tries, first_attempt_at, claims, created_at
    )
    select
      happened.id,
      e.id,
      'delivered',
      '[{"at": "2026-01-01T00:00:00.000Z", "status_code": 204, "error": null, "duration_ms": 12, "response": ""}]',
      1,
      happened.created_at,
      1,
      happened.created_at
    from happened
    join webhook_endpoints e
      on e.account_id = happened.account_id and e.id = any(${endpointIds}::bigint[])
  `
  await db`vacuum analyze events, deliveries`
  await db`checkpoint`
}

type WaitForArrivals = (arrivals: number) => Promise<Arrivals>

/**
 * Measures the latency of an event from the request of its checkout, and from its response. The commit is between the
 * two.
 */
async function measureLatency(
  when: string,
  { sell, listings }: Market,
  waitForArrivals: WaitForArrivals,
  { sales, buyers }: { sales: number; buyers: number },
): Promise<Figure[]> {
  const sold = new Map<number, { requestedAt: number; respondedAt: number }>()
  const now = () => performance.timeOrigin + performance.now()
  const all = waitForArrivals(sales)
  let left = sales
  const buy = async () => {
    while (left-- > 0) {
      const requestedAt = now()
      sold.set(await sell(listings.one), { requestedAt, respondedAt: now() })
    }
  }
  await Promise.all(Array.from({ length: buyers }, buy))
  const { at } = await all
  const latenciesSince = (start: 'requestedAt' | 'respondedAt') =>
    [...sold].map(([order, times]) => at.get(order)! - times[start])
  const responseTimes = [...sold.values()].map(
    ({ requestedAt, respondedAt }) => respondedAt - requestedAt,
  )
  const sinceRequest = latenciesSince('requestedAt')
  const sinceResponse = latenciesSince('respondedAt')
  const isIdle = buyers === 1
  return [
    { name: `checkout response, ${when}, median`, value: quantile(responseTimes, 0.5), unit: 'ms' },
    {
      name: '  request to arrival of its event, median',
      value: quantile(sinceRequest, 0.5),
      unit: 'ms',
      ...(isIdle && { below: 100 }),
    },
    {
      name: '  request to arrival of its event, p99',
      value: quantile(sinceRequest, 0.99),
      unit: 'ms',
    },
    {
      name: '  response to arrival of its event, median',
      value: quantile(sinceResponse, 0.5),
      unit: 'ms',
    },
    {
      name: '  response to arrival of its event, p99',
      value: quantile(sinceResponse, 0.99),
      unit: 'ms',
    },
  ]
}

/** Computes the slowdown from the ratios to undici, because the machine's speed varies over time. */
const growth = (empty: Comparison[], full: Comparison[]): Figure[] =>
  empty.map(({ name, ratios }, i) => ({
    name: `slowdown with 1,000,000 in the log, ${name}`,
    value: median(ratios) / median(full[i]!.ratios),
    unit: '×',
    below: 1.2,
  }))

/** Measures consecutive checkouts of sellers with no, one and sixteen endpoints. */
async function costOfEndpoints(
  { sell, listings }: Market,
  waitForArrivals: WaitForArrivals,
): Promise<Figure[]> {
  const measure = async (listingId: number, endpoints: number) => {
    const all = endpoints > 0 ? waitForArrivals(SINGLE_SALES * endpoints) : undefined
    const ms: number[] = []
    for (let i = 0; i < SINGLE_SALES; i++) {
      const began = performance.now()
      await sell(listingId)
      ms.push(performance.now() - began)
    }
    await all
    return quantile(ms, 0.5)
  }
  return [
    { name: 'checkout, no endpoint', value: await measure(listings.none, 0), unit: 'ms' },
    { name: 'checkout, 1 endpoint', value: await measure(listings.one, 1), unit: 'ms' },
    {
      name: `checkout, ${ENDPOINTS} endpoints`,
      value: await measure(listings.many, ENDPOINTS),
      unit: 'ms',
    },
  ]
}

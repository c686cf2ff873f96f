import { createReadStream } from 'node:fs'
import { mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { listings } from './listings.ts'
import type { LoadRequest } from './load.ts'
import type { Market } from './market.ts'
import { orders } from './orders.ts'

/** Lists that no row of the bench requests. */
const LISTS_OF_SELLERS = [
  '/v1/listings?page=50',
  '/v1/listings?updated_since=2026-01-01T00:00:00Z',
  '/v1/orders?status=shipped',
  '/v1/orders?since=2026-01-01T00:00:00Z',
  ...['listings', 'orders', 'reviews', 'disputes', 'payouts', 'deliveries'].map(
    (noun) => `/tools/v1/${noun}`,
  ),
  ...['orders/packing', 'payouts?state=due', 'deliveries?from=2026-01-01'].map(
    (path) => `/tools/v1/${path}`,
  ),
  '/tools/v1/deliveries?from=2026-01-01&event=order.created',
  '/tools/v1/orders?status=shipped&updated_since=2020-01-01T00:00:00Z',
]
const LISTS_OF_STAFF = [
  ...['accounts', 'disputes', 'reviews', 'ledger', 'payouts', 'payout-runs', 'payout-setups'],
  ...['audit', 'orders', 'listings', 'mails', 'shipments', 'deliveries', 'deliveries?page=300'],
  ...['pending', 'delivered', 'failed', 'skipped'].map((status) => `deliveries?status=${status}`),
  ...['due', 'held', 'paid', 'paid&page=300'].map((state) => `payouts?state=${state}`),
  ...['ledger?kind=payout_failed', 'ledger?to=2026-01-01'],
].map((path) => `/operator/v1/${path}`)

/** More than the five executions after which PostgreSQL may keep a plan for all parameters. */
const REQUESTS = 12
/** Long enough for the queues to be polled. */
const IDLE_MS = 5_000

const AUTO_EXPLAIN = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_parameter_max_length': '200',
}

/**
 * Writes the plan of every statement that a row's requests run, with the rows and buffers that the last execution used,
 * to a file for each row. The service is started anew, so that its sessions log plans.
 */
export async function writePlans(openMarket: () => Promise<Market>, folder: URL): Promise<void> {
  const before = await openMarket()
  for (const [name, value] of Object.entries(AUTO_EXPLAIN)) {
    await before.db.unsafe(`alter database cardstall set ${name} = '${value}'`)
  }
  await before.close()
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const market = await openMarket()
  try {
    const write = (name: string, plans: Map<string, string>) => {
      const file = `${name.replaceAll(/\W+/g, '-').toLowerCase()}.txt`
      return writeFile(new URL(file, folder), `${[name, ...plans.values()].join('\n\n')}\n`)
    }
    const idle = await plansDuring(market, () => sleep(IDLE_MS))
    await write('queues and schedule', idle)
    for (const row of [...listings, ...orders]) {
      const requests = (await row.requests(market)).slice(0, REQUESTS)
      const plans = await plansDuring(market, () => sendAll(market, requests))
      for (const statement of idle.keys()) plans.delete(statement)
      await write(row.name, plans)
    }
    const lists = await plansDuring(market, async () => sendAll(market, await listsIn(market)))
    for (const statement of idle.keys()) lists.delete(statement)
    await write('lists and resends', lists)
  } finally {
    await market.db`alter database cardstall reset all`
    await market.close()
  }
}

/** Every list as often as a page of the bench, and the resend of a delivery. */
async function listsIn({ db, service, sellers, hooks }: Market): Promise<LoadRequest[]> {
  const endpoint = hooks.shared[0]!
  const [{ delivery, account } = { delivery: 0, account: 0 }] = await db<
    { delivery: number; account: number }[]
  >`
    select max(deliveries.id) as delivery, account_id as account
    from deliveries
    join webhook_endpoints w on w.id = endpoint_id
    where endpoint_id = ${endpoint}
    group by account_id
  `
  const staff = { key: service.operatorToken }
  const requests = [
    ...LISTS_OF_SELLERS.map((path) => ({ path, key: sellers[0]!.key })),
    ...LISTS_OF_STAFF.map((path) => ({ path, ...staff })),
    // A deep page of the largest shop.
    { path: '/shops/bench-1?page=400', key: sellers[0]!.key },
    { path: `/operator/v1/deliveries?account_id=${account}&page=20`, ...staff },
    { path: `/operator/v1/deliveries?endpoint_id=${endpoint}&status=delivered`, ...staff },
    { method: 'POST', path: `/operator/v1/deliveries/${delivery}/resend`, ...staff },
  ]
  return Array.from({ length: REQUESTS }, () => requests)
    .flat()
    .map((request) => ({ ...request, expected: [] }))
}

async function sendAll({ service }: Market, requests: LoadRequest[]): Promise<void> {
  for (const { method = 'GET', path, key, body } of requests) {
    const response = await fetch(`http://127.0.0.1:${service.port}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body }),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    await response.arrayBuffer()
  }
}

/** The last plan of each statement that PostgreSQL logs meanwhile, by the statement. */
async function plansDuring(
  { service }: Market,
  work: () => Promise<unknown>,
): Promise<Map<string, string>> {
  const log = join(service.dataDir, 'postgres.log')
  const { size: start } = await stat(log)
  await work()
  const logged = await text(createReadStream(log, { start }))
  const plans = new Map<string, string>()
  for (const [, lines] of logged.matchAll(/ms {2}plan:\n((?:\t.*\n)+)/g)) {
    const plan = lines!.replaceAll(/^\t/gm, '').trimEnd()
    plans.set(plan.slice(0, plan.search(/\n(Query Parameters:|\S.*\(cost=)/)), plan)
  }
  return plans
}

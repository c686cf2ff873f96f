import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '../server/database/connect.ts'
import { startEmbedded } from '../server/database/embedded/embedded.ts'
import type { Sql } from '../server/database/sql.ts'
import { showComparisons } from './compare.ts'
import { type SqlScenario, showGrowth, sqlBench } from './compare-sql.ts'
import { type Service, startService } from './service.ts'

const PER_PAGE = 30
const SELLERS_ORDERS = 100_000
const OTHERS_ORDERS = 900_000
const OTHER_SELLERS = 2_000
const SPREAD_LISTINGS = 2_000
const BUYERS = 32
const SELLER_ID = 1
const GROWTH = {
  title: 'ten times the orders, by others',
  from: '100,000',
  to: '1,000,000',
  atMost: 1.3,
}

/** Compares reads of orders and concurrent checkouts with the same SQL alone. */
export async function benchOrders(folder: string): Promise<void> {
  const dataDir = join(folder, 'orders')
  const service = await startService(dataDir)
  // `startEmbedded` shares the server that the service already runs.
  const database = await startEmbedded({ dataDir })
  const db = connect(database.url, { max: 1 })
  await db`set session_replication_role = replica`
  await db`set statement_timeout = 0`
  const bench = sqlBench(service, database.url)
  try {
    const token = readFileSync(join(dataDir, 'secrets/operator-token'), 'utf8').trim()
    await addOrders(db, SELLERS_ORDERS, [SELLER_ID, SELLER_ID])
    const before = await bench.compareAll(reads(service, await someOrderId(db)))
    await addOrders(db, OTHERS_ORDERS, await addSellers(db))
    const after = await bench.compareAll(reads(service, await someOrderId(db)))
    console.log(`${showComparisons('orders, 1,000,000 rows', after)}\n`)
    console.log(`${showGrowth(GROWTH, before, after)}\n`)

    const listingIds = await addListings(db)
    console.log(
      `${showComparisons('checkouts', await bench.compareAll(checkouts(token, listingIds)))}\n`,
    )
    console.log(`${await checkStock(db)}\n`)
  } finally {
    bench.close()
    await db.end()
    await database.stop()
    await service.stop()
  }
}

function reads({ key }: Service, orderId: number): SqlScenario[] {
  const lastPage = Math.ceil(SELLERS_ORDERS / PER_PAGE)
  const page = (number: number): Pick<SqlScenario, 'requests' | 'work'> => ({
    requests: [{ path: `/v1/orders?page=${number}` }],
    work: { kind: 'orders', accountId: SELLER_ID, offset: (number - 1) * PER_PAGE },
  })
  return [
    { name: 'orders, first page', key, atLeast: 0.6, ...page(1) },
    { name: 'orders, last page', key, atLeast: 0.6, ...page(lastPage) },
    {
      name: 'slice detail',
      key,
      requests: [{ path: `/v1/orders/${orderId}` }],
      work: { kind: 'slice', accountId: SELLER_ID, orderId },
    },
  ]
}

function checkouts(key: string, listingIds: number[]): SqlScenario[] {
  const scenario = (name: string, ids: number[]): SqlScenario => ({
    name,
    key,
    connections: BUYERS,
    requests: ids.map((listing_id) => ({
      path: '/operator/v1/checkouts',
      method: 'POST',
      body: JSON.stringify({
        buyer: { name: 'Buyer', email: 'buyer@mail.example' },
        address: null,
        lines: [{ listing_id, quantity: 1 }],
      }),
    })),
    work: { kind: 'checkout', listingIds: ids },
    runMs: 3_000,
  })
  return [
    scenario(`${BUYERS} buyers, spread listings`, listingIds),
    scenario(`${BUYERS} buyers, one hot listing`, listingIds.slice(0, 1)),
  ]
}

async function addSellers(db: Sql): Promise<[number, number]> {
  const [range] = await db<{ first: number; last: number }[]>`
    with added as (
      insert into accounts (shop_name, slug, email, payout_verified, api_access, created_at)
      select 'Shop ' || number, 'bench-' || number, number || '@bench.example', true, 'enabled', '2026-01-01'
      from generate_series(1, ${OTHER_SELLERS}::int) number
      returning id
    )
    select min(id) as first, max(id) as last from added
  `
  return [range!.first, range!.last]
}

/** Adds slices of two order rows each, one minute apart. */
async function addOrders(db: Sql, count: number, [first, last]: [number, number]): Promise<void> {
  await db`
    with sold as (
      insert into checkouts (buyer_name, buyer_email, created_at)
      select 'Buyer ' || number, number || '@mail.example', '2025-01-01'::timestamptz + number * interval '1 minute'
      from generate_series(1, ${count / 2}::int) number
      returning id, created_at
    ),
    parcels as (
      insert into slices (
        checkout_id, account_id, slice_key, shipping_code, shipping_method, fulfilment, tracked,
        shipping_cents, created_at
      )
      select
        id, ${first} + id % ${last - first + 1}, 'slc_bench_' || id, 'letter', 'Letter', 'self_ship',
        false, 150, created_at
      from sold
      returning id, account_id, created_at
    )
    insert into orders (
      slice_id, account_id, status, quantity, price_cents, item_type, item_id, item_friendly_id,
      item_name, item_subtitle, item_image, item_condition, item_language, commission_rate,
      commission_cents, created_at, shipped_at, received_at
    )
    select
      parcels.id, account_id, 'received', 1 + row % 3, 450, 'card', 'swsh9-18', 'brs_18',
      'Charizard VSTAR', 'Brilliant Stars 18', 'https://images.pokemontcg.io/swsh9/18.png', 'NM',
      'EN', 500, 23, created_at, created_at, created_at
    from parcels
    cross join generate_series(1, 2) row
  `
  await db`vacuum analyze checkouts, slices, orders`
  await db`checkpoint`
}

const someOrderId = async (db: Sql): Promise<number> => {
  const [order] = await db<{ id: number }[]>`
    select id from orders where account_id = ${SELLER_ID} order by id offset 50000 limit 1
  `
  return order!.id
}

/** Adds listings with more stock than the benchmark can sell. */
async function addListings(db: Sql): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    insert into listings (
      account_id, card_id, price_cents, quantity, condition, language, created_at, updated_at
    )
    select ${SELLER_ID}, id, 450, 1000000, 'NM', 'EN', '2026-01-01', '2026-01-01'
    from cards
    order by id
    limit ${SPREAD_LISTINGS}
    returning id
  `
  await db`vacuum analyze listings`
  return rows.map(({ id }) => id)
}

/** Checks that no unit was sold twice or lost: remaining and sold units add up to the initial stock. */
async function checkStock(db: Sql): Promise<string> {
  const [sums] = await db<{ left: number; sold: number; listings: number; negative: number }[]>`
    select
      sum(quantity) as left,
      (select sum(quantity) from orders where listing_id is not null) as sold,
      count(*) as listings,
      count(*) filter (where quantity < 0) as negative
    from listings
  `
  const { left, sold, listings, negative } = sums!
  const exact = left + sold === listings * 1_000_000 && negative === 0
  return `stock: ${left} left and ${sold} sold of ${listings} × 1,000,000 units: ${exact ? 'adds up' : 'DOES NOT ADD UP'}`
}

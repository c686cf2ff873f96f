import { randomNumbers } from '../scripts/random.ts'
import type { Effects, Row } from './engine.ts'
import type { LoadRequest } from './load.ts'
import { LARGE_SHOPS, type Market } from './market.ts'
import { MAX_REQUESTS, pagesOf } from './pages.ts'
import { shuffled } from './random.ts'
import type { Database } from './service.ts'

const BULK_ITEMS = 100

/** Requests of sellers' tools, and cards with what is on sale. */
export const listings: Row[] = [
  {
    name: 'own listings, random page of 20 sellers',
    requests: (market) => ownPages(market, '', LARGE_SHOPS),
    limit: 'http',
    target: { micros: 200 },
  },
  {
    name: '30 stock records with total',
    requests: (market) => ownPages(market, 'status=active&', market.sellers.length),
    limit: 'http',
  },
  {
    name: 'a card with its listings, random',
    requests: cardsWithListings,
    limit: 'http',
    target: { micros: 60 },
  },
  {
    name: 'change of a price, random listing',
    requests: priceChanges,
    limit: 'changePrice',
    effects: {
      perRequest: 1,
      before: async () => 0,
      count: (db, _before, done) => countChanged(db, done),
    },
    target: { micros: 120 },
  },
  {
    name: 'bulk create of 100',
    requests: bulkCreates,
    limit: 'createListings',
    effects: {
      ...created('listings', BULK_ITEMS),
      undo: (db, before) => db`delete from listings where id > ${before}`,
    },
  },
]

/** Counts rows with larger ids than before. */
export function created(table: string, perRequest: number): Effects {
  return {
    perRequest,
    async before(db) {
      const [row] = await db.unsafe<[{ id: number }]>(
        `select coalesce(max(id), 0)::float8 as id from ${table}`,
      )
      return row.id
    },
    async count(db, before) {
      const [row] = await db.unsafe<[{ count: number }]>(
        `select count(*)::int as count from ${table} where id > ${before}`,
      )
      return row.count
    },
  }
}

/** Pages of the first sellers. */
async function ownPages(market: Market, filter: string, sellers: number): Promise<LoadRequest[]> {
  const measured = market.sellers.slice(0, sellers)
  const totals = await market.db<{ id: number; total: number }[]>`
    select account_id as id, count(*)::int as total
    from listings
    where account_id = any(${measured.map(({ id }) => id)}) and status <> 'removed'
    group by account_id
  `
  return pagesOf(measured, totals, ({ page, perPage, query }, total) => ({
    path: `/v1/listings?${filter}${query}`,
    expected: [
      `"meta":{"current_page":${page},"from":${(page - 1) * perPage + 1},`,
      `"total":${total}}`,
    ],
  }))
}

async function cardsWithListings({ db, sellers }: Market): Promise<LoadRequest[]> {
  const rows = await db<{ id: string; listing: number }[]>`
    select card_id as id, min(id) as listing
    from listings
    where status = 'active'
    group by card_id
    order by card_id
  `
  return shuffled([...rows]).map(({ id, listing }, i) => ({
    path: `/v1/cards/${encodeURIComponent(id)}?include=listings`,
    key: sellers[i % sellers.length]!.key,
    expected: [`"data":{"id":${JSON.stringify(id)},`, `{"id":${listing},`],
  }))
}

export type Sample = { id: number; accountId: number; priceCents: number; key: string }

/** Different random listings of the measured sellers. */
export async function randomListings({ db, sellers }: Market): Promise<Sample[]> {
  const rows = await db<Omit<Sample, 'key'>[]>`
    select id, account_id as "accountId", price_cents as "priceCents"
    from listings tablesample bernoulli(
      (
        select least(100, 100.0 * ${2 * MAX_REQUESTS} / greatest(1, reltuples))
        from pg_class
        where oid = 'listings'::regclass
      )
    )
    where status = 'active' and account_id = any(${sellers.map(({ id }) => id)})
    limit ${MAX_REQUESTS}
  `
  const keys = new Map(sellers.map(({ id, key }) => [id, key]))
  return shuffled(rows.map((row) => ({ ...row, key: keys.get(row.accountId)! })))
}

/** Each listing gets a price that it doesn't have. */
async function priceChanges(market: Market): Promise<LoadRequest[]> {
  return (await randomListings(market)).map(({ id, accountId, priceCents, key }) => {
    const changed = (priceCents % 90_000) + 1
    return {
      method: 'PATCH',
      path: `/v1/listings/${id}`,
      key,
      body: JSON.stringify({ price: changed / 100 }),
      expected: [`"id":${id},`, `"price":${changed / 100},`],
      parameters: [id, accountId, changed],
    }
  })
}

async function countChanged(db: Database, done: LoadRequest[]): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select count(*)::int as count
    from listings l
    join unnest(
      ${done.map(({ parameters }) => parameters![0] as number)}::bigint[],
      ${done.map(({ parameters }) => parameters![2] as number)}::int[]
    ) as changed (id, price_cents) using (id)
    where l.price_cents = changed.price_cents
  `
  return row!.count
}

async function bulkCreates({ db, sellers }: Market): Promise<LoadRequest[]> {
  const cards = await db<{ id: string }[]>`select id from cards order by id`
  const random = randomNumbers(1)
  return Array.from({ length: 10_000 }, (_, i) => {
    const seller = sellers[i % sellers.length]!
    const ids = Array.from(
      { length: BULK_ITEMS },
      () => cards[Math.floor(random() * cards.length)]!.id,
    )
    const items = ids.map((card) => ({
      card,
      condition: 'NM',
      language: 'EN',
      price: Math.ceil(random() * 90_000) / 100,
      quantity: 3,
    }))
    return {
      method: 'POST',
      path: '/v1/listings',
      key: seller.key,
      body: JSON.stringify({ items }),
      expected: [`"created":${BULK_ITEMS}`],
      parameters: [seller.id, ids],
    }
  })
}

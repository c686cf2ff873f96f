import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '../server/database/connect.ts'
import { startEmbedded } from '../server/database/embedded/embedded.ts'
import type { Sql } from '../server/database/sql.ts'
import type { Service } from './service.ts'

/** The measured sellers and cards, whose listings keep their number while those of other sellers grow. */
export type Market = {
  url: string
  db: Sql
  /** The demo seller, who has 50,000 listings and the service's key. */
  sellerId: number
  /** A card with 25 listings of that seller. */
  cardId: string
  /** A card with 20,000 active listings. */
  popularCardId: string
  /** A seller that creates and changes listings. */
  writer: { id: number; key: string; listingIds: number[] }
  /** Cards for new listings. */
  cardIds: string[]
  /** Adds sellers and listings of other cards, up to these totals. */
  growTo(listings: number, sellers: number): Promise<void>
  close(): Promise<void>
}

const SELLERS_LISTINGS = 50_000
const CARD_LISTINGS = 25
const POPULAR_LISTINGS = 20_000
const WRITERS_LISTINGS = 5_000

/** Fills the service's database by SQL; through the API it would take an hour. */
export async function openMarket(service: Service, dataDir: string): Promise<Market> {
  // `startEmbedded` shares the server that the service already runs.
  const database = await startEmbedded({ dataDir })
  const db = connect(database.url, { max: 1 })
  // Skips the checks of foreign keys: the rows below are consistent.
  await db`set session_replication_role = replica`
  await db`set statement_timeout = 0`

  const cardIds = (await db<{ id: string }[]>`select id from cards order by id`).map(({ id }) => id)
  const [popularCardId, cardId, ...others] = cardIds as [string, string, ...string[]]
  const sellerId = 1
  const writer = await openWriter(service, dataDir)

  await addListings(db, SELLERS_LISTINGS - CARD_LISTINGS, { accounts: [sellerId, sellerId] })
  await addListings(db, CARD_LISTINGS, { accounts: [sellerId, sellerId], cardId })
  await addListings(db, WRITERS_LISTINGS, { accounts: [writer.id, writer.id] })
  let hasPopularListings = false

  return {
    url: database.url,
    db,
    sellerId,
    cardId,
    popularCardId,
    writer: { ...writer, listingIds: await listingIdsOf(db, writer.id) },
    cardIds: others,

    async growTo(listings, sellers) {
      const accounts = await addSellers(db, sellers)
      if (!hasPopularListings)
        await addListings(db, POPULAR_LISTINGS, { accounts, cardId: popularCardId })
      hasPopularListings = true
      const [{ present } = { present: 0 }] = await db<{ present: number }[]>`
        select count(*) as present from listings
      `
      await addListings(db, listings - present, { accounts })
      await db`vacuum analyze listings, accounts`
      await db`checkpoint`
    },

    async close() {
      await db.end()
      await database.stop()
    },
  }
}

async function openWriter({ port }: Service, dataDir: string) {
  const token = readFileSync(join(dataDir, 'secrets/operator-token'), 'utf8').trim()
  const post = async (path: string, body: object) => {
    const response = await fetch(`http://127.0.0.1:${port}/operator/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    // biome-ignore lint/suspicious/noExplicitAny: the shapes of these responses are known
    return (await response.json()) as any
  }
  const { data } = await post('/accounts', {
    shop_name: 'Writer',
    email: 'writer@shops.example',
    api_access: 'enabled',
    payout_verified: true,
  })
  const { key } = await post(`/accounts/${data.id}/keys`, { scopes: ['listings:write'] })
  return { id: data.id as number, key: key as string }
}

/** Adds other sellers up to this number, and returns the first and last of their ids. */
async function addSellers(db: Sql, sellers: number): Promise<[number, number]> {
  await db`
    insert into accounts (shop_name, slug, email, payout_verified, api_access, rating, reviews, created_at)
    select
      'Shop ' || number, 'bench-' || number, number || '@bench.example', true, 'enabled',
      4.5, number % 500, '2026-01-01'
    from generate_series(
      1 + (select count(*) from accounts where slug like 'bench-%'), ${sellers}
    ) number
  `
  const [{ first, last } = { first: 0, last: 0 }] = await db<{ first: number; last: number }[]>`
    select min(id) as first, max(id) as last from accounts where slug like 'bench-%'
  `
  return [first, last]
}

/**
 * Adds listings whose order in the table matches neither sellers nor cards, and which were changed within a month.
 * Without a card, they are of all cards except the first two.
 */
async function addListings(
  db: Sql,
  count: number,
  { accounts: [first, last], cardId }: { accounts: [number, number]; cardId?: string },
): Promise<void> {
  await db`
    insert into listings (
      account_id, card_id, price_cents, quantity, condition, language, created_at, updated_at
    )
    select
      ${first} + abs(hashint4(number)::bigint) % ${last - first + 1},
      ${
        cardId === undefined
          ? db`((select array_agg(id order by id) from cards))[3 + number % (select count(*) - 2 from cards)::int]`
          : cardId
      },
      1 + abs(hashint4(number * 7)::bigint) % 90000,
      1 + number % 9,
      (array['M', 'NM', 'LP', 'MP'])[1 + number % 4],
      'EN',
      '2026-01-01'::timestamptz + number * interval '1 second',
      '2026-02-01'::timestamptz + abs(hashint4(number * 3)::bigint) % 2600000 * interval '1 second'
    from generate_series(1, ${count}::int) number
  `
}

const listingIdsOf = async (db: Sql, accountId: number) =>
  (
    await db<{ id: number }[]>`select id from listings where account_id = ${accountId} order by id`
  ).map(({ id }) => id)

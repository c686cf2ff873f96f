import type { Context } from '../server/context.ts'
import { connect } from '../server/database/connect.ts'
import { signalOnly } from '../server/database/signals.ts'
import type { Sql } from '../server/database/sql.ts'
import { type Begin, transactionsOn } from '../server/database/transactions.ts'
import { listListings } from '../server/listings/listings.ts'
import { offersOf } from '../server/listings/offers.ts'
import { checkOut } from '../server/orders/checkout.ts'
import { listOrders } from '../server/orders/orders.ts'
import { getSlice } from '../server/orders/slice.ts'

/**
 * Sends the service's statements over one pool of prepared connections, without HTTP, keys, rate limits, validation or
 * JSON. Bulk creates and updates have no transaction. Runs in its own process.
 */
export type BareSql = {
  url: string
  work:
    | { kind: 'page'; accountId: number; cardId?: string; offset: number }
    | { kind: 'offers'; cardId: string }
    | { kind: 'insert'; accountId: number; cardIds: string[] }
    | { kind: 'update'; accountId: number; listingIds: number[] }
    | { kind: 'orders'; accountId: number; offset: number }
    | { kind: 'slice'; accountId: number; orderId: number }
    | { kind: 'checkout'; listingIds: number[] }
  /** Concurrent statements. */
  connections: number
  ms: number
}

let db: Sql | undefined
let begin: Begin | undefined

process.on('message', async ({ url, work, connections, ms }: BareSql) => {
  db ??= connect(url)
  begin ??= transactionsOn(url, 10).begin
  const run = workOf(db, begin, work)
  const began = performance.now()
  const cpu = process.cpuUsage()
  let responses = 0
  const loop = async () => {
    while (performance.now() - began < ms) {
      await run()
      responses++
    }
  }
  await Promise.all(Array.from({ length: connections }, loop))
  const took = performance.now() - began
  const { user, system } = process.cpuUsage(cpu)
  process.send!({ responses, ms: took, cpuMs: (user + system) / 1000 })
})

let next = 0

function workOf(db: Sql, begin: Begin, work: BareSql['work']): () => Promise<unknown> {
  const now = new Date('2026-03-01')
  const signal = signalOnly(db)
  // The measured verbs use neither settings nor the log.
  const ctx = { db, begin, now: () => now, signal } as unknown as Context
  switch (work.kind) {
    case 'page': {
      const { accountId, cardId, offset } = work
      const page = { page: 1 + offset / 30, perPage: 30, offset }
      return () => listListings(ctx, accountId, { cardId }, page)
    }
    case 'offers':
      return async () => {
        const { batches } = await offersOf(ctx, { cardId: work.cardId, productSlug: null })
        for await (const _ of batches);
      }
    case 'orders': {
      const { accountId, offset } = work
      const page = { page: 1 + offset / 30, perPage: 30, offset }
      return () => listOrders(ctx, accountId, {}, page)
    }
    case 'slice':
      return () => getSlice(ctx, work.accountId, work.orderId)
    case 'checkout': {
      const { listingIds } = work
      return () =>
        checkOut(ctx, {
          buyer: { name: 'Buyer', email: 'buyer@mail.example' },
          address: null,
          lines: [{ listingId: listingIds[next++ % listingIds.length]!, quantity: 1 }],
          cartId: undefined,
          shipping: [],
        })
    }
    case 'insert':
      return () => insert(db, work.accountId, work.cardIds, now)
    case 'update': {
      const { accountId, listingIds } = work
      return () => {
        const id = listingIds[next++ % listingIds.length]!
        return db`
          update listings
          set price_cents = ${100 + (next % 1000)}, updated_at = ${now}
          where id = ${id} and account_id = ${accountId} and status <> 'removed'
          returning *
        `
      }
    }
  }
}

const insert = (db: Sql, accountId: number, cardIds: string[], now: Date) => db`
  insert into listings (
    account_id, card_id, price_cents, quantity, condition, language, created_at, updated_at
  )
  select ${accountId}::bigint, card_id, price_cents, quantity, condition, language, ${now}::timestamptz, ${now}::timestamptz
  from unnest(
    ${cardIds}::text[],
    ${cardIds.map((_, i) => 100 + i)}::int[],
    ${cardIds.map(() => 3)}::int[],
    ${cardIds.map(() => 'NM')}::text[],
    ${cardIds.map(() => 'EN')}::text[]
  ) as item (card_id, price_cents, quantity, condition, language)
  returning id
`

import { beforeAll, expect, it } from 'vitest'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import { POSTING_KINDS } from '../enums.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { insertSlices } from '../test/fixtures/orders.ts'
import { until } from '../test/until.ts'
import { listEntries, readBalances, sumUpLedger } from './ledger.ts'

let app: TestApp
/** Another service on the same database. */
let other: TestApp
let accounts: number[]
let slices: string[]
beforeAll(async () => {
  app = await startTestApp()
  other = await startTestApp({ databaseUrl: app.databaseUrl })
  // The sums are the same for postings that no sale writes, so random ones cover more combinations of entries.
  await app.ctx.db.unsafe('alter table postings drop constraint postings_fit_kind')
  await app.ctx.db.unsafe('drop index postings_shipping_once')
  accounts = [(await app.seller()).accountId, (await app.seller()).accountId]
  slices = []
  for (const account of accounts) {
    slices.push(...(await insertSlices(app.ctx.db, account, ['Misty', 'Oak'])))
  }
})

const random = (below: number) => Math.floor(Math.random() * below)
const DAY = 24 * 60 * 60 * 1000
const START = Date.UTC(2026, 2, 1)
/** A time within six days, or the beginning of one of them. */
const moment = () => new Date(START + (random(3) ? random(6 * DAY) : random(6) * DAY))

/** Posts to random slices, at times in no order. */
async function post({ db }: { db: Db }, number: number): Promise<void> {
  await db`select from slices where slice_key = ${slices[0]!} for no key update`
  for (let i = 0; i < number; i++) {
    const kind = ['shipping', 'payout', 'recovery'][random(3)]!
    const cents = [random(3) - 1, random(3) - 1, random(3) - 1]
    await db`
      insert into postings (
        kind, account_id, slice_id, buyers_cents, seller_cents, shipping_cents, payouts_cents,
        created_at
      )
      select
        ${kind}, account_id, id, ${cents[0]!}, ${cents[1]!}, ${cents[2]!},
        ${-cents[0]! - cents[1]! - cents[2]!}, ${moment()}
      from slices
      where slice_key = ${slices[random(slices.length)]!}
    `
  }
}

/** Compares totals and balances with plain SQL in the same snapshot. */
const compare = ({ ctx }: TestApp) =>
  ctx.begin(async (db) => {
    const begin: Context['begin'] = (work) => work(db)
    for (let i = 0; i < 20; i++) {
      const filters = {
        accountId: random(2) ? accounts[random(2)] : undefined,
        kind: random(2) ? POSTING_KINDS[random(POSTING_KINDS.length)] : undefined,
        from: random(2) ? moment() : undefined,
        to: random(2) ? moment() : undefined,
      }
      const { accountId, kind, from, to } = filters
      const [plain] = await db<{ total: number }[]>`
        select count(*)::int as total
        from postings p
        cross join lateral jsonb_each(to_jsonb(p)) entry
        where
          entry.key like '%\\_cents' and entry.value <> '0'
          and account_id = coalesce(${accountId ?? null}::bigint, account_id)
          and kind = coalesce(${kind ?? null}::text, kind)
          and created_at >= coalesce(${from ?? null}::timestamptz, created_at)
          and date_trunc('second', created_at) <= coalesce(${to ?? null}::timestamptz, 'infinity')
      `
      const page = { perPage: 1, offset: 0 }
      const { total } = await listEntries({ ...ctx, db, begin }, filters, page)
      expect({ filters, total }).toEqual({ filters, total: plain!.total })
    }
    const plain = await db<{ account: string; cents: number }[]>`
      select account, sum(cents)::bigint as cents
      from postings
      cross join lateral (
        values
          ('buyers', buyers_cents), ('commission', commission_cents), ('shipping', shipping_cents),
          ('refunds', refunds_cents), ('payouts', payouts_cents), ('seller:' || account_id, seller_cents)
      ) entry (account, cents)
      group by account
    `
    const balances = await readBalances({ ...ctx, db, begin })
    expect(Object.fromEntries(balances)).toEqual(
      Object.fromEntries(plain.map(({ account, cents }) => [account, cents])),
    )
  }, 'snapshot')

const summed = async () => {
  const [row] = await app.ctx.db<{ days: number; accounts: number }[]>`
    select
      (select coalesce(sum(entries), 0)::int from ledger_days) as days,
      (select coalesce(sum(entries), 0)::int from ledger_accounts) as accounts
  `
  return row!
}

/** Transactions of other tests on the server hold the sums up as well. */
const addAllUp = () =>
  until('all postings are added up', async () => {
    await sumUpLedger(app.ctx)
    const [state] = await app.ctx.db<{ isDone: boolean }[]>`
      select counted_to > (select max(id) from postings) as "isDone" from posting_count_state
    `
    return state!.isDone
  })

it('totals and balances of the ledger equal plain SQL while two services post and add up', async () => {
  await inTransaction(app.ctx, (tx) => post(tx, 50))
  await compare(app)
  let writing = 4
  const write = async (service: TestApp) => {
    for (let i = 0; i < 15; i++) await inTransaction(service.ctx, (tx) => post(tx, 1 + random(4)))
    writing--
  }
  const addUp = async ({ ctx }: TestApp) => {
    while (writing > 0) await sumUpLedger(ctx)
  }
  const check = async (service: TestApp) => {
    while (writing > 0) await compare(service)
  }
  await Promise.all([
    ...[app, other, app, other].map(write),
    ...[app, other].flatMap((service) => [addUp(service), check(service)]),
  ])
  await addAllUp()
  await compare(other)
  const { days, accounts: ofAccounts } = await summed()
  expect(days).toBeGreaterThan(100)
  expect(ofAccounts).toBe(days)
})

it('a posting is added up after those with lower ids that are committed later', async () => {
  await addAllUp()
  const before = await summed()
  const postOne = ({ db }: { db: Db }) => db`
    insert into postings (kind, account_id, slice_id, buyers_cents, seller_cents, created_at)
    select 'shipping', account_id, id, -1, 1, ${moment()} from slices where slice_key = ${slices[1]!}
  `
  const posted = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const open = inTransaction(app.ctx, async (tx) => {
    await tx.db`select from slices where slice_key = ${slices[1]!} for no key update`
    await postOne(tx)
    posted.resolve()
    await released.promise
  })
  await posted.promise
  await postOne(app.ctx)
  for (let run = 0; run < 3; run++) await sumUpLedger(app.ctx)
  expect(await summed()).toEqual(before)
  await compare(app)
  released.resolve()
  await open
  await compare(app)
  await addAllUp()
  expect((await summed()).days).toBe(before.days + 4)
  await compare(app)
})

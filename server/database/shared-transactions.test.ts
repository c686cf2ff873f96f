import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeAll, expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { untilLockWaiters } from '../test/lock-waiters.ts'
import { newBudget, withBudget } from './budget.ts'
import { inTransaction } from './in-transaction.ts'
import { type Outcome, type Share, sharedTransactions } from './shared-transactions.ts'
import type { Db, Sql } from './sql.ts'
import { type Begin, transactionsOn } from './transactions.ts'

type Tx = { db: Db; begin: Begin; share: Share<Tx> }

let ctx: Tx
let db: Sql
let url: string
beforeAll(async () => {
  const database = await testDatabase('empty')
  ;({ db, url } = database)
  ctx = {
    ...database,
    share: sharedTransactions((work) => inTransaction(ctx, work)),
  }
  await db`create table written (item integer primary key, xid xid8 default pg_current_xact_id())`
  await db`create table locked (item integer primary key)`
  await db`insert into locked values (1)`
})

const times = <T>(count: number, make: (i: number) => T) =>
  Array.from({ length: count }, (_, i) => make(i))

/** Writes each item and returns it. An item below zero is an error, and above 1,000 the database rejects it. */
async function write({ db }: Tx, items: number[]): Promise<Outcome<number>[]> {
  const valid = items.filter((item) => item >= 0)
  await db`
    insert into written (item)
    select case when item > 1000 then null else item end from unnest(${valid}::int[]) item
  `
  return items.map((result) =>
    result < 0 ? { error: new Error(`refused ${result}`) } : { result },
  )
}

const writtenFrom = async (low: number, high: number) => {
  const rows = await db<{ item: number; xid: string }[]>`
    select item, xid::text from written where item between ${low} and ${high} order by item
  `
  return { items: rows.map(({ item }) => item), transactions: new Set(rows.map(({ xid }) => xid)) }
}

it('concurrent items share transactions, and each caller gets the result of its own', async () => {
  const items = times(100, (i) => i)
  expect(await Promise.all(items.map((item) => ctx.share(write, item)))).toEqual(items)
  const { items: written, transactions } = await writtenFrom(0, 99)
  expect(written).toEqual(items)
  expect(transactions.size).toBeLessThan(10)
})

it('an item that is refused or rejected fails only its own caller', async () => {
  const items = [101, -1, 102, 5_000, 103]
  const settled = await Promise.allSettled(items.map((item) => ctx.share(write, item)))
  expect(
    settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message)),
  ).toEqual([101, 'refused -1', 102, expect.stringContaining('null value'), 103])
  expect((await writtenFrom(101, 103)).items).toEqual([101, 102, 103])
})

it('items that have to wait for locks are handled together, and delay no other item', async () => {
  const lockAndWrite = async (
    tx: Tx,
    items: number[],
    waits: boolean,
  ): Promise<Outcome<number>[]> => {
    const isContended = (item: number) => item % 10 === 1
    if (waits) await tx.db`select from locked where item = 1 for update`
    await write(tx, waits ? items : items.filter((item) => !isContended(item)))
    return items.map((result) => (isContended(result) && !waits ? 'locked' : { result }))
  }
  let waiting: Promise<number[]> | undefined
  await ctx.begin(async (holder) => {
    await holder`select from locked where item = 1 for update`
    waiting = Promise.all([201, 211, 221].map((item) => ctx.share(lockAndWrite, item)))
    await untilLockWaiters(db)
    const free = [202, 203, 204]
    expect(await Promise.all(free.map((item) => ctx.share(lockAndWrite, item)))).toEqual(free)
    expect((await writtenFrom(200, 230)).items).toEqual(free)
  })
  expect(await waiting).toEqual([201, 211, 221])
  expect((await writtenFrom(205, 230)).transactions.size).toBe(1)
})

it('transactions that wait for locks hold a third of the connections together', async () => {
  const pool = transactionsOn(url, 3)
  const share: Share<Tx> = sharedTransactions((work) =>
    inTransaction({ ...ctx, begin: pool.begin }, work),
  )
  const workThatWaits =
    () =>
    async ({ db }: Tx, items: number[], waits: boolean): Promise<Outcome<number>[]> => {
      if (!waits) return items.map(() => 'locked')
      await db`select from locked where item = 1 for update`
      return items.map((result) => ({ result }))
    }
  let waiting: Promise<number[]> | undefined
  await ctx.begin(async (holder) => {
    await holder`select from locked where item = 1 for update`
    waiting = Promise.all([workThatWaits(), workThatWaits()].map((work, i) => share(work, i)))
    await untilLockWaiters(db)
    const gate = Promise.withResolvers<void>()
    const both = (isLast: boolean) =>
      pool.begin(async (tx) => {
        if (isLast) gate.resolve()
        await gate.promise
        await tx`select`
      })
    await Promise.all([both(false), both(true)])
  })
  expect(await waiting).toEqual([0, 1])
  await pool.end()
})

it('inside a transaction, an item is written in that transaction and fails like a direct call', async () => {
  const work = inTransaction(ctx, async (tx) => {
    expect(await tx.share(write, 301)).toBe(301)
    expect((await tx.db`select from written where item = 301`).length).toBe(1)
    await tx.share(write, -7)
  })
  await expect(work).rejects.toThrow('refused -7')
  expect((await writtenFrom(301, 301)).items).toEqual([])
})

it('an item waits at most for the remaining time of its request', async () => {
  const sleep = async ({ db }: Tx, items: number[]): Promise<Outcome<number>[]> => {
    await db`select pg_sleep(60)`
    return items.map((result) => ({ result }))
  }
  const inRequest = (ms: number) => withBudget(newBudget(ms), () => ctx.share(sleep, 1))
  const settled = await Promise.allSettled([inRequest(300), inRequest(400), inRequest(500)])
  expect(settled.map((one) => one.status === 'rejected' && one.reason.message)).toEqual(
    times(3, () => 'The database did not respond in time.'),
  )
})

it('an item whose time is over fails no other item of its transaction', async () => {
  const lockAndReturn = async ({ db }: Tx, items: number[]): Promise<Outcome<number>[]> => {
    await db`select from locked where item = 1 for update`
    return items.map((result) => ({ result }))
  }
  const inRequest = (ms: number, item: number) =>
    withBudget(newBudget(ms), () => ctx.share(lockAndReturn, item))
  let others: Promise<number[]> | undefined
  await ctx.begin(async (holder) => {
    await holder`select from locked where item = 1 for update`
    const late = inRequest(300, 1)
    others = Promise.all([inRequest(60_000, 2), inRequest(60_000, 3)])
    await expect(late).rejects.toThrow('did not respond in time')
  })
  expect(await others).toEqual([2, 3])
})

it('an outage fails all items of a transaction, and the next items are written', async () => {
  const pids: Promise<unknown>[] = []
  const die = async (tx: Tx, items: number[]): Promise<Outcome<number>[]> => {
    pids.push(tx.db`select pg_terminate_backend(pg_backend_pid())`.catch(() => {}))
    await tx.db`select 1`
    return items.map((result) => ({ result }))
  }
  const settled = await Promise.allSettled(times(3, (i) => ctx.share(die, i)))
  expect(settled.map(({ status }) => status)).toEqual(times(3, () => 'rejected'))
  await Promise.all(pids)
  await nextTurn()
  expect(await ctx.share(write, 401)).toBe(401)
})

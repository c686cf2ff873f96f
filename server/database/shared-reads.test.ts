import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeAll, expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { newBudget, withBudget } from './budget.ts'
import { MAX_ITEMS, readTogether } from './shared-reads.ts'
import type { Db, Sql } from './sql.ts'

let db: Sql
beforeAll(async () => {
  db = (await testDatabase('empty')).db
})

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)

/** A read that doubles numbers, and the numbers of each of its statements. */
function doubling() {
  const statements: number[][] = []
  const read = async ({ db }: { db: Db }, items: number[]) => {
    statements.push(items)
    const rows = await db<{ doubled: number }[]>`
      select 2 * item as doubled
      from unnest(${items}::int[]) with ordinality as items (item, place)
      order by place
    `
    return rows.map(({ doubled }) => doubled)
  }
  return { statements, read: (item: number) => readTogether({ db }, read, item) }
}

it('reads of one turn of the event loop share statements of a limited size, and each gets its own result', async () => {
  const { statements, read } = doubling()
  const items = numbers(2 * MAX_ITEMS + 1)
  expect(await Promise.all(items.map(read))).toEqual(items.map((item) => 2 * item))
  expect(statements.map(({ length }) => length)).toEqual([MAX_ITEMS, MAX_ITEMS, 1])
})

it('a read does not wait for a statement that was sent earlier', async () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const started: number[] = []
  const read = async (_: { db: Db }, items: number[]) => {
    started.push(...items)
    await held
    return items
  }
  const first = readTogether({ db }, read, 1)
  await nextTurn()
  const second = readTogether({ db }, read, 2)
  await nextTurn()
  expect(started).toEqual([1, 2])
  release()
  expect(await Promise.all([first, second])).toEqual([1, 2])
})

it('reads of different transactions share no statement', async () => {
  const { begin } = await testDatabase('empty')
  const statements: number[][] = []
  const read = async (_: { db: Db }, items: number[]) => {
    statements.push(items)
    return items
  }
  const inTransaction = (item: number) => begin((tx) => readTogether({ db: tx }, read, item))
  await Promise.all([readTogether({ db }, read, 1), inTransaction(2), inTransaction(3)])
  // Both transactions have begun now, and read in the same turn.
  await begin((one) =>
    begin((other) =>
      Promise.all([readTogether({ db: one }, read, 4), readTogether({ db: other }, read, 5)]),
    ),
  )
  expect(statements.toSorted()).toEqual([[1], [2], [3], [4], [5]])
})

it('a failed statement fails all of its reads, and no later one', async () => {
  let fails = true
  const read = async ({ db }: { db: Db }, items: number[]) => {
    if (fails) await db`select 1 / 0`
    return items
  }
  const settled = await Promise.allSettled([1, 2].map((item) => readTogether({ db }, read, item)))
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  fails = false
  expect(await readTogether({ db }, read, 3)).toBe(3)
})

it('a request whose time for the database ends fails no other request of its read', async () => {
  const read = async ({ db }: { db: Db }, items: number[]) => {
    await db`select pg_sleep(0.3)`
    return items
  }
  const within = (ms: number) => withBudget(newBudget(ms), () => readTogether({ db }, read, ms))
  const [late, other] = await Promise.allSettled([within(50), within(60_000)])
  expect(late).toMatchObject({ reason: { message: 'The database did not respond in time.' } })
  expect(other).toEqual({ status: 'fulfilled', value: 60_000 })
})

it('a request that has no time left for the database fails a shared read', async () => {
  const read = async ({ db }: { db: Db }, items: number[]) => {
    await db`select pg_sleep(5)`
    return items
  }
  const budget = newBudget(50)
  await expect(withBudget(budget, () => readTogether({ db }, read, 1))).rejects.toThrow(
    'The database did not respond in time.',
  )
  expect(budget.leftMs).toBeLessThanOrEqual(0)
})

import { expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { whileLocked } from '../test/lock-waiters.ts'
import { until } from '../test/until.ts'
import { whenFileEnds } from '../test/when-file-ends.ts'
import { connect } from './connect.ts'
import type { Sql } from './sql.ts'

async function poolOfTwo() {
  const { db, begin, url } = await testDatabase()
  const pool = connect(url, { max: 2 })
  whenFileEnds(() => pool.end({ timeout: 1 }))
  await db`create table locked ()`
  await db`create table locked_too ()`
  return { db, pool, begin }
}

/**
 * Waits until so many statements have waited for a lock so long that nothing is sent behind them: the next one takes the
 * other connection, also if that is still being opened.
 */
const untilSlow = (db: Sql, count: number) =>
  until('the statements have waited for a moment', async () => {
    const waiting = await db`
      select from pg_stat_activity
      where datname = current_database() and query like 'select from locked%'
        and wait_event_type = 'Lock' and clock_timestamp() - query_start > interval '100 milliseconds'
    `
    return waiting.count === count
  })

it('a statement is not sent behind one that waits for a lock while another connection can take it', async () => {
  const { db, pool, begin } = await poolOfTwo()
  let blocked: Promise<unknown> | undefined
  await whileLocked(
    { begin },
    (tx) => tx`lock table locked`,
    async () => {
      blocked = pool`select from locked`.execute()
      await untilSlow(db, 1)
      const others = await Promise.all([1, 2, 3, 4].map((n) => pool`select ${n}::int as n`))
      expect(others.map(([row]) => row!.n)).toEqual([1, 2, 3, 4])
    },
  )
  await blocked
})

it('a later statement does not overtake those that wait for a connection', async () => {
  const { db, pool, begin } = await poolOfTwo()
  const ended: string[] = []
  const blocked: Promise<unknown>[] = []
  await whileLocked(
    { begin },
    (tx) => tx`lock table locked`,
    async () => {
      blocked.push(pool`select from locked`.execute())
      await untilSlow(db, 1)
      let waiting: Promise<unknown>[] = []
      await whileLocked(
        { begin },
        (tx) => tx`lock table locked_too`,
        async () => {
          blocked.push(pool`select from locked_too`.execute())
          await untilSlow(db, 2)
          waiting = ['first', 'second', 'third', 'fourth'].map(async (name) => {
            await pool`select 1`
            ended.push(name)
            if (name !== 'first') return
            await pool`select 1`
            ended.push('later')
          })
        },
      )
      await Promise.all(waiting)
    },
  )
  await Promise.all(blocked)
  expect(ended).toEqual(['first', 'second', 'third', 'fourth', 'later'])
})

it('a lost connection is replaced for a statement that waits, while the others wait for locks', async () => {
  const { db, pool, begin } = await poolOfTwo()
  const blocked: Promise<unknown>[] = []
  await whileLocked(
    { begin },
    (tx) => tx`lock table locked, locked_too`,
    async () => {
      blocked.push(pool`select from locked`.execute())
      await untilSlow(db, 1)
      blocked.push(pool`select from locked_too`.execute())
      const lost = expect(blocked[1]).rejects.toThrow(/CLOSED|lost/)
      await untilSlow(db, 2)
      const waiting = pool`select 7 as n`.execute()
      await db`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query = 'select from locked_too'
      `
      await lost
      expect(await waiting).toEqual([{ n: 7 }])
    },
  )
  await blocked[0]
})

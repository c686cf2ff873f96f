import { expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { whileLocked } from '../test/lock-waiters.ts'
import { until } from '../test/until.ts'
import { whenFileEnds } from '../test/when-file-ends.ts'
import { connect } from './connect.ts'

it('a statement is not sent behind one that waits for a lock while another connection can take it', async () => {
  const { db, begin, url } = await testDatabase()
  const pool = connect(url, { max: 2 })
  whenFileEnds(() => pool.end({ timeout: 1 }))
  await db`create table locked ()`
  await Promise.all([pool`select 1`, pool`select 1`])
  let blocked: Promise<unknown> | undefined
  await whileLocked(
    { begin },
    (tx) => tx`lock table locked`,
    async () => {
      blocked = pool`select from locked`.execute()
      await until('the statement has waited for a moment', async () => {
        const { count } = await db`
          select from pg_stat_activity
          where datname = current_database() and query = 'select from locked'
            and wait_event_type = 'Lock' and clock_timestamp() - query_start > interval '100 milliseconds'
        `
        return count === 1
      })
      const others = await Promise.all([1, 2, 3, 4].map((n) => pool`select ${n}::int as n`))
      expect(others.map(([row]) => row!.n)).toEqual([1, 2, 3, 4])
    },
  )
  await blocked
})

import { beforeAll, describe, expect, it } from 'vitest'
import { cutLock, testDatabase } from '../test/database.ts'
import { until } from '../test/until.ts'
import { withAdvisoryLock } from './advisory-lock.ts'
import type { Sql } from './sql.ts'
import type { Begin } from './transactions.ts'

let db: Sql
let begin: Begin
let url: string
beforeAll(async () => {
  ;({ db, begin, url } = await testDatabase())
  await db`create table notes (text text)`
})

describe('a lock whose connection is lost', () => {
  it('a lost advisory lock fails the further transactions of its holder', async () => {
    await withAdvisoryLock(url, 'import', async (lock) => {
      const write = () =>
        begin(async (tx) => {
          await lock.guard(tx)
          await tx`insert into notes values ('kept')`
        })
      await write()
      await cutLock(db)
      await expect(write()).rejects.toThrow('The lock for import was lost')
      await withAdvisoryLock(url, 'import', async () => {
        await expect(write()).rejects.toThrow('The lock for import was lost')
      })
    })
    expect(await db`select text from notes`).toEqual([{ text: 'kept' }])
  })

  it('the next holder of a lost advisory lock waits for a running transaction of the former holder', async () => {
    const order: string[] = []
    let second: Promise<unknown> | undefined
    await withAdvisoryLock(url, 'import', async (lock) => {
      await begin(async (tx) => {
        await lock.guard(tx)
        await cutLock(db)
        second = withAdvisoryLock(url, 'import', (next) =>
          begin(async (other) => {
            order.push('second begins')
            await next.guard(other)
            order.push('second is let in')
          }),
        )
        await until('the second holder waits', async () => {
          const waiting = await db`
            select
            from pg_locks
            where locktype = 'advisory' and not granted
              and database = (select oid from pg_database where datname = current_database())
          `
          return waiting.length === 1
        })
        order.push('first ends')
      })
    })
    await second
    expect(order).toEqual(['second begins', 'first ends', 'second is let in'])
  })

  it('the database’s timeouts for idle sessions and slow statements do not end an advisory lock', async () => {
    await db.unsafe(`
      do $$ begin
        execute format('alter database %I set statement_timeout = 40', current_database());
        execute format('alter database %I set idle_session_timeout = 40', current_database());
      end $$
    `)
    let second: Promise<void> | undefined
    await withAdvisoryLock(url, 'import', async (lock) => {
      second = withAdvisoryLock(url, 'import', async () => {})
      await db`select pg_sleep(0.15)`
      await begin((tx) => lock.guard(tx))
    })
    await second
  })
})

import { expect, it } from 'vitest'
import { databaseAtVersion } from '../test/database.ts'
import { until } from '../test/until.ts'
import { whenFileEnds } from '../test/when-file-ends.ts'
import { waitAtFence } from './advisory-lock.ts'
import { connect, connectAlone } from './connect.ts'
import { migrate } from './migrate.ts'

it('a start waits for the migration of a process that was killed, even if that takes longer than a statement may', async () => {
  const url = await databaseAtVersion(56)
  const db = connect(url, { max: 2 })
  const killed = connectAlone(url)
  whenFileEnds(() => Promise.all([db.end({ timeout: 1 }), killed.end({ timeout: 1 })]))
  // The server carries out the statement of a killed process to its end, and keeps its transaction until then.
  await killed`begin`
  await waitAtFence(killed, 'migrate')
  let ended = false
  const announced: string[] = []
  const migration = migrate(db, url, (files) => announced.push(...files)).finally(() => {
    ended = true
  })
  await until('the migration has waited longer than a statement may', async () => {
    const waiting = await db`
      select
      from pg_stat_activity
      where
        datname = current_database()
        and wait_event = 'advisory'
        and clock_timestamp() - query_start > interval '11 seconds'
    `
    return ended || waiting.length > 0
  })
  await killed`rollback`
  expect(announced[0]).toMatch(/^0057_/)
  expect(await migration).toEqual(announced)
})

import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { connect } from '../database/connect.ts'
import type { Sql } from '../database/sql.ts'
import { type Begin, transactionsOn } from '../database/transactions.ts'
import { databaseUrl, TEMPLATES } from './global-setup.ts'
import { whenFileEnds } from './when-file-ends.ts'

/**
 * A database of the test file's own, cloned from a prepared one: migrated and empty, or holding the bundled
 * catalog. Call it in `beforeAll` or a test; it's dropped when the file is done.
 */
export async function testDatabase(
  template: keyof typeof TEMPLATES = 'empty',
): Promise<{ db: Sql; begin: Begin; url: string }> {
  const server = inject('databaseServer')
  const name = `test_${randomBytes(6).toString('hex')}`
  const admin = connect(server, { max: 1 })
  await admin.unsafe(`create database ${name} template ${TEMPLATES[template]}`)
  const url = databaseUrl(server, name)
  const db = connect(url, { max: 5 })
  const { begin, end } = transactionsOn(url, 5)
  whenFileEnds(async () => {
    await end()
    await db.end({ timeout: 1 })
    await admin.unsafe(`drop database ${name} with (force)`)
    await admin.end({ timeout: 1 })
  })
  return { db, begin, url }
}

/** Ends the session that holds an advisory lock on this database, as a broken network does. */
export async function cutLock(db: Sql): Promise<void> {
  const cut = await db`
    select pid, pg_terminate_backend(pid, 5000)
    from pg_locks
    where locktype = 'advisory' and granted and objsubid = 2 and classid = ${0x63617264}::int::oid
      and database = (select oid from pg_database where datname = current_database())
  `
  if (cut.length !== 1) throw new Error(`${cut.length} sessions hold a lock`)
}

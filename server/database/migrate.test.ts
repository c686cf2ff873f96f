import { randomBytes } from 'node:crypto'
import { expect, inject, it } from 'vitest'
import { StartError } from '../start-error.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { databaseAtVersion, testDatabase } from '../test/database.ts'
import { query } from '../test/embedded-homes.ts'
import { insertListing, insertPhotos } from '../test/fixtures/listings.ts'
import { insertSlice } from '../test/fixtures/orders.ts'
import { until } from '../test/until.ts'
import { whenFileEnds } from '../test/when-file-ends.ts'
import { waitAtFence, withAdvisoryLock } from './advisory-lock.ts'
import { connect, connectAlone } from './connect.ts'
import { migrate } from './migrate.ts'

/** A database without tables. */
async function emptied() {
  const database = await testDatabase('empty')
  await database.db.unsafe('drop schema public cascade; create schema public')
  return database
}

// The tests of migrations that wait mostly wait for time limits, each on a database of its own.
it.concurrent('a start waits for the migration of a process that was killed, even beyond the time limit of statements', async () => {
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

it.concurrent('a migration waits and works beyond the time limits that the database sets for transactions and locks', async () => {
  const url = await databaseAtVersion(66)
  const db = connect(url, { max: 2 })
  const killed = connectAlone(url)
  whenFileEnds(() => Promise.all([db.end({ timeout: 1 }), killed.end({ timeout: 1 })]))
  const name = new URL(url).pathname.slice(1)
  await killed.unsafe(`alter database ${name} set transaction_timeout = '1s'`)
  await killed.unsafe(`alter database ${name} set lock_timeout = '1s'`)
  await killed`begin`
  await waitAtFence(killed, 'migrate')
  let ended = false
  const untilItWaits = (statement: string) =>
    until(`the migration has waited longer than its limit in ${statement}`, async () => {
      const waiting = await db`
        select
        from pg_stat_activity
        where
          datname = current_database()
          and wait_event = 'advisory'
          and query like ${`%${statement}(%`}
          and clock_timestamp() - query_start > interval '1.5 seconds'
      `
      return ended || waiting.length > 0
    })
  const migration = await withAdvisoryLock(url, 'migrate', async () => {
    const applied = migrate(db, url).finally(() => {
      ended = true
    })
    applied.catch(() => {})
    await untilItWaits('pg_advisory_lock')
    return { applied }
  })
  await untilItWaits('pg_advisory_xact_lock')
  await killed`rollback`
  expect((await migration.applied)[0]).toMatch(/^0067_/)
})

it.concurrent('a migration that deadlocks with a process of the earlier version is applied again', async () => {
  const url = await databaseAtVersion(62)
  const db = connect(url, { max: 2 })
  const earlier = connectAlone(url)
  whenFileEnds(() => Promise.all([db.end({ timeout: 1 }), earlier.end({ timeout: 1 })]))
  // PostgreSQL aborts the session that finds the deadlock. The migration looks for one so late that the other waits by then.
  await db.unsafe(`alter database ${new URL(url).pathname.slice(1)} set deadlock_timeout = '3s'`)
  await earlier`begin`
  await earlier`set local deadlock_timeout = '1 min'`
  await earlier`lock table listings in row exclusive mode`
  const applied = migrate(db, url)
  await until('the migration has locked the orders', async () => {
    const locked = await db`
      select from pg_locks
      where relation = 'orders'::regclass and mode = 'ShareLock' and granted
    `
    return locked.count > 0
  })
  await earlier`lock table orders in row exclusive mode`
  await earlier`commit`
  expect((await applied)[0]).toMatch(/^0063_/)
})

it('photos of listings that were removed before the update get the time of their deletion, and others get none', async () => {
  const url = await databaseAtVersion(57)
  const db = connect(url, { max: 2 })
  whenFileEnds(() => db.end({ timeout: 1 }))
  const [account] = await db<{ id: number }[]>`
    insert into accounts (shop_name, slug, email, created_at)
    values ('Shop', 'shop', 'shop@mail.example', now())
    returning id
  `
  const at = new Date('2026-11-01T12:00:00Z')
  for (const name of ['removed', 'active']) {
    const id = await insertListing(db, account!.id, at)
    await insertPhotos(db, id, [`https://photos.example/${name}.jpg`], at)
    if (name === 'removed') await db`update listings set status = 'removed' where id = ${id}`
  }
  await migrate(db, url)
  expect(await db`select delete_at as at from photos order by id`).toEqual([
    { at: new Date('2026-12-01T12:00:00Z') },
    { at: null },
  ])
})

it('labels that were cancelled at the carrier before the update are void and are read again for open orders, and other labels are not', async () => {
  const url = await databaseAtVersion(71)
  const db = connect(url, { max: 2 })
  whenFileEnds(() => db.end({ timeout: 1 }))
  const at = new Date('2026-11-01T12:00:00Z')
  const [account] = await db<{ id: number }[]>`
    insert into accounts (shop_name, slug, email, created_at)
    values ('Shop', 'shop', 'shop@mail.example', ${at})
    returning id
  `
  const cancelled =
    'The shipment was cancelled at the carrier, and the service buys only one for each order. Ask the marketplace how to ship it.'
  for (const [message, status] of [
    [cancelled, 'pending'],
    [cancelled, 'received'],
    ['Another text', 'pending'],
    [null, 'pending'],
  ] as const) {
    const { sliceId, orderIds } = await insertSlice(db, account!.id, { now: at })
    if (status === 'received') {
      await db`
        update orders
        set status = 'received', shipped_at = ${at}, received_at = ${at}
        where slice_id = ${sliceId}
      `
    }
    await db`
      insert into shipments (
        slice_id, order_id, reference, provider, state, in_doubt, lines, carrier_id, status, message,
        label_name, created_at, bought_at, polls
      )
      values (
        ${sliceId}, ${orderIds[0]!}, ${sliceId}, 'sendcloud', 'bought', false, 1, ${sliceId},
        'action_required', ${message}, ${sliceId}, ${at}, ${at}, 9
      )
    `
  }
  await migrate(db, url)
  const shipments =
    await db`select is_void, message, poll_at, polls from shipments order by slice_id`
  expect(shipments).toEqual([
    { is_void: true, message: null, poll_at: at, polls: 0 },
    { is_void: true, message: null, poll_at: null, polls: 9 },
    { is_void: false, message: 'Another text', poll_at: null, polls: 9 },
    { is_void: false, message: null, poll_at: null, polls: 9 },
  ])
})

it('a start warns once about a database whose locale converts the case of ASCII letters only, and works', async () => {
  const locale = "encoding 'UTF8' locale_provider libc lc_collate 'C' lc_ctype 'C'"
  const databaseUrl = await databaseAtVersion(0, `${locale} template template0`)
  const warningsOf = ({ logged }: TestApp) =>
    logged.filter(({ message }) => String(message).startsWith('the locale of the database'))
  const app = await startTestApp({ databaseUrl })
  expect(warningsOf(app)).toEqual([expect.objectContaining({ level: 'warn' })])
  const seller = await app.seller()
  expect((await seller.get('/v1/me')).status).toBe(200)
  expect(warningsOf(await startTestApp())).toEqual([])
})

/** The message with which a start refuses to migrate this database. */
async function refusalOf(url: string): Promise<string> {
  const db = connect(url, { max: 1 })
  const error = await migrate(db, url)
    .catch((error) => error)
    .finally(() => db.end({ timeout: 1 }))
  expect(error).toBeInstanceOf(StartError)
  expect(error.message).not.toContain('\n')
  return error.message
}

it('a role that can use no schema of its search path is refused, with the schema or the right that is missing', async () => {
  const url = new URL(await databaseAtVersion(1))
  url.searchParams.set('search_path', 'nowhere')
  expect(await refusalOf(url.href)).toBe(
    'DATABASE_URL: the role cardstall can use no schema of its search_path (nowhere): create one, or grant it USAGE and CREATE on one.',
  )
})

it('a first start on a read-only database is refused, with the setting that can be the reason', async () => {
  const url = new URL((await emptied()).url)
  url.searchParams.set('default_transaction_read_only', 'on')
  expect(await refusalOf(url.href)).toBe(
    'Cannot migrate the database: cannot execute CREATE TABLE in a read-only transaction. Use the primary server, not a standby, and turn default_transaction_read_only off.',
  )
})

it('a role without the right to create tables is refused', async () => {
  const { db, url } = await emptied()
  const role = `guest_${randomBytes(6).toString('hex')}`
  // The default of PostgreSQL 15 and later for everyone but the database's owner.
  await db.unsafe('grant usage on schema public to public')
  await db.unsafe(`create role ${role} login password 'geheim'`)
  const asGuest = new URL(url)
  asGuest.username = role
  asGuest.password = 'geheim'
  try {
    expect(await refusalOf(asGuest.href)).toBe(
      'Cannot migrate the database: permission denied for schema public.',
    )
  } finally {
    await db.unsafe(`drop role ${role}`)
  }
})

it('a database with another application’s index of the same name is refused', async () => {
  const { db, url } = await emptied()
  await db.unsafe('create table logins (id integer); create index api_keys_account on logins (id)')
  expect(await refusalOf(url)).toBe(
    'Cannot migrate the database: relation "api_keys_account" already exists. Use a database without the tables of other applications.',
  )
})

it.each([
  ['orders', 'create table orders (id integer)'],
  ['migrations', 'create table migrations (id integer, migration text, batch integer)'],
])(
  'a database with another application’s table %s is refused, and nothing is created in it',
  async (name, statement) => {
    const { db, url } = await emptied()
    await db.unsafe(statement)
    expect(await refusalOf(url)).toMatch(
      new RegExp(
        `^DATABASE_URL: the database test_\\w+ already has a table ${name} of another application; use an empty database\\.$`,
      ),
    )
    const tables = await db`select tablename as name from pg_tables where schemaname = 'public'`
    expect(tables).toEqual([{ name }])
  },
)

it.each(['LATIN1', 'SQL_ASCII'])(
  'a database with the encoding %s is refused, and nothing is created in it',
  async (encoding) => {
    const name = `encoded_${randomBytes(6).toString('hex')}`
    // Without a time limit: both statements wait for other tests' files and sessions.
    const admin = (text: string) => query(inject('databaseServer'), text)
    await admin(
      `create database ${name} encoding ${encoding} locale 'C' template template0 strategy file_copy`,
    )
    const url = new URL(inject('databaseServer'))
    url.pathname = name
    try {
      expect(await refusalOf(url.href)).toBe(
        `DATABASE_URL: the encoding of the database ${name} is ${encoding}; create one with ENCODING 'UTF8'.`,
      )
      expect(await query(url.href, "select to_regclass('migrations') as made")).toEqual([
        { made: null },
      ])
    } finally {
      await admin(`drop database ${name} with (force)`)
    }
  },
)

it('the database of a newer version is refused', async () => {
  const { db, url } = await testDatabase('empty')
  await db`insert into migrations (version, name) values (9999, '9999_tomorrow.sql')`
  expect(await refusalOf(url)).toMatch(
    /^The database is at migration 9999, but this version of Cardstall only has \d+: start the newer version\.$/,
  )
})

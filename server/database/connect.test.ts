import { readFile } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { connect, connectAlone } from './connect.ts'

it('a queue pool commits asynchronously, uses no sequential scans and plans each statement once', async () => {
  const { url } = await testDatabase('empty')
  const settingsWith = async (options: { forQueue?: boolean }) => {
    const sql = connect(url, { max: 1, ...options })
    try {
      return await sql`
        select
          current_setting('synchronous_commit') as commit,
          current_setting('enable_seqscan') as scan,
          current_setting('plan_cache_mode') as plans
      `
    } finally {
      await sql.end()
    }
  }
  expect(await settingsWith({ forQueue: true })).toEqual([
    { commit: 'off', scan: 'off', plans: 'force_generic_plan' },
  ])
  expect(await settingsWith({})).toEqual([{ commit: 'on', scan: 'on', plans: 'auto' }])
})

it('the guide names every setting that PgBouncer must ignore, because it refuses connections with others', async () => {
  const { url } = await testDatabase('empty')
  const sent = new Set<string>()
  for (const sql of [
    connect(url, { max: 1 }),
    connect(url, { max: 1, forQueue: true }),
    connectAlone(url),
  ]) {
    onTestFinished(() => sql.end())
    const rows = await sql<{ name: string }[]>`select name from pg_settings where source = 'client'`
    for (const { name } of rows) sent.add(name)
  }
  // PgBouncer knows these itself.
  for (const name of [
    'application_name',
    'client_encoding',
    'DateStyle',
    'TimeZone',
    'standard_conforming_strings',
  ]) {
    sent.delete(name)
  }
  const guide = await readFile(new URL('../../docs/configuration.md', import.meta.url), 'utf8')
  const [, list] = /`ignore_startup_parameters` with (.*?), and ignores/.exec(guide)!
  const named = [...list!.matchAll(/`(\w+)`/g)].map(([, name]) => name!)
  expect(named.toSorted()).toEqual([...sent].toSorted())
})

it('dates and days are those of UTC, whatever settings the database has', async () => {
  const { db, url } = await testDatabase('empty')
  const [{ name } = { name: '' }] = await db<{ name: string }[]>`select current_database() as name`
  for (const setting of [
    'datestyle = German',
    "timezone = 'Africa/Cairo'",
    'bytea_output = escape',
  ]) {
    await db.unsafe(`alter database ${name} set ${setting}`)
  }
  const sql = connect(url, { max: 1 })
  try {
    const [row] = await sql`
      select
        '2026-03-01'::date as day,
        '2026-03-01T12:00:00Z'::timestamptz as moment,
        '\\x00ff'::bytea as bytes,
        array(
          select generate_series('2026-04-22'::date, '2026-04-25'::date, '1 day')::date
        ) as days
    `
    expect(row).toEqual({
      day: '2026-03-01',
      moment: new Date('2026-03-01T12:00:00Z'),
      bytes: Buffer.from([0, 255]),
      days: ['2026-04-22', '2026-04-23', '2026-04-24', '2026-04-25'],
    })
  } finally {
    await sql.end()
  }
})

it('arrays, texts and statements mean the same, whatever settings the database has', async () => {
  const { db, url } = await testDatabase('empty')
  const [{ name } = { name: '' }] = await db<{ name: string }[]>`select current_database() as name`
  for (const setting of [
    'array_nulls = off',
    'standard_conforming_strings = off',
    'default_transaction_isolation = serializable',
    "idle_session_timeout = '1s'",
  ]) {
    await db.unsafe(`alter database ${name} set ${setting}`)
  }
  const sql = connect(url, { max: 1 })
  try {
    const [row] = await sql`
      select
        ${['a', null]}::text[] as list,
        'a\\d' as text,
        current_setting('transaction_isolation') as isolation,
        current_setting('idle_session_timeout') as idle
    `
    expect(row).toEqual({
      list: ['a', null],
      text: 'a\\d',
      isolation: 'read committed',
      idle: '0',
    })
  } finally {
    await sql.end()
  }
})

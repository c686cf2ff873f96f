import { setImmediate } from 'node:timers/promises'
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { createMetrics } from './metrics.ts'
import { runSchedule, startSchedule } from './schedule.ts'
import { startTestApp, type TestApp } from './test/app.ts'
import { insertListing } from './test/fixtures/listings.ts'
import { until } from './test/until.ts'
import { MINUTES, SECONDS } from './time/units.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})

/** One more than a transaction deletes. */
const ROWS = 5_001

it('a job deletes any number of expired rows, but few in one statement', async () => {
  const { db } = app.ctx
  const { memberId, accountId } = await app.member()
  const listing = await insertListing(db, accountId, app.ctx.now())
  const hash = db`sha256(n::text::bytea)`
  const then = db`timestamptz '2020-01-01'`
  const backlogs = {
    mails: db`
      (recipient, subject, text, status, created_at)
      select 'kanto@shops.example', '', '', 'captured', ${then}
    `,
    reservations: db`
      (listing_id, cart_id, quantity, created_at, expires_at)
      select ${listing}::bigint, n::text, 1, ${then}, ${then} + interval '1 second'
    `,
    idempotency_keys: db`
      (caller, operation, key, request_hash, created_at)
      select '', '', n::text, ${hash}, ${then}
    `,
    changes: db`
      (account_id, kind, record_id, change, created_at)
      select ${accountId}::bigint, 'order', n, 'updated', ${then}
    `,
    audit_entries: db`(actor, role, action, created_at) select 'operator', '', '', ${then}`,
    member_sessions: db`
      (member_id, token_hash, created_at, last_used_at, expires_at)
      select ${memberId}::bigint, ${hash}, ${then}, ${then}, ${then}
    `,
    oauth_grants: db`
      (member_id, client_id, client_name, audience, scopes, created_at, ends_at, expires_at)
      select ${memberId}::bigint, '', '', '', '{}', ${then}, ${then}, ${then}
    `,
    oauth_steps: db`
      (uid_hash, member_id, request, expires_at)
      select ${hash}, ${memberId}::bigint, '{}', ${then}
    `,
    oauth_devices: db`
      (device_hash, user_code_hash, client_id, audience, scopes, expires_at)
      select ${hash}, ${hash}, '', '', '{}', ${then}
    `,
    oauth_clients: db`(id, name, redirect_uris, keep_until) select n::text, '', '{}', ${then}`,
    webhook_endpoints: db`
      (account_id, url, events, deleted_at, created_at)
      select ${accountId}::bigint, '', '{order.created}', ${then}, ${then}
    `,
  }
  await db`
    create function limit_deleted() returns trigger language plpgsql as $$
    begin
      if (select count(*) from deleted) >= ${db.unsafe(`${ROWS}`)} then
        raise 'too many rows of % in one statement', tg_table_name;
      end if;
      return null;
    end $$
  `
  for (const [table, rows] of Object.entries(backlogs)) {
    await db`insert into ${db(table)} ${rows} from generate_series(1, ${ROWS}::int) n`
    await db`
      create trigger limited after delete on ${db(table)}
      referencing old table as deleted
      for each statement execute function limit_deleted()
    `
  }
  await runSchedule(app.ctx)
  for (const table of Object.keys(backlogs)) {
    const [left] = await db`select count(*)::int as count from ${db(table)}`
    expect(left!.count, table).toBeLessThan(10)
  }
})

it('a job of the schedule runs at the start, and again after its interval', async () => {
  const { db, now } = app.ctx
  const { accountId } = await app.seller()
  const areCounted = async () => (await db`select from count_deltas`).count === 0
  await insertListing(db, accountId, now())
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const stop = startSchedule(app.ctx)
  onTestFinished(stop)
  await until('the listing is counted', areCounted)
  await insertListing(db, accountId, now())
  expect(await areCounted()).toBe(false)
  vi.advanceTimersByTime(5 * SECONDS)
  await until('the second listing is counted', areCounted)
})

it('a job that lasts longer than its interval runs once at a time, and once more for all intervals that it missed', async () => {
  const runs: (() => void)[] = []
  const prune = () => new Promise<void>((resolve) => runs.push(resolve))
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  onTestFinished(startSchedule({ ...app.ctx, offers: { ...app.ctx.offers, prune } }))
  vi.advanceTimersByTime(3 * MINUTES)
  await setImmediate()
  expect(runs).toHaveLength(1)
  runs[0]!()
  await setImmediate()
  expect(runs).toHaveLength(2)
  runs[1]!()
  await setImmediate()
  expect(runs).toHaveLength(2)
  vi.advanceTimersByTime(1 * MINUTES)
  expect(runs).toHaveLength(3)
})

it('a failed run of a job is counted, and the next interval tries it again', async () => {
  const metrics = createMetrics({ directories: [] })
  const ctx = { ...app.ctx, metrics }
  const areFailures = async (count: number) =>
    (await metrics.text(app.ctx)).includes(`\ncardstall_job_failures_total ${count}\n`)
  const prune = () => Promise.reject(new Error('This job fails.'))
  const log = { ...app.ctx.log, error: () => {} }
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  expect(await areFailures(0)).toBe(true)
  onTestFinished(startSchedule({ ...ctx, log, offers: { ...ctx.offers, prune } }))
  await until('the first failure is counted', () => areFailures(1))
  vi.advanceTimersByTime(1 * MINUTES)
  await until('the second failure is counted', () => areFailures(2))
})

import { expect, it } from 'vitest'
import { inTransaction } from '../database/in-transaction.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { rowsRead } from '../test/rows-read.ts'
import { until } from '../test/until.ts'
import { countAudit } from './counts.ts'
import { listAudit } from './entries.ts'
import { pruneAudit, recordAudits } from './record.ts'

const random = (below: number) => Math.floor(Math.random() * below)
const ACTORS = ['operator', 'staff:1', 'member:7']
const ROLES = ['operator', 'support']
const ACTIONS = ['createCheckout', 'shipOrder']
const DAY = 24 * 60 * 60 * 1000

it('totals of the audit log equal plain SQL while two services write, count and delete entries', async () => {
  const app = await startTestApp({ settings: { AUDIT_RETENTION_DAYS: '30' } })
  const other = await startTestApp({
    databaseUrl: app.databaseUrl,
    settings: { AUDIT_RETENTION_DAYS: '30' },
  })
  const { db } = app.ctx
  const now = app.ctx.now()
  /** The day of the service's clock: entries of the first days are deleted during the test. */
  const at = (ctx: TestApp['ctx'], day: number) => ({
    ...ctx,
    now: () => new Date(now.getTime() + day * DAY),
  })

  const compare = ({ ctx }: TestApp) =>
    ctx.begin(async (tx) => {
      const any = [undefined, undefined]
      for (let i = 0; i < 10; i++) {
        const filters = {
          actor: [...any, ...ACTORS][random(5)],
          role: [...any, ...ROLES][random(4)],
          action: [...any, ...ACTIONS][random(4)],
          record: random(5) ? undefined : 'order:1',
          from: random(5) ? undefined : new Date(now.getTime() + random(40) * DAY),
        }
        const { actor, role, action, record, from } = filters
        const [plain] = await tx<{ total: number }[]>`
          select count(*)::int as total
          from audit_entries
          where
            actor = coalesce(${actor ?? null}::text, actor)
            and role = coalesce(${role ?? null}::text, role)
            and action = coalesce(${action ?? null}::text, action)
            and record = coalesce(${record ?? null}::text, record)
            and created_at >= coalesce(${from ?? null}::timestamptz, created_at)
        `
        const page = { perPage: 1, offset: 0 }
        const { total } = await listAudit({ ...ctx, begin: (work) => work(tx) }, filters, page)
        expect({ filters, total }).toEqual({ filters, total: plain!.total })
      }
    }, 'snapshot')

  let writing = 4
  const write = async ({ ctx }: TestApp) => {
    for (let day = 0; day < 40; day++) {
      const entries = Array.from({ length: 1 + random(3) }, () => ({
        ...{ actor: ACTORS[random(3)]!, role: ROLES[random(2)]!, action: ACTIONS[random(2)]! },
        ...{ record: `order:${random(3)}`, requestId: null },
      }))
      await inTransaction(at(ctx, day), async (tx) => {
        await recordAudits(tx, entries)
        if (random(2)) await recordAudits(tx, entries)
      })
    }
    writing--
  }
  const run = async ({ ctx }: TestApp) => {
    while (writing > 0) {
      await countAudit(ctx)
      await pruneAudit(at(ctx, random(40)))
    }
  }
  const check = async (service: TestApp) => {
    while (writing > 0) await compare(service)
  }
  await Promise.all([
    ...[app, other, app, other].map(write),
    ...[app, other].flatMap((service) => [run(service), check(service)]),
  ])
  // Transactions of other tests on the server hold the counts up as well.
  await until('all entries are counted', async () => {
    await countAudit(app.ctx)
    const [state] = await db<{ isDone: boolean }[]>`
      select counted_to > (select max(id) from audit_entries) as "isDone" from audit_count_state
    `
    return state!.isDone
  })
  await compare(app)
  await pruneAudit(at(app.ctx, 45))
  await compare(other)
  const [kept] = await db<{ number: number; entries: number }[]>`
    select number::int, (select count(*)::int from audit_entries) as entries
    from audit_counts
    where field = 'all'
  `
  expect(kept!.number).toBeGreaterThan(50)
  expect(kept!.number).toBe(kept!.entries)
})

it('a page of two filters with few entries in common reads few others', async () => {
  const { ctx } = await startTestApp()
  await ctx.db`
    insert into audit_entries (actor, role, action, before, created_at)
    select
      'operator',
      case when n < 3 or n % 10 = 0 then 'support' else 'operator' end,
      case when n < 3 or n % 10 = 5 then 'createCheckout' else 'shipOrder' end,
      jsonb_build_object('text', repeat('x', 500)),
      '2026-01-01'
    from generate_series(1, 20000) as n
    order by n
  `
  await ctx.db`analyze audit_entries`
  const filters = { role: 'support', action: 'createCheckout' }
  const read = await ctx.begin(
    (db) =>
      rowsRead(db, 'audit_entries', async () => {
        const inSnapshot = { ...ctx, begin: (work) => work(db) } as typeof ctx
        const { rows } = await listAudit(inSnapshot, filters, { perPage: 25, offset: 0 })
        expect(rows.map(({ id }) => id)).toEqual([2, 1])
      }),
    'snapshot',
  )
  expect(read).toBeLessThan(50)
})

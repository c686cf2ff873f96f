import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, inject, it } from 'vitest'
import { currentPosition, eventsAfter, haveEvents } from '../events/stream.ts'
import { lockExclusive } from '../files/lock.ts'
import { runSchedule } from '../schedule.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { testDatabase } from '../test/database.ts'
import { insertSlices } from '../test/fixtures/orders.ts'
import { tourOfOperations } from '../test/tour-of-operations.ts'
import { whenFileEnds } from '../test/when-file-ends.ts'
import { START_LOCK } from './embedded/remove.ts'
import type { Sql } from './sql.ts'

/**
 * Every statement that the service runs, planned as with ten million rows in each table: the database's statistics
 * claim that many rows, and auto_explain logs the plan of each statement.
 */

/** Tables that stay small, or that are only ever read as a whole. An account has at most 16 endpoints. */
const SMALL = [
  'webhook_endpoints',
  'staff',
  'unfinished_audit_entries',
  'removed_listings',
  'payout_setup_changes',
  'retention',
  'server_epoch',
  'delivery_count_state',
  'delivery_counts',
  ...['posting_count_state', 'ledger_days', 'ledger_accounts', 'audit_count_state'],
  ...['series', 'sets', 'cards', 'products', 'catalog_version', 'import_records'],
  ...['clock', 'migrations', 'tier_runs', 'simulated_carrier', 'simulated_shipments'],
]

/** Statements that read whole tables, these tables, and the reason why they may. */
const ALLOWED: [RegExp, string[], string][] = [
  [/from accounts a cross join lateral/, ['accounts'], 'a job that visits every seller'],
  [/^ *update accounts a set setup_reminded_at/, ['accounts'], 'a job that visits every seller'],
  [
    /^ *delete from change_followers where \( select id/,
    ['change_followers'],
    'a job that visits every seller who reads the change feed',
  ],
  [
    /from accounts a left join payout_setups setup on .* \) seller cross join lateral/,
    ['accounts', 'payout_setups'],
    'finds the payouts that are due among those of each seller who can be paid',
  ],
  [
    /from delivery_queue where next_attempt_at is not null \) deliveries where true ?\)? as total$/,
    ['delivery_queue'],
    'counts the queue of all endpoints, which only the operator requests',
  ],
  [
    /^ *select count\(\*\) as total from (\([^()]*\) |\( select (?:p\.)?id from )?(accounts|mails|payout_runs|disputes|reviews)\b/,
    ['accounts', 'payout_setups', 'mails', 'payout_runs', 'disputes', 'reviews'],
    'a total that only the operator requests, in a list without an owner',
  ],
]

type Plan = {
  'Node Type': string
  'Plan Rows': number
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  Filter?: string
  /** A plan that is an InitPlan itself is that of EXISTS: it reads one row. */
  'Parent Relationship'?: string
  Plans?: Plan[]
}
type Logged = { 'Query Text': string; Plan: Plan }

it('no statement reads a large table from end to end', async () => {
  const { db, url } = await testDatabase('fixture')
  const settings = { WEBHOOK_ALLOW_PRIVATE: 'true', BUYER_DATA_DAYS: '30' }
  // Its rows give each table at least one page, to which the statistics refer.
  const first = await startTestApp({ databaseUrl: url, settings })
  await tourOfOperations(first)
  const tables = await inflate(db, first)
  await logPlans(db)
  const log = inject('databaseLog')
  // The server's log is not rotated while this lock is held.
  const release = await lockExclusive(path.join(path.dirname(log), START_LOCK))
  whenFileEnds(release!)
  const { size } = await stat(log)
  const app = await startTestApp({ databaseUrl: url, settings })
  await tourOfOperations(app)
  await searchInLargeShop(app)
  await packNewestSlice(app)
  // After many wrong tokens, a process reads the hashes of the valid ones.
  for (let i = 0; i <= 600; i++) {
    await app.ctx.accessTokens.lookUp(Buffer.alloc(32), 'address', async () => null)
  }
  await readStream(app)

  const plans = plansIn(await text(createReadStream(log, { start: size })))
  expect(plans.length).toBeGreaterThan(100)
  expect(JSON.stringify(plans)).toContain('checkouts_buyer_words')
  // An index condition alone allows a sort of all slices with the status.
  const ofStatus = plans.filter((plan) => plan['Query Text'].includes('select distinct created_at'))
  expect(ofStatus.length).toBeGreaterThan(5)
  expect(ofStatus.filter(({ Plan: plan }) => sortsMany(plan))).toEqual([])
  // A LIMIT alone allows a page of the ledger that reads all newer postings in search of the first that matches.
  const ofLedger = plans.filter((plan) => plan['Query Text'].includes('entry.position as id'))
  expect(ofLedger.flatMap(({ Plan: plan }) => searchedIn(plan))).toEqual(
    expect.arrayContaining(['postings_account', 'postings_created', 'postings_rare']),
  )
  const partial = await partialIndexes(db)
  const found = plans.flatMap(({ 'Query Text': query, Plan: plan }) => {
    const statement = query.replaceAll(/\s+/g, ' ').trim()
    const allowed = ALLOWED.flatMap(([pattern, names]) => (pattern.test(statement) ? names : []))
    const checked = tables.filter((name) => !allowed.includes(name))
    const scans = fullScansOf(plan, checked, partial)
    return scans.map((scan) => `${scan}: ${statement}`)
  })
  expect([...new Set(found)]).toEqual([])
}, 180_000)

/** Searches for a buyer whom no recent order of the shop has. */
async function searchInLargeShop(app: TestApp): Promise<void> {
  const { accountId } = await app.seller()
  const others = Array.from({ length: 2_000 }, () => 'Brock')
  await insertSlices(app.ctx.db, accountId, ['Oak', ...others])
  const member = await app.member(accountId)
  for (const filter of ['', 'status=received&', 'from=2020-01-01&']) {
    const { body } = await member.get(`/dashboard/api/orders?${filter}buyer=oak`)
    expect(body.data).toHaveLength(1)
  }
}

/** Reads the last page of a packing list, which is counted from the end. */
async function packNewestSlice(app: TestApp): Promise<void> {
  const seller = await app.seller()
  await insertSlices(app.ctx.db, seller.accountId, ['Oak', 'Ash', 'Brock'], { status: 'pending' })
  const { body } = await seller.get('/tools/v1/orders/packing?per_page=1&page=3')
  expect(body.data.slips).toHaveLength(1)
}

/** The statements of the event streams, which the tour leaves out because they have no end. */
async function readStream({ ctx }: TestApp): Promise<void> {
  const position = await currentPosition(ctx)
  await haveEvents(ctx, [{ accountId: 1, position }])
  await eventsAfter(ctx, 1, position)
}

/** Tells the planner that each page of each large table has ten million rows. Returns the tables. */
async function inflate(db: Sql, { ctx }: TestApp): Promise<string[]> {
  const tables = () => db<{ name: string; bytes: number }[]>`
    select oid::regclass::text as name, pg_relation_size(oid) as bytes
    from pg_class
    where
      relkind = 'r'
      and relnamespace = 'public'::regnamespace
      and relname <> all(${SMALL}::text[])
      and not (relispartition and pg_relation_size(oid) = 0)
    order by name
  `
  // Open transactions of other tests on the server hold up the jobs that add up new rows.
  const emptyTables = async () => {
    await runSchedule(ctx)
    return (await tables()).filter(({ bytes }) => bytes === 0)
  }
  await expect.poll(emptyTables, { timeout: 60_000 }).toEqual([])
  for (const { name } of await tables()) {
    await db.unsafe(`alter table ${name} set (autovacuum_enabled = false)`)
    await db`
      update pg_class set relpages = 1, reltuples = 10000000 where oid = ${name}::regclass
    `
  }
  return (await tables()).map(({ name }) => name)
}

/** Indexes of the unfinished rows of a queue, or of other rare rows: they may be read from end to end. */
async function partialIndexes(db: Sql): Promise<string[]> {
  const rows = await db<{ name: string }[]>`
    select indexrelid::regclass::text as name from pg_index where indpred is not null
  `
  return rows.map(({ name }) => name)
}

async function logPlans(db: Sql): Promise<void> {
  const [{ name } = { name: '' }] = await db<{ name: string }[]>`select current_database() as name`
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_format': 'json',
    'auto_explain.log_nested_statements': 'on',
  }
  for (const [setting, value] of Object.entries(settings)) {
    await db.unsafe(`alter database ${name} set ${setting} = '${value}'`)
  }
}

/** The plans in the server's log: JSON in lines that begin with a tab. */
function plansIn(log: string): Logged[] {
  return [...log.matchAll(/ms {2}plan:\n((?:\t.*\n)+)/g)].map(([, json]) => JSON.parse(json!))
}

const sortsMany = (plan: Plan): boolean =>
  (plan['Node Type'] === 'Sort' && plan['Plan Rows'] > 1_000) || (plan.Plans ?? []).some(sortsMany)

/** The indexes in which a plan looks for a condition. */
const searchedIn = (plan: Plan): string[] => [
  ...(plan['Index Cond'] === undefined ? [] : [plan['Index Name'] ?? '']),
  ...(plan.Plans ?? []).flatMap(searchedIn),
]

/** Nodes that read all of their input before they return a row, even under a LIMIT. */
const READS_ALL = /^(Sort|Incremental Sort|Aggregate|WindowAgg|Hash|Materialize|ModifyTable)$/

/** Scans of large tables that neither a condition nor a LIMIT bounds. */
function fullScansOf(
  plan: Plan,
  tables: string[],
  partial: string[],
  isUnderLimit = false,
): string[] {
  const type = plan['Node Type']
  const table = plan['Relation Name'] ?? ''
  const isLimited =
    (isUnderLimit || type === 'Limit' || plan['Parent Relationship'] === 'InitPlan') &&
    !READS_ALL.test(type)
  const isFull =
    type === 'Seq Scan'
      ? !isLimited || plan.Filter !== undefined
      : type.startsWith('Index') &&
        plan['Index Cond'] === undefined &&
        !isLimited &&
        !partial.includes(plan['Index Name'] ?? '')
  const own = isFull && tables.includes(table) ? [`${type} of ${table}`] : []
  const below = plan.Plans ?? []
  return [...own, ...below.flatMap((part) => fullScansOf(part, tables, partial, isLimited))]
}

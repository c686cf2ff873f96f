import type { Context } from '../context.ts'
import { connectAlone } from '../database/connect.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import { DAYS } from '../time/units.ts'
import { hideDeliveries } from './delivery-counts.ts'

/**
 * The partitions of `events` and `deliveries` (docs/partitions.md): ranges of ids, each with the rows of a fifth of the
 * retention. The last one has no end and no rows. A partition begins when the sequence of ids moves to it.
 */

const TABLES = ['events', 'deliveries'] as const
type Table = (typeof TABLES)[number]

/** Rows are stored longer than they are shown by at most the retention divided by this. */
const PARTITIONS_PER_RETENTION = 5
/** Ids of a partition. The next one begins when half of them are used, so that the last partition gets no rows. */
const MIN_IDS = 4_000_000
/** If the last partition gets rows nevertheless, its end is a multiple of this, and further away than this. */
const FAR_IDS = 1_000_000_000
/** Other transactions wait at most this long behind a lock that can't be taken at once. */
const LOCK_TIMEOUT_MS = 200
const LOCK_NOT_AVAILABLE = '55P03'

type PartitionContext = Context & { databaseUrl: string }

type Partition = { name: string; firstId: number }

type Layout = {
  table: Table
  /** In the order of their ids. */
  partitions: Partition[]
  /** The partition of the newest id. */
  current: Partition
  last: Partition
  lastId: number
  /** Time of the first row in the current partition. */
  beganAt: Date | undefined
}

/**
 * Begins the next partition of both tables, if the current one of either has the rows of its part of the retention, or
 * has used half of its ids. Nothing is written meanwhile, so the deliveries of an event are in one partition.
 */
export async function beginPartitions(ctx: PartitionContext): Promise<void> {
  const layouts = await layoutsOf(ctx.db)
  if (!layouts.some((layout) => isDue(ctx, layout))) return
  for (const layout of layouts) if (overflows(layout)) await endLast(ctx, layout)
  await unlessBusy(ctx, async (tx) => {
    // Not the partitions, which autovacuum locks for long. Every other statement locks these two first.
    await tx.db`lock table only events, only deliveries in access exclusive mode`
    // Another process may have begun them meanwhile.
    const layouts = await layoutsOf(tx.db)
    if (layouts.some(overflows) || !layouts.some((layout) => isDue(tx, layout))) return
    const firstIds = new Map<Table, number>()
    for (const layout of layouts) {
      if (layout.beganAt) firstIds.set(layout.table, await beginPartition(tx.db, layout))
    }
    // After everything that can fail, because a rollback doesn't undo it. If the commit fails, rows go to the last
    // partition, as after an overflow.
    for (const [table, firstId] of firstIds) {
      await tx.db`select setval(pg_get_serial_sequence(${table}, 'id'), ${firstId})`
    }
  })
}

function isDue({ now, config }: Context, layout: Layout): boolean {
  const { beganAt, current, last, lastId } = layout
  if (!beganAt) return false
  const days = config.webhookRetentionDays / PARTITIONS_PER_RETENTION
  const isHalfUsed = lastId - current.firstId > (last.firstId - current.firstId) / 2
  return isHalfUsed || beganAt.getTime() <= now().getTime() - days * DAYS
}

/** Too many rows were written since the job last ran. */
const overflows = ({ current, last, beganAt }: Layout) => current === last && beganAt !== undefined

/** The end that a last partition with rows gets. */
const endAfter = (lastId: number) => (Math.floor(lastId / FAR_IDS) + 2) * FAR_IDS

/** @returns its first id, to which the sequence of the ids has to move */
async function beginPartition(db: Db, layout: Layout): Promise<number> {
  const { table, current, last, lastId } = layout
  const { firstId } = last
  const endId = firstId + Math.max(MIN_IDS, 2 * (lastId - current.firstId))
  // A new table replaces the empty one: an analyzed empty table would be scanned by plans that are kept.
  await db`drop table ${db(last.name)}`
  await db`select add_partition(${table}, ${firstId}, ${endId})`
  await db`select add_partition(${table}, ${endId}, null)`
  return firstId
}

/**
 * Gives a last partition with rows a distant end, and adds a new last one there. The sequence of ids stays, so a crash at
 * any step leaves room for the next rows.
 */
async function endLast(ctx: PartitionContext, { table, last, lastId }: Layout): Promise<void> {
  const validatedEnd = await validatedEndOf(ctx.db, last)
  const endId = validatedEnd > lastId ? validatedEnd : endAfter(lastId)
  if (endId !== validatedEnd && !(await validateEnd(ctx, last, endId))) return
  await unlessBusy(ctx, async ({ db }) => {
    await db`lock table only ${db(table)} in access exclusive mode`
    // Meanwhile another process may have ended it, begun a partition, or added a constraint with another end.
    if ((await layoutOf(db, table)).last.name !== last.name) return
    if ((await validatedEndOf(db, last)) !== endId) return
    // No scan: the validated constraint implies the bounds.
    await db.unsafe(`
      alter table ${table} detach partition ${last.name};
      alter table ${table} attach partition ${last.name}
        for values from (${last.firstId}) to (${endId});
      alter table ${last.name} drop constraint limited
    `)
    await db`select add_partition(${table}, ${endId}, null)`
  })
}

/** The end in the validated constraint of a partition, which all its rows meet; 0 without such a constraint. */
async function validatedEndOf(db: Db, { name }: Partition): Promise<number> {
  const [row] = await db<{ endId: number }[]>`
    select substring(pg_get_constraintdef(oid) from $$id < '?(\\d+)$$)::bigint as "endId"
    from pg_constraint
    where conrelid = ${name}::regclass and conname = 'limited' and convalidated
  `
  return row?.endId ?? 0
}

/**
 * Adds the constraint that the ids of a partition are below an end, and validates it.
 *
 * @returns false if the table is in use, or another process validates the constraint
 */
async function validateEnd(
  ctx: PartitionContext,
  { name, firstId }: Partition,
  endId: number,
): Promise<boolean> {
  // A validation takes minutes. Every other process that waited for its lock would block all writers, once a minute.
  const validating = await ctx.db`
    select
    from pg_locks
    where
      database = (select oid from pg_database where datname = current_database())
      and relation = ${name}::regclass
      and mode = 'ShareUpdateExclusiveLock'
  `
  if (validating.length > 0) return false
  const isLimited = await unlessBusy(ctx, async ({ db }) => {
    await db.unsafe(`
      alter table ${name} drop constraint if exists limited;
      alter table ${name} add constraint limited
        check (id >= ${firstId} and id < ${endId}) not valid
    `)
  })
  if (!isLimited) return false
  // The statement reads all rows, while more are written. It has no time limit: a large partition that could never be
  // validated would get all further rows, and never be dropped.
  const session = connectAlone(ctx.databaseUrl)
  try {
    await session.unsafe(`alter table ${name} validate constraint limited`)
  } finally {
    await session.end({ timeout: 1 })
  }
  return true
}

/**
 * Hides the rows that were created before this time or at it, and drops the partitions that have only such rows. A
 * partition with a queued delivery is kept, and events are kept longer than their deliveries.
 */
export async function dropPartitions(ctx: Context, before: Date): Promise<void> {
  const { db } = ctx
  const layouts = await layoutsOf(db)
  for (const layout of layouts) await hideUntil(ctx, layout, before)
  for (const { table, partitions, current } of layouts.toReversed()) {
    for (const [i, partition] of partitions.entries()) {
      if (partition === current) break
      const endId = partitions[i + 1]!.firstId
      if (!(await isOver(db, table, partition, endId))) continue
      await unlessBusy(ctx, async (tx) => {
        await tx.db`lock table only ${tx.db(table)} in access exclusive mode`
        // A resend may have been requested meanwhile.
        if (!(await isOver(tx.db, table, partition, endId))) return
        await tx.db`drop table if exists ${tx.db(partition.name)}`
      })
    }
  }
}

/** Moves the limit below which rows are hidden to the first row after this time. The order of ids is that of time. */
async function hideUntil(ctx: Context, { table, lastId }: Layout, before: Date): Promise<void> {
  const { db } = ctx
  const [kept] = await db<{ from: number }[]>`
    select kept_from as "from" from retention where table_name = ${table}
  `
  let from = kept!.from
  let end = lastId + 1
  for (let id = from; from < end; id = Math.floor((from + end) / 2)) {
    const [row] = await db<{ id: number; createdAt: Date }[]>`
      select id, created_at as "createdAt" from ${db(table)} where id >= ${id} order by id limit 1
    `
    if (row && row.createdAt <= before) from = row.id + 1
    else end = id
  }
  if (from === kept!.from) return
  if (table === 'deliveries') return hideDeliveries(ctx, from)
  await db`
    update retention set kept_from = greatest(kept_from, ${from}) where table_name = ${table}
  `
}

/** Whether no row of an earlier partition is shown or needed any more. */
async function isOver(db: Db, table: Table, { firstId }: Partition, endId: number) {
  const [row] = await db<{ isOver: boolean }[]>`
    select
      (
        select min(id)
        from ${db(table)}
        where
          id >= ${firstId} and id < ${endId}
          and id >= (select kept_from from retention where table_name = ${table})
      ) is null
      and (
        ${
          table === 'deliveries'
            ? db`
              select min(delivery_id)
              from delivery_queue
              where delivery_id >= ${firstId} and delivery_id < ${endId}
            `
            : db`
              select min(event_id) from deliveries where event_id >= ${firstId} and event_id < ${endId}
            `
        }
      ) is null as "isOver"
  `
  return row!.isOver
}

const layoutsOf = (db: Db) => Promise.all(TABLES.map((table) => layoutOf(db, table)))

async function layoutOf(db: Db, table: Table): Promise<Layout> {
  // The name says where a partition begins. Its bounds are null as soon as another transaction has dropped it.
  const partitions = await db<Partition[]>`
    select relname as name, substring(relname from '[0-9]+$')::bigint as "firstId"
    from pg_inherits
    join pg_class on oid = inhrelid
    where inhparent = ${table}::regclass
    order by "firstId"
  `
  const [row] = await db<{ lastId: number }[]>`
    select
      greatest(max(id), pg_sequence_last_value(pg_get_serial_sequence(${table}, 'id')::regclass), 0)
        as "lastId"
    from ${db(table)}
  `
  const { lastId } = row!
  const current = partitions.findLast(({ firstId }) => firstId <= lastId)!
  const [first] = await db<{ createdAt: Date }[]>`
    select created_at as "createdAt"
    from ${db(table)}
    where id >= ${current.firstId}
    order by id
    limit 1
  `
  return {
    table,
    partitions,
    current,
    last: partitions.at(-1)!,
    lastId,
    beganAt: first?.createdAt,
  }
}

/**
 * Runs `work` in a transaction, unless a lock can't be taken soon: the next run of the job tries again.
 *
 * @returns whether it is done
 */
async function unlessBusy(ctx: Context, work: (tx: Context) => Promise<void>): Promise<boolean> {
  try {
    await inTransaction(ctx, async (tx) => {
      await tx.db.unsafe(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
      await work(tx)
    })
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error
    ctx.log.warn('the partitions of events and deliveries are in use; retrying later')
    return false
  }
}

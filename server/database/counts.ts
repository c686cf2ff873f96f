import { ORDER_STATUSES, type OrderStatus } from '../enums.ts'
import { inBatches } from './batches.ts'
import { inTransaction } from './in-transaction.ts'
import type { Db, Fragment } from './sql.ts'
import type { Begin } from './transactions.ts'

/** Kept numbers of rows, so that a page of a long list costs as much as one of a short list (docs/counts.md). */

/** The statuses of each subject, in the order of `counted_rows`. */
const STATUSES = {
  listings: ['active', 'sold', 'hidden', 'removed'],
  orders: ORDER_STATUSES,
  payouts: ['due', 'sent', 'paid', 'failed'],
  shipments: ['listed'],
} as const

type Subject = keyof typeof STATUSES
type StatusOf<S extends Subject> = (typeof STATUSES)[S][number]

/** In place of an account: the rows of all sellers. */
export const ALL_SELLERS = 0

/**
 * The place of a page in a list of rows with these statuses, newest first, to select FROM: `total`, and the rows before
 * the page, which are those with the key `until` or a newer one and `skipped_there` more. `until` is null if
 * `skipped_there` has all of them.
 */
export const placeOfPage = <S extends Subject>(
  db: Db,
  subject: S,
  accountId: number | Fragment,
  statuses: readonly StatusOf<S>[],
  skipped: number | Fragment,
) => {
  const wanted = wantedOf(subject, statuses)
  return db`page_of_counts(${subject}, ${accountId}, ${wanted}::integer[], ${skipped})`
}

/** The columns `n1` to `n5`. */
const COLUMNS = [0, 1, 2, 3, 4]

/** A 1 for each status that a list shows, in the order of `STATUSES`. */
const wantedOf = <S extends Subject>(subject: S, statuses: readonly StatusOf<S>[]): number[] =>
  COLUMNS.map((column) => Number(statuses.includes(STATUSES[subject][column] as StatusOf<S>)))

/** Range of keys of the lowest level of counts. The key of an order row is the second of its creation. */
const BLOCK_MS = 256_000

/**
 * The number of order rows with these statuses that were created before the returned time, which is at most a block
 * before `since`: the rows in between are few. Null for a seller with few rows.
 */
export const ordersBefore = (
  db: Db,
  accountId: number,
  statuses: readonly OrderStatus[],
  since: Date,
) => {
  const block = Math.floor(since.getTime() / BLOCK_MS)
  const wanted = wantedOf('orders', statuses)
  return {
    count: db`count_before('orders', ${accountId}, ${wanted}::integer[], ${block})`,
    start: new Date(block * BLOCK_MS),
  }
}

/** Rows that `changedSince` counts on each side of the time before it counts all of them. */
const MAX_SIDE_ROWS = 1_000

/**
 * The number of a seller's rows with these statuses that changed at or after `since`, as a select. A sync asks for few
 * rows or for nearly all: the latter are the kept number without the rows that changed before. In between, each row is
 * counted.
 */
export const changedSince = <S extends Subject>(
  db: Db,
  subject: S,
  accountId: number,
  statuses: readonly StatusOf<S>[],
  since: Date,
) => {
  const table = db(subject as string)
  const isKept = subject === 'listings' ? db`status <> 'removed'` : db`true`
  const hasStatus = statuses.length === 1 ? db`status = ${statuses[0]!}` : db`true`
  // The order makes the planner read the index.
  const side = (isOnSide: Fragment) => db`
    select count(*) as rows, count(*) filter (where ${hasStatus}) as total
    from (
      select status
      from ${table}
      where account_id = ${accountId} and ${isKept} and ${isOnSide}
      order by updated_at
      limit ${MAX_SIDE_ROWS}
    ) side
  `
  // The later parts are only evaluated if they are needed.
  return db`
    with newer as materialized (${side(db`updated_at >= ${since}`)}),
    older as materialized (${side(db`updated_at < ${since}`)})
    select
      case
        when (select rows from newer) < ${MAX_SIDE_ROWS} then (select total from newer)
        when (select rows from older) < ${MAX_SIDE_ROWS} then
          (select total from ${placeOfPage(db, subject, accountId, statuses, 0)})
          - (select total from older)
        else (
          select count(*)
          from ${table}
          where account_id = ${accountId} and ${isKept} and ${hasStatus} and updated_at >= ${since}
        )
      end as total
  `
}

/** A seller's rows by status. */
export async function countsByStatus<S extends Subject>(
  { db }: { db: Db },
  subject: S,
  accountId: number,
): Promise<Record<StatusOf<S>, number>> {
  const [counts] = await db<{ numbers: number[] }[]>`
    select array[sum(n1), sum(n2), sum(n3), sum(n4), sum(n5)]::bigint[] as numbers
    from (
      select n1, n2, n3, n4, n5
      from counts
      where subject = ${subject} and account_id = ${accountId} and level = 3
      union all
      select n1, n2, n3, n4, n5
      from count_deltas
      where subject = ${subject} and account_id = ${accountId}
    ) counted
  `
  return Object.fromEntries(
    STATUSES[subject].map((status, index) => [status, counts?.numbers[index] ?? 0]),
  ) as Record<StatusOf<S>, number>
}

/** Deltas that one transaction adds to the counts: it must stay far below its time limit. */
const BATCH_ROWS = 10_000

/** Adds the deltas of `count_deltas` to `counts`. */
export async function foldCounts(ctx: { db: Db; begin: Begin }): Promise<void> {
  await inBatches((max) => foldBatch(ctx, max), BATCH_ROWS)
}

/**
 * Adds one batch. Only one process does so at a time, so that rows of `counts` never deadlock and a seller's levels are
 * complete.
 *
 * @returns the number of deltas
 */
async function foldBatch(ctx: { db: Db; begin: Begin }, max: number): Promise<number> {
  const [found] = await ctx.db<{ any: boolean }[]>`
    select exists (select from count_deltas) as any
  `
  if (!found?.any) return 0
  return inTransaction(ctx, async ({ db }) => {
    const [lock] = await db<{ held: boolean }[]>`
      select pg_try_advisory_xact_lock(hashtext('counts')) as held
    `
    if (!lock?.held) return 0
    // Where a few sellers have nearly all counts, the planner expects to meet those of any seller soon, and would read all
    // counts in search of a seller who has none.
    await db`set local enable_seqscan = off`
    const folded = await db<{ subject: string; deltas: number; accountIds: number[] }[]>`
      with taken as (
        delete from count_deltas
        where ctid = any(array(select ctid from count_deltas limit ${max}))
        returning *
      ),
      changes as (
        select
          subject, coalesce(account_id, ${ALL_SELLERS}) as account_id, block,
          sum(n1) as n1, sum(n2) as n2, sum(n3) as n3, sum(n4) as n4, sum(n5) as n5
        from taken
        group by grouping sets ((subject, account_id, block), (subject, block))
      ),
      added as (
        insert into counts
        select
          subject, account_id, level, block >> (4 * level),
          sum(n1), sum(n2), sum(n3), sum(n4), sum(n5)
        from changes
        cross join generate_series(0, 3) as level
        where
          level = 3
          or account_id = ${ALL_SELLERS}
          or exists (
            select
            from counts c
            where c.subject = changes.subject and c.account_id = changes.account_id and c.level = 0
          )
        group by subject, account_id, level, block >> (4 * level)
        -- Rows that are read together lie together.
        order by 1, 2, 3, 4
        on conflict (subject, account_id, level, block) do update
        set
          n1 = counts.n1 + excluded.n1,
          n2 = counts.n2 + excluded.n2,
          n3 = counts.n3 + excluded.n3,
          n4 = counts.n4 + excluded.n4,
          n5 = counts.n5 + excluded.n5
      )
      select subject, count(*) as deltas, array_agg(distinct account_id) as "accountIds"
      from taken
      group by subject
    `
    for (const { subject, accountIds } of folded) {
      await db`select add_count_levels(${subject}, ${accountIds}::bigint[])`
    }
    return folded.reduce((sum, { deltas }) => sum + deltas, 0)
  })
}

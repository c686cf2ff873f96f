import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'

/** Deltas that one transaction adds to the counts: it must stay far below its time limit. */
const BATCH_ROWS = 10_000

/** Above this number of listings, a seller's counts have all levels. The same number is in `recount_listings`. */
const LARGE = 1_000

/** Adds the deltas of listing_count_deltas to listing_counts (docs/listing-counts.md). */
export async function foldListingCounts(ctx: Context): Promise<void> {
  while ((await foldBatch(ctx)) === BATCH_ROWS);
}

/**
 * Adds one batch. Only one process does so at a time, so that rows of listing_counts never deadlock and a seller's
 * levels are complete.
 *
 * @returns the number of deltas
 */
async function foldBatch(ctx: Context): Promise<number> {
  const [found] = await ctx.db<{ any: boolean }[]>`
    select exists (select from listing_count_deltas) as any
  `
  if (!found?.any) return 0
  return inTransaction(ctx, async ({ db }) => {
    const [lock] = await db<{ held: boolean }[]>`
      select pg_try_advisory_xact_lock(hashtext('listing_counts')) as held
    `
    if (!lock?.held) return 0
    const [folded] = await db<{ deltas: number; accountIds: number[] | null }[]>`
      with taken as (
        delete from listing_count_deltas
        where ctid = any(array(select ctid from listing_count_deltas limit ${BATCH_ROWS}))
        returning *
      ),
      added as (
        insert into listing_counts
        select account_id, level, block >> (6 * level), sum(active), sum(sold), sum(hidden)
        from taken
        cross join generate_series(0, 2) as level
        where
          level = 2
          or exists (
            select from listing_counts c where c.account_id = taken.account_id and c.level = 0
          )
        group by 1, 2, 3
        on conflict (account_id, level, block) do update
        set
          active = listing_counts.active + excluded.active,
          sold = listing_counts.sold + excluded.sold,
          hidden = listing_counts.hidden + excluded.hidden
      )
      select count(*) as deltas, array_agg(distinct account_id) as "accountIds" from taken
    `
    if (!folded?.accountIds) return 0
    await db`
      select recount_listings(
        array(
          select account_id
          from listing_counts
          where account_id = any(${folded.accountIds}::bigint[])
          group by account_id
          having min(level) = 2 and sum(active + sold + hidden) > ${LARGE}
        )
      )
    `
    return folded.deltas
  })
}

/** A seller's listings by status. */
export async function countsByStatus(
  { db }: Context,
  accountId: number,
): Promise<{ active: number; sold: number; hidden: number }> {
  const [counts] = await db<{ active: number; sold: number; hidden: number }[]>`
    select
      coalesce(sum(active), 0)::bigint as active,
      coalesce(sum(sold), 0)::bigint as sold,
      coalesce(sum(hidden), 0)::bigint as hidden
    from (
      select active, sold, hidden
      from listing_counts
      where account_id = ${accountId} and level = 2
      union all
      select active, sold, hidden
      from listing_count_deltas
      where account_id = ${accountId}
    ) counted
  `
  return counts!
}

import type { Context } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { SellerTier } from '../enums.ts'
import { sendMails } from '../mail/outbox.ts'
import { dayOf } from '../time/day-of.ts'
import { monthOf } from '../time/months.ts'
import { MINUTES } from '../time/units.ts'
import { type TierChange, tierEmail } from './emails.ts'
import { earnedIn } from './tiers.ts'

/** Tiers are recalculated at 00:05 UTC on the first day of each month. */
const AT_MINUTE = 5

/** Sellers whose sales of a month one statement adds up: a statement may take at most 10 s. */
const BATCH_SELLERS = 200

/**
 * Sets every seller's tier by the previous month's merchandise that was shipped and is neither cancelled nor disputed
 * (§2.9). A tier set by the operator is kept until then. The very first run only records its month.
 *
 * Several processes can add up the sales, before a transaction, whose time limit they would exceed in a large
 * marketplace. One of them sets the tiers, once per month.
 */
export async function recalculateTiers(ctx: Context): Promise<void> {
  const month = monthOfRun(ctx.now())
  const [runs] = await ctx.db<{ last: string | null }[]>`
    select max(month)::text as last from tier_runs
  `
  const last = runs!.last
  if (last !== null && last >= dayOf(month)) return
  const changes = last === null ? [] : await changesBy(ctx, month)
  await inTransaction(ctx, async (tx) => {
    const { db } = tx
    const [begun] = await db<{ first: boolean }[]>`
      insert into tier_runs (month, ran_at)
      values (${dayOf(month)}, ${tx.now()})
      on conflict do nothing
      returning not exists (select from tier_runs) as first
    `
    if (!begun || begun.first) return
    const changed = await db<(TierChange & { accountId: number; isClosed: boolean })[]>`
      update accounts
      set seller_tier = change.after
      from unnest(
        ${changes.map(({ id }) => id)}::bigint[],
        ${changes.map(({ before }) => before)}::text[],
        ${changes.map(({ after }) => after)}::text[]
      ) change (id, before, after)
      -- The operator may have set another tier meanwhile.
      where accounts.id = change.id and accounts.seller_tier = change.before
      returning
        accounts.id as "accountId", shop_name as "shopName", email, change.before, change.after,
        closed_at is not null as "isClosed"
    `
    if (changed.length === 0) return
    await sendMails(
      tx,
      changed
        .filter(({ isClosed }) => !isClosed)
        .map((seller) => ({
          ...tierEmail(tx, seller, BECAUSE_OF_SALES),
          accountId: seller.accountId,
        })),
    )
    await tx.signal('keys')
  })
}

type Change = { id: number; before: SellerTier; after: SellerTier }

/**
 * The sellers whose tier differs from the one that the merchandise of the month before has earned. Some are missing if
 * another process has set the tiers meanwhile.
 */
async function changesBy(ctx: Context, month: Date): Promise<Change[]> {
  const { db } = ctx
  const before = monthOf(new Date(month.getTime() - 1))
  const changes: Change[] = []
  let last = 0
  await inBatches(async (max) => {
    const sellers = await db<Change[]>`
      select a.id, a.seller_tier as before, sold.tier as after
      from (
        select id, seller_tier from accounts where id > ${last} order by id limit ${max}
      ) a
      -- A lookup for each seller, because the sales of the month are few of all orders.
      cross join lateral ${earnedIn(ctx, before, db`a.id`)} sold
      where not exists (select from tier_runs where month >= ${dayOf(month)})
      order by a.id
    `
    changes.push(...sellers.filter(({ before, after }) => before !== after))
    last = sellers.at(-1)?.id ?? last
    return sellers.length
  }, BATCH_SELLERS)
  return changes
}

const BECAUSE_OF_SALES = 'because of the merchandise that you shipped last month'

/** The month of the latest run that is due. */
const monthOfRun = (now: Date) => monthOf(new Date(now.getTime() - AT_MINUTE * MINUTES))

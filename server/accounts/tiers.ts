import type { Context } from '../context.ts'
import type { Fragment } from '../database/sql.ts'
import { SELLER_TIERS, type SellerTier } from '../enums.ts'
import { monthAfter } from '../time/months.ts'

/** The marketplace's commission by seller tier (§2.9), in hundredths of a percent. */
export const COMMISSION_RATES: Record<SellerTier, number> = {
  Bronze: 500,
  Silver: 450,
  Gold: 400,
  Diamond: 350,
  Master: 300,
}

/**
 * The merchandise of a seller that counts for the tier, and the tier that it earns (§2.9), to select FROM: `cents` and
 * `tier`. Orders count if they were shipped in the month and are neither cancelled nor disputed.
 *
 * @param month its first moment, in UTC
 */
export const earnedIn = (
  { db, config }: Pick<Context, 'db' | 'config'>,
  month: Date,
  accountId: number | Fragment,
) => db`
  (
    select
      cents,
      (${[...SELLER_TIERS]}::text[])[width_bucket(cents, ${config.tierThresholds}::bigint[])] as tier
    from (
      select coalesce(sum(price_cents::bigint * quantity), 0)::bigint as cents
      from orders
      where
        account_id = ${accountId}
        and status in ('shipped', 'received')
        and shipped_at >= ${month} and shipped_at < ${monthAfter(month)}
        -- Implied by the above; the index is by this column.
        and updated_at >= ${month}
    ) sold
  )
`

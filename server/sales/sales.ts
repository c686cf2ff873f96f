import { earnedIn } from '../accounts/tiers.ts'
import type { Context } from '../context.ts'
import { SELLER_TIERS, type SellerTier } from '../enums.ts'
import { validationError } from '../errors.ts'
import { monthAfter, monthOf } from '../time/months.ts'
import { startOfDay } from '../time/start-of-day.ts'
import { DAYS } from '../time/units.ts'

/** A day of the shop's time zone, in whole cents. */
export type SalesDay = {
  date: string
  /** Order rows sold on that day and not cancelled since. */
  orders: number
  /** Price of these rows, without shipping and before partial refunds. */
  merchandiseCents: number
  /** The merchandise less the commission. */
  sellerNetCents: number
  /** Payouts that were sent on that day. */
  paidOutCents: number
}

export type Sales = { days: SalesDay[]; total: Omit<SalesDay, 'date'> }

const DEFAULT_DAYS = 30
const MAX_DAYS = 366
/** PostgreSQL needs another notation for earlier days. */
const EARLIEST_MS = Date.parse('0001-01-01T00:00:00Z')

/**
 * The sales of a shop, day by day in its time zone, days without sales included.
 *
 * @param period dates, both inclusive; the last 30 days if absent
 * @throws validation_error for an invalid date, one before the year 1, an inverted period, or more than 366 days
 */
export async function salesOf(
  { db, now }: Context,
  accountId: number,
  timeZone: string,
  period: { from?: string | undefined; to?: string | undefined } = {},
): Promise<Sales> {
  const to = period.to ?? dateIn(timeZone, now())
  const toMs = midnightOf(to, 'to')
  const from = period.from ?? dateOf(Math.max(toMs - (DEFAULT_DAYS - 1) * DAYS, EARLIEST_MS))
  const days = (toMs - midnightOf(from, 'from')) / DAYS + 1
  if (days < 1) throw validationError({ to: ['The to field must not be before the from field.'] })
  if (days > MAX_DAYS) {
    throw validationError({ from: [`The period must not be longer than ${MAX_DAYS} days.`] })
  }
  const dates = Array.from({ length: days }, (_, day) => dateOf(toMs - (days - 1 - day) * DAYS))
  // Computed here, because PostgreSQL doesn't know every zone of the runtime.
  const starts = dates.map((date) => startOfDay(date, timeZone).toISOString())
  const end = startOfDay(to, timeZone, 1)
  const rows = await db<SalesDay[]>`
    with sold as (
      select
        width_bucket(created_at, ${starts}::timestamptz[]) as day,
        count(*) as orders,
        sum(price_cents::bigint * quantity) as merchandise,
        sum(price_cents::bigint * quantity - commission_cents) as net
      from orders
      where
        account_id = ${accountId}
        and created_at >= ${starts[0]!}::timestamptz and created_at < ${end}::timestamptz
        and status <> 'cancelled'
      group by day
    ),
    paid as (
      select
        width_bucket(sent_at, ${starts}::timestamptz[]) as day,
        sum(amount_cents) as cents
      from payouts
      where
        account_id = ${accountId}
        and sent_at >= ${starts[0]!}::timestamptz and sent_at < ${end}::timestamptz
        and state in ('sent', 'paid')
      group by day
    )
    select
      date,
      coalesce(orders, 0) as orders,
      coalesce(merchandise, 0)::bigint as "merchandiseCents",
      coalesce(net, 0)::bigint as "sellerNetCents",
      coalesce(cents, 0)::bigint as "paidOutCents"
    from unnest(${dates}::text[]) with ordinality as days (date, day)
    left join sold using (day)
    left join paid using (day)
    order by day
  `
  const total = { orders: 0, merchandiseCents: 0, sellerNetCents: 0, paidOutCents: 0 }
  for (const day of rows) {
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += day[name]
  }
  return { days: rows, total }
}

/** The date in a time zone. */
const dateIn = (timeZone: string, moment: Date) =>
  new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(moment)

const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/** Midnight UTC of a date, in Unix milliseconds. */
function midnightOf(date: string, field: string): number {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN
  if (!(ms >= EARLIEST_MS) || dateOf(ms) !== date) {
    throw validationError({ [field]: [`The ${field} field must be a date, such as 2026-03-01.`] })
  }
  return ms
}

/** Orders that wait to be shipped. */
export type ToShip = { slices: number; oldestAt: Date | null }

/** Counts the slices of an account with pending rows. */
export async function toShip({ db }: Context, accountId: number): Promise<ToShip> {
  const [row] = await db<ToShip[]>`
    select count(distinct slice_id) as slices, min(created_at) as "oldestAt"
    from orders
    where account_id = ${accountId} and status = 'pending'
  `
  return row!
}

/** This month's merchandise as the next calculation of tiers will see it (§2.9). */
export type TierProgress = {
  tier: SellerTier
  merchandiseCents: number
  /** The tier that the merchandise suffices for so far. */
  earned: SellerTier
  /** The tier to reach next: the current one while it isn't earned again, null if the highest is earned. */
  next: { tier: SellerTier; thresholdCents: number } | null
  /** The day of the next calculation. */
  changesOn: string
}

/** The merchandise of the current month in UTC, and the tier that it earns so far. */
export async function tierProgress(
  ctx: Context,
  accountId: number,
  tier: SellerTier,
): Promise<TierProgress> {
  const month = monthOf(ctx.now())
  const [row] = await ctx.db<{ cents: number; tier: SellerTier }[]>`
    select * from ${earnedIn(ctx, month, accountId)} earned
  `
  const { cents: merchandiseCents, tier: earned } = row!
  const [rank, earnedRank] = [SELLER_TIERS.indexOf(tier), SELLER_TIERS.indexOf(earned)]
  const nextRank = earnedRank < rank ? rank : earnedRank + 1
  const next = SELLER_TIERS[nextRank]
  return {
    tier,
    merchandiseCents,
    earned,
    next: next ? { tier: next, thresholdCents: ctx.config.tierThresholds[nextRank]! } : null,
    changesOn: dateOf(monthAfter(month).getTime()),
  }
}

import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { runningTransactionsEnded } from '../database/running-transactions.ts'
import type { Db } from '../database/sql.ts'
import { validationError } from '../errors.ts'
import { dayOf } from '../time/day-of.ts'
import { monthAfter, monthOf } from '../time/months.ts'
import { DAYS, MINUTES } from '../time/units.ts'

/** A seller's month in cents: opening balance + gross − commission + shipping − refunds − payout = closing balance. */
export type Statement = {
  month: string
  openingCents: number
  sliceCount: number
  totals: Amounts
  /** Whether a run has deducted what one slice owed from the payout of another. */
  hasDeductions: boolean
  closingCents: number
  /** null until it is issued, within half an hour after the end of the month, and if no commission was due. */
  invoice: (Invoice & { number: string }) | null
}

type Invoice = {
  commissionCents: number
  issuedAt: Date
  /** `PAYOUT_NAME` at the time of issue. If that is unknown, today's; null if it isn't set either. */
  issuer: string | null
  /** The name of the shop at the time of issue. If that is unknown, today's. */
  recipient: string
}

/** The amounts of one slice or of all slices. */
export type Amounts = {
  grossCents: number
  commissionCents: number
  shippingCents: number
  /** Refunds that the seller bears. */
  refundsCents: number
  payoutCents: number
}

/** A slice's line of a statement. */
export type StatementLine = Amounts & { sliceKey: string }

/** Takes the lines of a statement, or the first `max`, batch by batch: a large shop has hundreds of thousands. */
export type StatementLines = { max?: number; take: (batch: StatementLine[]) => void }

/** Lines that are read together: about 50 KB of text. */
const BATCH_LINES = 500

const MONTH = /^[2-9]\d{3}-(0[1-9]|1[0-2])$/

/**
 * The statement of a month, computed from the ledger. That of the current month covers the time until now.
 *
 * @param month as 2026-03
 * @param lines without it, the lines are not read
 * @throws validation_error for a malformed month, and for one before 2000 or after the current
 */
export async function readStatement(
  ctx: Context,
  accountId: number,
  month: string,
  lines?: StatementLines,
): Promise<Statement> {
  const from = MONTH.test(month) ? startOf(month) : undefined
  const now = ctx.now()
  if (!from || from > now) {
    const current = now.toISOString().slice(0, 7)
    throw validationError({
      month: [
        `The month must be from 2000-01 to the current month ${current}, and be written like 2026-03.`,
      ],
    })
  }
  const to = monthAfter(from)
  // The clock of a sandbox jumps: its seller expects the invoice at once. Otherwise the job issues it.
  if (ctx.config.sandbox) await issueInvoices(ctx)
  return ctx.begin(async (db) => {
    const openingCents = await balanceBefore(db, accountId, from)
    const isOfMonth = db`
      p.account_id = ${accountId}
      and p.created_at >= ${from}
      and p.created_at < ${to}
      -- A refund that the platform bears doesn't concern the seller: alone it would be a line of zeros.
      and (p.kind <> 'refund' or p.seller_cents <> 0)
    `
    const [all] = await db<(Sums & { sliceCount: number; hasDeductions: boolean })[]>`
      select
        count(distinct p.slice_id) as "sliceCount",
        coalesce(bool_or(p.kind = 'recovery'), false) as "hasDeductions",
        ${sumsOfPostings(db)}
      from postings p
      where ${isOfMonth}
    `
    const [invoice] = await db<(Invoice & { number: number })[]>`
      select
        number,
        commission_cents as "commissionCents",
        issued_at as "issuedAt",
        coalesce(issuer, ${ctx.config.payoutName ?? null}) as issuer,
        coalesce(recipient, shop_name) as recipient
      from fee_invoices
      join invoice_months using (month)
      join accounts on accounts.id = account_id
      where account_id = ${accountId} and month = ${dayOf(from)}
    `
    if (lines) {
      const batches = db<(Sums & { sliceKey: string })[]>`
        select s.slice_key as "sliceKey", ${sumsOfPostings(db)}
        from postings p
        join slices s on s.id = p.slice_id
        where ${isOfMonth}
        group by s.id
        order by min(p.id)
        limit ${lines.max ?? null}
      `.cursor(BATCH_LINES)
      for await (const batch of batches) lines.take(batch.map(withRefunds))
    }
    const { sliceCount, hasDeductions, ...totals } = withRefunds(all!)
    return {
      month,
      openingCents,
      sliceCount,
      totals,
      hasDeductions,
      closingCents: openingCents + balanceOf(totals),
      invoice: invoice ? { ...invoice, number: invoiceNumber(month, invoice.number) } : null,
    }
  }, 'snapshot')
}

/** The sums that the database makes. The refunds are the rest of the change of the seller's balance. */
type Sums = Amounts & { changeCents: number }

/** SQL of the sums of postings `p`. */
const sumsOfPostings = (db: Db) => db`
  coalesce(-sum(p.buyers_cents) filter (where p.kind = 'sale'), 0)::bigint as "grossCents",
  ${commissionOf(db)}::bigint as "commissionCents",
  coalesce(
    sum(p.seller_cents) filter (where p.kind in ('shipping', 'shipping_refund')), 0
  )::bigint as "shippingCents",
  0 as "refundsCents",
  coalesce(
    -sum(p.seller_cents) filter (where p.kind in ('payout', 'payout_failed', 'recovery')), 0
  )::bigint as "payoutCents",
  coalesce(sum(p.seller_cents), 0)::bigint as "changeCents"
`

const withRefunds = <T extends Sums>({ changeCents, ...sums }: T) => ({
  ...sums,
  refundsCents: balanceOf(sums) - changeCents,
})

/** A seller's balance at the start of a month: the sums of the issued months, and the postings since. */
async function balanceBefore(db: Db, accountId: number, from: Date): Promise<number> {
  const [issued] = await db<{ end: Date }[]>`
    select coalesce((max(month) + interval '1 month') at time zone 'UTC', to_timestamp(0)) as end
    from invoice_months
  `
  const [balance] = await db<{ cents: number }[]>`
    select sum(cents)::bigint as cents
    from (
      select coalesce(sum(cents), 0) as cents
      from month_balances
      where account_id = ${accountId} and month < ${dayOf(from)}
      union all
      select coalesce(sum(seller_cents), 0)
      from postings
      where account_id = ${accountId} and created_at >= ${issued!.end} and created_at < ${from}
    ) changes
  `
  return balance!.cents
}

const balanceOf = (amounts: Amounts) =>
  amounts.grossCents -
  amounts.commissionCents +
  amounts.shippingCents -
  amounts.refundsCents -
  amounts.payoutCents

/** The commission of sales `p`, minus that of cancelled rows. A refund that the platform bears doesn't change it. */
const commissionOf = (db: Db) => db`
  coalesce(
    sum(
      case p.kind
        when 'sale' then p.commission_cents
        -- Looked up for these alone: a join could read the whole table.
        when 'cancellation' then -(select commission_cents from orders where id = p.order_id)
      end
    ),
    0
  )
`

const invoiceNumber = (month: string, number: number) =>
  `${month}-${String(number).padStart(5, '0')}`

/** Invoices are issued 5 minutes after the end of the month, when every transaction of it has ended. */
const ISSUE_AFTER_MS = 5 * MINUTES
/** Longer than a transaction that writes. */
const MAX_WAIT_MS = 12_000

/**
 * Issues the fee invoices of all months that have ended: one for each seller with commission, numbered from 1 in each
 * month. Keeps how the month changed each seller's balance as well. Months without postings are left out, except for the
 * last one, which records how far the invoices are issued. The ledger of such a month no longer changes, so it is added up
 * before the transaction that issues all of its invoices: concurrent calls get the same result, and the first one writes
 * it.
 */
export async function issueInvoices(ctx: Context): Promise<void> {
  const current = monthOf(new Date(ctx.now().getTime() - ISSUE_AFTER_MS))
  const last = monthOf(new Date(current.getTime() - 1))
  const [known] = await ctx.db<{ month: string | null; isDone: boolean }[]>`
    select
      to_char(
        coalesce(
          (select max(month) + interval '1 month' from invoice_months),
          (
            select date_trunc('month', created_at at time zone 'UTC')
            from postings
            order by id
            limit 1
          )
        ),
        'YYYY-MM'
      ) as month,
      exists (select from invoice_months where month = ${dayOf(last)}) as "isDone"
  `
  if (!known || known.isDone || known.month === null) return
  // The clock of a sandbox jumps: sales that began in the month may still be running.
  if (ctx.config.sandbox && !(await runningTransactionsEnded(ctx.db, MAX_WAIT_MS))) return
  let from = startOf(known.month)
  while (from <= last) {
    const sums = await sumsOf(ctx.db, from)
    if (sums.size === 0 && from < last) {
      from = await nextToIssue(ctx.db, monthAfter(from), last)
    } else {
      await issueMonth(ctx, from, sums)
      from = monthAfter(from)
    }
  }
}

/** A seller's commission in a month, and the change of the seller's balance. */
type MonthSums = { commissionCents: number; balanceCents: number }

/** The sums of each seller with postings in a month. Reads it day by day: a statement may take 10 s. */
async function sumsOf(db: Db, month: Date): Promise<Map<number, MonthSums>> {
  const sums = new Map<number, MonthSums>()
  const end = monthAfter(month)
  for (let day = month; day < end; day = new Date(day.getTime() + 1 * DAYS)) {
    const rows = await db<(MonthSums & { accountId: number })[]>`
      select
        p.account_id as "accountId",
        ${commissionOf(db)}::bigint as "commissionCents",
        sum(p.seller_cents)::bigint as "balanceCents"
      from postings p
      where p.created_at >= ${day} and p.created_at < ${new Date(day.getTime() + 1 * DAYS)}
      group by p.account_id
    `
    for (const { accountId, commissionCents, balanceCents } of rows) {
      const before = sums.get(accountId)
      sums.set(accountId, {
        commissionCents: (before?.commissionCents ?? 0) + commissionCents,
        balanceCents: (before?.balanceCents ?? 0) + balanceCents,
      })
    }
  }
  return sums
}

/** The first month with postings from the given one on, or the last one: the clock of a sandbox can jump by a thousand months. */
async function nextToIssue(db: Db, from: Date, last: Date): Promise<Date> {
  const [posting] = await db<{ createdAt: Date }[]>`
    select created_at as "createdAt"
    from postings
    where created_at >= ${from} and created_at < ${last}
    order by created_at
    limit 1
  `
  return posting ? monthOf(posting.createdAt) : last
}

const issueMonth = (ctx: Context, from: Date, sums: Map<number, MonthSums>) =>
  inTransaction(ctx, async ({ db, now, config }) => {
    const [begun] = await db`
      insert into invoice_months (month, issued_at, issuer)
      values (${dayOf(from)}, ${now()}, ${config.payoutName ?? null})
      on conflict (month) do nothing
      returning 1
    `
    if (!begun) return
    const accountIds = [...sums.keys()]
    await db`
      insert into fee_invoices (month, number, account_id, commission_cents, recipient)
      select ${dayOf(from)}, row_number() over (order by account_id), account_id, cents, shop_name
      from unnest(
        ${accountIds}::bigint[],
        ${[...sums.values()].map(({ commissionCents }) => commissionCents)}::bigint[]
      ) as charged (account_id, cents)
      join accounts on accounts.id = account_id
      where cents <> 0
    `
    await db`
      insert into month_balances (account_id, month, cents)
      select account_id, ${dayOf(from)}, cents
      from unnest(
        ${accountIds}::bigint[],
        ${[...sums.values()].map(({ balanceCents }) => balanceCents)}::bigint[]
      ) as changed (account_id, cents)
      where cents <> 0
    `
  })

const startOf = (month: string) => new Date(`${month}-01T00:00:00Z`)

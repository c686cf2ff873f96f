import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { runningTransactionsEnded } from '../database/running-transactions.ts'
import type { Db } from '../database/sql.ts'
import { validationError } from '../errors.ts'

/** A seller's month in cents: opening balance + gross − commission + shipping − refunds − payout = closing balance. */
export type Statement = {
  month: string
  openingCents: number
  slices: (Amounts & { sliceKey: string })[]
  totals: Amounts
  closingCents: number
  /** null until it is issued, within half an hour after the end of the month, and if no commission was due. */
  invoice: { number: string; commissionCents: number } | null
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

const MONTH = /^[2-9]\d{3}-(0[1-9]|1[0-2])$/

/**
 * The statement of a month, computed from the ledger. That of the current month covers the time until now.
 *
 * @param month as 2026-03
 * @throws validation_error for a malformed month, and for one before 2000 or after the current
 */
export async function readStatement(
  ctx: Context,
  accountId: number,
  month: string,
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
    const [opening] = await db<{ cents: number }[]>`
      select coalesce(sum(seller_cents), 0)::bigint as cents
      from postings
      where account_id = ${accountId} and created_at < ${from}
    `
    const slices = await db<(Amounts & { sliceKey: string; changeCents: number })[]>`
      select
        s.slice_key as "sliceKey",
        coalesce(-sum(p.buyers_cents) filter (where p.kind = 'sale'), 0)::bigint as "grossCents",
        ${commissionOf(db)}::bigint as "commissionCents",
        coalesce(
          sum(p.seller_cents) filter (where p.kind in ('shipping', 'shipping_refund')), 0
        )::bigint as "shippingCents",
        coalesce(
          -sum(p.seller_cents) filter (where p.kind in ('payout', 'payout_failed', 'recovery')), 0
        )::bigint as "payoutCents",
        0 as "refundsCents",
        sum(p.seller_cents)::bigint as "changeCents"
      from postings p
      join slices s on s.id = p.slice_id
      where
        p.account_id = ${accountId}
        and p.created_at >= ${from}
        and p.created_at < ${to}
        -- A refund that the platform bears is no matter of the seller's: alone it would be a line of zeros.
        and (p.kind <> 'refund' or p.seller_cents <> 0)
      group by s.id
      order by min(p.id)
    `
    const [invoice] = await db<{ number: number; commissionCents: number }[]>`
      select number, commission_cents as "commissionCents"
      from fee_invoices
      where account_id = ${accountId} and month = ${dayOf(from)}
    `
    const openingCents = opening!.cents
    const rows = slices.map(({ changeCents, ...slice }) => ({
      ...slice,
      refundsCents: balanceOf(slice) - changeCents,
    }))
    const totals = rows.reduce(add, NOTHING)
    return {
      month,
      openingCents,
      slices: rows,
      totals,
      closingCents: openingCents + balanceOf(totals),
      invoice: invoice ? { ...invoice, number: invoiceNumber(month, invoice.number) } : null,
    }
  }, 'snapshot')
}

const NOTHING: Amounts = {
  grossCents: 0,
  commissionCents: 0,
  shippingCents: 0,
  refundsCents: 0,
  payoutCents: 0,
}

const add = (all: Amounts, one: Amounts): Amounts => ({
  grossCents: all.grossCents + one.grossCents,
  commissionCents: all.commissionCents + one.commissionCents,
  shippingCents: all.shippingCents + one.shippingCents,
  refundsCents: all.refundsCents + one.refundsCents,
  payoutCents: all.payoutCents + one.payoutCents,
})

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
const ISSUE_AFTER_MS = 5 * 60_000
/** Longer than a transaction that writes. */
const MAX_WAIT_MS = 12_000
const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Issues the fee invoices of all months that have ended: one for each seller with commission, numbered from 1 in each
 * month. Months without sales are left out, except for the last one, which records how far the invoices are issued. The
 * ledger of such a month no longer changes, so it is added up before the transaction that issues all of its invoices:
 * concurrent calls get the same result, and the first one writes it.
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
    const charged = await commissionsIn(ctx.db, from)
    if (charged.size === 0 && from < last) {
      from = await nextToIssue(ctx.db, monthAfter(from), last)
    } else {
      await issueMonth(ctx, from, charged)
      from = monthAfter(from)
    }
  }
}

/** The commission of each seller with sales or cancellations in a month. Reads it day by day: a statement may take 10 s. */
async function commissionsIn(db: Db, month: Date): Promise<Map<number, number>> {
  const charged = new Map<number, number>()
  const end = monthAfter(month)
  for (let day = month; day < end; day = new Date(day.getTime() + DAY_MS)) {
    const rows = await db<{ accountId: number; cents: number }[]>`
      select p.account_id as "accountId", ${commissionOf(db)}::bigint as cents
      from postings p
      where
        p.created_at >= ${day}
        and p.created_at < ${new Date(day.getTime() + DAY_MS)}
        and p.kind in ('sale', 'cancellation')
      group by p.account_id
    `
    for (const { accountId, cents } of rows) {
      charged.set(accountId, (charged.get(accountId) ?? 0) + cents)
    }
  }
  return charged
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

const issueMonth = (ctx: Context, from: Date, charged: Map<number, number>) =>
  inTransaction(ctx, async ({ db, now }) => {
    const [begun] = await db`
      insert into invoice_months (month, issued_at)
      values (${dayOf(from)}, ${now()})
      on conflict (month) do nothing
      returning 1
    `
    if (!begun) return
    await db`
      insert into fee_invoices (month, number, account_id, commission_cents)
      select ${dayOf(from)}, row_number() over (order by account_id), account_id, cents
      from unnest(
        ${[...charged.keys()]}::bigint[],
        ${[...charged.values()]}::bigint[]
      ) as charged (account_id, cents)
      where cents <> 0
    `
  })

const startOf = (month: string) => new Date(`${month}-01T00:00:00Z`)
const monthOf = (moment: Date) =>
  new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth(), 1))
const monthAfter = (month: Date) =>
  new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 1))
const dayOf = (moment: Date) => moment.toISOString().slice(0, 10)

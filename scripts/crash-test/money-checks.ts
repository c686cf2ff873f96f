import type { Db } from '../../server/database/sql.ts'
import { allPages, type Client } from './client.ts'
import { downloadFile, transfersIn } from './finance.ts'
import type { Journal } from './load.ts'
import type { Market } from './market.ts'
import { OPERATOR_TOKEN } from './processes.ts'

/**
 * Checks of the books. The rules of `findBookViolations` hold at any moment; it runs after each recovery, under load.
 * `findBankViolations` compares the final books with the records of the clients and the bank.
 */

/** Each query returns a row for each violation. */
type Check = { rule: string; find: (db: Db) => Promise<readonly object[]> }

const CHECKS: Check[] = [
  {
    rule: 'Every posting and the ledger sum to zero. All amounts are euros',
    find: (db) => db`
      select
        coalesce(sum(cents), 0)::bigint as cents, count(*) filter (where cents <> 0)::int as postings
      from (
        select
          buyers_cents + seller_cents + commission_cents + shipping_cents + refunds_cents
          + payouts_cents as cents
        from postings
      ) posted
      having coalesce(sum(cents), 0) <> 0 or count(*) filter (where cents <> 0) > 0
    `,
  },
  {
    rule: 'Each order row has one posting of its sale, and each posting is in the books of its slice’s seller',
    find: (db) => db`
      select o.id as order_id, count(p.id)::int as sales
      from orders o
      left join postings p on p.slice_id = o.slice_id and p.order_id = o.id and p.kind = 'sale'
      group by o.id
      having count(p.id) <> 1
      union all
      select p.id, -1
      from postings p
      join slices s on s.id = p.slice_id
      where s.account_id <> p.account_id
    `,
  },
  {
    rule: 'A row’s refunds are those in the ledger, and never exceed its price; a cancelled row is refunded completely',
    find: (db) => db`
      select o.id as order_id, o.status, o.refunded_cents, coalesce(posted.cents, 0) as posted_cents
      from orders o
      left join (
        select order_id, sum(refunds_cents)::bigint as cents
        from postings
        where order_id is not null
        group by order_id
      ) posted on posted.order_id = o.id
      where
        o.refunded_cents <> coalesce(posted.cents, 0)
        or o.refunded_cents > o.price_cents::bigint * o.quantity
        or (o.status = 'cancelled' and o.refunded_cents <> o.price_cents::bigint * o.quantity)
    `,
  },
  {
    rule: 'The balance of a completed slice is its payout that is not sent, less what the seller owes',
    find: (db) => db`
      select s.slice_key, sum(p.seller_cents)::bigint as cents, unsent.cents as due
      from slices s
      join postings p on p.slice_id = s.id
      cross join lateral (
        select coalesce(sum(amount_cents), 0)::bigint as cents
        from payouts
        where slice_id = s.id and state in ('due', 'failed')
      ) unsent
      where
        not exists (
          select from orders o
          where o.slice_id = s.id and o.status in ('pending', 'shipped', 'disputed')
        )
      group by s.id, unsent.cents
      having sum(p.seller_cents) <> unsent.cents - s.owed_cents
    `,
  },
  {
    rule: 'What a seller has got in the ledger is the sum of the payouts that were sent and did not fail',
    find: (db) => db`
      select account_id, sum(posted)::bigint as posted_cents, sum(sent)::bigint as sent_cents
      from (
        select account_id, payouts_cents as posted, 0 as sent from postings
        union all
        select account_id, 0, amount_cents from payouts where state in ('sent', 'paid')
      ) moved
      group by account_id
      having sum(posted) <> sum(sent)
    `,
  },
  {
    rule: 'The payouts of a slice were transferred once, and once more after each failure; a run’s sums are those of its transfers',
    find: (db) => db`
      select p.slice_id, 'payout', sum(transferred.times)::int as transfers, max(failed.times) as failures
      from payouts p
      cross join lateral (
        select count(*)::int as times from payout_transfers where payout_id = p.id
      ) transferred
      cross join lateral (
        select count(*)::int as times
        from postings
        where slice_id = p.slice_id and kind = 'payout_failed'
      ) failed
      group by p.slice_id
      having
        sum(transferred.times) - max(failed.times)
        <> count(*) filter (where p.state in ('sent', 'paid') and p.amount_cents > 0)
      union all
      select r.id, 'run', r.count, count(t.run_id)::int
      from payout_runs r
      left join payout_transfers t on t.run_id = r.id
      group by r.id
      having r.count <> count(t.run_id) or r.total_cents <> coalesce(sum(t.amount_cents), 0)
    `,
  },
  {
    rule: 'The deductions of the payouts add up to what each has lost, and to the recovery of each debt',
    find: (db) => db`
      select 'payout' as record, p.id, p.deducted_cents as cents
      from payouts p
      where
        p.deducted_cents
        <> (select coalesce(sum(amount_cents), 0) from payout_deductions where payout_id = p.id)
      union all
      select 'recovery', p.id, p.seller_cents
      from postings p
      where
        p.kind = 'recovery'
        and p.seller_cents
        <> (select coalesce(sum(amount_cents), 0) from payout_deductions where posting_id = p.id)
    `,
  },
  {
    rule: 'A row is disputed while it has a dispute that is not resolved, and at most one',
    find: (db) => db`
      select o.id as order_id, o.status, count(d.id)::int as disputes
      from orders o
      left join disputes d on d.order_id = o.id and d.resolved_at is null
      group by o.id
      having count(d.id) <> case when o.status = 'disputed' then 1 else 0 end
    `,
  },
  {
    rule: 'A seller’s rating is that of the reviews that are shown',
    find: (db) => db`
      select a.id as account_id, a.review_count, a.review_stars
      from accounts a
      left join reviews r on r.account_id = a.id and r.removed_at is null
      group by a.id
      having a.review_count <> count(r.id) or a.review_stars <> coalesce(sum(r.stars), 0)
    `,
  },
  {
    rule: 'The audit log has one entry for each payout run, failed payout, dispute and review, and no others',
    find: (db) => db`
      select action, entries, facts
      from (
        select
          action,
          (select count(*) from audit_entries e where e.action = facts.action) as entries,
          facts
        from (
          select 'runPayouts' as action, count(*) as facts from payout_runs where day is null
          union all
          select 'markPayoutFailed', count(*) from postings where kind = 'payout_failed'
          union all
          select 'disputeOrder', count(*) from disputes
          union all
          select 'addReview', count(*) from reviews
          union all
          select 'refundOrder', count(*)
          from postings
          where kind = 'refund' and reason <> 'Resolution of a dispute'
          union all
          select 'createCheckout', count(*) from checkouts
        ) facts
      ) counted
      where entries <> facts
    `,
  },
  {
    rule: 'No listing has a negative stock, and a sold one has none',
    find: (db) => db`
      select id as listing_id, status, quantity
      from listings
      where quantity < 0 or (status = 'sold' and quantity > 0)
    `,
  },
]

/** Violations of the rules that hold at any moment. @param db one snapshot */
export async function findBookViolations(db: Db): Promise<string[]> {
  const violations: string[] = []
  for (const { rule, find } of CHECKS) {
    for (const row of await find(db)) violations.push(`${rule}, but: ${JSON.stringify(row)}`)
  }
  return violations
}

type Evidence = { client: Client; db: Db; market: Market; journal: Journal }

type Order = {
  id: number
  slice_key: string
  status: string
  price: number
  quantity: number
  financial: { seller_net: number; refunded_amount: number }
}

const cents = (euros: number) => Math.round(euros * 100)
const sum = <T>(all: Iterable<T>, of: (one: T) => number) =>
  [...all].reduce((total, one) => total + of(one), 0)

/** Compares the books with the clients' refunds, the bank's transfers, the payouts' lines and the statements. */
export async function findBankViolations(
  evidence: Evidence,
  rows: Map<number, Order & { seller: Market['sellers'][number] }>,
): Promise<string[]> {
  return [
    ...findRefundViolations(evidence, rows.values()),
    ...(await findTransferViolations(evidence)),
    ...(await findPayoutViolations(evidence)),
    ...(await findStatementViolations(evidence, rows.values())),
  ]
}

/** The refunds of a row are the confirmed ones, the resolution of its dispute, and its cancellation. */
function findRefundViolations({ journal }: Evidence, rows: Iterable<Order>): string[] {
  const refunds = Map.groupBy(journal.refunds, ({ orderId }) => orderId)
  return [...rows].flatMap(({ id, status, financial }) => {
    const confirmed = sum(refunds.get(id) ?? [], (refund) => refund.cents)
    const refunded = cents(financial.refunded_amount)
    if (status === 'cancelled' || refunded >= confirmed) return []
    return [`Order ${id} was refunded ${refunded} cents, but ${confirmed} were confirmed.`]
  })
}

/** The bank executes the files of all runs. It has executed each payout once, unless it has returned it. */
async function findTransferViolations({ client, db, journal }: Evidence): Promise<string[]> {
  const { bank } = journal
  const violations: string[] = []
  const runs = await db<{ id: number; count: number; totalCents: number; byStaff: boolean }[]>`
    select id, count, total_cents as "totalCents", day is null as "byStaff" from payout_runs
  `
  for (const run of runs) {
    if (run.count === 0) continue
    await downloadFile(client, { bank, violations }, run.id)
    const transfers = transfersIn(bank.files.get(run.id)!)
    if (transfers.length !== run.count || sum(transfers, (one) => one.cents) !== run.totalCents) {
      violations.push(`The file of run ${run.id} doesn’t have its ${run.count} transfers.`)
    }
  }
  // Each request for a run was repeated until its response arrived, and has made one run.
  const known = journal.runs.map(({ id }) => id).toSorted((a, b) => a - b)
  const made = runs.filter(({ byStaff }) => byStaff).map(({ id }) => id)
  if (String(known) !== String(made.toSorted((a, b) => a - b))) {
    violations.push(`The staff made the runs ${known}, but ${made} exist.`)
  }
  for (const { id, count, total } of journal.runs) {
    const run = runs.find((run) => run.id === id)
    if (run && (run.count !== count || run.totalCents !== cents(total))) {
      violations.push(`Run ${id} was confirmed with ${count} transfers of ${total} euros.`)
    }
  }

  const transfers = await db<
    { payoutId: number; reference: string; state: string; cents: number }[]
  >`
    select t.payout_id as "payoutId", t.reference, p.state, p.amount_cents as cents
    from payout_transfers t
    join payouts p on p.id = t.payout_id
    order by t.payout_id, t.run_id
  `
  for (const [id, attempts] of Map.groupBy(transfers, ({ payoutId }) => payoutId)) {
    const kept = attempts.filter(({ reference }) => !bank.returned.has(reference))
    const { state, cents } = attempts[0]!
    // A payout that was repeated after a failure can go to other refunds as a whole: then it has no further transfer.
    const isSent = ['sent', 'paid'].includes(state) && cents > 0
    if (kept.length !== (isSent ? 1 : 0)) {
      violations.push(
        `Payout ${id} is ${state}, and the bank has executed it ${kept.length} times.`,
      )
    }
  }
  const sellers = await db<{ id: number; cents: number }[]>`
    select account_id as id, sum(payouts_cents)::bigint as cents from postings group by 1
  `
  const references = await db<{ reference: string; accountId: number }[]>`
    select reference, account_id as "accountId" from payout_transfers
  `
  for (const { id, cents } of sellers) {
    const own = references.filter(
      ({ reference, accountId }) => accountId === id && !bank.returned.has(reference),
    )
    const executed = sum(own, ({ reference }) => bank.transfers.get(reference)?.cents ?? 0)
    if (executed !== cents) {
      violations.push(
        `Seller ${id} got ${executed} cents from the bank, and ${cents} by the ledger.`,
      )
    }
  }
  return violations
}

type Amounts = { gross: number; commission: number; refunds: number; shipping: number }
type Payout = { id: number; amount: number; lines: Amounts[]; reference: string }

/** The lines of each payout add up to its amount. No transfer went to a bank account that its seller never entered. */
async function findPayoutViolations({ client, market, journal }: Evidence): Promise<string[]> {
  const violations: string[] = []
  for (const { id, key, ibans } of market.sellers) {
    const payouts = await allPages<Payout>(client, '/tools/v1/payouts', key)
    for (const { id: payout, amount, lines, reference } of payouts) {
      const total = sum(
        lines,
        ({ gross, commission, refunds, shipping }) =>
          cents(gross) - cents(commission) - cents(refunds) + cents(shipping),
      )
      if (total !== cents(amount)) {
        violations.push(`Payout ${payout} is ${amount} euros, but its lines are ${total} cents.`)
      }
      const iban = journal.bank.transfers.get(reference)?.iban
      if (iban !== undefined && !ibans.includes(iban)) {
        violations.push(`Payout ${payout} went to ${iban}, which seller ${id} never entered.`)
      }
    }
    if (ibans.length === 0) violations.push(`Seller ${id} has no bank account.`)
  }
  return violations
}

/** A seller's statements agree with the orders, the refunds, the bank and the ledger's balance, to the cent. */
async function findStatementViolations(
  { client, db, market, journal }: Evidence,
  rows: Iterable<Order & { seller: { id: number } }>,
): Promise<string[]> {
  const violations: string[] = []
  const bySeller = Map.groupBy(rows, ({ seller }) => seller.id)
  const borneBySeller = new Map<number, number>()
  for (const { orderId, cents, borneBy } of journal.refunds) {
    if (borneBy === 'seller') borneBySeller.set(orderId, (borneBySeller.get(orderId) ?? 0) + cents)
  }
  // A resolution has no idempotency key, so its refund is known from the dispute.
  const resolved = await db<{ orderId: number; cents: number }[]>`
    select order_id as "orderId", refund_cents as cents
    from disputes d
    join orders o on o.id = d.order_id
    where refund_cents > 0 and o.status <> 'cancelled' and resolution = 'seller'
  `
  for (const { orderId, cents } of resolved) {
    borneBySeller.set(orderId, (borneBySeller.get(orderId) ?? 0) + cents)
  }
  const months = await db<{ month: string }[]>`
    select distinct to_char(created_at at time zone 'UTC', 'YYYY-MM') as month
    from postings
    order by 1
  `
  const balances = await client.sendOk('GET', '/operator/v1/ledger/balance', {
    token: OPERATOR_TOKEN,
  })
  const balance = balances.body.data as Record<string, number>
  if (sum(Object.values(balance), cents) !== 0) {
    violations.push(`The balances of the ledger don’t sum to zero: ${JSON.stringify(balance)}`)
  }
  const slices = await db<{ key: string; account: number; share: number; got: number }[]>`
    select
      s.slice_key as key,
      s.account_id as account,
      case when s.fulfilment = 'self_ship' then s.shipping_cents else 0 end as share,
      sum(p.payouts_cents)::bigint as got
    from slices s
    join postings p on p.slice_id = s.id
    group by s.id
  `
  for (const { id, key } of market.sellers) {
    const statements = []
    for (const { month } of months) {
      const path = `/tools/v1/statements/${month}`
      statements.push((await client.sendOk('GET', path, { token: key })).body.data)
    }
    const shown = Map.groupBy(
      statements.flatMap(({ slices }) => slices as (Amounts & Record<string, never>)[]),
      (slice) => slice.slice_key as unknown as string,
    )
    const ownRows = Map.groupBy(bySeller.get(id) ?? [], (row) => row.slice_key)
    let total = 0
    for (const slice of slices.filter(({ account }) => account === id)) {
      const lines = shown.get(slice.key) ?? []
      const earned = sum(
        lines,
        ({ gross, commission, shipping, refunds }) =>
          cents(gross) - cents(commission) + cents(shipping) - cents(refunds),
      )
      const paid = sum(lines, ({ payout }) => cents(payout as unknown as number))
      const kept = ownRows.get(slice.key)!.filter(({ status }) => status !== 'cancelled')
      const expected =
        sum(kept, (row) => cents(row.financial.seller_net) - (borneBySeller.get(row.id) ?? 0)) +
        (kept.length > 0 ? slice.share : 0)
      if (earned !== expected || paid !== slice.got) {
        violations.push(
          `By the statement, slice ${slice.key} earned ${earned} cents and was paid ${paid}; its orders earned ${expected}, and it was paid ${slice.got}.`,
        )
      }
      total += earned - paid
    }
    const closing = cents(statements.at(-1)?.closing_balance ?? 0)
    if (closing !== total || closing !== cents(balance[`seller:${id}`] ?? 0)) {
      violations.push(
        `The statement of seller ${id} closes with ${closing} cents, its slices add up to ${total}, and the ledger has ${balance[`seller:${id}`]} euros.`,
      )
    }
  }
  return violations
}

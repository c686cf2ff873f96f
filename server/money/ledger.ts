import type { Context } from '../context.ts'
import { addNewRows, isUncounted, type SummedRows } from '../database/new-rows.ts'
import { type Page, readPage } from '../database/paging.ts'
import type { Db, Fragment } from '../database/sql.ts'
import type { PostingKind } from '../enums.ts'
import { dayOf } from '../time/day-of.ts'
import { endOfSecond, storableTime } from '../time/storable-time.ts'
import { DAYS } from '../time/units.ts'
import type { Entry, RefundBearer } from './posting.ts'

/**
 * The ledger (docs/money.md): every movement of money, written in the transaction of its cause and never changed. Only
 * this file, payouts.ts and payout-runs.ts write to `postings`. A caller holds the lock of the slice.
 */

/**
 * SQL of the time of a new posting: now, but never in a month whose invoices are issued, because nothing would read it
 * any more. The month is issued too early by a clock that runs ahead.
 */
export const postedAt = ({ db, now }: Pick<Context, 'db' | 'now'>) => db`
  greatest(
    ${now()}::timestamptz,
    (select (max(month) + interval '1 month') at time zone 'UTC' from invoice_months)
  )
`

/**
 * SQL that inserts the postings of a checkout, as a part of its statement (orders/checkout.ts): a sale for each of
 * `new_orders`, and the shipping of each of `new_slices`.
 */
export const salePostings = ({ db, now }: Pick<Context, 'db' | 'now'>) => db`
  insert into postings (
    kind, account_id, slice_id, order_id, buyers_cents, seller_cents, commission_cents,
    shipping_cents, created_at
  )
  select
    'sale',
    account_id,
    slice_id,
    id,
    -price_cents::bigint * quantity,
    price_cents::bigint * quantity - commission_cents,
    commission_cents,
    0,
    ${postedAt({ db, now })}
  from new_orders
  union all
  select
    'shipping',
    account_id,
    id,
    null,
    -shipping_cents,
    case when fulfilment = 'self_ship' then shipping_cents else 0 end,
    0,
    case when fulfilment = 'self_ship' then 0 else shipping_cents end,
    ${postedAt({ db, now })}
  from new_slices
  where shipping_cents > 0
`

/**
 * Posts the cancellations of order rows: the buyer gets back the part of the price that wasn't refunded before, seller
 * and marketplace give back their shares. Once every row of the slice is cancelled, the shipping is refunded as well.
 */
export async function postCancellations(
  { db, now }: Context,
  { sliceId, orderIds }: { sliceId: number; orderIds: number[] },
): Promise<void> {
  await db`
    insert into postings (
      kind, account_id, slice_id, order_id, seller_cents, commission_cents, shipping_cents,
      refunds_cents, created_at
    )
    select
      case when order_id is null then 'shipping_refund' else 'cancellation' end,
      account_id,
      slice_id,
      order_id,
      -sum(seller_cents),
      -sum(commission_cents),
      -sum(shipping_cents),
      sum(seller_cents + commission_cents + shipping_cents),
      ${postedAt({ db, now })}
    from postings
    where
      slice_id = ${sliceId}
      and (
        order_id = any(${orderIds}::bigint[])
        or (
          kind = 'shipping'
          and not exists (
            select from orders where slice_id = ${sliceId} and status <> 'cancelled'
          )
        )
      )
    group by account_id, slice_id, order_id
    -- The shipping comes last, after the row whose cancellation caused its refund (withOrders).
    order by order_id
  `
}

/** The shipping of a slice in cents, if it was refunded: with the cancellation of the last row. Otherwise 0. */
export async function refundedShipping({ db }: Context, sliceId: number): Promise<number> {
  const [posting] = await db<{ cents: number }[]>`
    select refunds_cents as cents
    from postings
    where slice_id = ${sliceId} and kind = 'shipping_refund'
  `
  return posting?.cents ?? 0
}

/** Posts a partial refund of an order row. */
export async function postRefund(
  { db, now }: Context,
  {
    sliceId,
    orderId,
    amountCents,
    reason,
    borneBy,
  }: {
    sliceId: number
    orderId: number
    amountCents: number
    reason: string
    borneBy: RefundBearer
  },
): Promise<void> {
  const bySeller = borneBy === 'seller' ? amountCents : 0
  await db`
    insert into postings (
      kind, account_id, slice_id, order_id, seller_cents, commission_cents, refunds_cents,
      reason, created_at
    )
    select
      'refund', account_id, id, ${orderId}, ${-bySeller}, ${bySeller - amountCents},
      ${amountCents}, ${reason}, ${postedAt({ db, now })}
    from slices
    where id = ${sliceId}
  `
}

/** A partial refund of an order row. */
export type RowRefund = {
  orderId: number
  amountCents: number
  borneBy: RefundBearer
  reason: string | null
  refundedAt: Date
}

/** The partial refunds of a slice's rows, oldest first. */
export const refundsOfSlice = ({ db }: Context, sliceId: number): Promise<RowRefund[]> =>
  db<RowRefund[]>`
    select
      order_id as "orderId",
      refunds_cents as "amountCents",
      case when seller_cents = 0 then 'platform' else 'seller' end as "borneBy",
      reason,
      created_at as "refundedAt"
    from postings
    where slice_id = ${sliceId} and kind = 'refund'
    order by id
  `

export type LedgerFilters = {
  /** The postings about this seller, with all of their entries. */
  accountId?: number | undefined
  sliceKey?: string | undefined
  from?: Date | undefined
  /** Includes its second. */
  to?: Date | undefined
  kind?: PostingKind | undefined
}

/** One page of entries, newest first, and the total. */
export async function listEntries(
  ctx: Context,
  filters: LedgerFilters,
  page: Page,
): Promise<{ rows: Entry[]; total: number }> {
  const { accountId, sliceKey, from, to, kind } = filters
  return readPage(ctx, page, (db) => {
    const isMatch = db`
      true
      ${accountId === undefined ? db`` : db`and p.account_id = ${accountId}`}
      ${
        sliceKey === undefined
          ? db``
          : db`and p.slice_id = (select id from slices where slice_key = ${sliceKey})`
      }
      ${from === undefined ? db`` : db`and p.created_at >= ${from}`}
      ${to === undefined ? db`` : db`and p.created_at < ${endOfSecond(to)}`}
      ${kind === undefined ? db`` : db`and p.kind = ${kind}`}
    `
    return {
      total: db<{ total: number }[]>`select (${totalOf(db, filters, isMatch)})::bigint as total`,
      rows: ({ size, skipped, fromEnd }) => {
        // The index of a slice's postings is ordered by id, those of a seller, a period and a rare kind by time. A snapshot
        // plans for the values of parameters, so PostgreSQL knows that a kind is a rare one.
        const isByTime = sliceKey === undefined && (accountId ?? from ?? to ?? kind) !== undefined
        const direction = fromEnd ? db`` : db`desc`
        const order = isByTime
          ? db`p.created_at ${direction}, p.id ${direction}`
          : db`p.id ${direction}`
        return db<Entry[]>`
          -- The postings of the page, found by the number of entries through each.
          with page as materialized (
            select *
            from (
              select p.*, sum(p.entries) over (order by ${order}) as through
              -- Each has an entry, so this many postings fill the page. A cancellation may have nothing left to post.
              from (
                select p.*, ${entryCount(db)} as entries
                from postings p
                where ${isMatch} and ${entryCount(db)} > 0
                order by ${order}
                limit ${skipped + size}
              ) p
            ) p
            where p.through > ${skipped}
            order by ${order}
            limit ${size}
          )
          select
            p.id * ${MAX_ENTRIES}::int + entry.position as id,
            p.kind,
            s.slice_key as "sliceKey",
            p.order_id as "orderId",
            entry.account,
            entry.cents as "amountCents",
            p.created_at as "createdAt"
          from page p
          ${entriesOf(db)}
          join slices s on s.id = p.slice_id
          order by ${order}, entry.position ${fromEnd ? db`desc` : db``}
          limit ${size}
          offset ${skipped}::bigint - (select min(through - entries) from page)
        `
      },
    }
  })
}

/** SQL for the total of the matching entries: from the kept sums, if a filter may leave millions. */
function totalOf(
  db: Db,
  { accountId, sliceKey, from, to, kind }: LedgerFilters,
  isMatch: Fragment,
): Fragment {
  const entries = (isCounted: Fragment) => db`
    -- With each entry as a row, a million postings would take seven seconds.
    (select coalesce(sum(${entryCount(db)}), 0) from postings p where ${isMatch} and ${isCounted})
  `
  const isOfKind = kind === undefined ? db`true` : db`kind = ${kind}`
  const isInPeriod = from !== undefined || to !== undefined
  if (sliceKey !== undefined || (accountId !== undefined && isInPeriod)) return entries(db`true`)
  if (accountId !== undefined) {
    return db`
      (
        select coalesce(sum(entries), 0)
        from ledger_accounts
        where account_id = ${accountId} and ${isOfKind}
      )
      + ${entries(isUncounted(db, POSTINGS))}
    `
  }
  // The whole days of the period.
  const begin = storableTime(from === undefined ? 0 : Math.ceil(from.getTime() / DAYS) * DAYS)
  const end = to && new Date(Math.floor(endOfSecond(to).getTime() / DAYS) * DAYS)
  if (end && begin >= end) return entries(db`true`)
  const isOld = db`id < (select counted_to from posting_count_state)`
  return db`
    (
      select coalesce(sum(entries), 0)
      from ledger_days
      where
        ${isOfKind}
        and day >= ${dayOf(begin)}
        ${end === undefined ? db`` : db`and day < ${dayOf(end)}`}
    )
    + ${entries(isUncounted(db, POSTINGS))}
    ${from === undefined ? db`` : db`+ ${entries(db`${isOld} and p.created_at < ${begin}`)}`}
    ${end === undefined ? db`` : db`+ ${entries(db`${isOld} and p.created_at >= ${end}`)}`}
  `
}

const MAX_ENTRIES = 8

/** SQL for the number of entries of a posting `p`. */
const entryCount = (db: Db) => db`
  num_nonnulls(
    nullif(p.buyers_cents, 0),
    nullif(p.seller_cents, 0),
    nullif(p.commission_cents, 0),
    nullif(p.shipping_cents, 0),
    nullif(p.refunds_cents, 0),
    nullif(p.payouts_cents, 0)
  )
`

/** SQL that joins the entries of a posting `p`, as rows. */
const entriesOf = (db: Db) => db`
  cross join lateral (
    values
      (1, 'buyers', p.buyers_cents),
      (2, 'seller:' || p.account_id, p.seller_cents),
      (3, 'commission', p.commission_cents),
      (4, 'shipping', p.shipping_cents),
      (5, 'refunds', p.refunds_cents),
      (6, 'payouts', p.payouts_cents)
  ) all_entries (position, account, cents)
  join lateral (select all_entries.*) entry on entry.cents <> 0
`

const POSTINGS: SummedRows = {
  table: 'postings',
  state: 'posting_count_state',
  // The transaction of a posting holds the lock of a slice or a listing, so it has a number before it takes an id.
  add: (db, isInBatch) => db`
    with batch as materialized (
      select p.*, ${entryCount(db)} as entries from postings p where ${isInBatch}
    ),
    of_days as (
      insert into ledger_days
      select
        (created_at at time zone 'UTC')::date, kind, sum(entries), sum(buyers_cents),
        sum(commission_cents), sum(shipping_cents), sum(refunds_cents), sum(payouts_cents)
      from batch
      group by 1, 2
      order by 1, 2
      on conflict (day, kind) do update
      set
        entries = ledger_days.entries + excluded.entries,
        buyers_cents = ledger_days.buyers_cents + excluded.buyers_cents,
        commission_cents = ledger_days.commission_cents + excluded.commission_cents,
        shipping_cents = ledger_days.shipping_cents + excluded.shipping_cents,
        refunds_cents = ledger_days.refunds_cents + excluded.refunds_cents,
        payouts_cents = ledger_days.payouts_cents + excluded.payouts_cents
    )
    insert into ledger_accounts
    select account_id, kind, sum(entries), sum(seller_cents)
    from batch
    group by account_id, kind
    order by account_id, kind
    on conflict (account_id, kind) do update
    set
      entries = ledger_accounts.entries + excluded.entries,
      seller_cents = ledger_accounts.seller_cents + excluded.seller_cents
  `,
}

/** Adds the new postings to the kept sums, from which totals and balances are read. */
export const sumUpLedger = (ctx: Context): Promise<void> => addNewRows(ctx, POSTINGS)

/** The balance of every ledger account, in cents. They sum to zero. */
export const readBalances = ({ begin }: Context): Promise<Map<string, number>> =>
  begin(async (db) => {
    const [rows, sellers] = await Promise.all([
      db<Record<string, number>[]>`
        select
          coalesce(sum(buyers_cents), 0)::bigint as buyers,
          coalesce(sum(commission_cents), 0)::bigint as commission,
          coalesce(sum(shipping_cents), 0)::bigint as shipping,
          coalesce(sum(refunds_cents), 0)::bigint as refunds,
          coalesce(sum(payouts_cents), 0)::bigint as payouts
        from (
          select buyers_cents, commission_cents, shipping_cents, refunds_cents, payouts_cents
          from ledger_days
          union all
          select buyers_cents, commission_cents, shipping_cents, refunds_cents, payouts_cents
          from postings
          where ${isUncounted(db, POSTINGS)}
        ) sums
      `,
      db<{ account: string; cents: number }[]>`
        select 'seller:' || account_id as account, sum(seller_cents)::bigint as cents
        from (
          select account_id, seller_cents from ledger_accounts
          union all
          select account_id, seller_cents from postings where ${isUncounted(db, POSTINGS)}
        ) sums
        group by account_id
        order by account_id
      `,
    ])
    return new Map([
      ...Object.entries(rows[0] ?? {}),
      ...sellers.map(({ account, cents }) => [account, cents] as const),
    ])
  }, 'snapshot')

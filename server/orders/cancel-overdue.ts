import type { Context } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import { atOneTime, inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import { isUnavailable } from '../database/unavailable.ts'
import { sendMails } from '../mail/outbox.ts'
import { refundedShipping } from '../money/ledger.ts'
import { setupStateOf } from '../money/payout-setup.ts'
import { settleSlices } from '../money/payouts.ts'
import { DAYS } from '../time/units.ts'
import {
  type Announced,
  cancelAnnouncedEmail,
  overdueEmails,
  partiesOf,
  type SoldRow,
} from './emails.ts'
import { type LockedRow, lockRows, lockSlice } from './locks.ts'
import { grossOf } from './money.ts'
import {
  cancel,
  hasOpenPurchase,
  lockListings,
  type OrderContext,
  restockListings,
} from './transitions.ts'

/** The seller gets an e-mail this long before the cancellation. */
const NOTICE_MS = 3 * DAYS
const BATCH_SLICES = 200
/** Rows whose slices one run cancels; the next run takes the rest. */
const MAX_ROWS = 5_000

/**
 * Cancels pending rows for the system (docs/after-sale.md): those of sellers without a verified payout setup after
 * `UNVERIFIED_CANCEL_DAYS`, and those that were not shipped within `SHIP_WITHIN_DAYS`. It announces each cancellation to
 * the seller three days before. Outside the sandbox it cancels nothing that was not announced; the sandbox's clock can
 * jump over the announcement.
 *
 * Several processes can run it at once: the rows of each slice are checked again under their locks, and a slice is announced
 * once.
 */
export async function cancelOverdue(ctx: OrderContext): Promise<void> {
  if (limitsOf(ctx).length === 0) return
  // First, so that the sandbox announces nothing that is cancelled at once.
  await cancelDue(ctx)
  await forgetAnnouncements(ctx)
  await inBatches((max) => announce(ctx, max), BATCH_SLICES)
}

async function cancelDue(ctx: OrderContext): Promise<void> {
  const due = await ctx.db<{ sliceId: number }[]>`
    select o.slice_id as "sliceId"
    ${oldPendingRows(ctx.db, ctx, ctx.now())}
    where ${isDue(ctx.db, ctx)}
    order by o.id
    limit ${MAX_ROWS}
  `
  for (const sliceId of new Set(due.map((row) => row.sliceId))) {
    try {
      ctx.metrics.countOrderRows('cancelled', await cancelAsSystem(ctx, sliceId))
    } catch (error) {
      if (isUnavailable(error)) throw error
      // The next run retries it. The oldest slice must not keep the others from being cancelled and announced.
      ctx.log.error({ err: error, slice: sliceId }, 'cannot cancel overdue orders; retrying later')
    }
  }
}

/**
 * Cancels the overdue rows of a slice, with one e-mail to each party. Takes locks in the order of locks.ts, so it reads the
 * listings before it locks the rows.
 *
 * @returns the number of rows: none if meanwhile they were shipped or cancelled, or the seller was verified, and while a
 *   label is being bought
 */
const cancelAsSystem = (ctx: OrderContext, sliceId: number): Promise<number> =>
  inTransaction(ctx, async (transaction) => {
    const { db } = transaction
    const found = await db<{ listingId: number | null }[]>`
      select listing_id as "listingId" from orders where slice_id = ${sliceId} and status = 'pending'
    `
    const listings = await lockListings(
      transaction,
      found.map(({ listingId }) => listingId),
    )
    await lockSlice(transaction, sliceId)
    await lockRows(transaction, sliceId)
    // The time is read after the locks.
    const tx = atOneTime(transaction)
    const rows = await db<(LockedRow & SoldRow & { accountId: number })[]>`
      select
        o.id,
        o.account_id as "accountId",
        o.listing_id as "listingId",
        o.status,
        o.quantity,
        o.price_cents as "priceCents",
        o.refunded_cents as "refundedCents",
        o.item_name as "itemName"
      from orders o
      join accounts a on a.id = o.account_id
      join slices s on s.id = o.slice_id
      ${deadline(db, tx)}
      where o.slice_id = ${sliceId} and o.status = 'pending' and ${isDue(db, tx)}
      order by o.id
    `
    if (rows.length === 0 || (await hasOpenPurchase(tx, sliceId))) return 0
    const { accountId } = rows[0]!
    await cancel(tx, { sliceId, accountId }, rows, { cancelledBy: 'system' })
    const restockedRows = await restockListings(tx, listings, rows)
    await settleSlices(tx, [sliceId])
    const mails = overdueEmails(tx, await partiesOf(tx, sliceId), rows, {
      refundCents: rows.reduce((sum, row) => sum + grossOf(row) - row.refundedCents, 0),
      shippingCents: await refundedShipping(tx, sliceId),
      restockedRows,
    })
    await sendMails(tx, mails, { sliceId })
    return rows.length
  })

/**
 * Forgets the announcements of slices whose deadline is no longer near, because the seller is verified now. If the seller
 * loses the verification, the cancellation must be announced again.
 */
const forgetAnnouncements = (ctx: Context): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { db, now } = tx
    const soon = new Date(now().getTime() + NOTICE_MS)
    await db`
      with moved as (
        select distinct o.slice_id
        ${oldPendingRows(db, ctx, soon)}
        where s.cancel_at is not null and coalesce(deadline > ${soon}, true)
      ),
      locked as (
        select id
        from slices
        where id = any(array(select slice_id from moved))
        order by id
        for no key update skip locked
      )
      update slices
      set cancel_at = null
      where id in (select id from locked)
    `
  })

/** E-mails the sellers of at most `max` slices whose deadline is near. Returns the number of slices. */
const announce = (ctx: Context, max: number): Promise<number> =>
  inTransaction(ctx, async (tx) => {
    const { db, now, config } = tx
    const soon = new Date(now().getTime() + NOTICE_MS)
    const slices = await db<(Announced & { sliceId: number })[]>`
      with due as (
        select o.slice_id, min(o.id) as order_id, count(*) as rows, max(deadline) as deadline
        ${oldPendingRows(db, ctx, soon)}
        where deadline <= ${soon} and (s.cancel_at is null or s.cancel_at < deadline)
        group by o.slice_id
        order by o.slice_id
        limit ${max}
      ),
      locked as (
        select s.id, s.account_id, s.checkout_id, due.order_id, due.rows, due.deadline
        from slices s
        join due on due.slice_id = s.id
        where s.cancel_at is null or s.cancel_at < due.deadline
        order by s.id
        for no key update of s skip locked
      )
      update slices s
      set cancel_at = case
        when ${config.sandbox} then locked.deadline
        else greatest(locked.deadline, ${soon})
      end
      from locked
      join accounts a on a.id = locked.account_id
      left join payout_setups setup on setup.account_id = a.id
      join checkouts c on c.id = locked.checkout_id
      where s.id = locked.id
      returning
        s.id as "sliceId",
        locked.order_id as "orderId",
        locked.rows,
        s.cancel_at as "cancelAt",
        c.buyer_name as "buyerName",
        a.shop_name as "shopName",
        a.email,
        ${setupStateOf(db, db`setup`)} as setup
    `
    await sendMails(
      tx,
      slices.map((slice) => ({ ...cancelAnnouncedEmail(ctx, slice), sliceId: slice.sliceId })),
    )
    return slices.length
  })

/**
 * SQL for the pending rows `o` that may be overdue at a moment, their sellers `a`, slices `s` and `deadline`. Most rows are
 * old and many are pending, but few are both, which the planner doesn't know: it expects to find some soon in any index of
 * orders, and walks all of it. OFFSET 0 forces one probe per seller, and one lookup per row.
 */
const oldPendingRows = (db: Db, ctx: Pick<Context, 'config'>, moment: Date) => db`
  from accounts a
  cross join lateral (
    select id, slice_id, created_at
    from orders
    where
      account_id = a.id
      and status = 'pending'
      and created_at <= ${new Date(moment.getTime() - Math.min(...limitsOf(ctx)) * DAYS)}
    offset 0
  ) o
  ${deadline(db, ctx)}
  cross join lateral (select id, cancel_at from slices where id = o.slice_id offset 0) s
`

/** SQL that joins the `deadline` of a row `o` of a seller `a`; null if it has none. */
const deadline = (
  db: Db,
  { config: { unverifiedCancelDays, shipWithinDays } }: Pick<Context, 'config'>,
) => db`
  cross join lateral (
    select
      least(
        o.created_at + make_interval(hours => ${shipWithinDays * 24 || null}::int),
        case
          when not a.payout_verified
            then o.created_at + make_interval(hours => ${unverifiedCancelDays * 24 || null}::int)
        end
      ) as deadline
  ) row_deadline
`

/** SQL condition: a row of a slice `s` is to be cancelled now. The deadline may have moved since it was announced. */
const isDue = (db: Db, { now, config }: Pick<Context, 'now' | 'config'>) => db`
  deadline <= ${now()}
  and (${config.sandbox}::boolean or (s.cancel_at >= deadline and s.cancel_at <= ${now()}))
`

/** The limits that are in use, in days. */
const limitsOf = ({ config }: Pick<Context, 'config'>) =>
  [config.unverifiedCancelDays, config.shipWithinDays].filter((days) => days > 0)

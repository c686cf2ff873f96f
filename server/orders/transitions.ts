import type { Context } from '../context.ts'
import { atOneTime, inTransaction } from '../database/in-transaction.ts'
import {
  type Canceller,
  type CancelReason,
  type ListingStatus,
  type OrderStatus,
  TRANSITIONS,
} from '../enums.ts'
import { conflict } from '../errors.ts'
import { orderCancelled } from '../events/payloads.ts'
import { recordEvents } from '../events/record.ts'
import { statusFor } from '../listings/listing.ts'
import type { NewMail } from '../mail/mail.ts'
import { sendMails } from '../mail/outbox.ts'
import type { Metrics } from '../metrics.ts'
import { postCancellations, refundedShipping } from '../money/ledger.ts'
import { owedFor, settleSlices } from '../money/payouts.ts'
import { DAYS } from '../time/units.ts'
import { endDispute } from './dispute.ts'
import { emailsAbout, type Happening, partiesOf, receivedEmail, type SoldRow } from './emails.ts'
import { type LockedRow, lockRows, lockSlice } from './locks.ts'
import { grossOf } from './money.ts'
import { type Order, orderNotFound, type RowTransition, requireTransition } from './order.ts'
import { getOrder } from './orders.ts'
import { requireSeenRefunds } from './refund.ts'

export type OrderContext = Context & { metrics: Metrics }

/** A shipped row that the buyer hasn't disputed for this long counts as received. */
const AUTO_RECEIVE_MS = 14 * DAYS
const BATCH_ROWS = 500

/**
 * Cancels a row and refunds the buyer. Price and commission of the row stay as they were (§2.7).
 *
 * @param restock whether to put the units on sale again
 * @param status of the row that the caller has seen
 * @param refundedAmount the sum of earlier refunds that the caller has seen
 * @throws not_found, conflict unless the row is pending, shipped or disputed, and if its status or its refunds are others
 *   than those seen
 */
export function cancelOrder(
  ctx: OrderContext,
  id: number,
  {
    cancelledBy,
    restock,
    status,
    refundedAmount,
  }: {
    cancelledBy: Canceller
    restock: boolean
    status?: OrderStatus | undefined
    refundedAmount?: number | undefined
  },
): Promise<Order> {
  return changeOrder(ctx, id, 'cancel', { restock }, async (tx, row) => {
    if (status !== undefined && status !== row.status) {
      throw conflict(
        `The order is ${row.status} by now. Check whether to cancel it, and whether its units are still in stock.`,
      )
    }
    requireSeenRefunds(row, refundedAmount)
    await cancel(tx, row, [row], { cancelledBy })
  })
}

/**
 * Cancels a row on behalf of its seller, and refunds the buyer. A label that was bought, or may have been, prevents it:
 * the parcel could already be on its way. One that was cancelled at the carrier doesn't.
 *
 * @param restock whether to put the units on sale again; by default unless they are out of stock
 * @throws not_found unless the row is the account's, conflict unless the row is pending and its slice has no label
 */
export function cancelAsSeller(
  ctx: OrderContext,
  accountId: number,
  id: number,
  { reason, restock = reason !== 'out_of_stock' }: { reason: CancelReason; restock?: boolean },
): Promise<Order> {
  return changeOrder(ctx, id, 'cancelAsSeller', { restock, accountId }, async (tx, row) => {
    await requireNoLabel(tx, row.sliceId)
    await cancel(tx, row, [row], { cancelledBy: 'seller', reason })
  })
}

/** @throws conflict if the slice has a label that is valid at the carrier, or a purchase that may have bought one */
async function requireNoLabel(ctx: Context, sliceId: number): Promise<void> {
  const [label] = await ctx.db`
    select 1 from shipments where slice_id = ${sliceId} and state = 'bought' and not is_void
  `
  if (label) {
    throw conflict(
      'A label was bought for this order, so it can no longer be cancelled here. Ask the marketplace to cancel it.',
    )
  }
  await requireNoPurchase(ctx, sliceId)
}

/** @throws conflict if a label of the slice is being bought, or its purchase is in doubt */
async function requireNoPurchase(ctx: Context, sliceId: number): Promise<void> {
  if (await hasOpenPurchase(ctx, sliceId)) {
    throw conflict(
      'A label for this order is being bought, or may have been. Until that is known, which can take a week, only the marketplace can cancel the order.',
    )
  }
}

/** A purchase in doubt that no carrier was asked about for this long counts as not made. */
const DOUBT_MS = 7 * DAYS

/**
 * Whether a label of the slice is being bought, or its purchase is in doubt. Polls end the doubt of a purchase at the
 * configured carrier. No poll asks another carrier, so the time of that purchase's next poll stays the same.
 */
export async function hasOpenPurchase(
  { db, now, config }: Context,
  sliceId: number,
): Promise<boolean> {
  const [purchase] = await db`
    select 1
    from shipments
    where
      slice_id = ${sliceId}
      and state = 'buying'
      and (
        leased_until > clock_timestamp()
        or in_doubt and (
          provider = ${config.carrier ?? null}
          or poll_at > ${new Date(now().getTime() - DOUBT_MS)}
        )
      )
  `
  return purchase !== undefined
}

/** Records that the buyer has received the item. @throws not_found, conflict unless the row is shipped */
export const receiveOrder = (ctx: OrderContext, id: number): Promise<Order> =>
  changeOrder(ctx, id, 'receive', {}, receive)

/**
 * Marks rows as received 14 days after shipping. Several processes can run it at once: each skips the slices that
 * another has locked.
 */
export async function receiveLongShipped(ctx: OrderContext): Promise<void> {
  const before = new Date(ctx.now().getTime() - AUTO_RECEIVE_MS)
  for (;;) {
    const { slices, rows } = await inTransaction(ctx, async (tx) => {
      const locked = await tx.db<{ id: number }[]>`
        select s.id
        from slices s
        where
          s.id in (
            select slice_id
            from orders
            where status = 'shipped' and shipped_at <= ${before}
            order by shipped_at
            limit ${BATCH_ROWS}
          )
        order by s.id
        for no key update skip locked
      `
      const sliceIds = locked.map(({ id }) => id)
      // The removal of a listing locks its rows without their slices, so they are locked by id (locks.ts).
      const received = await tx.db<ReceivedRow[]>`
        with due as (
          select id as due_id
          from orders
          where
            slice_id = any(${sliceIds}::bigint[])
            and status = 'shipped'
            and shipped_at <= ${before}
          order by id
          for no key update
        )
        update orders
        set status = 'received', received_at = ${tx.now()}
        from due
        where id = due_id
        returning
          id, slice_id as "sliceId", quantity, price_cents as "priceCents", item_name as "itemName"
      `
      await settleSlices(tx, sliceIds)
      await emailReceipts(tx, received)
      return { slices: sliceIds.length, rows: received.length }
    })
    ctx.metrics.countOrderRows('received', rows)
    if (slices === 0) return
  }
}

type ReceivedRow = SoldRow & { sliceId: number }

/** Sends one e-mail to the buyer of each slice. */
async function emailReceipts(tx: Context, received: ReceivedRow[]): Promise<void> {
  const rowsBySlice = Map.groupBy(received, ({ sliceId }) => sliceId)
  if (rowsBySlice.size === 0) return
  const parties = await tx.db<{ id: number; name: string; email: string; shopName: string }[]>`
    select s.id, c.buyer_name as name, c.buyer_email as email, a.shop_name as "shopName"
    from slices s
    join checkouts c on c.id = s.checkout_id
    join accounts a on a.id = s.account_id
    where s.id = any(${[...rowsBySlice.keys()]}::bigint[])
    order by s.id
  `
  const emails = parties.map(({ id, shopName, ...buyer }) => ({
    ...receivedEmail({ buyer, seller: { shopName } }, rowsBySlice.get(id)!),
    sliceId: id,
  }))
  await sendMails(tx, emails)
}

/**
 * Applies one transition to an order row and e-mails the parties. Takes locks in the order of locks.ts, so it reads the
 * row's listing before it locks the row: until then the listing can be deleted, but not change.
 *
 * @param accountId only a row of this account is found
 * @param emails the e-mails about the change
 */
export async function changeOrder(
  ctx: OrderContext,
  id: number,
  transition: RowTransition,
  {
    restock = false,
    accountId,
    emails = (happening) => emailsAbout(ctx, transition, happening),
  }: {
    restock?: boolean
    accountId?: number
    emails?: (happening: Happening) => NewMail[]
  },
  change: (tx: Context, row: ChangedRow) => PromiseLike<unknown>,
): Promise<Order> {
  const order = await inTransaction(ctx, async (transaction) => {
    const [found] = await transaction.db<
      { sliceId: number; accountId: number; listingId: number | null }[]
    >`
      select slice_id as "sliceId", account_id as "accountId", listing_id as "listingId"
      from orders
      where id = ${id}
    `
    if (!found || (accountId ?? found.accountId) !== found.accountId) throw orderNotFound()
    const listings = await lockListings(transaction, restock ? [found.listingId] : [])
    const { owedCents } = await lockSlice(transaction, found.sliceId)
    const rows = await lockRows(transaction, found.sliceId)
    const row = rows.find((candidate) => candidate.id === id)!
    requireTransition(transition, row.status)
    // The time is read after the locks.
    const tx = atOneTime(transaction)
    await change(tx, { ...row, ...found })
    const restocked = await restockListings(tx, listings, [row])
    await settleSlices(tx, [found.sliceId])
    const order = await getOrder(tx, id)
    const isCancelled = order.status === 'cancelled'
    const mails = emails({
      order,
      parties: await partiesOf(tx, found.sliceId),
      refundCents: order.refundedCents - row.refundedCents,
      shippingCents: isCancelled ? await refundedShipping(tx, found.sliceId) : 0,
      deductedCents: isCancelled ? (await owedFor(tx, found.sliceId)) - owedCents : 0,
      isRestocked: restocked === 1,
    })
    await sendMails(tx, mails, { sliceId: found.sliceId })
    return order
  })
  ctx.metrics.countOrderRows(TRANSITIONS[transition].to, 1)
  return order
}

/** Cancels locked rows of a slice: refunds them, ends their disputes, and records the events. */
export async function cancel(
  tx: Context,
  { sliceId, accountId }: Pick<ChangedRow, 'sliceId' | 'accountId'>,
  rows: LockedRow[],
  {
    cancelledBy,
    reason = null,
    isResolution = false,
  }: { cancelledBy: Canceller; reason?: CancelReason | null; isResolution?: boolean },
): Promise<void> {
  const orderIds = rows.map(({ id }) => id)
  await tx.db`
    update orders
    set
      status = 'cancelled',
      cancelled_at = ${tx.now()},
      cancelled_by = ${cancelledBy},
      cancel_reason = ${reason},
      resolved_at = case when ${isResolution} then ${tx.now()} else resolved_at end,
      refunded_cents = price_cents::bigint * quantity
    where id = any(${orderIds}::bigint[])
  `
  for (const row of rows.filter(({ status }) => status === 'disputed')) {
    await endDispute(tx, row.id, {
      resolution: 'buyer',
      refundCents: grossOf(row) - row.refundedCents,
    })
  }
  await postCancellations(tx, { sliceId, orderIds })
  await recordEvents(
    tx,
    orderIds.map((id) => ({ accountId, sliceId, ...orderCancelled({ id, cancelledBy }) })),
  )
}

const receive = ({ db, now }: Context, row: LockedRow) => db`
  update orders set status = 'received', received_at = ${now()} where id = ${row.id}
`

/** The locked row that a transition changes. */
export type ChangedRow = LockedRow & { sliceId: number; accountId: number }

type LockedListing = { id: number; status: ListingStatus; quantity: number }

/** Locks the listings of rows before their slice (locks.ts). The result lacks those that were deleted. */
export const lockListings = async (
  { db }: Context,
  listingIds: (number | null)[],
): Promise<LockedListing[]> => {
  const ids = listingIds.filter((id) => id !== null)
  if (ids.length === 0) return []
  return db<LockedListing[]>`
    select id, status, quantity
    from listings
    where id = any(${ids}::bigint[]) and status <> 'removed'
    order by id
    for no key update
  `
}

/** Adds the units of rows to the stock of their locked listings. Returns the number of rows that have one. */
export async function restockListings(
  { db, now, signal }: Context,
  listings: LockedListing[],
  rows: LockedRow[],
): Promise<number> {
  const units = Map.groupBy(rows, ({ listingId }) => listingId)
  const changed = listings.flatMap(({ id, status, quantity }) => {
    const sold = units.get(id)
    if (!sold) return []
    return {
      id,
      status,
      quantity: sold.reduce((sum, row) => sum + row.quantity, quantity),
      rows: sold.length,
    }
  })
  if (changed.length === 0) return 0
  await db`
    update listings
    set
      quantity = changed.quantity,
      status = changed.status,
      updated_at = greatest(updated_at, ${now()})
    from unnest(
      ${changed.map(({ id }) => id)}::bigint[],
      ${changed.map(({ quantity }) => quantity)}::integer[],
      ${changed.map(({ status, quantity }) => statusFor(status, quantity))}::text[]
    ) changed (id, quantity, status)
    where listings.id = changed.id
  `
  await signal('offers')
  return changed.reduce((sum, { rows }) => sum + rows, 0)
}

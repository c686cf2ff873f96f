import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Canceller, ListingStatus } from '../enums.ts'
import { orderCancelled } from '../events/payloads.ts'
import { recordEvent } from '../events/record.ts'
import { statusFor } from '../listings/listing.ts'
import { sendMail } from '../mail/outbox.ts'
import type { Metrics } from '../metrics.ts'
import { lettersAbout, partiesOf } from './emails.ts'
import { type LockedRow, lockRows, lockSlice } from './locks.ts'
import { grossOf } from './money.ts'
import {
  type Order,
  orderNotFound,
  requireTransition,
  TRANSITIONS,
  type Transition,
} from './order.ts'
import { getOrder } from './orders.ts'

type OrderContext = Context & { metrics: Metrics }

/** For how long after shipping a buyer can say that something is wrong; then it counts as received. */
const CONFIRMATION_MS = 14 * 24 * 60 * 60 * 1000
const ROWS_AT_ONCE = 500

/**
 * Cancels a row and refunds the buyer; with `restock` its units are for sale again. What it came to, and what the
 * marketplace would have kept, stay as they were (§2.7).
 *
 * @throws not_found, conflict unless it's pending, shipped or disputed
 */
export function cancelOrder(
  ctx: OrderContext,
  id: number,
  { cancelledBy, restock }: { cancelledBy: Canceller; restock: boolean },
): Promise<Order> {
  return changeOrder(ctx, id, 'cancel', { restock }, (tx, row) => cancel(tx, row, cancelledBy))
}

/** The buyer has it. @throws not_found, conflict unless it's shipped */
export const receiveOrder = (ctx: OrderContext, id: number): Promise<Order> =>
  changeOrder(ctx, id, 'receive', {}, receive)

/** The buyer says that something is wrong. @throws not_found, conflict unless it's shipped or received */
export const disputeOrder = (ctx: OrderContext, id: number): Promise<Order> =>
  changeOrder(
    ctx,
    id,
    'dispute',
    {},
    ({ db, now }, row) => db`
      update orders set status = 'disputed', disputed_at = ${now()} where id = ${row.id}
    `,
  )

/**
 * Ends a dispute: the seller's favour completes the row, the buyer's cancels and refunds it. What was disputed isn't
 * put on sale again by itself.
 *
 * @throws not_found, conflict unless it's disputed
 */
export const resolveDispute = (
  ctx: OrderContext,
  id: number,
  inFavourOf: 'seller' | 'buyer',
): Promise<Order> =>
  inFavourOf === 'seller'
    ? changeOrder(ctx, id, 'resolveForSeller', {}, receive)
    : changeOrder(ctx, id, 'resolveForBuyer', {}, (tx, row) => cancel(tx, row, 'admin'))

/** Closes what was shipped long enough ago and nobody complained about. Several processes share the work. */
export async function receiveLongShipped({ db, now, metrics }: OrderContext): Promise<void> {
  const before = new Date(now().getTime() - CONFIRMATION_MS)
  for (;;) {
    const { count } = await db`
      update orders
      set status = 'received', received_at = ${now()}
      where id in (
        select id
        from orders
        where status = 'shipped' and shipped_at <= ${before}
        order by id
        limit ${ROWS_AT_ONCE}
        for no key update skip locked
      )
    `
    metrics.countOrderRows('received', count)
    if (count < ROWS_AT_ONCE) return
  }
}

/**
 * Changes one row and writes to whom it concerns, all locks in the order that everybody keeps. Which listing it came from can turn to none meanwhile
 * (it was deleted), but never to another.
 */
async function changeOrder(
  ctx: OrderContext,
  id: number,
  transition: Transition,
  { restock = false }: { restock?: boolean },
  change: (tx: Context, row: LockedRow & { accountId: number }) => PromiseLike<unknown>,
): Promise<Order> {
  const order = await inTransaction(ctx, async (part) => {
    const [found] = await part.db<
      { sliceId: number; accountId: number; listingId: number | null }[]
    >`
      select slice_id as "sliceId", account_id as "accountId", listing_id as "listingId"
      from orders
      where id = ${id}
    `
    if (!found) throw orderNotFound()
    const listing = restock ? await lockListing(part, found.listingId) : undefined
    await lockSlice(part, found.sliceId)
    const row = (await lockRows(part, found.sliceId)).find((one) => one.id === id)!
    requireTransition(transition, row.status)
    // One moment for all of it, after whatever was waited for: an event is as old as its cause.
    const moment = part.now()
    const tx = { ...part, now: () => moment }
    await change(tx, { ...row, accountId: found.accountId })
    if (listing) await putBack(tx, listing, row.quantity)
    const order = await getOrder(tx, id)
    const letters = lettersAbout(transition, order, await partiesOf(tx, order.sliceId))
    for (const mail of letters) await sendMail(tx, mail)
    return order
  })
  ctx.metrics.countOrderRows(TRANSITIONS[transition].to, 1)
  return order
}

async function cancel(
  tx: Context,
  row: LockedRow & { accountId: number },
  cancelledBy: Canceller,
): Promise<void> {
  await tx.db`
    update orders
    set
      status = 'cancelled',
      cancelled_at = ${tx.now()},
      cancelled_by = ${cancelledBy},
      refunded_cents = ${grossOf(row)}
    where id = ${row.id}
  `
  await recordEvent(tx, {
    accountId: row.accountId,
    ...orderCancelled({ id: row.id, cancelledBy }),
  })
}

const receive = ({ db, now }: Context, row: LockedRow) => db`
  update orders
  set status = 'received', received_at = coalesce(received_at, ${now()})
  where id = ${row.id}
`

type LockedListing = { id: number; status: ListingStatus; quantity: number }

/** The listing that units go back to; none when it was deleted. */
async function lockListing(
  { db }: Context,
  listingId: number | null,
): Promise<LockedListing | undefined> {
  if (listingId === null) return undefined
  const [listing] = await db<LockedListing[]>`
    select id, status, quantity
    from listings
    where id = ${listingId} and status <> 'removed'
    for no key update
  `
  return listing
}

async function putBack(
  { db, now }: Context,
  { id, status, quantity }: LockedListing,
  units: number,
): Promise<void> {
  const stock = quantity + units
  await db`
    update listings
    set
      quantity = ${stock},
      status = ${statusFor(status, stock)},
      updated_at = greatest(updated_at, ${now()})
    where id = ${id}
  `
}

import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { type Page, readNewestPage } from '../database/paging.ts'
import type { Db } from '../database/sql.ts'
import type { DisputeReason, DisputeState } from '../enums.ts'
import { conflict } from '../errors.ts'
import { sendMails } from '../mail/outbox.ts'
import { DAYS } from '../time/units.ts'
import { type Dispute, endDispute, type Resolution } from './dispute.ts'
import {
  disputeAnsweredEmails,
  disputeOpenedEmails,
  disputeResolvedEmails,
  partiesOf,
} from './emails.ts'
import { type LockedRow, lockSlice } from './locks.ts'
import type { Order } from './order.ts'
import { getOrder, getSliceId } from './orders.ts'
import { applyRefund, requireSeenRefunds } from './refund.ts'
import { requireUnerasedBuyer } from './slice.ts'
import { cancel, changeOrder, type OrderContext } from './transitions.ts'

const ANSWER_WITHIN_MS = 5 * DAYS

/**
 * Opens a dispute: the buyer reports a problem with a row. The seller gets an e-mail and has five days to answer.
 *
 * @throws not_found, conflict unless the row is shipped or received, and for a message of a buyer whose data was erased
 */
export function openDispute(
  ctx: OrderContext,
  orderId: number,
  { reason, message }: { reason: DisputeReason; message: string | null },
): Promise<Order> {
  const deadline = (opened: Date) => new Date(opened.getTime() + ANSWER_WITHIN_MS)
  return changeOrder(
    ctx,
    orderId,
    'dispute',
    {
      emails: (happening) =>
        disputeOpenedEmails(ctx, happening, {
          reason,
          message,
          answerBy: deadline(happening.order.disputedAt!),
        }),
    },
    async (tx, row) => {
      const { db, now } = tx
      if (message !== null) await requireUnerasedBuyer(tx, row.sliceId)
      await db`
        update orders set status = 'disputed', disputed_at = ${now()} where id = ${row.id}
      `
      await db`
        insert into disputes (order_id, account_id, reason, message, opened_at, answer_by)
        values (
          ${row.id}, ${row.accountId}, ${reason}, ${message}, ${now()}, ${deadline(now())}
        )
      `
    },
  )
}

/**
 * The seller's answer to the dispute about a row, once. It is accepted after the deadline as well, until the dispute is
 * resolved. Both parties get an e-mail.
 *
 * @param photoUrls links for the operator; the service never fetches them
 * @param disputeId the dispute that the seller has read
 * @throws not_found unless the row is the account's, conflict unless it has this dispute, or any, without an answer
 */
export const answerDispute = (
  ctx: Context,
  accountId: number,
  orderId: number,
  {
    message,
    photoUrls,
    disputeId,
  }: { message: string; photoUrls: string[]; disputeId?: number | undefined },
): Promise<Dispute> =>
  inTransaction(ctx, async (tx) => {
    const sliceId = await getSliceId(tx, orderId, accountId)
    await lockSlice(tx, sliceId)
    const dispute = await currentDispute(tx, orderId, disputeId)
    if (dispute.answeredAt) throw conflict('The dispute has already been answered.')
    await tx.db`
      update disputes
      set answer = ${message}, photo_urls = ${photoUrls}::text[], answered_at = ${tx.now()}
      where id = ${dispute.id}
    `
    const [order, parties, answered] = await Promise.all([
      getOrder(tx, orderId),
      partiesOf(tx, sliceId),
      readDisputes(tx.db, [dispute.id]),
    ])
    const mails = disputeAnsweredEmails(tx, { order, parties }, { message, photoUrls })
    await sendMails(tx, mails, { sliceId })
    return answered[0]!
  })

/**
 * The dispute of a row that is not resolved. The caller holds the lock of the slice.
 *
 * @param seen the dispute that the decision or answer is about: a late one has no effect on a later dispute
 * @throws conflict if the row has no dispute, or another one
 */
async function currentDispute(
  { db }: Context,
  orderId: number,
  seen: number | undefined,
): Promise<{ id: number; answeredAt: Date | null }> {
  const [dispute] = await db<{ id: number; answeredAt: Date | null }[]>`
    select id, answered_at as "answeredAt"
    from disputes
    where order_id = ${orderId} and resolved_at is null
  `
  if (!dispute) throw conflict('The order has no open dispute.')
  if (seen !== undefined && seen !== dispute.id) {
    throw conflict('There is another dispute about the order now. Read that one.')
  }
  return dispute
}

/**
 * Ends a dispute and e-mails both parties. In the seller's favour it completes the row; in the buyer's favour it cancels
 * and refunds the row, without restocking it. With a partial refund, which the seller bears, the row is completed on
 * either side's behalf.
 *
 * @param resolution.refund in decimal euros
 * @param resolution.refundedAmount the sum of earlier refunds that the caller has seen
 * @param resolution.disputeId the dispute that the decision is about
 * @throws not_found, conflict unless the row is disputed, and if its dispute or its refunds are others than those seen, the
 *   errors of `applyRefund`
 */
export function resolveDispute(
  ctx: OrderContext,
  orderId: number,
  {
    inFavourOf,
    refund,
    refundedAmount,
    disputeId,
  }: {
    inFavourOf: Resolution
    refund?: number | undefined
    refundedAmount?: number | undefined
    disputeId?: number | undefined
  },
): Promise<Order> {
  const requireSeen = async (tx: Context, row: LockedRow) => {
    requireSeenRefunds(row, refundedAmount)
    if (disputeId !== undefined) await currentDispute(tx, orderId, disputeId)
  }
  if (inFavourOf === 'buyer' && refund === undefined) {
    return changeOrder(ctx, orderId, 'resolveForBuyer', {}, async (tx, row) => {
      await requireSeen(tx, row)
      await cancel(tx, row, [row], { cancelledBy: 'admin', isResolution: true })
    })
  }
  return changeOrder(
    ctx,
    orderId,
    'resolveForSeller',
    refund === undefined ? {} : { emails: (happening) => disputeResolvedEmails(ctx, happening) },
    async (tx, row) => {
      await requireSeen(tx, row)
      const refundCents =
        refund === undefined
          ? 0
          : await applyRefund(
              tx,
              row,
              { amount: refund, reason: REFUND_REASON, borneBy: 'seller' },
              'refund',
            )
      // A row that was received before the dispute keeps that time.
      await tx.db`
        update orders
        set
          status = 'received',
          received_at = coalesce(received_at, ${tx.now()}),
          resolved_at = ${tx.now()}
        where id = ${row.id}
      `
      await endDispute(tx, row.id, { resolution: inFavourOf, refundCents })
    },
  )
}

const REFUND_REASON = 'Resolution of a dispute'

export type DisputeFilters = {
  accountId?: number | undefined
  state?: DisputeState | undefined
  orderId?: number | undefined
}

/** One page of disputes, newest first, and the total. */
export const listDisputes = (
  ctx: Context,
  { accountId, state, orderId }: DisputeFilters,
  page: Page,
): Promise<{ rows: Dispute[]; total: number }> =>
  readNewestPage(
    ctx,
    page,
    (db) => db`
      select id
      from disputes
      where
        true
        ${accountId === undefined ? db`` : db`and account_id = ${accountId}`}
        ${orderId === undefined ? db`` : db`and order_id = ${orderId}`}
        ${state === undefined ? db`` : conditionOf(db, state)}
    `,
    readDisputes,
  )

const conditionOf = (db: Db, state: DisputeState) =>
  ({
    open: db`and resolved_at is null and answered_at is null`,
    answered: db`and resolved_at is null and answered_at is not null`,
    resolved: db`and resolved_at is not null`,
  })[state]

/** All disputes about the rows of an account's slice, newest first. @throws not_found unless the row is the account's */
export async function disputesOfSlice(
  ctx: Context,
  accountId: number,
  orderId: number,
): Promise<Dispute[]> {
  return disputesInSlice(ctx, await getSliceId(ctx, orderId, accountId))
}

/** All disputes about the rows of a slice, newest first. */
export async function disputesInSlice({ db }: Context, sliceId: number): Promise<Dispute[]> {
  const rows = await db<{ id: number }[]>`
    select id
    from disputes
    where order_id = any(array(select id from orders where slice_id = ${sliceId}))
    order by id desc
  `
  return readDisputes(
    db,
    rows.map(({ id }) => id),
  )
}

/** Disputes that wait for a seller's answer, and the earliest deadline. */
export async function disputesToAnswer(
  { db }: Context,
  accountId: number,
): Promise<{ disputes: number; answerBy: Date | null; orderId: number | null }> {
  const [row] = await db<{ disputes: number; answerBy: Date | null; orderId: number | null }[]>`
    select
      count(*) as disputes,
      min(answer_by) as "answerBy",
      (array_agg(order_id order by answer_by, id))[1] as "orderId"
    from disputes
    where account_id = ${accountId} and resolved_at is null and answered_at is null
  `
  return row!
}

/** The disputes with these ids, in the same order. */
async function readDisputes(db: Db, ids: number[]): Promise<Dispute[]> {
  if (ids.length === 0) return []
  return db<Dispute[]>`
    select
      d.id,
      d.order_id as "orderId",
      s.slice_key as "sliceKey",
      d.account_id as "accountId",
      o.item_name as "itemName",
      case
        when d.resolved_at is not null then 'resolved'
        when d.answered_at is not null then 'answered'
        else 'open'
      end as state,
      d.reason,
      d.message,
      d.opened_at as "openedAt",
      d.answer_by as "answerBy",
      d.answer,
      coalesce(d.photo_urls, '{}') as "photoUrls",
      d.answered_at as "answeredAt",
      d.resolution,
      d.refund_cents as "refundCents",
      d.resolved_at as "resolvedAt"
    from disputes d
    join orders o on o.id = d.order_id
    join slices s on s.id = o.slice_id
    where d.id = any(${ids}::bigint[])
    order by array_position(${ids}::bigint[], d.id)
  `
}

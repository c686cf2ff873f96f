import { centsFromEuros, eurosFromCents } from '../cents.ts'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { conflict, validationError } from '../errors.ts'
import { sendMails } from '../mail/outbox.ts'
import { postRefund } from '../money/ledger.ts'
import { settleSlices } from '../money/payouts.ts'
import type { RefundBearer } from '../money/posting.ts'
import { partiesOf, refundEmails } from './emails.ts'
import { type LockedRow, lockRows, lockSlice } from './locks.ts'
import { grossOf } from './money.ts'
import { type Order, orderNotFound } from './order.ts'
import { getOrder, getSliceId } from './orders.ts'

export type Refund = {
  /** Decimal euros as sent: it is checked before it is rounded to cents. */
  amount: number
  reason: string
  borneBy: RefundBearer
  /** The sum of earlier refunds that the caller has seen: two callers can't refund the same complaint. */
  refundedAmount?: number | undefined
}

/**
 * Refunds a part of a row's price to the buyer, and e-mails the parties. The row keeps its status.
 *
 * @throws not_found, conflict if the row is cancelled, the errors of `applyRefund`
 */
export const refundOrder = (ctx: Context, id: number, refund: Refund): Promise<Order> =>
  inTransaction(ctx, async (tx) => {
    const sliceId = await getSliceId(tx, id)
    await lockSlice(tx, sliceId)
    const row = (await lockRows(tx, sliceId)).find((candidate) => candidate.id === id)
    if (!row) throw orderNotFound()
    if (row.status === 'cancelled') {
      throw conflict('The order is cancelled: its whole price was refunded.')
    }
    const amountCents = await applyRefund(tx, { ...row, sliceId }, refund)
    await settleSlices(tx, [sliceId])
    const order = await getOrder(tx, id)
    const parties = await partiesOf(tx, sliceId)
    const mails = refundEmails(tx, { order, parties }, { ...refund, amountCents })
    await sendMails(tx, mails, { sliceId })
    return order
  })

/**
 * Makes sure that a caller has seen all refunds of a locked row.
 *
 * @param seen the sum of the refunds that the caller has seen, if they name it
 * @throws conflict if the row has another sum
 */
export function requireSeenRefunds({ refundedCents }: LockedRow, seen: number | undefined): void {
  if (seen !== undefined && centsFromEuros(seen) !== refundedCents) {
    const refunded = eurosFromCents(refundedCents).toFixed(2)
    throw conflict(
      `${refunded} EUR of the price have been refunded by now. Check whether more is still due.`,
    )
  }
}

/**
 * Refunds a part of a locked row's price in the row and in the ledger, and returns the refunded cents. The caller
 * settles the slice.
 *
 * @param field the name of the amount in the request
 * @throws validation_error above the part that was not refunded yet, conflict if the caller hasn't seen all refunds
 */
export async function applyRefund(
  tx: Context,
  row: LockedRow & { sliceId: number },
  { amount, reason, borneBy, refundedAmount }: Refund,
  field = 'amount',
): Promise<number> {
  requireSeenRefunds(row, refundedAmount)
  const left = grossOf(row) - row.refundedCents
  if (amount > eurosFromCents(left)) {
    const reason =
      row.refundedCents > 0 ? 'the rest of the price was refunded' : 'that is the price of the row'
    throw validationError({
      [field]: [`The ${field} field must not be greater than ${eurosFromCents(left)}: ${reason}.`],
    })
  }
  const amountCents = centsFromEuros(amount)
  await tx.db`
    update orders
    set refunded_cents = refunded_cents + ${amountCents}, changed_at = ${tx.now()}
    where id = ${row.id}
  `
  await postRefund(tx, { sliceId: row.sliceId, orderId: row.id, amountCents, reason, borneBy })
  return amountCents
}

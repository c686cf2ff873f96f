import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { conflict, validationError } from '../errors.ts'
import { sendMail } from '../mail/outbox.ts'
import type { Metrics } from '../metrics.ts'
import { lettersAbout, partiesOf } from './emails.ts'
import { lockRows, lockSlice } from './locks.ts'
import { sliceIdOf } from './orders.ts'
import { readSlice, type Slice } from './slice.ts'

/**
 * Marks every row of the slice that is still pending as shipped, whichever row it was asked for (§4.14), and writes to
 * the buyer about each.
 *
 * @param trackingCode what the seller says the parcel is called; null for none
 * @returns the slice, and how many rows this call shipped
 * @throws not_found, conflict without a verified payout setup or a pending row, validation_error on the code
 */
export async function shipOrder(
  ctx: Context & { metrics: Metrics },
  account: { id: number; payoutVerified: boolean },
  orderId: number,
  trackingCode: string | null,
): Promise<{ slice: Slice; shippedLines: number }> {
  const shipped = await inTransaction(ctx, async (tx) => {
    const { db } = tx
    const sliceId = await sliceIdOf(tx, account.id, orderId)
    requirePayout(account)
    const slice = await lockSlice(tx, sliceId)
    const rows = await lockRows(tx, sliceId)
    const pending = rows.filter(({ status }) => status === 'pending').map(({ id }) => id)
    if (pending.length === 0) throw conflict('Nothing of this order is still to be shipped.')
    refuseWrongCode(slice, trackingCode)

    await db`
      update orders
      set status = 'shipped', shipped_at = ${tx.now()}, tracking_code = ${trackingCode}
      where id = any(${pending}::bigint[])
    `
    if (trackingCode !== null) {
      await db`
        update slices
        set tracking_code = ${trackingCode}, tracking_updated_at = ${tx.now()}
        where id = ${sliceId}
      `
    }
    const shipped = await readSlice(tx, sliceId)
    const parties = await partiesOf(tx, sliceId)
    for (const order of shipped.orders) {
      if (!pending.includes(order.id)) continue
      for (const mail of lettersAbout('ship', order, parties)) await sendMail(tx, mail)
    }
    return { slice: shipped, shippedLines: pending.length }
  })
  ctx.metrics.countOrderRows('shipped', shipped.shippedLines)
  return shipped
}

/** Nothing leaves before the seller can be paid for it (§5.7). @throws conflict */
export function requirePayout({ payoutVerified }: { payoutVerified: boolean }): void {
  if (!payoutVerified) {
    throw conflict('Complete and verify the payout setup of this account before you ship anything.')
  }
}

function refuseWrongCode(
  { fulfilment, tracked }: { fulfilment: string; tracked: boolean },
  trackingCode: string | null,
): void {
  const problem =
    fulfilment === 'platform'
      ? trackingCode !== null && 'must be left out: tracking comes from the label.'
      : tracked
        ? trackingCode === null && 'is required: this order ships with a tracked option.'
        : trackingCode !== null &&
          'must be left out: this order ships as a letter, without tracking.'
  if (problem) throw validationError({ tracking_code: [`The tracking_code field ${problem}`] })
}

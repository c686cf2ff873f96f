import { payoutsPage } from '../accounts/dashboard-pages.ts'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Fulfilment } from '../enums.ts'
import { conflict, validationError } from '../errors.ts'
import { sendMails } from '../mail/outbox.ts'
import type { Metrics } from '../metrics.ts'
import { partiesOf, shippedEmail } from './emails.ts'
import { lockRows, lockSlice } from './locks.ts'
import { trackingUrlAfter } from './order.ts'
import { getSliceId } from './orders.ts'
import { readSlice, type Slice } from './slice.ts'

/**
 * Marks all pending rows of the order's slice as shipped (§4.14), and e-mails the buyer about each.
 *
 * @param orderId any row of the slice
 * @param trackingCode the seller's; null for none
 * @param read reads the response in the same transaction: a read that fails after the commit would deny the shipment
 * @returns the result of `read`, and the number of rows that this call shipped
 * @throws not_found, conflict without a verified payout setup or a pending row, validation_error on the code
 */
export async function shipOrder<C extends Context & { metrics: Metrics }, T>(
  ctx: C,
  account: { id: number; payoutVerified: boolean },
  orderId: number,
  trackingCode: string | null,
  read: (tx: C, slice: Slice) => Promise<T>,
): Promise<{ slice: T; shippedLines: number }> {
  const shipped = await inTransaction(ctx, async (tx) => {
    const { db } = tx
    const sliceId = await getSliceId(tx, orderId, account.id)
    requirePayout(tx, account)
    const slice = await lockSlice(tx, sliceId)
    const rows = await lockRows(tx, sliceId)
    const pending = rows.filter(({ status }) => status === 'pending').map(({ id }) => id)
    if (pending.length === 0) throw conflict('This order has nothing left to ship.')
    requireFittingCode(slice, trackingCode)

    await db`
      update orders
      set status = 'shipped', shipped_at = ${tx.now()}, tracking_code = ${trackingCode}
      where id = any(${pending}::bigint[])
    `
    if (trackingCode !== null) {
      await db`
        update slices
        set
          tracking_code = ${trackingCode},
          tracking_url = ${trackingUrlAfter(slice, { code: trackingCode })},
          tracking_updated_at = ${tx.now()}
        where id = ${sliceId}
      `
    }
    const shippedSlice = await readSlice(tx, sliceId)
    const parties = await partiesOf(tx, sliceId)
    const mails = shippedSlice.orders
      .filter(({ id }) => pending.includes(id))
      .map((order) => shippedEmail(tx, order, parties))
    await sendMails(tx, mails, { sliceId })
    return { slice: await read(tx, shippedSlice), shippedLines: pending.length }
  })
  ctx.metrics.countOrderRows('shipped', shipped.shippedLines)
  return shipped
}

/** A seller who cannot be paid yet must not ship (§5.7). @throws conflict */
export function requirePayout(
  ctx: Pick<Context, 'config'>,
  { payoutVerified }: { payoutVerified: boolean },
): void {
  if (!payoutVerified) {
    throw conflict(
      `Complete and verify the payout setup of this account before you ship anything: ${payoutsPage(ctx)}`,
    )
  }
}

/** Whether the seller must enter a tracking code; otherwise the seller must not. */
export const needsTrackingCode = ({ fulfilment, tracked }: ShippedBy): boolean =>
  fulfilment === 'self_ship' && tracked

type ShippedBy = { fulfilment: Fulfilment; tracked: boolean }

function requireFittingCode(by: ShippedBy, trackingCode: string | null): void {
  const problem = needsTrackingCode(by)
    ? trackingCode === null && 'is required: this order ships with a tracked option.'
    : trackingCode !== null &&
      (by.fulfilment === 'platform'
        ? 'must be left out: tracking comes from the label.'
        : 'must be left out: this order ships with an option without tracking.')
  if (problem) throw validationError({ tracking_code: [`The tracking_code field ${problem}`] })
}

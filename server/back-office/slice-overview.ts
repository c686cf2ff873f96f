import type { Context } from '../context.ts'
import { notFound } from '../errors.ts'
import type { Mail } from '../mail/mail.ts'
import { listMails } from '../mail/outbox.ts'
import { listEntries } from '../money/ledger.ts'
import type { Entry } from '../money/posting.ts'
import type { Dispute } from '../orders/dispute.ts'
import { disputesInSlice } from '../orders/disputes.ts'
import { readSlice, type Slice } from '../orders/slice.ts'
import { type AnyShipment, shipmentOf } from '../shipping/all-shipments.ts'
import { deliveriesOfSlice } from '../webhooks/deliveries.ts'
import type { Delivery } from '../webhooks/delivery.ts'

/** Everything about a slice. */
export type SliceOverview = {
  slice: Slice
  disputes: Dispute[]
  shipment: AnyShipment | undefined
  /** Undefined if they were not wanted, as are the deliveries. */
  mails: Mail[] | undefined
  ledger: Entry[]
  deliveries: Delivery[] | undefined
}

/**
 * One page without a limit: a slice has up to 1,000 rows, with several e-mails and entries each, and a row can be
 * refunded cent by cent. The ledger of a slice adds up to zero only if it is complete.
 */
const ALL = { perPage: Number.MAX_SAFE_INTEGER, offset: 0 }

/** Reads everything about a slice that is wanted. @throws not_found */
export async function getSliceOverview(
  ctx: Context,
  sliceKey: string,
  wanted: { mails: boolean; deliveries: boolean },
): Promise<SliceOverview> {
  const [found] = await ctx.db<{ id: number }[]>`
    select id from slices where slice_key = ${sliceKey}
  `
  if (!found) throw notFound('There is no such slice.')
  const [slice, disputes, shipment, mails, ledger, deliveries] = await Promise.all([
    readSlice(ctx, found.id),
    disputesInSlice(ctx, found.id),
    shipmentOf(ctx, found.id),
    wanted.mails ? listMails(ctx, { sliceKey }, ALL) : undefined,
    listEntries(ctx, { sliceKey }, ALL),
    wanted.deliveries ? deliveriesOfSlice(ctx, found.id) : undefined,
  ])
  return { slice, disputes, shipment, mails: mails?.rows, ledger: ledger.rows, deliveries }
}

import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import { notFound } from '../errors.ts'
import { markTracked } from '../orders/locks.ts'
import { type Tracking, trackingUrlAfter } from '../orders/order.ts'
import { isStorable } from '../text/storable.ts'
import { readShipment, recordLabelReady, sendFirstCode } from './shipments.ts'

/** Tracking that the operator received from the carrier. Absent fields keep their value. */
export type TrackingReport = {
  trackingCode?: string | undefined
  trackingUrl?: string | undefined
  status?: string | undefined
}

/** Checks that a slice exists. @throws not_found */
export async function requireSlice({ db }: Context, sliceKey: string): Promise<void> {
  if (!isStorable(sliceKey)) throw sliceNotFound()
  const [found] = await db`select 1 from slices where slice_key = ${sliceKey}`
  if (!found) throw sliceNotFound()
}

const sliceNotFound = () => notFound('There is no such slice.')

/** Reads the tracking of a slice. @throws not_found */
export async function readTracking({ db }: Context, sliceKey: string): Promise<Tracking> {
  const [tracking] = await db<Tracking[]>`
    select ${trackingColumns(db)} from slices where slice_key = ${sliceKey}
  `
  if (!tracking) throw sliceNotFound()
  return tracking
}

const trackingColumns = (db: Db) => db`
  tracking_code as code,
  tracking_url as url,
  tracking_status as status,
  tracking_updated_at as "updatedAt"
`

/**
 * Records the tracking that the operator reports. If a label was bought here, a new code emits `order.label_ready`
 * again (§6.1).
 *
 * @throws not_found
 */
export function reportTracking(
  ctx: Context,
  sliceKey: string,
  { trackingCode, trackingUrl, status }: TrackingReport,
): Promise<Tracking> {
  return inTransaction(ctx, async (tx) => {
    const { db, now } = tx
    const [before] = await db<(Tracking & { id: number })[]>`
      select
        id,
        ${trackingColumns(db)}
      from slices
      where slice_key = ${sliceKey}
      for no key update
    `
    if (!before) throw sliceNotFound()
    const { id, ...tracking } = before
    if (!trackingCode && !trackingUrl && !status) return tracking
    const code = trackingCode ?? tracking.code
    const after: Tracking = {
      code,
      url: trackingUrlAfter(
        { trackingCode: tracking.code, trackingUrl: tracking.url },
        { code, url: trackingUrl },
      ),
      status: status ?? tracking.status,
      updatedAt: now(),
    }
    const [stored] = await db<Tracking[]>`
      update slices
      set
        tracking_code = ${after.code},
        -- It can contain the postal code of an erased buyer.
        tracking_url = case
          when (select erased_at from checkouts c where c.id = slices.checkout_id) is null
          then ${after.url}::text
        end,
        tracking_status = ${after.status},
        tracking_updated_at = ${after.updatedAt}
      where id = ${id}
      returning ${trackingColumns(db)}
    `
    await markTracked(tx, id)
    if (tracking.code === null && after.code !== null) await sendFirstCode(tx, id)
    if (code !== tracking.code) {
      const shipment = await readShipment(tx, id)
      if (shipment) await recordLabelReady(tx, shipment)
    }
    return stored!
  })
}

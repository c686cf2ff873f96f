import { ACTION_REQUIRED, type CarrierShipment } from '../carriers/carrier.ts'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db, Fragment } from '../database/sql.ts'
import { orderLabelReady } from '../events/payloads.ts'
import { recordEvent } from '../events/record.ts'
import { sendMail } from '../mail/outbox.ts'
import { labelWithheldEmail, partiesOf, trackingCodeEmail } from '../orders/emails.ts'
import { lockSlice, markTracked } from '../orders/locks.ts'
import { trackingUrlAfter } from '../orders/order.ts'
import { readSlice } from '../orders/slice.ts'
import { type Link, labelUrl, newLink } from './label-link.ts'
import { FIRST_POLL_MS } from './poll-schedule.ts'

/** The one shipment of a slice, bought at the carrier. */
export type Shipment = {
  sliceId: number
  /** The row that the label was requested for. */
  orderId: number
  accountId: number
  provider: string
  /** The carrier's id of the shipment. */
  carrierId: string
  status: CarrierShipment['status']
  message: string | null
  /** Whether it was cancelled at the carrier: nobody can use the label, and the seller can cancel the order. */
  isVoid: boolean
  /** Rows that it covered when it was bought. */
  lines: number
  /** Whether a row is still pending or shipped. Otherwise nothing more is bought for the slice. */
  hasRowsToShip: boolean
  /** Whether every row is cancelled: the label must not be used. */
  isCancelled: boolean
  /** The carrier's latest tracking code. */
  carrierCode: string | null
  labelName: string
  /** The latest link to the label. */
  link: Link | null
  /** Whether the buyer's data was erased: no label is stored any more. */
  isErased: boolean
  /** The slice's tracking, reported by the carrier or by the operator. */
  trackingCode: string | null
  trackingUrl: string | null
  trackingStatus: string | null
}

/** `ACTION_REQUIRED` as earlier versions stored it. */
const FORMER_ACTION_REQUIRED =
  'The shipment exists, but the carrier withholds its label, most likely because of the balance or the payment method of the carrier account. Resolve this with the carrier, then call again.'

/** The message of a withheld or void label whose order has no row to ship. */
export const NOT_NEEDED =
  'The carrier withholds the label or has cancelled it, and every row of this order is cancelled, received or disputed. No label is needed any more, so the service does not request it again, and you have nothing to do.'

/** The message of a void label whose order has rows to ship. */
export const VOID =
  'The shipment was cancelled at the carrier, and the service buys only one for each order. Ask the marketplace how to ship it, buy a new label elsewhere, or cancel the order unless it is marked as shipped.'

const NOT_TO_USE = 'Every row of this order was cancelled: don’t use its label.'

/** The seller's message about a label. Once no row is left to ship, another call wouldn't request a withheld label. */
export function messageShown({
  status,
  message,
  isVoid,
  hasRowsToShip,
  isCancelled,
}: Pick<Shipment, 'status' | 'message' | 'isVoid' | 'hasRowsToShip' | 'isCancelled'>):
  | string
  | null {
  if (status === 'ready' && isCancelled) return NOT_TO_USE
  if (isVoid) return hasRowsToShip ? VOID : NOT_NEEDED
  if (message !== ACTION_REQUIRED && message !== FORMER_ACTION_REQUIRED) return message
  return hasRowsToShip ? ACTION_REQUIRED : NOT_NEEDED
}

/** SQL that says whether a row of a slice is still pending or shipped. */
export const hasRowsToShip = (db: Db, sliceId: Fragment) => db`
  exists (select from orders where slice_id = ${sliceId} and status in ('pending', 'shipped'))
`

/** SQL that says whether every row of a slice is cancelled. */
export const isCancelled = (db: Db, sliceId: Fragment) => db`
  not exists (select from orders where slice_id = ${sliceId} and status <> 'cancelled')
`

/** The slice's shipment; undefined when none was bought. */
export async function readShipment(
  { db }: Context,
  sliceId: number,
): Promise<Shipment | undefined> {
  const [row] = await db<(Omit<Shipment, 'link'> & { nonce: string; expiresAt: Date | null })[]>`
    select
      s.id as "sliceId",
      sh.order_id as "orderId",
      s.account_id as "accountId",
      sh.provider,
      sh.carrier_id as "carrierId",
      sh.status,
      sh.message,
      sh.is_void as "isVoid",
      sh.lines,
      ${hasRowsToShip(db, db`s.id`)} as "hasRowsToShip",
      ${isCancelled(db, db`s.id`)} as "isCancelled",
      sh.carrier_code as "carrierCode",
      sh.label_name as "labelName",
      sh.link_nonce as nonce,
      sh.link_expires_at as "expiresAt",
      c.erased_at is not null as "isErased",
      s.tracking_code as "trackingCode",
      s.tracking_url as "trackingUrl",
      s.tracking_status as "trackingStatus"
    from shipments sh
    join slices s on s.id = sh.slice_id
    join checkouts c on c.id = s.checkout_id
    where sh.slice_id = ${sliceId} and sh.state = 'bought'
  `
  if (!row) return undefined
  const { nonce, expiresAt, ...shipment } = row
  return { ...shipment, link: expiresAt && { nonce, expiresAt } }
}

/** Records the carrier's current reading of a bought shipment, with an event if a label or code is new. */
export function recordReading(
  ctx: Context,
  sliceId: number,
  reading: CarrierShipment,
): Promise<Shipment> {
  return inTransaction(ctx, async (tx) => {
    await lockSlice(tx, sliceId)
    const shipment = await readShipment(tx, sliceId)
    return applyReading(tx, shipment!, reading, { isNew: false, isCalled: false })
  })
}

/**
 * Updates a shipment from the carrier's reading, inside a transaction that holds the slice's lock. A tracking code is never
 * removed, and a stored label only if the carrier has cancelled it. The code follows the carrier, unless the operator has
 * reported a different one.
 *
 * @param isCalled whether the seller waits for the purchase, and sees in its response that the label is withheld
 */
export async function applyReading(
  tx: Context,
  before: Shipment,
  reading: CarrierShipment,
  { isNew, isCalled }: { isNew: boolean; isCalled: boolean },
): Promise<Shipment> {
  const { db, now } = tx
  const { status, message, isVoid } = labelAfter(before, reading)
  const isFromCarrier = before.trackingCode === null || before.trackingCode === before.carrierCode
  const takesCode = reading.trackingCode !== null && isFromCarrier
  const trackingCode = takesCode ? reading.trackingCode : before.trackingCode
  const hasNewCode = trackingCode !== before.trackingCode
  const hasNewLabel = status === 'ready' && before.status !== 'ready'
  const isNews = isNew || hasNewCode || hasNewLabel
  const isWithheldNow = status === 'action_required' && before.status !== 'action_required'
  const isStoppedNow = status === 'processing' && before.status === 'ready'
  const after: Shipment = {
    ...before,
    status,
    message,
    isVoid,
    link: status === 'ready' ? before.link : null,
    carrierCode: reading.trackingCode ?? before.carrierCode,
    trackingCode,
    // A tracking URL can contain the postal code of an erased buyer.
    trackingUrl: before.isErased
      ? null
      : trackingUrlAfter(before, {
          code: trackingCode,
          url: takesCode ? reading.trackingUrl : null,
        }),
    // Without news from the carrier, a status that the operator has reported is the later one.
    trackingStatus:
      isNews || isWithheldNow || before.trackingStatus === null
        ? (reading.trackingStatus ?? before.trackingStatus)
        : before.trackingStatus,
  }
  const firstPoll = new Date(now().getTime() + FIRST_POLL_MS)
  // A shipment whose polls have been exhausted is not polled again for the same missing label or code, or cancellation.
  const awaitsMore =
    !awaitsCarrier(before) || (isBeingCancelled(after) && !isBeingCancelled(before))
  const restartsPolls = awaitsCarrier(after) && (isNew || awaitsMore)
  await db`
    update shipments
    set
      status = ${after.status},
      message = ${after.message},
      is_void = ${after.isVoid},
      carrier_code = ${after.carrierCode},
      link_nonce = case when ${after.status === 'ready'} then link_nonce end,
      link_expires_at = case when ${after.status === 'ready'} then link_expires_at end,
      poll_at = case
        when ${restartsPolls} then coalesce(poll_at, ${firstPoll})
        when ${awaitsCarrier(after)} then poll_at
      end,
      polls = case when ${restartsPolls} then 0 else polls end
    where slice_id = ${before.sliceId}
  `
  await writeTracking(tx, before, after)
  if ((isWithheldNow || isStoppedNow) && !isCalled && before.hasRowsToShip) {
    const mail = labelWithheldEmail(tx, await partiesOf(tx, after.sliceId), {
      ...after,
      message: messageShown(after),
    })
    await sendMail(tx, mail, { sliceId: after.sliceId })
  }
  return isNews ? recordLabelReady(tx, after) : after
}

/** A shipment whose label was deleted with the buyer's data, or is not stored because the data was erased before. */
export const ERASED_LABEL = {
  status: 'action_required',
  message: 'The label was deleted with the buyer’s personal data.',
  isVoid: false,
} as const

function labelAfter(
  before: Shipment,
  reading: CarrierShipment,
): Pick<Shipment, 'status' | 'message' | 'isVoid'> {
  if (before.isErased) return ERASED_LABEL
  // Nobody prints the label of an order without a row to ship, and its seller has nothing to ask the marketplace.
  const isWithdrawn = reading.cancellation !== null && before.hasRowsToShip
  if (reading.status === 'ready' || (before.status === 'ready' && !isWithdrawn))
    return { status: 'ready', message: null, isVoid: false }
  const { status, message, cancellation } = reading
  return { status, message, isVoid: cancellation === 'confirmed' }
}

/** Whether a cancellation is requested, on which the carrier has yet to decide. Other `processing` labels have no message. */
export const isBeingCancelled = ({ status, message }: Pick<Shipment, 'status' | 'message'>) =>
  status === 'processing' && message !== null

/** The label or the tracking code is missing, and the carrier will provide it without the seller's help. */
const awaitsCarrier = ({ status, trackingCode }: Shipment) =>
  status === 'processing' || (status === 'ready' && trackingCode === null)

async function writeTracking(tx: Context, before: Shipment, after: Shipment): Promise<void> {
  const { trackingCode, trackingUrl, trackingStatus } = after
  const isSame =
    trackingCode === before.trackingCode &&
    trackingUrl === before.trackingUrl &&
    trackingStatus === before.trackingStatus
  if (isSame) return
  await tx.db`
    update slices
    set
      tracking_code = ${trackingCode},
      tracking_url = ${trackingUrl},
      tracking_status = ${trackingStatus},
      tracking_updated_at = ${tx.now()}
    where id = ${after.sliceId}
  `
  await markTracked(tx, after.sliceId)
  if (before.trackingCode === null && trackingCode !== null) {
    await sendFirstCode(tx, after.sliceId)
  }
}

/** E-mails the slice's first tracking code to the buyer, if the e-mails about its shipped rows were written without it. */
export async function sendFirstCode(tx: Context, sliceId: number): Promise<void> {
  const { orders } = await readSlice(tx, sliceId)
  const shipped = orders.filter(({ status }) => status === 'shipped')
  if (shipped.length === 0) return
  const mail = trackingCodeEmail(await partiesOf(tx, sliceId), shipped)
  await sendMail(tx, mail, { sliceId })
}

/** Records `order.label_ready`, with a new link if there is a label. */
export async function recordLabelReady(tx: Context, shipment: Shipment): Promise<Shipment> {
  const linked = shipment.status === 'ready' ? await mintLink(tx, shipment) : shipment
  await recordEvent(tx, {
    accountId: linked.accountId,
    sliceId: linked.sliceId,
    ...orderLabelReady({
      orderId: linked.orderId,
      hasLabel: linked.status === 'ready',
      labelUrl: linked.link && labelUrl(tx, linked.labelName, linked.link),
      trackingCode: linked.trackingCode,
    }),
  })
  return linked
}

/**
 * Makes a new link and stores it as the latest one. Earlier links stay valid until they expire. A label that was deleted
 * with the buyer's data since the shipment was read gets none.
 */
export async function mintLink({ db, now }: Context, shipment: Shipment): Promise<Shipment> {
  const link = newLink({ now })
  const { count } = await db`
    update shipments
    set link_nonce = ${link.nonce}, link_expires_at = ${link.expiresAt}
    where slice_id = ${shipment.sliceId} and status = 'ready'
  `
  return count > 0 ? { ...shipment, link } : { ...shipment, ...ERASED_LABEL, link: null }
}

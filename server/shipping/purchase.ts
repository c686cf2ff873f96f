/**
 * A platform label is bought once per slice. The purchase has four steps, and only the first and the last are
 * transactions:
 *
 * 1. Claim: one row of `shipments` per slice, with a lease and a fencing token (queue/README.md), and a reference that
 *    stays the same over all attempts.
 * 2. Carrier: buy under that reference. An attempt that timed out or died may have bought already: its purchase is in
 *    doubt, and the next attempt looks the reference up at the carrier first.
 * 3. Store the PDF.
 * 4. Record the shipment, its tracking and the event.
 */

import { randomBytes } from 'node:crypto'
import { type Carrier, CarrierError, type CarrierShipment } from '../carriers/carrier.ts'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { conflict } from '../errors.ts'
import type { FileStore } from '../files/file-store.ts'
import type { Metrics } from '../metrics.ts'
import { lockSlice } from '../orders/locks.ts'
import type { Address } from '../text/address.ts'
import { labelPath, newLabelName } from './label.ts'
import { FIRST_POLL_MS } from './poll-schedule.ts'
import { applyReading, readShipment, type Shipment } from './shipments.ts'

export type ShippingContext = Context & {
  carrier: Carrier | undefined
  files: FileStore
  metrics: Metrics
}

/** A purchase claimed by this process. */
export type Purchase = {
  sliceId: number
  /** The fencing token. */
  attempt: number
  reference: string
  labelName: string
  /** An earlier attempt may have bought the shipment: look it up before buying. */
  isInDoubt: boolean
  /** The polls since the last attempt that may have bought the shipment, and the next one. */
  schedule: PollSchedule
  /** Number of pending and shipped rows, which the shipment covers. With 0, nothing is bought. */
  lines: number
}

export type PollSchedule = { polls: number; pollAt: Date | null }

/** Longer than the carrier's calls of one attempt (four of 15 s) and the upload of its label (45 s in a poll). */
export const LEASE_SECONDS = 120

/**
 * Claims the purchase of the slice's label for this process.
 *
 * @param provider the connected carrier, if there is one
 * @returns `being bought` while another claim's lease lasts; `other carrier` when the carrier that has to be asked is
 *   not connected
 * @throws conflict when there is neither a shipment nor a row to ship, or no delivery address
 */
export function claimPurchase(
  ctx: Context,
  {
    sliceId,
    orderId,
    provider,
    hasAddress,
  }: { sliceId: number; orderId: number; provider: string | undefined; hasAddress: boolean },
): Promise<'bought' | 'being bought' | 'other carrier' | Purchase> {
  return inTransaction(ctx, async (tx) => {
    const { db, now } = tx
    await lockSlice(tx, sliceId)
    const [known] = await db<
      ({ state: string; provider: string; isInDoubt: boolean; isLeased: boolean } & PollSchedule)[]
    >`
      select
        state,
        provider,
        in_doubt as "isInDoubt",
        coalesce(leased_until > clock_timestamp(), false) as "isLeased",
        polls,
        poll_at as "pollAt"
      from shipments
      where slice_id = ${sliceId}
    `
    if (known?.state === 'bought') return 'bought'
    if (known?.isLeased) return 'being bought'
    // Shipped rows count: a seller may print the label after marking the order as shipped.
    const [{ lines } = { lines: 0 }] = await db<{ lines: number }[]>`
      select count(*)::int as lines
      from orders
      where slice_id = ${sliceId} and status in ('pending', 'shipped')
    `
    const isInDoubt = known?.isInDoubt ?? false
    if (lines === 0 && !isInDoubt) throw nothingToShip()
    if (!hasAddress) throw conflict('This order has no delivery address to put on a label.')
    // A purchase in doubt can be looked up only at the carrier that it was made with.
    if (!provider || (isInDoubt && known?.provider !== provider)) return 'other carrier'
    const [claimed] = await db<Pick<Purchase, 'attempt' | 'reference' | 'labelName'>[]>`
      insert into shipments (
        slice_id, order_id, reference, provider, state, in_doubt, lines, attempts, leased_until,
        label_name, poll_at, created_at
      )
      values (
        ${sliceId}, ${orderId}, ${newReference()}, ${provider}, 'buying', true,
        ${Math.max(lines, 1)}, 1, clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}),
        ${newLabelName()}, ${new Date(now().getTime() + FIRST_POLL_MS)}, ${now()}
      )
      on conflict (slice_id) do update
      set
        order_id = excluded.order_id,
        provider = excluded.provider,
        in_doubt = true,
        lines = case when shipments.in_doubt then shipments.lines else excluded.lines end,
        attempts = shipments.attempts + 1,
        leased_until = excluded.leased_until,
        poll_at = excluded.poll_at,
        polls = 0
      returning attempts as attempt, reference, label_name as "labelName"
    `
    const schedule = { polls: known?.polls ?? 0, pollAt: known?.pollAt ?? null }
    return { ...claimed!, sliceId, isInDoubt, schedule, lines }
  })
}

const newReference = () => `cs-${randomBytes(16).toString('base64url')}`

const nothingToShip = () =>
  conflict('No row of this order is pending or shipped, and no label was bought for it.')

/** Whether a process holds a claim on the purchase right now. */
export async function isBeingBought({ db }: Context, sliceId: number): Promise<boolean> {
  const [shipment] = await db`
    select 1
    from shipments
    where slice_id = ${sliceId} and state = 'buying' and leased_until > clock_timestamp()
  `
  return shipment !== undefined
}

/** The data that the carrier needs in addition to the purchase. */
export type Consignment = {
  sliceKey: string
  shippingCode: string
  sender: string
  email: string
  address: Address | null
}

/**
 * Buys the claimed shipment, or finds the one that an earlier attempt bought. After a failure the claim is released, so
 * that the next call can try again.
 *
 * @returns undefined when the lease ran out and another process took over
 * @throws CarrierError, conflict
 */
export async function purchaseShipment(
  ctx: ShippingContext,
  carrier: Carrier,
  purchase: Purchase,
  consignment: Consignment,
): Promise<Shipment | undefined> {
  /** Whether the carrier may have the shipment at this point. */
  let mayExist = purchase.isInDoubt
  let isSent = false
  try {
    const found = purchase.isInDoubt ? await carrier.find(purchase.reference) : undefined
    if (!found && purchase.lines === 0) throw nothingToShip()
    isSent = !found
    const bought = found ?? (await buy(carrier, purchase, consignment))
    mayExist = true
    const lines = found ? undefined : purchase.lines
    return await storeAndRecord(ctx, carrier, purchase, bought, { lines, isCalled: true })
  } catch (error) {
    if (error instanceof CarrierError) ctx.metrics.countLabelPurchase(error.outcome)
    const isRefused = error instanceof CarrierError && error.outcome === 'refused'
    const isInDoubt = mayExist || !isRefused
    // An attempt that has bought nothing neither delays nor hastens the end of the doubt.
    const schedule = isSent && !isRefused ? undefined : purchase.schedule
    await releasePurchase(ctx, purchase, { isInDoubt, schedule })
    throw error
  }
}

/**
 * Looks up a purchase in doubt, and records what an earlier attempt bought. Buys nothing.
 *
 * @param isLast set about a week after the attempt. A purchase that the carrier still doesn't know was not made, and must not
 *   prevent a cancellation of the order any longer
 * @throws CarrierError
 */
export async function resolveDoubt(
  ctx: ShippingContext,
  carrier: Carrier,
  purchase: Purchase,
  { isLast }: { isLast: boolean },
): Promise<void> {
  try {
    const found = await carrier.find(purchase.reference)
    if (found) await storeAndRecord(ctx, carrier, purchase, found, { isCalled: false })
    else await releasePurchase(ctx, purchase, { isInDoubt: !isLast })
  } catch (error) {
    await releasePurchase(ctx, purchase, { isInDoubt: true })
    throw error
  }
}

const buy = (
  carrier: Carrier,
  { reference }: Purchase,
  { sliceKey, shippingCode, sender, email, address }: Consignment,
): Promise<CarrierShipment> =>
  carrier.buy({ reference, sliceKey, shippingCode, sender, recipient: { ...address!, email } })

/** Stores the label of a shipment that the carrier has, and records the shipment. */
async function storeAndRecord(
  ctx: ShippingContext,
  carrier: Carrier,
  purchase: Purchase,
  bought: CarrierShipment,
  options: RecordOptions,
): Promise<Shipment | undefined> {
  const reading = await storeLabel(ctx, carrier, bought, purchase.labelName, options)
  const shipment = await recordPurchase(ctx, purchase, reading, options)
  await discardErased(ctx, reading, shipment)
  if (shipment) ctx.metrics.countLabelPurchase(shipment.status)
  return shipment
}

/** A storage that hangs must not delay the responses to label calls. Labels are small, and polls wait longer. */
const STORE_TIMEOUT_MS = 10_000

/** The part of a carrier's reading that is about the label. */
export type LabelReading = Pick<CarrierShipment, 'id' | 'status' | 'message'>

/**
 * Stores the label of a shipment that is `ready`. If the label cannot be fetched or stored, the shipment counts as
 * `processing`, and a later poll or call tries again.
 *
 * @param isCalled whether a client waits for the response
 * @param failure logged if the label cannot be fetched or stored
 */
export async function storeLabel<Reading extends LabelReading>(
  { files, log, metrics }: Pick<ShippingContext, 'files' | 'log' | 'metrics'>,
  carrier: Carrier,
  reading: Reading,
  labelName: string,
  {
    isCalled,
    failure = 'cannot store a label; retrying later',
  }: { isCalled: boolean; failure?: string },
): Promise<Reading> {
  if (reading.status !== 'ready') return reading
  try {
    const pdf = await carrier.label(reading.id)
    const timeout = isCalled ? AbortSignal.timeout(STORE_TIMEOUT_MS) : undefined
    await files.put(labelPath(`${labelName}.pdf`), pdf, 'application/pdf', timeout)
    return reading
  } catch (error) {
    log.warn({ err: error, shipment: reading.id }, failure)
    metrics.countFileNotStored('label')
    return { ...reading, status: 'processing', message: null }
  }
}

/** Deletes a label that was stored while the buyer's data was being erased. */
export async function discardErased(
  { files }: Pick<ShippingContext, 'files'>,
  { status }: LabelReading,
  shipment: Shipment | undefined,
): Promise<void> {
  if (!shipment?.isErased || status !== 'ready') return
  await files.delete(labelPath(`${shipment.labelName}.pdf`))
}

type RecordOptions = {
  /** Rows that the shipment covers; undefined keeps the number of the attempt that may have bought it. */
  lines?: number | undefined
  /** Whether the seller gets the response. */
  isCalled: boolean
}

/**
 * Records the bought shipment and its event.
 *
 * @returns undefined when another process took the purchase over
 */
function recordPurchase(
  ctx: Context,
  { sliceId, attempt }: Purchase,
  reading: CarrierShipment,
  { lines, isCalled }: RecordOptions,
): Promise<Shipment | undefined> {
  return inTransaction(ctx, async (tx) => {
    await lockSlice(tx, sliceId)
    const { count } = await tx.db`
      update shipments
      set
        state = 'bought',
        in_doubt = false,
        leased_until = null,
        lines = coalesce(${lines ?? null}, lines),
        carrier_id = ${reading.id},
        status = 'processing',
        bought_at = ${tx.now()}
      where slice_id = ${sliceId} and attempts = ${attempt} and state = 'buying'
    `
    if (count === 0) return undefined
    const shipment = await readShipment(tx, sliceId)
    return applyReading(tx, shipment!, reading, { isNew: true, isCalled })
  })
}

/** Gives the claim up. Best effort: otherwise the next attempt waits until the lease expires. */
async function releasePurchase(
  { db, log }: Context,
  { sliceId, attempt }: Purchase,
  { isInDoubt, schedule }: { isInDoubt: boolean; schedule?: PollSchedule | undefined },
): Promise<void> {
  try {
    await db`
      update shipments
      set
        leased_until = null,
        in_doubt = ${isInDoubt},
        polls = coalesce(${schedule?.polls ?? null}, polls),
        poll_at = case when ${isInDoubt} then coalesce(${schedule?.pollAt ?? null}, poll_at) end
      where slice_id = ${sliceId} and attempts = ${attempt} and state = 'buying'
    `
  } catch (error) {
    log.warn({ err: error, slice: sliceId }, 'cannot release a purchase; its lease must expire')
  }
}

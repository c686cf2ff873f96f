import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Carrier,
  CarrierError,
  type CarrierShipment,
  MissingShipmentError,
} from '../carriers/carrier.ts'
import type { Context } from '../context.ts'
import type { Fulfilment } from '../enums.ts'
import { conflict, providerError } from '../errors.ts'
import { getSliceId } from '../orders/orders.ts'
import { requirePayout } from '../orders/ship-order.ts'
import type { Label } from './label.ts'
import { labelUrl } from './label-link.ts'
import {
  type Consignment,
  claimPurchase,
  discardErased,
  isBeingBought,
  purchaseShipment,
  type ShippingContext,
  storeLabel,
} from './purchase.ts'
import {
  isBeingCancelled,
  messageShown,
  mintLink,
  readShipment,
  recordReading,
  type Shipment,
} from './shipments.ts'

/** Real time for which a call waits for the purchase of another call. */
const PURCHASE_TIMEOUT_MS = 10_000
const POLL_INTERVAL_MS = 100

type Caller = { account: { id: number; payoutVerified: boolean }; orderId: number }

/**
 * Buys the platform label of the order row's slice, or refreshes the one that was bought (§4.13). Concurrent and
 * repeated calls buy one shipment per slice (purchase.ts).
 *
 * @throws not_found, conflict, provider_error
 */
export async function buyLabel(
  ctx: ShippingContext,
  { account, orderId }: Caller,
): Promise<Label & { sliceId: number }> {
  const sliceId = await getSliceId(ctx, orderId, account.id)
  requirePayout(ctx, account)
  const parcel = await readParcel(ctx, sliceId)
  if (parcel.fulfilment === 'self_ship') return { sliceId, ...selfShipped(parcel) }

  const { carrier } = ctx
  const deadline = performance.now() + PURCHASE_TIMEOUT_MS
  for (let hasWaited = false; ; hasWaited = true) {
    const claim = await claimPurchase(ctx, {
      sliceId,
      orderId,
      provider: carrier?.provider,
      hasAddress: parcel.address !== null,
    })
    if (claim === 'bought') {
      const shipment = (await readShipment(ctx, sliceId))!
      // A shipment that another call bought while this one waited is up to date.
      const current = hasWaited ? shipment : await refreshIfIncomplete(ctx, shipment)
      return { sliceId, ...labelFrom(ctx, await withNewLink(ctx, shipment, current)) }
    }
    if (claim === 'other carrier' || !carrier) throw carrierMissing()
    if (claim !== 'being bought') {
      const shipment = await purchaseShipment(ctx, carrier, claim, parcel).catch((error) => {
        throw sellerError(ctx, error, sliceId)
      })
      if (shipment) return { sliceId, ...labelFrom(ctx, shipment) }
    }
    do {
      if (performance.now() >= deadline) throw stillBuying()
      await sleep(POLL_INTERVAL_MS)
    } while (await isBeingBought(ctx, sliceId))
  }
}

type SliceParcel = Consignment & {
  fulfilment: Fulfilment
  trackingCode: string | null
  trackingUrl: string | null
}

async function readParcel({ db }: Context, sliceId: number): Promise<SliceParcel> {
  const [parcel] = await db<SliceParcel[]>`
    select
      s.slice_key as "sliceKey",
      s.fulfilment,
      s.shipping_code as "shippingCode",
      a.shop_name as sender,
      c.buyer_email as email,
      c.address,
      s.tracking_code as "trackingCode",
      s.tracking_url as "trackingUrl"
    from slices s
    join checkouts c on c.id = s.checkout_id
    join accounts a on a.id = s.account_id
    where s.id = ${sliceId}
  `
  return parcel!
}

const selfShipped = ({ trackingCode, trackingUrl }: SliceParcel): Label => ({
  status: 'self_ship',
  labelUrl: null,
  expiresAt: null,
  message: 'This order ships with an option of your own: there is no label to buy.',
  trackingCode,
  trackingUrl,
  provider: null,
  shippedLines: 0,
})

/** A ready label with a link that is new to this call. */
async function withNewLink(ctx: Context, before: Shipment, current: Shipment): Promise<Shipment> {
  const hasNewLink = current.link?.nonce !== before.link?.nonce
  return current.status === 'ready' && !hasNewLink ? mintLink(ctx, current) : current
}

/** Asks the carrier for a missing label or code. A failure matters only while the label is missing. */
async function refreshIfIncomplete(ctx: ShippingContext, shipment: Shipment): Promise<Shipment> {
  const { carrier } = ctx
  const isComplete = shipment.status === 'ready' && shipment.trackingCode !== null
  if (isComplete || shipment.isErased || carrier?.provider !== shipment.provider) return shipment
  try {
    return await refreshShipment(ctx, carrier, shipment, { isCalled: true })
  } catch (error) {
    const problem = sellerError(ctx, error, shipment.sliceId)
    if (shipment.status === 'ready' && error instanceof CarrierError) return shipment
    throw problem
  }
}

/** Reads the shipment at the carrier, and records the reading. @throws CarrierError */
export async function refreshShipment(
  ctx: ShippingContext,
  carrier: Carrier,
  shipment: Shipment,
  options: { isCalled: boolean },
): Promise<Shipment> {
  const { sliceId, status, labelName, isErased } = shipment
  const reading = await readingOf(carrier, shipment)
  if (status === 'ready' || isErased) return recordReading(ctx, sliceId, reading)
  const stored = await storeLabel(ctx, carrier, reading, labelName, options)
  const after = await recordReading(ctx, sliceId, stored)
  await discardErased(ctx, stored, after)
  return after
}

/**
 * The carrier's reading. A shipment whose label is withheld, or whose cancellation is requested, can be deleted at the
 * carrier when it is cancelled there.
 */
async function readingOf(carrier: Carrier, shipment: Shipment): Promise<CarrierShipment> {
  const { carrierId, status, hasRowsToShip } = shipment
  try {
    return await carrier.read(carrierId, { mayRequestLabel: hasRowsToShip })
  } catch (error) {
    const mayBeDeleted = status === 'action_required' || isBeingCancelled(shipment)
    if (!mayBeDeleted || !(error instanceof MissingShipmentError)) throw error
    return {
      id: carrierId,
      status: 'action_required',
      message: null,
      cancellation: 'confirmed',
      trackingCode: null,
      trackingUrl: null,
      trackingStatus: null,
    }
  }
}

function labelFrom(ctx: Context, shipment: Shipment): Label {
  const { status, link, labelName, trackingCode, trackingUrl, provider, lines } = shipment
  return {
    status,
    labelUrl: link && labelUrl(ctx, labelName, link),
    expiresAt: link?.expiresAt ?? null,
    message: messageShown(shipment),
    trackingCode,
    trackingUrl,
    provider,
    shippedLines: lines,
  }
}

const carrierMissing = () =>
  providerError('The carrier of this label is not connected to the marketplace at the moment.')

const stillBuying = () =>
  conflict('A label for this order is being bought at this moment. Try again in a few seconds.')

/** Logs a carrier's failure. The error for the seller never repeats the carrier's words. */
function sellerError({ log }: Context, error: unknown, sliceId: number): unknown {
  if (!(error instanceof CarrierError)) return error
  log.warn({ err: error, slice: sliceId, outcome: error.outcome }, 'the carrier failed')
  const failure = providerError('The carrier could not provide the label. Try again later.', error)
  failure.isPartial = error.outcome === 'unknown'
  return failure
}

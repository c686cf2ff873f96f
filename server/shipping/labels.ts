import { setTimeout as sleep } from 'node:timers/promises'
import { type Carrier, CarrierError, type CarrierShipment } from '../carriers/carrier.ts'
import type { Context } from '../context.ts'
import type { Fulfilment } from '../enums.ts'
import { conflict, providerError } from '../errors.ts'
import type { FileStore } from '../files/file-store.ts'
import type { Metrics } from '../metrics.ts'
import type { Address } from '../orders/address.ts'
import { sliceIdOf } from '../orders/orders.ts'
import { requirePayout } from '../orders/ship-order.ts'
import { type Label, placeOf } from './label.ts'
import { labelUrl } from './label-link.ts'
import {
  claimPurchase,
  isBeingBought,
  leavePurchase,
  mintLink,
  notePurchase,
  noteReading,
  nothingToShip,
  type Purchase,
  readShipment,
  type Shipment,
} from './shipments.ts'

export type ShippingContext = Context & {
  carrier: Carrier | undefined
  files: FileStore
  metrics: Metrics
}

/** How long a call waits for another one's purchase. Real time, as the waiting itself. */
const TIMEOUT_MS = 10_000
const POLL_INTERVAL_MS = 100

type Caller = { account: { id: number; payoutVerified: boolean }; orderId: number }

/**
 * Buys the platform label of the slice that an order row belongs to, or reads the one that was bought again (§4.13).
 * There are never two shipments for a slice: one call at a time may buy, under a reference that stays the same, and
 * what a call that died or gave up may have bought is looked up before anything is bought.
 *
 * @throws not_found, conflict, provider_error
 */
export async function buyLabel(
  ctx: ShippingContext,
  { account, orderId }: Caller,
): Promise<Label & { sliceId: number }> {
  const sliceId = await sliceIdOf(ctx, account.id, orderId)
  requirePayout(account)
  const parcel = await readParcel(ctx, sliceId)
  if (parcel.fulfilment === 'self_ship') return { sliceId, ...selfShipped(parcel) }

  const { carrier } = ctx
  const deadline = performance.now() + TIMEOUT_MS
  for (let hasWaited = false; ; hasWaited = true) {
    const claim = await claimPurchase(ctx, {
      sliceId,
      orderId,
      provider: carrier?.provider,
      hasAddress: parcel.address !== null,
    })
    if (claim === 'bought') {
      const shipment = (await readShipment(ctx, sliceId))!
      // What another call has bought this moment is as new as it gets.
      return { sliceId, ...(await readAgain(ctx, shipment, { isFresh: hasWaited })) }
    }
    if (claim === 'elsewhere' || !carrier) throw carrierMissing()
    if (claim !== 'busy') {
      const shipment = await carryOut(ctx, carrier, claim, parcel)
      if (shipment) return { sliceId, ...labelFrom(ctx, shipment) }
    }
    do {
      if (performance.now() >= deadline) throw stillBuying()
      await sleep(POLL_INTERVAL_MS)
    } while (await isBeingBought(ctx, sliceId))
  }
}

/** What the slice detail shows of labels (§2.8): of those slices for which a shipment was bought. */
export async function labelOf(
  ctx: ShippingContext,
  sliceIds: number[],
): Promise<Map<number, LabelShown>> {
  const rows = await ctx.db<
    {
      sliceId: number
      provider: string
      hasLabel: boolean
      labelName: string
      nonce: string
      expiresAt: Date | null
    }[]
  >`
    select
      slice_id as "sliceId",
      provider,
      status = 'ready' as "hasLabel",
      label_name as "labelName",
      link_nonce as nonce,
      link_expires_at as "expiresAt"
    from shipments
    where slice_id = any(${sliceIds}::bigint[]) and state = 'bought'
  `
  return new Map(
    rows.map(({ sliceId, provider, hasLabel, labelName, nonce, expiresAt }) => {
      const link = expiresAt && expiresAt > ctx.now() ? { nonce, expiresAt } : null
      return [
        sliceId,
        {
          provider,
          hasLabel,
          labelUrl: link && labelUrl(ctx, labelName, link),
          expiresAt: link?.expiresAt ?? null,
        },
      ]
    }),
  )
}

export type LabelShown = {
  provider: string
  hasLabel: boolean
  /** The link that was minted last, null once it has expired. */
  labelUrl: string | null
  expiresAt: Date | null
}

/** Everything that the carrier has to know, and what the slice says of its tracking. */
type ParcelOfSlice = {
  sliceKey: string
  fulfilment: Fulfilment
  shippingCode: string
  sender: string
  email: string
  address: Address | null
  trackingCode: string | null
  trackingUrl: string | null
}

async function readParcel({ db }: Context, sliceId: number): Promise<ParcelOfSlice> {
  const [parcel] = await db<ParcelOfSlice[]>`
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

const selfShipped = ({ trackingCode, trackingUrl }: ParcelOfSlice): Label => ({
  status: 'self_ship',
  labelUrl: null,
  expiresAt: null,
  message: 'This order ships with an option of your own: there is no label to buy.',
  trackingCode,
  trackingUrl,
  provider: null,
  shippedLines: 0,
})

/**
 * Asks the carrier for what was claimed, outside of any transaction, and notes the answer. Whatever fails leaves nothing
 * behind that would keep the next call from trying.
 *
 * @returns undefined when it took so long that another took over
 */
async function carryOut(
  ctx: ShippingContext,
  carrier: Carrier,
  purchase: Purchase,
  parcel: ParcelOfSlice,
): Promise<Shipment | undefined> {
  /** Nothing can have been bought so far. */
  let isCertain = !purchase.mustLookUp
  try {
    const found = purchase.mustLookUp ? await carrier.find(purchase.reference) : undefined
    if (!found && purchase.lines === 0) throw nothingToShip()
    const said = found ?? (await buy(carrier, purchase, parcel))
    isCertain = false
    const complete = await withLabel(ctx, carrier, said, purchase.labelName)
    const shipment = await notePurchase(ctx, purchase, complete, found ? undefined : purchase.lines)
    if (shipment) ctx.metrics.labelPurchased(shipment.status)
    return shipment
  } catch (error) {
    if (error instanceof CarrierError) ctx.metrics.labelPurchased(error.outcome)
    const isRefused = error instanceof CarrierError && error.outcome === 'refused'
    await leave(ctx, purchase, { isCertain: isCertain && isRefused })
    throw toldOf(ctx, error, purchase.sliceId)
  }
}

const buy = (
  carrier: Carrier,
  { reference }: Purchase,
  { sliceKey, shippingCode, sender, email, address }: ParcelOfSlice,
): Promise<CarrierShipment> =>
  carrier.buy({
    reference,
    sliceKey,
    shippingCode,
    sender,
    recipient: { ...address!, email },
  })

/** Best effort: what can't be noted now is free when its lease has run out. */
async function leave(ctx: ShippingContext, purchase: Purchase, outcome: { isCertain: boolean }) {
  await leavePurchase(ctx, purchase, outcome).catch((error) =>
    ctx.log.warn({ err: error, slice: purchase.sliceId }, 'a purchase could not be left'),
  )
}

/**
 * Looks up what a call may have bought that died or gave up, and notes it as if that call had. Nothing is bought.
 *
 * @throws CarrierError
 */
export async function resolveDoubt(
  ctx: ShippingContext,
  carrier: Carrier,
  purchase: Purchase,
): Promise<void> {
  try {
    const found = await carrier.find(purchase.reference)
    if (!found) return await leave(ctx, purchase, { isCertain: false })
    const said = await withLabel(ctx, carrier, found, purchase.labelName)
    const shipment = await notePurchase(ctx, purchase, said, undefined)
    if (shipment) ctx.metrics.labelPurchased(shipment.status)
  } catch (error) {
    await leave(ctx, purchase, { isCertain: false })
    throw error
  }
}

/**
 * Stores the label of a shipment that's ready. One that can't be had right now is `processing` for the seller, so that
 * neither the shipment nor the label gets lost by it.
 */
async function withLabel(
  { files, log }: Pick<ShippingContext, 'files' | 'log'>,
  carrier: Carrier,
  said: CarrierShipment,
  labelName: string,
): Promise<CarrierShipment> {
  if (said.status !== 'ready') return said
  try {
    const pdf = await carrier.label(said.id)
    await files.put(placeOf(`${labelName}.pdf`), pdf, 'application/pdf')
    return said
  } catch (error) {
    log.warn({ err: error, shipment: said.id }, 'a label could not be stored yet')
    return { ...said, status: 'processing', message: null }
  }
}

/** A shipment that was bought before, as it is now and with a fresh link. */
async function readAgain(
  ctx: ShippingContext,
  shipment: Shipment,
  { isFresh }: { isFresh: boolean },
): Promise<Label> {
  const before = shipment.link
  const now = isFresh ? shipment : await refreshed(ctx, shipment)
  const hasFreshLink = now.link?.nonce !== before?.nonce
  return labelFrom(ctx, now.status === 'ready' && !hasFreshLink ? await mintLink(ctx, now) : now)
}

/** Asks the carrier for what is missing: without a label it has to answer, for the code alone it's no matter. */
async function refreshed(ctx: ShippingContext, shipment: Shipment): Promise<Shipment> {
  const { carrier } = ctx
  if (!isIncomplete(shipment) || carrier?.provider !== shipment.provider) return shipment
  try {
    return await askAgain(ctx, carrier, shipment)
  } catch (error) {
    const problem = toldOf(ctx, error, shipment.sliceId)
    if (shipment.status === 'ready' && error instanceof CarrierError) return shipment
    throw problem
  }
}

const isIncomplete = ({ status, trackingCode }: Shipment) =>
  status !== 'ready' || trackingCode === null

/** What the carrier says of a shipment now, noted. @throws CarrierError */
export async function askAgain(
  ctx: ShippingContext,
  carrier: Carrier,
  { sliceId, carrierId, status, labelName }: Shipment,
): Promise<Shipment> {
  const said = await carrier.read(carrierId)
  const isStored = status === 'ready'
  return noteReading(ctx, sliceId, isStored ? said : await withLabel(ctx, carrier, said, labelName))
}

function labelFrom(ctx: Context, shipment: Shipment): Label {
  const { status, link, labelName, message, trackingCode, trackingUrl, provider, lines } = shipment
  return {
    status,
    labelUrl: link && labelUrl(ctx, labelName, link),
    expiresAt: link?.expiresAt ?? null,
    message,
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

/** What the seller is told of a failure: never the carrier's words, which the log has. */
function toldOf({ log }: Context, error: unknown, sliceId: number): unknown {
  if (!(error instanceof CarrierError)) return error
  log.warn({ err: error, slice: sliceId, outcome: error.outcome }, 'the carrier failed')
  return providerError('The carrier could not provide the label. Try again later.', error)
}

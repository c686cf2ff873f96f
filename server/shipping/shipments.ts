import { randomBytes } from 'node:crypto'
import type { CarrierShipment } from '../carriers/carrier.ts'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { conflict } from '../errors.ts'
import { recordEvent } from '../events/record.ts'
import { lockSlice } from '../orders/locks.ts'
import { newLabelName } from './label.ts'
import { type Link, labelUrl, newLink } from './label-link.ts'
import { delayAfter, FIRST_POLL_MS } from './poll-schedule.ts'

/** What we know of a slice's one shipment, `bought` at the carrier. */
export type Shipment = {
  sliceId: number
  /** The row that it was asked for by. */
  orderId: number
  accountId: number
  provider: string
  carrierId: string
  status: CarrierShipment['status']
  message: string | null
  lines: number
  /** What the carrier said last. */
  carrierCode: string | null
  labelName: string
  /** Minted last. */
  link: Link | null
  /** Of the slice: from the carrier or from the operator. */
  trackingCode: string | null
  trackingUrl: string | null
  trackingStatus: string | null
}

/**
 * A purchase that this process is at. `attempt` tells whose it is: each has a number of its own, so that one who was
 * taken for dead can't write over the next.
 */
export type Purchase = {
  sliceId: number
  attempt: number
  reference: string
  labelName: string
  /** The carrier may have it already: it's looked up before anything is bought. */
  mustLookUp: boolean
  /** Number of pending and shipped rows, which the shipment covers; without one nothing is bought. */
  lines: number
}

/** How long who buys is believed to be alive: several times of what the carrier may take for all that is asked. */
const LEASE_SECONDS = 120

type WriteContext = Context

/**
 * Where the slice's shipment stands, and if nobody has bought or is buying it: the right to, for this process alone.
 *
 * @param provider the carrier that is asked, if there is one
 * @returns `elsewhere` when that isn't the one who has to be asked
 * @throws conflict when there is neither a shipment nor a row to ship, or no delivery address
 */
export function claimPurchase(
  ctx: WriteContext,
  { sliceId, orderId, provider, hasAddress }: Wanted,
): Promise<'bought' | 'busy' | 'elsewhere' | Purchase> {
  return inTransaction(ctx, async (tx) => {
    const { db, now } = tx
    await lockSlice(tx, sliceId)
    const [known] = await db<
      { state: string; provider: string; inDoubt: boolean; busy: boolean }[]
    >`
      select
        state,
        provider,
        in_doubt as "inDoubt",
        coalesce(leased_until > clock_timestamp(), false) as busy
      from shipments
      where slice_id = ${sliceId}
    `
    if (known?.state === 'bought') return 'bought'
    if (known?.busy) return 'busy'
    // Shipped rows count: a seller may print the label after marking the order as shipped.
    const [{ lines } = { lines: 0 }] = await db<{ lines: number }[]>`
      select count(*)::int as lines
      from orders
      where slice_id = ${sliceId} and status in ('pending', 'shipped')
    `
    if (lines === 0 && !known?.inDoubt) throw nothingToShip()
    if (!hasAddress) throw conflict('This order has no delivery address to put on a label.')
    // Only the carrier that may have it already can say whether it does.
    if (!provider || (known?.inDoubt && known.provider !== provider)) return 'elsewhere'
    const [purchase] = await db<Pick<Purchase, 'attempt' | 'reference' | 'labelName'>[]>`
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
    return {
      ...purchase!,
      sliceId,
      mustLookUp: known?.inDoubt ?? false,
      lines,
    }
  })
}

type Wanted = {
  sliceId: number
  orderId: number
  provider: string | undefined
  hasAddress: boolean
}

export const nothingToShip = () =>
  conflict('No row of this order is pending or shipped, and no label was bought for it.')

/** Our name for a purchase: what it's found again by. */
const newReference = () => `cs-${randomBytes(16).toString('base64url')}`

/** Whether somebody is buying it right now. */
export async function isBeingBought({ db }: Context, sliceId: number): Promise<boolean> {
  const [shipment] = await db`
    select 1
    from shipments
    where slice_id = ${sliceId} and state = 'buying' and leased_until > clock_timestamp()
  `
  return shipment !== undefined
}

/**
 * Leaves a purchase to the next who asks.
 *
 * @param isCertain the carrier has said that nothing was bought; otherwise it stays in doubt
 */
export async function leavePurchase(
  { db }: Context,
  { sliceId, attempt }: Purchase,
  { isCertain }: { isCertain: boolean },
): Promise<void> {
  await db`
    update shipments
    set
      leased_until = null,
      in_doubt = ${!isCertain},
      poll_at = case when ${isCertain} then null else poll_at end
    where slice_id = ${sliceId} and attempts = ${attempt} and state = 'buying'
  `
}

/**
 * Notes what was bought, and that sellers are told of it.
 *
 * @param lines rows that it covers; of what was found again those that it covered when it may have been bought
 * @returns undefined when another took the purchase over meanwhile
 */
export function notePurchase(
  ctx: WriteContext,
  { sliceId, attempt }: Purchase,
  said: CarrierShipment,
  lines: number | undefined,
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
        carrier_id = ${said.id},
        status = 'processing',
        bought_at = ${tx.now()}
      where slice_id = ${sliceId} and attempts = ${attempt} and state = 'buying'
    `
    if (count === 0) return undefined
    const bought = await readShipment(tx, sliceId)
    return note(tx, bought!, said, { isNew: true })
  })
}

/** Notes what the carrier says of a shipment that was bought before, and tells sellers what has changed by it. */
export function noteReading(
  ctx: WriteContext,
  sliceId: number,
  said: CarrierShipment,
): Promise<Shipment> {
  return inTransaction(ctx, async (tx) => {
    await lockSlice(tx, sliceId)
    const shipment = await readShipment(tx, sliceId)
    return note(tx, shipment!, said, { isNew: false })
  })
}

/** Whose turn it is to be asked after, by this process alone: a shipment, or a purchase that is in doubt. */
export type DuePoll = { sliceId: number } & ({ purchase: Purchase } | { purchase: null })

/**
 * Takes the shipment that has waited longest to be asked after, if one is due. The next time is planned already, so that
 * a poll that fails, or dies with its process, is simply followed by the next.
 */
export async function claimPoll(
  { db, now }: Context,
  provider: string,
): Promise<DuePoll | undefined> {
  const [due] = await db<
    {
      sliceId: number
      state: 'buying' | 'bought'
      polls: number
      attempt: number
      reference: string
      labelName: string
    }[]
  >`
    update shipments
    set
      polls = polls + 1,
      attempts = attempts + case state when 'buying' then 1 else 0 end,
      leased_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where slice_id = (
      select slice_id
      from shipments
      where
        poll_at <= ${now()}
        and provider = ${provider}
        and (leased_until is null or leased_until < clock_timestamp())
      order by poll_at, slice_id
      limit 1
      for update skip locked
    )
    returning
      slice_id as "sliceId",
      state,
      polls,
      attempts as attempt,
      reference,
      label_name as "labelName"
  `
  if (!due) return undefined
  const { sliceId, state, polls, attempt, reference, labelName } = due
  const delay = delayAfter(polls)
  await db`
    update shipments
    set poll_at = ${delay === undefined ? null : new Date(now().getTime() + delay)}
    where slice_id = ${sliceId} and attempts = ${attempt}
  `
  const purchase = { sliceId, attempt, reference, labelName, mustLookUp: true, lines: 0 }
  return { sliceId, purchase: state === 'buying' ? purchase : null }
}

/** Lets others ask after it again. */
export async function leavePoll({ db }: Context, { sliceId }: DuePoll): Promise<void> {
  await db`
    update shipments set leased_until = null where slice_id = ${sliceId} and state = 'bought'
  `
}

/** What we know of the slice's shipment; undefined when none was bought. */
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
      sh.lines,
      sh.carrier_code as "carrierCode",
      sh.label_name as "labelName",
      sh.link_nonce as nonce,
      sh.link_expires_at as "expiresAt",
      s.tracking_code as "trackingCode",
      s.tracking_url as "trackingUrl",
      s.tracking_status as "trackingStatus"
    from shipments sh
    join slices s on s.id = sh.slice_id
    where sh.slice_id = ${sliceId} and sh.state = 'bought'
  `
  if (!row) return undefined
  const { nonce, expiresAt, ...shipment } = row
  return { ...shipment, link: expiresAt && { nonce, expiresAt } }
}

/**
 * Brings a shipment to what the carrier says. A label that we have stays ours, and a code is never taken away: it moves
 * with what the carrier says, unless the operator reported another one, who then knows better.
 */
async function note(
  tx: WriteContext,
  before: Shipment,
  said: CarrierShipment,
  { isNew }: { isNew: boolean },
): Promise<Shipment> {
  const { db, now } = tx
  const status = before.status === 'ready' ? 'ready' : said.status
  const isOfCarrier = before.trackingCode === null || before.trackingCode === before.carrierCode
  const takesCode = said.trackingCode !== null && isOfCarrier
  const trackingCode = takesCode ? said.trackingCode : before.trackingCode
  const hasNewCode = trackingCode !== before.trackingCode
  const hasNewLabel = status === 'ready' && before.status !== 'ready'
  const isNews = isNew || hasNewCode || hasNewLabel
  const after: Shipment = {
    ...before,
    status,
    message: status === 'ready' ? null : said.message,
    carrierCode: said.trackingCode ?? before.carrierCode,
    trackingCode,
    // An address belongs to its code.
    trackingUrl: takesCode
      ? (said.trackingUrl ?? (hasNewCode ? null : before.trackingUrl))
      : before.trackingUrl,
    // What the operator reported meanwhile is later than what the carrier says of an old shipment.
    trackingStatus:
      isNews || before.trackingStatus === null
        ? (said.trackingStatus ?? before.trackingStatus)
        : before.trackingStatus,
  }
  const firstPoll = new Date(now().getTime() + FIRST_POLL_MS)
  // Once it was given up it isn't begun anew by the same waiting.
  const waitsAnew = isAwaited(after) && (isNew || !isAwaited(before))
  await db`
    update shipments
    set
      status = ${after.status},
      message = ${after.message},
      carrier_code = ${after.carrierCode},
      poll_at = case
        when ${waitsAnew} then coalesce(poll_at, ${firstPoll})
        when ${isAwaited(after)} then poll_at
      end,
      polls = case when ${waitsAnew} then 0 else polls end
    where slice_id = ${before.sliceId}
  `
  await writeTracking(tx, before, after)
  return isNews ? tell(tx, after) : after
}

/** Something of it is still to come by itself. */
const isAwaited = ({ status, trackingCode }: Shipment) =>
  status === 'processing' || (status === 'ready' && trackingCode === null)

async function writeTracking(
  { db, now }: WriteContext,
  before: Shipment,
  after: Shipment,
): Promise<void> {
  const { trackingCode, trackingUrl, trackingStatus } = after
  const isSame =
    trackingCode === before.trackingCode &&
    trackingUrl === before.trackingUrl &&
    trackingStatus === before.trackingStatus
  if (isSame) return
  await db`
    update slices
    set
      tracking_code = ${trackingCode},
      tracking_url = ${trackingUrl},
      tracking_status = ${trackingStatus},
      tracking_updated_at = ${now()}
    where id = ${after.sliceId}
  `
}

/** Tells the seller that the label or its code is there, with a link that was minted for it. */
export async function tell(tx: WriteContext, shipment: Shipment): Promise<Shipment> {
  const told = shipment.status === 'ready' ? await mintLink(tx, shipment) : shipment
  await recordEvent(tx, {
    accountId: told.accountId,
    event: 'order.label_ready',
    data: {
      order_id: told.orderId,
      has_label: told.status === 'ready',
      label_url: told.link && labelUrl(tx, told.labelName, told.link),
      tracking_code: told.trackingCode,
    },
  })
  return told
}

/** Keeps a fresh link as the last one; earlier ones stay good until they expire. */
export async function mintLink({ db, now }: Context, shipment: Shipment): Promise<Shipment> {
  const link = newLink({ now })
  await db`
    update shipments
    set link_nonce = ${link.nonce}, link_expires_at = ${link.expiresAt}
    where slice_id = ${shipment.sliceId}
  `
  return { ...shipment, link }
}

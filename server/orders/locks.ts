import type { Context } from '../context.ts'
import type { Fulfilment, OrderStatus } from '../enums.ts'

/**
 * The lock order of sales, which prevents deadlocks: listings by id, then the slice, then its rows by id. Every verb
 * that changes the status or the money of a row holds the slice's lock, so that decisions about the whole slice stay
 * valid. Two changes need no such lock: rows lose their reference to a removed listing, and a failed payout becomes due
 * again.
 */

export type LockedRow = {
  id: number
  listingId: number | null
  status: OrderStatus
  quantity: number
  priceCents: number
  refundedCents: number
}

/** `owedCents` is the debt of the seller after refunds of the slice (money/payouts.ts). */
export type LockedSlice = {
  fulfilment: Fulfilment
  tracked: boolean
  owedCents: number
  trackingCode: string | null
  trackingUrl: string | null
}

/** Locks a slice until the transaction ends. */
export async function lockSlice({ db }: Context, sliceId: number): Promise<LockedSlice> {
  const [slice] = await db<LockedSlice[]>`
    select
      fulfilment,
      tracked,
      owed_cents as "owedCents",
      tracking_code as "trackingCode",
      tracking_url as "trackingUrl"
    from slices
    where id = ${sliceId}
    for no key update
  `
  return slice!
}

/**
 * Records that the tracking of a slice has changed, as a change of its rows. Rows that were cancelled before the parcel
 * was shipped don't show it. The caller holds the lock of the slice.
 */
export const markTracked = ({ db, now }: Context, sliceId: number) => db`
  with tracked as (
    select id
    from orders
    where slice_id = ${sliceId} and (status <> 'cancelled' or shipped_at is not null)
    order by id
    for no key update
  )
  update orders set changed_at = ${now()} from tracked where orders.id = tracked.id
`

/** Locks all rows of a slice. The caller holds the lock of the slice. */
export const lockRows = ({ db }: Context, sliceId: number): Promise<LockedRow[]> => db<LockedRow[]>`
  select
    id,
    listing_id as "listingId",
    status,
    quantity,
    price_cents as "priceCents",
    refunded_cents as "refundedCents"
  from orders
  where slice_id = ${sliceId}
  order by id
  for no key update
`

import type { Context } from '../context.ts'
import type { Fulfilment, OrderStatus } from '../enums.ts'

/**
 * Locks on what was sold, in the one order that everybody keeps: listings by id, then the slice, then its rows by id.
 * Whoever changes a row holds its slice's lock, so that what is said about the slice as a whole stays true; only orders
 * that close by themselves do so row by row.
 */

export type LockedRow = {
  id: number
  listingId: number | null
  status: OrderStatus
  quantity: number
  priceCents: number
}

/** Keeps everybody else from the slice until the transaction ends. */
export async function lockSlice(
  { db }: Context,
  sliceId: number,
): Promise<{ fulfilment: Fulfilment; tracked: boolean }> {
  const [slice] = await db<{ fulfilment: Fulfilment; tracked: boolean }[]>`
    select fulfilment, tracked from slices where id = ${sliceId} for no key update
  `
  return slice!
}

/** All rows of a slice whose lock is held. */
export const lockRows = ({ db }: Context, sliceId: number): Promise<LockedRow[]> => db<LockedRow[]>`
  select id, listing_id as "listingId", status, quantity, price_cents as "priceCents"
  from orders
  where slice_id = ${sliceId}
  order by id
  for no key update
`

import { isSelling } from '../accounts/accounts.ts'
import type { Context } from '../context.ts'
import { deleteInBatches } from '../database/batches.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { conflict, notFound } from '../errors.ts'
import { listingNotFound, reservedUnits } from './listings.ts'

/** Units of a listing that a cart holds until `expiresAt`; no other buyer can buy them meanwhile. */
export type Reservation = {
  id: number
  listingId: number
  cartId: string
  quantity: number
  createdAt: Date
  expiresAt: Date
}

type NewReservation = Pick<Reservation, 'listingId' | 'cartId' | 'quantity'> & {
  ttlSeconds: number
}

/**
 * Reserves units for a cart until they are bought or released, or the reservation expires. Locks the listing, as
 * checkouts do, so that the last unit is reserved once.
 *
 * @throws not_found for an unknown or deleted listing, conflict if it isn't on sale or too few units are available
 */
export function reserve(ctx: Context, wanted: NewReservation): Promise<Reservation> {
  return inTransaction(ctx, async (tx) => {
    const { listingId, cartId, quantity, ttlSeconds } = wanted
    const listing = await lockForSale(tx, listingId)
    if (listing.status !== 'active') throw conflict('The listing is not on sale.')
    if (!listing.isSelling) throw conflict('The seller is on holiday, suspended or closed.')
    const now = tx.now()
    // A separate statement: its snapshot is taken after the lock, so it includes the reservations that the lock waited for.
    const left = listing.quantity - (await reservedOf(tx, listingId, now))
    if (quantity > left) {
      throw conflict(
        left > 0
          ? `Only ${left} of the requested ${quantity} units ${left === 1 ? 'is' : 'are'} available.`
          : 'No units are available.',
      )
    }
    const expiresAt = new Date(now.getTime() + ttlSeconds * 1000)
    const [reservation] = await tx.db<{ id: number }[]>`
      insert into reservations (listing_id, cart_id, quantity, created_at, expires_at)
      values (${listingId}, ${cartId}, ${quantity}, ${now}, ${expiresAt})
      returning id
    `
    await tx.signal('offers')
    return { id: reservation!.id, listingId, cartId, quantity, createdAt: now, expiresAt }
  })
}

/** Releases a reservation. @throws not_found */
export async function free({ db, signal }: Context, id: number): Promise<void> {
  const [freed] = await db`delete from reservations where id = ${id} returning 1`
  if (!freed) throw reservationNotFound()
  await signal('offers')
}

/** Reads a reservation. @throws not_found */
export async function getReservation({ db }: Context, id: number): Promise<Reservation> {
  const [reservation] = await db<Reservation[]>`
    select
      id,
      listing_id as "listingId",
      cart_id as "cartId",
      quantity,
      created_at as "createdAt",
      expires_at as "expiresAt"
    from reservations
    where id = ${id}
  `
  if (!reservation) throw reservationNotFound()
  return reservation
}

const reservationNotFound = () => notFound('There is no such reservation.')

/** Deletes expired reservations. */
export const pruneReservations = ({ db, now }: Context): Promise<void> =>
  deleteInBatches(db, 'reservations', {
    where: db`expires_at <= ${now()}`,
    orderBy: 'expires_at',
  })

async function lockForSale({ db }: Context, listingId: number) {
  const [listing] = await db<{ status: string; quantity: number; isSelling: boolean }[]>`
    select l.status, l.quantity, ${isSelling(db)} as "isSelling"
    from listings l
    join accounts a on a.id = l.account_id
    where l.id = ${listingId} and l.status <> 'removed'
    for no key update of l
  `
  if (!listing) throw listingNotFound()
  return listing
}

async function reservedOf({ db }: Context, listingId: number, now: Date): Promise<number> {
  const [held] = await db<{ quantity: number }[]>`
    select ${reservedUnits(db, db`${listingId}`, now)} as quantity
  `
  return held!.quantity
}

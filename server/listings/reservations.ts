import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { conflict, notFound } from '../errors.ts'
import { listingNotFound } from './listings.ts'

/** Units of a listing that a cart holds for a while, so that nobody else can buy them. */
export type Reservation = {
  id: number
  listingId: number
  cartId: string
  quantity: number
  createdAt: Date
  expiresAt: Date
}

export type NewReservation = Pick<Reservation, 'listingId' | 'cartId' | 'quantity'> & {
  ttlSeconds: number
}

/**
 * Holds units for a cart until they are bought, freed, or the time has run out. Whoever wants units of a listing locks
 * its row first: of many at the last unit one gets it.
 *
 * @throws not_found for an unknown or deleted listing; conflict when it isn't on sale or too little is left
 */
export function reserve(ctx: Context, wanted: NewReservation): Promise<Reservation> {
  return inTransaction(ctx, async (tx) => {
    const { listingId, cartId, quantity, ttlSeconds } = wanted
    const listing = await lockForSale(tx, listingId)
    if (listing.status !== 'active') throw conflict('The listing is not on sale.')
    const now = tx.now()
    // A statement of its own, begun after the lock was had: it sees what those before us reserved.
    const left = listing.quantity - (await reservedOf(tx, listingId, now))
    if (quantity > left) {
      throw conflict(`Only ${Math.max(left, 0)} of the ${quantity} wanted can be reserved.`)
    }
    const expiresAt = new Date(now.getTime() + ttlSeconds * 1000)
    const [reservation] = await tx.db<{ id: number }[]>`
      insert into reservations (listing_id, cart_id, quantity, created_at, expires_at)
      values (${listingId}, ${cartId}, ${quantity}, ${now}, ${expiresAt})
      returning id
    `
    return { id: reservation!.id, listingId, cartId, quantity, createdAt: now, expiresAt }
  })
}

/** Frees what was held. @throws not_found when there is no such reservation */
export async function free({ db }: Context, id: number): Promise<void> {
  const [freed] = await db`delete from reservations where id = ${id} returning 1`
  if (!freed) throw notFound('There is no such reservation.')
}

/** Forgets reservations that ran out: they count for nothing. Those that somebody else is deleting are left to them. */
export async function pruneReservations({ db, now }: Context): Promise<void> {
  await db`
    delete from reservations
    where id in (
      select id from reservations where expires_at <= ${now()} for update skip locked
    )
  `
}

async function lockForSale({ db }: Context, listingId: number) {
  const [listing] = await db<{ status: string; quantity: number }[]>`
    select status, quantity
    from listings
    where id = ${listingId} and status <> 'removed'
    for no key update
  `
  if (!listing) throw listingNotFound()
  return listing
}

async function reservedOf({ db }: Context, listingId: number, now: Date): Promise<number> {
  const [held] = await db<{ quantity: number }[]>`
    select coalesce(sum(quantity), 0) as quantity
    from reservations
    where listing_id = ${listingId} and expires_at > ${now}
  `
  return held?.quantity ?? 0
}

import type { Context } from '../context.ts'
import type { ApiError } from '../errors.ts'
import type { Changeable } from './listing.ts'

/** Names one listing of an account, by its id or the seller's reference. */
export type Target = { id: number } | { reference: string }

/** The part of a listing that its seller can change, locked by the transaction. */
export type LockedListing = Changeable & { id: number; reference: string | null }

export type ItemOutcome<Result> = { result: Result } | { error: ApiError }

/**
 * Locks an account's listings until the transaction ends, in the order of orders/locks.ts. Leaves out those that are not
 * the account's.
 */
export async function lockTargets(
  { db }: Context,
  accountId: number,
  targets: Target[],
): Promise<Map<number, LockedListing>> {
  const ids = targets.flatMap((target) => ('id' in target ? target.id : []))
  const references = targets.flatMap((target) => ('reference' in target ? target.reference : []))
  const rows = await db<LockedListing[]>`
    select id, reference, price_cents as "priceCents", quantity, status, description
    from listings
    where
      id = any(
        ${ids}::bigint[]
        || array(
          select id
          from listings
          where
            account_id = ${accountId}
            and reference = any(${references}::text[])
            and status <> 'removed'
        )
      )
      and account_id = ${accountId}
      and status <> 'removed'
    order by id
    for no key update
  `
  return new Map(rows.map((listing) => [listing.id, listing]))
}

/** Whether a change has no effect. */
export const isSame = (a: LockedListing, b: LockedListing) =>
  a.priceCents === b.priceCents &&
  a.quantity === b.quantity &&
  a.status === b.status &&
  a.description === b.description &&
  a.reference === b.reference

/** Writes what is new in locked listings, and signals it to the offers. */
export async function writeListings(
  { db, signal }: Context,
  changed: LockedListing[],
  now: Date,
): Promise<void> {
  await db`
    update listings
    set
      price_cents = changed.price_cents,
      quantity = changed.quantity,
      status = changed.status,
      description = changed.description,
      reference = changed.reference,
      updated_at = greatest(updated_at, ${now})
    from unnest(
      ${changed.map(({ id }) => id)}::bigint[],
      ${changed.map(({ priceCents }) => priceCents)}::int[],
      ${changed.map(({ quantity }) => quantity)}::int[],
      ${changed.map(({ status }) => status)}::text[],
      ${changed.map(({ description }) => description)}::text[],
      ${changed.map(({ reference }) => reference)}::text[]
    ) as changed (id, price_cents, quantity, status, description, reference)
    where listings.id = changed.id
  `
  await signal('offers')
}

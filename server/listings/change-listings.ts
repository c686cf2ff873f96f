import { eurosFromCents } from '../cents.ts'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { validationError } from '../errors.ts'
import { applyChanges, type ListingChanges, MAX_PRICE_CENTS, MAX_QUANTITY } from './listing.ts'
import { listingNotFound } from './listings.ts'
import { lockReferences, referenceTaken, referenceWithBlanks } from './references.ts'
import {
  type ItemOutcome,
  isSame,
  type LockedListing,
  lockTargets,
  type Target,
  writeListings,
} from './targets.ts'

/** Changes to a listing in a batch. Absent fields stay as they are. */
export type BatchedChange = {
  target: Target
  changes: ListingChanges & {
    /** Units to add to the stock, or to take from it. Excludes `quantity`. */
    quantityDelta?: number | undefined
    /** Change of the price in percent, rounded to a cent. Excludes `priceCents`. */
    pricePercent?: number | undefined
    /** null removes the reference. */
    reference?: string | null | undefined
  }
}

/**
 * Applies changes to listings of one account in one transaction, each as if it were alone and in their order: an item sees
 * the changes of the items before it. Sales wait for the lock, so `quantityDelta` counts from the stock that they left.
 */
export function changeListings(
  ctx: Context,
  accountId: number,
  items: BatchedChange[],
): Promise<ItemOutcome<LockedListing>[]> {
  return inTransaction(ctx, async (tx) => {
    const wanted = items.flatMap(({ changes: { reference } }) => reference ?? [])
    const holders =
      wanted.length > 0 ? await lockReferences(tx, accountId, wanted) : new Map<string, number>()
    const listings = await lockTargets(
      tx,
      accountId,
      items.map(({ target }) => target),
    )
    const before = new Map(listings)
    for (const { reference, id } of listings.values()) if (reference) holders.set(reference, id)
    const outcomes = items.map(({ target, changes }): ItemOutcome<LockedListing> => {
      const id = 'id' in target ? target.id : holders.get(target.reference)
      const listing = id === undefined ? undefined : listings.get(id)
      if (!listing) return { error: listingNotFound() }
      const changed = applyBatched(listing, changes, holders)
      if ('result' in changed) {
        const { reference } = changed.result
        if (listing.reference && listing.reference !== reference) holders.delete(listing.reference)
        if (reference) holders.set(reference, listing.id)
        listings.set(listing.id, changed.result)
      }
      return changed
    })
    await write(
      tx,
      [...listings.values()].filter((listing) => !isSame(listing, before.get(listing.id)!)),
      before,
    )
    return outcomes
  })
}

/**
 * Applies one change, as `changeListings` does.
 *
 * @throws not_found, or validation_error if the change is not possible
 */
export async function changeOneListing(
  ctx: Context,
  accountId: number,
  item: BatchedChange,
): Promise<void> {
  const [outcome] = await changeListings(ctx, accountId, [item])
  if (outcome && 'error' in outcome) throw outcome.error
}

/** @param holders ids of the listings that have a reference */
function applyBatched(
  listing: LockedListing,
  { quantityDelta, pricePercent, reference, ...changes }: BatchedChange['changes'],
  holders: Map<string, number>,
): ItemOutcome<LockedListing> {
  if (reference && (holders.get(reference) ?? listing.id) !== listing.id) {
    return { error: referenceTaken() }
  }
  if (reference && reference !== listing.reference && reference.trim() !== reference) {
    return { error: referenceWithBlanks() }
  }
  const quantity = quantityDelta === undefined ? changes.quantity : listing.quantity + quantityDelta
  // A cancelled order can raise the stock above the maximum. Units can be taken from it then, but not added.
  const max = Math.max(MAX_QUANTITY, listing.quantity)
  if (quantity !== undefined && (quantity < 0 || quantity > max)) {
    const inStock = listing.quantity === 1 ? '1 is' : `${listing.quantity} are`
    const problem = quantity < 0 ? `only ${inStock} in stock` : `the maximum is ${MAX_QUANTITY}`
    return {
      error: validationError({
        quantity_delta: [`The stock would be ${quantity} units: ${problem}.`],
      }),
    }
  }
  const priceCents =
    pricePercent === undefined
      ? changes.priceCents
      : Math.max(1, changedByPercent(listing.priceCents, pricePercent))
  if (priceCents !== undefined && priceCents > MAX_PRICE_CENTS) {
    return {
      error: validationError({
        price: [`The price would be above ${eurosFromCents(MAX_PRICE_CENTS)}.`],
      }),
    }
  }
  const after = applyChanges(listing, { ...changes, quantity, priceCents })
  return {
    result: {
      ...listing,
      ...after,
      reference: reference === undefined ? listing.reference : reference,
    },
  }
}

/** Rounds to 14 digits first: 6666.5 cents are 6666.499999999999 in binary. */
const changedByPercent = (cents: number, percent: number) =>
  Math.round(Number(((cents * (100 + percent)) / 100).toPrecision(14)))

async function write(
  tx: Context,
  changed: LockedListing[],
  before: Map<number, LockedListing>,
): Promise<void> {
  if (changed.length === 0) return
  // The unique index is checked row by row: a reference must be free before another listing takes it.
  const moved = changed.filter(({ id, reference }) => {
    const old = before.get(id)!.reference
    return old !== null && old !== reference
  })
  if (moved.length > 0) {
    await tx.db`
      update listings set reference = null where id = any(${moved.map(({ id }) => id)}::bigint[])
    `
  }
  await writeListings(tx, changed, tx.now())
}

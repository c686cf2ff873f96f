import type { Context } from '../context.ts'
import type { Page } from '../database/paging.ts'
import type { Listing } from './listing.ts'
import { findListing, type ListingFilters, listListings, readListings } from './listings.ts'

/** A listing with the facts that only its seller's own software reads. */
export type OwnListing = Listing & {
  /** The seller's own name of the listing. */
  reference: string | null
  /** Number of photos that could not be fetched. */
  photosFailed: number
}

/** One page of a seller's listings, in the order of `listListings`, and the total. */
export async function listOwnListings(
  ctx: Context,
  accountId: number,
  filters: ListingFilters,
  page: Page,
): Promise<{ rows: OwnListing[]; total: number }> {
  const { rows, total } = await listListings(ctx, accountId, filters, page)
  return { rows: await withOwnFacts(ctx, rows), total }
}

/** @throws not_found unless the listing is the account's */
export async function findOwnListing(
  ctx: Context,
  accountId: number,
  id: number,
): Promise<OwnListing> {
  const [listing] = await withOwnFacts(ctx, [await findListing(ctx, accountId, id)])
  return listing!
}

/** Reads the listings with these ids that are the account's and not deleted, in their order. */
export const findOwnListings = async (
  ctx: Context,
  accountId: number,
  ids: number[],
): Promise<OwnListing[]> => withOwnFacts(ctx, await readListings(ctx, accountId, ids))

/** Adds references and failed photos to listings of one seller. */
export async function withOwnFacts({ db }: Context, listings: Listing[]): Promise<OwnListing[]> {
  if (listings.length === 0) return []
  const facts = await db<{ id: number; reference: string | null; photosFailed: number }[]>`
    select
      id,
      reference,
      (
        select count(*) from photos where listing_id = listings.id and photos.status = 'failed'
      ) as "photosFailed"
    from listings
    where id = any(${listings.map(({ id }) => id)}::bigint[])
  `
  const byId = new Map(facts.map((fact) => [fact.id, fact]))
  return listings.map((listing) => ({
    ...listing,
    reference: byId.get(listing.id)?.reference ?? null,
    photosFailed: byId.get(listing.id)?.photosFailed ?? 0,
  }))
}

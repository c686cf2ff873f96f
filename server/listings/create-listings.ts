import postgres from 'postgres'
import { payoutsPage } from '../accounts/dashboard-pages.ts'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { type ApiError, authenticationError, authorizationError } from '../errors.ts'
import type { Listable, Listing } from './listing.ts'
import { lockReferences, referenceTaken } from './references.ts'

/** A validated listing, ready to be inserted. */
export type NewListing = Listable &
  Pick<
    Listing,
    | 'priceCents'
    | 'quantity'
    | 'condition'
    | 'language'
    | 'printing'
    | 'gradingCompany'
    | 'gradingGrade'
    | 'description'
  > & {
    /** Addresses to fetch photos from, in display order. */
    photoUrls: string[]
    /** The seller's own name of the listing. */
    reference?: string | undefined
  }

/** null if the database rejected the listing, an error if its reference is taken. */
export type CreatedId = number | null | ApiError

/**
 * Inserts listings with one statement (§4.9). If the database rejects a row that validation let through, inserts them
 * one by one, so that only that row fails.
 *
 * @returns an id for each listing, in order
 * @throws authentication_error if the account was closed after the request was admitted
 */
export async function createListings(
  ctx: Context,
  accountId: number,
  listings: NewListing[],
): Promise<CreatedId[]> {
  if (listings.length === 0) return []
  const references = listings.flatMap(({ reference }) => reference ?? [])
  if (references.length === 0) return insertAll(ctx, accountId, listings)
  return inTransaction(ctx, async (tx) => {
    const taken = new Set((await lockReferences(tx, accountId, references)).keys())
    const isFree = listings.map(({ reference }) => {
      if (reference === undefined) return true
      if (taken.has(reference)) return false
      taken.add(reference)
      return true
    })
    const ids = (
      await insertAll(
        tx,
        accountId,
        listings.filter((_, i) => isFree[i]),
      )
    ).values()
    return isFree.map((free) => (free ? (ids.next().value ?? null) : referenceTaken()))
  })
}

async function insertAll(
  ctx: Context,
  accountId: number,
  listings: NewListing[],
): Promise<CreatedId[]> {
  if (listings.length === 0) return []
  try {
    return await inTransaction(ctx, (tx) => insert(tx, accountId, listings))
  } catch (error) {
    if (!isInvalidData(error)) throw error
  }
  return inTransaction(ctx, (tx) => insertOneByOne(tx, accountId, listings))
}

async function insertOneByOne(
  tx: Context,
  accountId: number,
  listings: NewListing[],
): Promise<CreatedId[]> {
  const ids: CreatedId[] = []
  for (const listing of listings) {
    try {
      const [id] = await inTransaction(tx, (savepoint) => insert(savepoint, accountId, [listing]))
      ids.push(id ?? null)
    } catch (error) {
      if (!isInvalidData(error)) throw error
      tx.log.warn({ err: error, accountId }, 'the database rejected a listing')
      ids.push(null)
    }
  }
  return ids
}

/**
 * Inserts listings and the photos to fetch. The ids increase in the order of the items.
 *
 * @throws authentication_error for a closed account
 */
async function insert(
  { db, now, signal }: Context,
  accountId: number,
  listings: NewListing[],
): Promise<number[]> {
  const at = now()
  const created = await db<{ id: number }[]>`
    with account as (
      -- The lock makes closeAccount wait for the listings.
      select id from accounts where id = ${accountId} and closed_at is null for key share
    ),
    items as (
      select *
      from jsonb_to_recordset(${db.json(listings.map(itemRow))}) as item (
        index integer, card_id text, product_slug text, price_cents integer, quantity integer,
        condition text, language text, printing text, grading_company text, grading_grade text,
        description text, photo_urls text[], reference text
      )
    ),
    created as (
      insert into listings (
        account_id, card_id, product_slug, price_cents, quantity, condition, language, printing,
        grading_company, grading_grade, description, reference, created_at, updated_at
      )
      select
        account.id, card_id, product_slug, price_cents, quantity, condition, language, printing,
        grading_company, grading_grade, description, reference, ${at}::timestamptz,
        ${at}::timestamptz
      from items
      cross join account
      order by index
      returning id
    ),
    numbered as (
      select id, row_number() over (order by id) as index from created
    ),
    new_photos as (
      insert into photos (listing_id, account_id, position, url, next_attempt_at, created_at)
      select
        numbered.id, ${accountId}, photo.position - 1, photo.url, ${at}::timestamptz,
        ${at}::timestamptz
      from numbered
      join items using (index)
      cross join unnest(items.photo_urls) with ordinality as photo (url, position)
    )
    select id from numbered order by index
  `
  // The keys are revoked and the members deleted, so the next request gets the same error.
  if (created.length === 0) throw authenticationError('The account has been closed.')
  await signal('offers')
  if (listings.some(({ photoUrls }) => photoUrls.length > 0)) await signal('photos')
  return created.map(({ id }) => id)
}

const itemRow = (item: NewListing, index: number) => ({
  index: index + 1,
  card_id: item.cardId,
  product_slug: item.productSlug,
  price_cents: item.priceCents,
  quantity: item.quantity,
  condition: item.condition,
  language: item.language,
  printing: item.printing,
  grading_company: item.gradingCompany,
  grading_grade: item.gradingGrade,
  description: item.description,
  photo_urls: item.photoUrls,
  reference: item.reference,
})

/** Whether the database rejected the data (as opposed to a timeout or a lost connection). */
function isInvalidData(error: unknown): boolean {
  return error instanceof postgres.PostgresError && /^2[23]/.test(error.code)
}

/** The account may not list anything yet (§4.9). */
export const payoutMissing = (ctx: Pick<Context, 'config'>) =>
  authorizationError(
    `Complete and verify the payout setup of this account before you list anything: ${payoutsPage(ctx)}`,
  )

import postgres from 'postgres'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Listable, Listing } from './listing.ts'

/** A listing to be, checked: what the database needs of it. */
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
    /** Where its photos are to be fetched from, in their order. */
    photoUrls: string[]
  }

/** The new listing's id, or null where the database refused it. */
export type CreatedId = number | null

/**
 * Lists all of it with one statement (§4.9). Should the database refuse what we let through, each is tried on its
 * own, so that only the culprit fails.
 *
 * @returns an id for each, in order
 */
export async function createListings(
  ctx: Context,
  accountId: number,
  wanted: NewListing[],
): Promise<CreatedId[]> {
  if (wanted.length === 0) return []
  try {
    return await inTransaction(ctx, (tx) => insert(tx, accountId, wanted))
  } catch (error) {
    if (!isRefusal(error)) throw error
  }
  return inTransaction(ctx, (tx) => insertOneByOne(tx, accountId, wanted))
}

async function insertOneByOne(
  tx: Context,
  accountId: number,
  wanted: NewListing[],
): Promise<CreatedId[]> {
  const ids: CreatedId[] = []
  for (const one of wanted) {
    try {
      const [id] = await inTransaction(tx, (part) => insert(part, accountId, [one]))
      ids.push(id ?? null)
    } catch (error) {
      if (!isRefusal(error)) throw error
      tx.log.warn({ err: error, accountId }, 'the database refused a listing')
      ids.push(null)
    }
  }
  return ids
}

/**
 * The listings and what is to be fetched for them. Ids come from a sequence in the order of the items: the smallest is
 * the first one's.
 */
async function insert(
  { db, now, signal }: Context,
  accountId: number,
  wanted: NewListing[],
): Promise<number[]> {
  const at = now()
  const created = await db<{ id: number }[]>`
    with items as (
      select *
      from jsonb_to_recordset(${db.json(wanted.map(itemRow))}) as item (
        place integer, card_id text, product_slug text, price_cents integer, quantity integer,
        condition text, language text, printing text, grading_company text, grading_grade text,
        description text, photo_urls text[]
      )
    ),
    created as (
      insert into listings (
        account_id, card_id, product_slug, price_cents, quantity, condition, language, printing,
        grading_company, grading_grade, description, created_at, updated_at
      )
      select
        ${accountId}::bigint, card_id, product_slug, price_cents, quantity, condition, language,
        printing, grading_company, grading_grade, description, ${at}::timestamptz, ${at}::timestamptz
      from items
      order by place
      returning id
    ),
    placed as (
      select id, row_number() over (order by id) as place from created
    ),
    to_be_fetched as (
      insert into photos (listing_id, position, url, next_attempt_at, created_at)
      select placed.id, photo.place - 1, photo.url, ${at}::timestamptz, ${at}::timestamptz
      from placed
      join items using (place)
      cross join unnest(items.photo_urls) with ordinality as photo (url, place)
    )
    select id from placed order by place
  `
  if (wanted.some(({ photoUrls }) => photoUrls.length > 0)) await signal('photos')
  return created.map(({ id }) => id)
}

const itemRow = (item: NewListing, index: number) => ({
  place: index + 1,
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
})

/** Whether the database said no to the data, and not that it has no time or is gone. */
function isRefusal(error: unknown): boolean {
  return error instanceof postgres.PostgresError && /^2[23]/.test(error.code)
}

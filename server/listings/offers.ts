import { isShown } from '../accounts/accounts.ts'
import type { Context } from '../context.ts'
import type { Db } from '../database/sql.ts'
import type { SellerTier } from '../enums.ts'
import type { Listable, Listing } from './listing.ts'
import { reservedUnits } from './listings.ts'

/** A shop as buyers see it next to its offers. */
export type Seller = {
  id: number
  shopName: string
  slug: string
  sellerTier: SellerTier
  rating: number | null
  reviews: number
}

/** The columns of a seller in a row `a` of `accounts`, except its id. */
export const sellerColumns = (db: Db) => db`
  a.shop_name as "shopName",
  a.slug,
  a.seller_tier as "sellerTier",
  a.rating::float8 as rating,
  a.reviews
`

/** The public part of an active listing. */
export type Offer = Pick<
  Listing,
  | 'id'
  | 'priceCents'
  | 'quantity'
  | 'reserved'
  | 'condition'
  | 'language'
  | 'printing'
  | 'gradingCompany'
  | 'gradingGrade'
  | 'description'
  | 'photos'
> & { accountId: number }

export type Offers = {
  /** By account. Hidden sellers and their offers are left out. */
  sellers: Map<number, Seller>
  /** Cheapest first, then oldest. Unlimited: a popular card can have tens of thousands of offers. */
  batches: AsyncIterable<Offer[]>
}

/** Rows that are parsed between yields to the event loop: about a millisecond's work. */
const BATCH_ROWS = 250

/** All offers of a card or product (§4.5). The batches hold a connection until they have been read. */
export async function offersOf(ctx: Context, item: Listable): Promise<Offers> {
  const sellers = await sellersOf(ctx, item)
  return { sellers, batches: batchesOf(ctx, item, sellers) }
}

async function* batchesOf(
  { db, now }: Context,
  item: Listable,
  sellers: Map<number, Seller>,
): AsyncGenerator<Offer[]> {
  // Stock and reservations are of one snapshot: a checkout takes its units from both. The reservations are looked up for
  // each offer: a join would be quadratic while the statistics of PostgreSQL expect few offers of the item.
  const batches = db<Offer[]>`
    select
      id,
      account_id as "accountId",
      price_cents as "priceCents",
      quantity,
      ${reservedUnits(db, db`listings.id`, now())} as reserved,
      condition,
      language,
      printing,
      grading_company as "gradingCompany",
      grading_grade as "gradingGrade",
      description,
      photos
    from listings
    where ${isOf(db, item)} and status = 'active'
    order by price_cents, id
  `.cursor(BATCH_ROWS)
  for await (const batch of batches) {
    yield batch.filter(({ accountId }) => sellers.has(accountId))
  }
}

// Not joined to the listings: a shop may have many, and every column of every row costs parsing time.
async function sellersOf({ db }: Context, item: Listable): Promise<Map<number, Seller>> {
  const rows = await db<Seller[]>`
    select id, ${sellerColumns(db)}
    from accounts a
    where
      id in (select account_id from listings where ${isOf(db, item)} and status = 'active')
      and ${isShown(db)}
  `
  return new Map(rows.map((seller) => [seller.id, seller]))
}

/** Whether a row of `listings` is of this item. */
export const isOf = (db: Db, { cardId, productSlug }: Listable) =>
  cardId === null ? db`product_slug = ${productSlug}` : db`card_id = ${cardId}`

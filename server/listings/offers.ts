import type { Context } from '../context.ts'
import type { Db } from '../database/sql.ts'
import type { SellerTier } from '../enums.ts'
import type { Listable, Listing } from './listing.ts'

/** A shop as buyers see it beside what it offers. */
export type Seller = {
  id: number
  shopName: string
  slug: string
  sellerTier: SellerTier
  rating: number | null
  reviews: number
}

/** An active listing as anyone sees it, and whose it is. */
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
  /** Whose they are, by account. Suspended sellers are left out, and so is what they offer. */
  sellers: Map<number, Seller>
  /** Cheapest first, then oldest. There is no limit: a popular card can have tens of thousands. */
  batches: AsyncIterable<Offer[]>
}

/** So many rows are made into objects before others get their turn: about a millisecond's work. */
const BATCH_ROWS = 250

/** Everything that is offered of a card or product (§4.5). The batches hold a connection until they have been read. */
export async function offersOf(ctx: Context, of: Listable): Promise<Offers> {
  const [sellers, held] = await Promise.all([sellersOf(ctx, of), heldUnits(ctx, of)])
  return { sellers, batches: batchesOf(ctx, of, sellers, held) }
}

async function* batchesOf(
  { db }: Context,
  of: Listable,
  sellers: Map<number, Seller>,
  held: Map<number, number>,
): AsyncGenerator<Offer[]> {
  const batches = db<Omit<Offer, 'reserved'>[]>`
    select
      id,
      account_id as "accountId",
      price_cents as "priceCents",
      quantity,
      condition,
      language,
      printing,
      grading_company as "gradingCompany",
      grading_grade as "gradingGrade",
      description,
      photos
    from listings
    where ${isOf(db, of)} and status = 'active'
    order by price_cents, id
  `.cursor(BATCH_ROWS)
  for await (const batch of batches) {
    yield batch
      .filter(({ accountId }) => sellers.has(accountId))
      .map((offer) => ({ ...offer, reserved: held.get(offer.id) ?? 0 }))
  }
}

// Apart from the listings: one shop may have many of them, and each column of each row takes its time here.
async function sellersOf({ db }: Context, of: Listable): Promise<Map<number, Seller>> {
  const rows = await db<Seller[]>`
    select
      id,
      shop_name as "shopName",
      slug,
      seller_tier as "sellerTier",
      rating::float8 as rating,
      reviews
    from accounts
    where
      id in (select account_id from listings where ${isOf(db, of)} and status = 'active')
      and api_access <> 'suspended'
  `
  return new Map(rows.map((seller) => [seller.id, seller]))
}

/** Units that carts hold, of the listings of which they hold any: all at once, not asked for listing by listing. */
async function heldUnits({ db, now }: Context, of: Listable): Promise<Map<number, number>> {
  const rows = await db<{ id: number; quantity: number }[]>`
    select listing_id as id, sum(quantity) as quantity
    from reservations
    where
      expires_at > ${now()}
      and listing_id in (select id from listings where ${isOf(db, of)} and status = 'active')
    group by listing_id
  `
  return new Map(rows.map(({ id, quantity }) => [id, quantity]))
}

const isOf = (db: Db, { cardId, productSlug }: Listable) =>
  cardId === null ? db`product_slug = ${productSlug}` : db`card_id = ${cardId}`

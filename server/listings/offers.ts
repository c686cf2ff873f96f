import type { Context } from '../context.ts'
import type { Db } from '../database/connect.ts'
import type { SellerTier } from '../values.ts'
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

/**
 * Everything that is offered of a card or product, cheapest first, then oldest, and the sellers by their ids
 * (§4.5). Suspended sellers are left out. There is no limit: a popular card can have tens of thousands.
 */
export async function offersOf(
  ctx: Pick<Context, 'db' | 'now'>,
  of: Listable,
): Promise<{ offers: Offer[]; sellers: Map<number, Seller> }> {
  const [rows, held] = await Promise.all([activeListings(ctx, of), heldUnits(ctx, of)])
  // Apart from the listings: one shop may have many of them, and each column of each row takes its time here.
  const sellers = await sellersOf(ctx, [...new Set(rows.map(({ accountId }) => accountId))])
  const offers = rows.filter(({ accountId }) => sellers.has(accountId)) as Offer[]
  for (const offer of offers) offer.reserved = held.get(offer.id) ?? 0
  return { offers, sellers }
}

const activeListings = ({ db }: Pick<Context, 'db'>, of: Listable) => db<Omit<Offer, 'reserved'>[]>`
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
`

/** Units that carts hold, of the listings of which they hold any: all at once, not asked for listing by listing. */
async function heldUnits(
  { db, now }: Pick<Context, 'db' | 'now'>,
  of: Listable,
): Promise<Map<number, number>> {
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

async function sellersOf(
  { db }: Pick<Context, 'db'>,
  accountIds: number[],
): Promise<Map<number, Seller>> {
  if (accountIds.length === 0) return new Map()
  const rows = await db<Seller[]>`
    select
      id,
      shop_name as "shopName",
      slug,
      seller_tier as "sellerTier",
      rating::float8 as rating,
      reviews
    from accounts
    where id = any(${accountIds}::bigint[]) and api_access <> 'suspended'
  `
  return new Map(rows.map((seller) => [seller.id, seller]))
}

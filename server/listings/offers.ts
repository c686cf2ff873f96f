import type { Context } from '../context.ts'
import type { SellerTier } from '../values.ts'
import type { Listable, Listing } from './listing.ts'
import { reserved } from './listings.ts'

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
  { cardId, productSlug }: Listable,
): Promise<{ offers: Offer[]; sellers: Map<number, Seller> }> {
  const { db } = ctx
  const rows = await db<Offer[]>`
    select
      id,
      account_id as "accountId",
      price_cents as "priceCents",
      quantity,
      ${reserved(db, ctx.now())} as reserved,
      condition,
      language,
      printing,
      grading_company as "gradingCompany",
      grading_grade as "gradingGrade",
      description,
      photos
    from listings
    where
      ${cardId === null ? db`product_slug = ${productSlug}` : db`card_id = ${cardId}`}
      and status = 'active'
    order by price_cents, id
  `
  // Apart from the listings: one shop may have many of them, and each column of each row takes its time here.
  const accountIds = [...new Set(rows.map(({ accountId }) => accountId))]
  const sellers = await sellersOf(ctx, accountIds)
  return { offers: rows.filter(({ accountId }) => sellers.has(accountId)), sellers }
}

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

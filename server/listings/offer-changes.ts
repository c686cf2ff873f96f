import { isShown } from '../accounts/accounts.ts'
import type { Context } from '../context.ts'
import type { Listable, Listing } from './listing.ts'
import type { Seller } from './offers.ts'

/** Items with more offers are read from the database for each request. */
export const MAX_OFFERS = 500
/** Changed listings that one refresh reads. After more of them, the model is emptied. */
const MAX_CHANGES = 1_000

export type OfferRow = [
  id: number,
  cardId: string | null,
  productSlug: string | null,
  accountId: number,
  status: string,
  priceCents: number,
  quantity: number,
  condition: Listing['condition'],
  language: Listing['language'],
  printing: Listing['printing'],
  gradingCompany: Listing['gradingCompany'],
  gradingGrade: Listing['gradingGrade'],
  description: string | null,
  photos: string[],
]

export type ShopRow = [
  id: number,
  shopName: string,
  slug: string,
  sellerTier: Seller['sellerTier'],
  rating: number | null,
  reviews: number,
  isHidden: boolean,
]

/** The lists are null instead of empty. */
export type OfferChanges = {
  position: {
    snapshot: string
    /** Changes when the server is restarted or replaced. */
    server: string
    /** Unix time in milliseconds by the database's clock. */
    readAt: number
  }
  /** Too much has changed to read it. */
  forgetsAll: boolean
  rows: OfferRow[] | null
  reservations: [listingId: number, quantity: number, expiresAtMicros: number][] | null
  sellers: ShopRow[] | null
}

/**
 * Reads the rows of the feed that are not visible in `snapshot`, the listings that they name, and the offers of the items
 * to load, with reservations and shops. It is one statement, so all of it is of one snapshot.
 *
 * @param snapshot of the last call; undefined reads no changes
 */
export async function readChanges(
  { db, now }: Pick<Context, 'db' | 'now'>,
  snapshot: string | undefined,
  loaded: Listable[],
): Promise<OfferChanges> {
  const cards = loaded.flatMap(({ cardId }) => cardId ?? [])
  const slugs = loaded.flatMap(({ productSlug }) => productSlug ?? [])
  const [read] = await db<OfferChanges[]>`
    with changes as (
      select listing_ids, account_ids
      from offer_changes
      where
        xid >= pg_snapshot_xmin(${snapshot ?? null}::pg_snapshot)
        and not pg_visible_in_snapshot(xid, ${snapshot ?? null}::pg_snapshot)
    ),
    changed as materialized (
      select distinct unnest(listing_ids) as id from changes limit ${MAX_CHANGES + 1}
    ),
    found as materialized (
      select *
      from listings
      where
        (select count(*) from changed) <= ${MAX_CHANGES}
        and id = any(array(select id from changed))
      union all
      select offer.*
      from unnest(${cards}::text[]) as card (id)
      cross join lateral (
        select *
        from listings
        where card_id = card.id and status = 'active'
        order by price_cents, id
        limit ${MAX_OFFERS + 1}
      ) offer
      union all
      select offer.*
      from unnest(${slugs}::text[]) as product (slug)
      cross join lateral (
        select *
        from listings
        where product_slug = product.slug and status = 'active'
        order by price_cents, id
        limit ${MAX_OFFERS + 1}
      ) offer
    )
    select
      json_build_object(
        'snapshot', pg_current_snapshot(),
        'server', pg_postmaster_start_time(),
        'readAt', extract(epoch from clock_timestamp()) * 1000
      ) as position,
      (
        exists (select from changes where listing_ids is null)
        or (select count(*) from changed) > ${MAX_CHANGES}
      ) as "forgetsAll",
      (
        select
          json_agg(
            json_build_array(
              id, card_id, product_slug, account_id, status, price_cents, quantity, condition,
              language, printing, grading_company, grading_grade, description, photos
            )
          )
        from found
      ) as rows,
      (
        select
          json_agg(
            json_build_array(
              listing_id, quantity, (extract(epoch from expires_at) * 1000000)::bigint
            )
          )
        from reservations
        where listing_id = any(array(select id from found)) and expires_at > ${now()}
      ) as reservations,
      (
        select
          json_agg(
            json_build_array(
              id, shop_name, slug, seller_tier, rating, reviews, not ${isShown(db)}
            )
          )
        from accounts a
        where
          id = any(
            array(
              select account_id from found
              union
              select unnest(account_ids) from changes
            )
          )
      ) as sellers
  `
  return read!
}

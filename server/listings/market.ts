import { isShown } from '../accounts/accounts.ts'
import type { Context } from '../context.ts'
import type { Db } from '../database/sql.ts'
import type { Condition, Language } from '../enums.ts'
import { notFound } from '../errors.ts'
import type { Listable } from './listing.ts'
import { reservedUnits } from './listings.ts'
import type { OfferModel } from './offer-model.ts'
import { offersFrom } from './offer-store.ts'
import { isOf, type Offer, type Seller, sellerColumns } from './offers.ts'

/** Offers as buyers see them on the public pages. Hidden sellers and their offers are left out, as in offers.ts. */

export type MarketFilters = {
  condition?: Condition | undefined
  language?: Language | undefined
}

/** An offer with its seller. `cardId` or `productSlug` is the item. */
export type MarketOffer = Offer & Listable & { seller: Seller }

/** Offers on a page, those that pass its filters in all, and the lowest price in cents, null without offers. */
export type ShownOffers = {
  rows: MarketOffer[]
  total: number
  lowestCents: number | null
  /** The item has so many offers that `total` may be too low. */
  isCut: boolean
}

type Part = { limit: number; offset: number }

/**
 * The offers of an item that pass the filters, cheapest first: those in memory (docs/offers.md), otherwise those of the
 * database.
 *
 * @param partOf the part to return, by the number of offers
 */
export async function offersOnMarket(
  ctx: Context & { offers: OfferModel },
  item: Listable,
  filters: MarketFilters,
  partOf: (total: number) => Part,
): Promise<ShownOffers> {
  const inMemory = await ctx.offers.read(item)
  if (!inMemory) return offersInDatabase(ctx, item, filters, partOf)
  ctx.offers.used(inMemory)
  const passing = offersFrom(ctx.offers, inMemory, ctx.now()).filter(passes(filters))
  const { limit, offset } = partOf(passing.length)
  return {
    rows: passing.slice(offset, offset + limit).map((offer) => ({ ...offer, ...item })),
    total: passing.length,
    lowestCents: passing[0]?.priceCents ?? null,
    isCut: false,
  }
}

const passes =
  ({ condition, language }: MarketFilters) =>
  (offer: Offer) =>
    (condition === undefined || offer.condition === condition) &&
    (language === undefined || offer.language === language)

/** The cheapest offers of an item that are shown. Filters search among them: one shop can list a card a million times. */
const MAX_OF_ITEM = 10_000

async function offersInDatabase(
  { db, now }: Context,
  item: Listable,
  filters: MarketFilters,
  partOf: (total: number) => Part,
): Promise<ShownOffers> {
  const cheapest = db`
    (
      select *
      from listings
      where ${isOf(db, item)} and status = 'active'
      order by price_cents, id
      limit ${MAX_OF_ITEM}
    ) l
    join accounts a on a.id = l.account_id
  `
  const matches = isOnMarket(db, filters)
  const [counted] = await db<Omit<ShownOffers, 'rows'>[]>`
    select
      count(*) filter (where ${matches}) as total,
      min(l.price_cents) filter (where ${matches}) as "lowestCents",
      count(*) = ${MAX_OF_ITEM} as "isCut"
    from ${cheapest}
  `
  const { limit, offset } = partOf(counted!.total)
  // The reservations are added up only for the offers on the page.
  const rows = await db<OfferRow[]>`
    select ${offerColumns(db, now())}
    from (
      select l.*
      from ${cheapest}
      where ${matches}
      order by l.price_cents, l.id
      limit ${limit} offset ${offset}
    ) l
    join accounts a on a.id = l.account_id
    order by l.price_cents, l.id
  `
  return { rows: rows.map(offerFrom), ...counted! }
}

/** The newest offers of a shop that its page shows. Filters search among them: a shop can have a million. */
const MAX_OF_SHOP = 20_000

/**
 * A shop's newest offers. Reads one more than the page has, instead of counting.
 *
 * @returns whether there are more after the page
 */
export async function offersOfShop(
  { db, now }: Context,
  accountId: number,
  filters: MarketFilters,
  page: Part,
): Promise<{ rows: MarketOffer[]; hasMore: boolean }> {
  // As above, the reservations are added up only for the offers on the page.
  const rows = await db<OfferRow[]>`
    select ${offerColumns(db, now())}
    from (
      select l.*
      from (
        select *
        from listings
        where account_id = ${accountId} and status = 'active'
        order by id desc
        limit ${MAX_OF_SHOP}
      ) l
      join accounts a on a.id = l.account_id
      where ${isOnMarket(db, filters)}
      order by l.id desc
      limit ${page.limit + 1} offset ${page.offset}
    ) l
    join accounts a on a.id = l.account_id
    order by l.id desc
  `
  return { rows: rows.slice(0, page.limit).map(offerFrom), hasMore: rows.length > page.limit }
}

/** The cheapest offers of an item among which lists look for one of a shop that is not hidden. */
const MAX_FOR_LOWEST = 1_000

/** The lowest price of each item that has an offer, by its id or slug. */
export async function lowestPrices(
  { db }: Context,
  kind: 'card' | 'product',
  ids: string[],
): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map()
  const column = kind === 'card' ? db`l.card_id` : db`l.product_slug`
  const rows = await db<{ id: string; cents: number }[]>`
    select wanted.id, lowest.cents
    from unnest(${ids}::text[]) as wanted (id)
    cross join lateral (
      select l.price_cents as cents
      from (
        select *
        from listings l
        where ${column} = wanted.id and status = 'active'
        order by price_cents, id
        limit ${MAX_FOR_LOWEST}
      ) l
      join accounts a on a.id = l.account_id
      where ${isOnMarket(db, {})}
      order by l.price_cents, l.id
      limit 1
    ) lowest
  `
  return new Map(rows.map(({ id, cents }) => [id, cents]))
}

/** @throws not_found for an unknown or hidden shop */
export async function findShop({ db }: Context, slug: string): Promise<Seller> {
  const [shop] = await db<Seller[]>`
    select id, ${sellerColumns(db)}
    from accounts a
    where slug = ${slug} and ${isShown(db)}
  `
  if (!shop) throw notFound('There is no such shop.')
  return shop
}

/** The slugs of all shops, for search engines. */
export async function shopSlugs({ db }: Context, limit: number): Promise<string[]> {
  const rows = await db<{ slug: string }[]>`
    select slug from accounts a where ${isShown(db)} order by id limit ${limit}
  `
  return rows.map(({ slug }) => slug)
}

const isOnMarket = (db: Db, { condition, language }: MarketFilters) => db`
  l.status = 'active'
  and ${isShown(db)}
  ${condition === undefined ? db`` : db`and l.condition = ${condition}`}
  ${language === undefined ? db`` : db`and l.language = ${language}`}
`

type OfferRow = Offer & Listable & Omit<Seller, 'id'>

const offerColumns = (db: Db, now: Date) => db`
  l.id,
  l.account_id as "accountId",
  l.card_id as "cardId",
  l.product_slug as "productSlug",
  l.price_cents as "priceCents",
  l.quantity,
  ${reservedUnits(db, db`l.id`, now)} as reserved,
  l.condition,
  l.language,
  l.printing,
  l.grading_company as "gradingCompany",
  l.grading_grade as "gradingGrade",
  l.description,
  l.photos,
  ${sellerColumns(db)}
`

function offerFrom(row: OfferRow): MarketOffer {
  const { shopName, slug, sellerTier, rating, reviews } = row
  return { ...row, seller: { id: row.accountId, shopName, slug, sellerTier, rating, reviews } }
}

import type { Db } from '../database/sql.ts'
import type { TestApp } from './app.ts'

/** A listing of anybody's, with these addresses waiting as its photos, as creating one through the API leaves it. */
export async function listingWith(
  { ctx, seller }: Pick<TestApp, 'ctx' | 'seller'>,
  ...urls: string[]
): Promise<number> {
  const { accountId } = await seller()
  const now = ctx.now()
  const listingId = await insertListing(ctx.db, accountId, now)
  await insertPhotos(ctx.db, listingId, urls, now)
  return listingId
}

/** A listing written by hand. */
export async function insertListing(db: Db, accountId: number, now: Date): Promise<number> {
  await db`
    insert into products (slug, name, category, version)
    values ('box', 'Box', 'other', 1)
    on conflict do nothing
  `
  const [listing] = await db<{ id: number }[]>`
    insert into listings (
      account_id, product_slug, price_cents, quantity, language, created_at, updated_at
    )
    values (${accountId}, 'box', 500, 1, 'EN', ${now}, ${now})
    returning id
  `
  return listing!.id
}

export async function insertPhotos(
  db: Db,
  listingId: number,
  urls: string[],
  now: Date,
): Promise<void> {
  await db`
    insert into photos (listing_id, position, url, next_attempt_at, created_at)
    select ${listingId}, position - 1, url, ${now}, ${now}
    from unnest(${urls}::text[]) with ordinality as given (url, position)
  `
}

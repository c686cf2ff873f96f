import Type, { type Static } from 'typebox'
import { getAccount } from '../../accounts/accounts.ts'
import { findOwnListings } from '../../listings/own-listings.ts'
import { nextIds } from '../../listings/search-listings.ts'
import { findSliceLine, listSlices, type SliceLine } from '../../orders/slice-list.ts'
import type { Service } from '../../service.ts'
import type { App } from '../schema.ts'
import { Data, Text } from '../schema.ts'
import { CatalogItem } from '../shapes/catalog-item.ts'
import { SliceLineSchema, sliceLineJson } from '../shapes/slice-line.ts'
import { catalogItems, DashboardListing, dashboardListing, searchOf } from './listings.ts'

/** Records of each kind that one search shows. */
const MAX_FOUND = 5

const FoundSchema = Type.Object({
  orders: Type.Array(SliceLineSchema),
  listings: Type.Array(DashboardListing),
  items: Type.Array(CatalogItem, { description: 'Cards and products of the catalog' }),
})

export type Found = Static<typeof FoundSchema>

/**
 * The search over everything: orders by their number, slice key or the buyer's name, listings by their number, reference
 * or item, and items of the catalog.
 */
export function searchApi(app: App, ctx: Service): void {
  app.get(
    '/search',
    {
      schema: {
        querystring: Type.Object({ q: Text({ minLength: 1, maxLength: 100 }) }),
        response: { 200: Data(FoundSchema, 'The first of each kind') },
      },
    },
    async ({ member: { accountId }, query: { q } }) => {
      const catalog = ctx.catalog.current
      const number = /^\d{1,15}$/.test(q) ? Number(q) : undefined
      const [account, orders, ids] = await Promise.all([
        getAccount(ctx, accountId),
        findOrders(ctx, accountId, q, number),
        nextIds(ctx, accountId, searchOf(catalog, { q }), null, MAX_FOUND),
      ])
      const wanted = new Set(number === undefined ? ids : [number, ...ids])
      const found = await findOwnListings(ctx, accountId, [...wanted])
      await ctx.catalog.include(found)
      const listings = found
        .slice(0, MAX_FOUND)
        .map((listing) => dashboardListing(ctx, account, listing))
      return {
        data: {
          orders: orders.map(sliceLineJson),
          listings,
          items: catalogItems(catalog, q, { cards: 4, products: 2 }).items,
        },
      }
    },
  )
}

async function findOrders(
  ctx: Service,
  accountId: number,
  text: string,
  number: number | undefined,
): Promise<SliceLine[]> {
  const wanted =
    number !== undefined
      ? { orderId: number }
      : text.startsWith('slc_')
        ? { sliceKey: text }
        : undefined
  if (!wanted) return (await listSlices(ctx, accountId, { buyer: text }, {}, MAX_FOUND)).rows
  const line = await findSliceLine(ctx, accountId, wanted)
  return line ? [line] : []
}

import type { Catalog } from '../../../catalog/catalog.ts'
import type { Listable } from '../../../listings/listing.ts'
import type { Service } from '../../../service.ts'
import type { PreparedSource } from '../../fast-lane.ts'
import { responseCache } from '../../response-cache.ts'
import { type MarketPage, preparedPage } from './layout.ts'

/** Memory for the pages that were opened last: a page has a few kilobytes. */
const MAX_BYTES = 8 * 1024 * 1024

/** Pages of one kind of item, at a path that ends with the item's name. */
type ItemPages = {
  /** The pattern of the path, for metrics. */
  route: string
  itemOf(name: string): Listable
  /** The page without offers; undefined or an error if the name leads to another page. */
  pageFor(catalog: Catalog, name: string, root: string): MarketPage | undefined
}

export type OfferlessPages = PreparedSource & {
  /** @param base the path before the name, with its slashes */
  add(base: string, pages: ItemPages): void
}

/** A name that is the same in a path. Others are left to the router, and so are addresses with a query. */
const PLAIN_NAME = /^[\w.-]{1,150}$/

/** The relative address of the service from these pages. */
const ROOT = '..'

/**
 * The fast lane's source for pages of items without offers. They depend only on the catalog, so they are kept until it
 * changes. Whether an item has offers is known while its offers are in memory (docs/offers.md); otherwise the ordinary path
 * responds, and brings them there.
 */
export function offerlessPages(
  ctx: Pick<Service, 'config' | 'catalog' | 'offers'>,
): OfferlessPages {
  const cache = responseCache(ctx, MAX_BYTES)
  const kinds = new Map<string, ItemPages>()

  const prepare = (url: string, name: string, { route, pageFor }: ItemPages) => {
    const catalog = ctx.catalog.current
    try {
      const page = pageFor(catalog, name, ROOT)
      if (!page) return undefined
      const prepared = preparedPage(ctx, page, ROOT, route)
      cache.keep(url, catalog, prepared)
      return prepared
    } catch {
      // The ordinary path reports the error.
      return undefined
    }
  }

  return {
    scope: null,

    add: (base, pages) => kinds.set(base, pages),

    find(url) {
      const start = url.indexOf('/', 1) + 1
      const kind = kinds.get(url.slice(0, start))
      if (!kind) return undefined
      const name = url.slice(start)
      if (!PLAIN_NAME.test(name)) return undefined
      const offers = ctx.offers.peek(kind.itemOf(name))
      if (!offers || offers.numbers.length > 0) return undefined
      return () => {
        ctx.offers.used(offers)
        return cache.find(url) ?? prepare(url, name, kind)
      }
    },
  }
}

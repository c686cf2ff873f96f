import type { Catalog, Names } from './catalog.ts'
import type { CardEntry, ProductEntry, SetEntry } from './entries.ts'
import { findSetForFilter, fits } from './identifiers.ts'

export type SetFilters = { q?: string; language?: string; region?: string; series?: string }
export type CardFilters = {
  q?: string
  set?: string
  language?: string
  region?: string
  rarity?: string
}
export type ProductFilters = { q?: string; set?: string; category?: string }

/** All sets that pass the filters (§4.2): newest first, with `q` the best match first. */
export function browseSets(catalog: Catalog, filters: SetFilters): SetEntry[] {
  const { series } = filters
  const seriesName = series === undefined ? undefined : namedSeries(catalog, series)
  return listed(catalog.sets, catalog.setNames, filters.q, (set) => {
    if (seriesName !== undefined && set.series.toLowerCase() !== seriesName) return false
    return fits(set, filters)
  })
}

/**
 * All cards that pass the filters (§4.4): newest set first, with `q` the best match first.
 *
 * @throws not_found when `set` matches no set at all, ambiguous_identifier when it matches several
 */
export function browseCards(catalog: Catalog, filters: CardFilters): CardEntry[] {
  const { set: identifier, rarity } = filters
  let among = catalog.cards
  let setWanted: SetEntry | undefined
  if (identifier !== undefined) {
    setWanted = findSetForFilter(catalog, identifier, filters)
    if (!setWanted) return []
    among = setWanted.cards
  }
  return remembered(catalog, filters, () =>
    listed(among, catalog.cardNames, filters.q, (card) => {
      if (setWanted && card.set !== setWanted) return false
      if (rarity !== undefined && card.rarity !== rarity) return false
      return fits(card.set, filters)
    }),
  )
}

/**
 * All sealed products that pass the filters (§4.6).
 *
 * @throws not_found when `set` matches no set, ambiguous_identifier when it matches several
 */
export function browseProducts(catalog: Catalog, filters: ProductFilters): ProductEntry[] {
  const set = filters.set === undefined ? undefined : findSetForFilter(catalog, filters.set, {})
  return listed(catalog.products, catalog.productNames, filters.q, (product) => {
    if (set && product.set !== set) return false
    return filters.category === undefined || product.category === filters.category
  })
}

/** A series' folded name, by its shortcut or its name in any casing; an unknown value is taken as a name. */
function namedSeries(catalog: Catalog, value: string): string {
  const folded = value.toLowerCase()
  const byShortcut = catalog.series.find((series) => series.shortcut === folded)
  return (byShortcut?.name ?? value).toLowerCase()
}

function listed<T>(
  all: T[],
  names: Names<T>,
  q: string | undefined,
  passes: (entry: T) => boolean,
): T[] {
  if (q === undefined) return all.filter(passes)
  const found: T[] = []
  for (const position of names.index.search(q).positions) {
    for (const entry of names.bearers[position]!) if (passes(entry)) found.push(entry)
  }
  return found
}

/**
 * Walking through a long list asks for the same filters page after page: the lists made last are kept with
 * the catalog they were made from. Bounded by how many cards the lists hold together.
 */
const lists = new WeakMap<Catalog, { byFilters: Map<string, CardEntry[]>; held: number }>()
const MAX_HELD = 1_000_000

function remembered(
  catalog: Catalog,
  { q, set, language, region, rarity }: CardFilters,
  make: () => CardEntry[],
): CardEntry[] {
  if (!q && !language && !region && !rarity) {
    return set === undefined ? catalog.cards : make()
  }
  const key = JSON.stringify([q, set, language, region, rarity])
  let kept = lists.get(catalog)
  if (!kept) {
    kept = { byFilters: new Map(), held: 0 }
    lists.set(catalog, kept)
  }
  let list = kept.byFilters.get(key)
  if (list) {
    kept.byFilters.delete(key)
  } else {
    list = make()
    kept.held += list.length + 1
    for (const [oldest, cards] of kept.byFilters) {
      if (kept.held <= MAX_HELD) break
      kept.byFilters.delete(oldest)
      kept.held -= cards.length + 1
    }
  }
  kept.byFilters.set(key, list)
  return list
}

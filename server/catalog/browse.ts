import { byteBounded } from '../text/byte-bounded.ts'
import type { Catalog } from './catalog.ts'
import type { CardEntry, ProductEntry, SetEntry } from './entries.ts'
import { findSetForFilter, matchesFilters } from './identifiers.ts'
import {
  type Names,
  searchAnyRarity,
  searchCorrected,
  searchTitle,
  searchTyposWithAttributes,
  searchWithAttributes,
} from './search/attribute-search.ts'
import type { Attributes } from './search/attributes.ts'
import { type Matches, Tier } from './search/name-grades.ts'
import { plainWords } from './search/titles.ts'

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
  return listed(catalog.sets, catalog.setNames, undefined, filters.q, (set) => {
    if (seriesName !== undefined && set.series.toLowerCase() !== seriesName) return false
    return matchesFilters(set, filters)
  })
}

/**
 * All cards that pass the filters (§4.4): newest set first, with `q` the best match first.
 *
 * @throws not_found if `set` matches no set at all, ambiguous_identifier if it matches several
 */
export function browseCards(catalog: Catalog, filters: CardFilters): CardEntry[] {
  const { set: identifier, rarity, language, region } = filters
  let among = catalog.cards
  let setWanted: SetEntry | undefined
  if (identifier !== undefined) {
    setWanted = findSetForFilter(catalog, identifier, filters)
    if (!setWanted) return []
    among = setWanted.cards
    if (filters.q === undefined && rarity === undefined) {
      return matchesFilters(setWanted, filters) ? among : []
    }
  }
  // The filters are read once, because thousands of cards can match.
  const passes = (card: CardEntry) =>
    (setWanted === undefined || card.set === setWanted) &&
    (rarity === undefined || card.rarity === rarity) &&
    (language === undefined || card.set.language === language) &&
    (region === undefined || card.set.region === region)
  return cached(catalog, filters, () => {
    const found = listed(among, catalog.cardNames, catalog.cardAttributes, filters.q, passes)
    const identified = cardsOfId(catalog, filters.q).filter(passes)
    return identified.length === 0 ? found : [...new Set([...identified, ...found])]
  })
}

/** The cards that a whole query identifies: `mew_9` would otherwise find Mew 9 before the card of the set `mew`. */
function cardsOfId(catalog: Catalog, q = ''): CardEntry[] {
  // Most queries are names. Ids have a digit.
  if (!/\d/.test(q)) return []
  const id = q.trim()
  const card = catalog.cardsById.get(id) ?? cardOfIdInAnyCase(catalog, id.toLowerCase())
  return card ? [card] : (catalog.cardsByFriendlyId.get(id) ?? [])
}

function cardOfIdInAnyCase({ setsById }: Catalog, id: string): CardEntry | undefined {
  const set = setsById.get(id.slice(0, id.lastIndexOf('-')))
  return set?.cards.find((card) => card.id.toLowerCase() === id)
}

/**
 * All sealed products that pass the filters (§4.6).
 *
 * @throws not_found when `set` matches no set, ambiguous_identifier when it matches several
 */
export function browseProducts(catalog: Catalog, filters: ProductFilters): ProductEntry[] {
  const set = filters.set === undefined ? undefined : findSetForFilter(catalog, filters.set)
  return listed(
    catalog.products,
    catalog.productNames,
    catalog.productAttributes,
    filters.q,
    (product) => {
      if (set && product.set !== set) return false
      return filters.category === undefined || product.category === filters.category
    },
  )
}

/** The lower-case name of a series, by its shortcut or its name in any case. An unknown value counts as a name. */
function namedSeries(catalog: Catalog, value: string): string {
  const folded = value.toLowerCase()
  const byShortcut = catalog.series.find((series) => series.shortcut === folded)
  return (byShortcut?.name ?? value).toLowerCase()
}

/**
 * The entries that a search finds: names that have every word, then names with typos; if no name has every word, names
 * with attributes first. A title of an offer is searched again without the words that describe the offer, after the names
 * that have all of its words and before those with typos, of which the words as typed come first. If this finds nothing, typos
 * in words of sets and rarities are corrected, then rarities are ignored, and at last unknown words. The filters have no part
 * in these choices, so they only narrow the results of the query.
 */
function listed<T extends { name: string }>(
  all: T[],
  names: Names<T>,
  attributes: Attributes<T> | undefined,
  q: string | undefined,
  passes: (entry: T) => boolean,
): T[] {
  if (q === undefined) return all.filter(passes)
  const entriesOf = ({ positions }: Matches) => {
    const entries: T[] = []
    for (const position of positions) {
      for (const entry of names.entriesByName[position]!) if (passes(entry)) entries.push(entry)
    }
    return entries
  }
  const asTyped = names.index.search(q)
  if (asTyped.sure > 0 || !attributes) return entriesOf(asTyped)
  const typed = attributes.printed(asTyped.words)
  const plain = attributes.respelled(plainWords(typed))
  // A printing can be `holo` although the rarity isn't.
  const readings = distinct([typed, plain, plain.filter((word) => word !== 'holo')])
  let matches = asTyped
  for (const [i, words] of readings.entries()) {
    if (i > 0) {
      matches = names.index.search(words.join(' '), { upTo: Tier.inside })
      if (matches.sure > 0) return entriesOf(matches)
    }
    const described =
      words.some(attributes.describes) && searchWithAttributes(names, attributes, words, passes)
    if (described) return [...new Set([...described, ...entriesOf(matches)])]
  }
  if (asTyped.positions.length > 0) return entriesOf(asTyped)
  if (readings.length > 1) matches = names.index.search(plain.join(' '))
  if (matches.positions.length > 0) return entriesOf(matches)
  return (
    searchTyposWithAttributes(names, attributes, plain, passes) ||
    searchCorrected(names, attributes, plain, passes) ||
    searchAnyRarity(names, attributes, plain, passes) ||
    searchTitle(attributes, plain, passes) ||
    []
  )
}

/** The readings of a query that have words, each once. */
const distinct = (readings: string[][]) =>
  [...new Set(readings.map((words) => words.join(' ')))].filter(Boolean).map((q) => q.split(' '))

/**
 * A cache of filtered lists, because a client that pages through a long list repeats its filters for each page. Each
 * snapshot of the catalog has its own lists (least recently used), bounded by their memory: anyone can search for a million
 * texts that find nothing.
 */
const caches = new WeakMap<Catalog, ReturnType<typeof byteBounded<CardEntry[]>>>()
const MAX_CACHE_BYTES = 8 * 1024 * 1024
/** Results that fit on a page of the default size seldom have a next page: searching again costs less than keeping them. */
const MAX_SHORT_CARDS = 30
/** Estimated memory of an entry, in addition to its key and cards. */
const ENTRY_BYTES = 200

const bytesOf = (key: string, cards: CardEntry[]) => ENTRY_BYTES + 2 * key.length + 8 * cards.length

function cached(
  catalog: Catalog,
  { q, set, language, region, rarity }: CardFilters,
  make: () => CardEntry[],
): CardEntry[] {
  if (!q && !language && !region && !rarity) {
    return set === undefined ? catalog.cards : make()
  }
  // No value is empty, and only a `q` of a public page can contain NUL. Making JSON takes longer.
  const key = `${q ?? ''}\0${set ?? ''}\0${language ?? ''}\0${region ?? ''}\0${rarity ?? ''}`
  const cache = caches.getOrInsertComputed(catalog, () => byteBounded(MAX_CACHE_BYTES, bytesOf))
  const list = cache.get(key) ?? make()
  if (q && list.length <= MAX_SHORT_CARDS) return list
  cache.set(key, list)
  return list
}

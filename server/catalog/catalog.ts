import type { YieldToEventLoop } from '../time/time-slices.ts'
import { append } from './append.ts'
import {
  byNumber,
  byReleaseDate,
  type CardEntry,
  compare,
  type ProductEntry,
  type SeriesEntry,
  type SetEntry,
} from './entries.ts'
import type { Names } from './search/attribute-search.ts'
import type { Attributes } from './search/attributes.ts'
import { cardAttributes } from './search/card-attributes.ts'
import { buildNameIndex } from './search/name-index.ts'
import { productAttributes } from './search/product-attributes.ts'
import { describeSets } from './search/sets.ts'

/**
 * An immutable snapshot of the whole catalog. Requests read it without waiting; a change of the catalog replaces it.
 * Everything but `hidden` is visible.
 */
export type Catalog = {
  version: number
  /** Most sets first, then name. */
  series: SeriesEntry[]
  /** Newest release first, unknown last, then name, then id. */
  sets: SetEntry[]
  setsById: Map<string, SetEntry>
  setsByShortcut: Map<string, SetEntry[]>
  /** Newest set first, then natural number, then id. */
  cards: CardEntry[]
  cardsById: Map<string, CardEntry>
  cardsByFriendlyId: Map<string, CardEntry[]>
  /** Newest set first, then name, then slug. */
  products: ProductEntry[]
  productsBySlug: Map<string, ProductEntry>
  setNames: Names<SetEntry>
  cardNames: Names<CardEntry>
  productNames: Names<ProductEntry>
  cardAttributes: Attributes<CardEntry>
  productAttributes: Attributes<ProductEntry>
  /** Visible and hidden products without a set, separate so that the next snapshot can be built from this one. */
  looseProducts: ProductEntry[]
  hidden: Hidden
}

/** Hidden sets, and all cards and products that are hidden, themselves or with their set. */
type Hidden = {
  sets: SetEntry[]
  cardsById: Map<string, CardEntry>
  productsBySlug: Map<string, ProductEntry>
}

export type CatalogParts = {
  version: number
  series: { name: string; shortcut: string | null }[]
  sets: SetEntry[]
  looseProducts: ProductEntry[]
}

/** Sorts and indexes the parts. The whole catalog takes some hundred milliseconds, so it yields to the event loop. */
export async function assembleCatalog(
  parts: CatalogParts,
  yieldToEventLoop: YieldToEventLoop,
): Promise<Catalog> {
  const sets = parts.sets.filter((set) => set.visible).sort(bySet)
  await yieldToEventLoop()

  const cards: CardEntry[] = []
  for (const sameDay of groupsOf(sets, (set) => set.releaseDate)) {
    const batch = sameDay.flatMap((set) => set.cards)
    if (sameDay.length > 1) batch.sort(byNumber)
    for (const card of batch) cards.push(card)
    await yieldToEventLoop()
  }
  const products = [
    ...sets.flatMap((set) => set.products),
    ...parts.looseProducts.filter((product) => product.visible),
  ].sort(byProduct)

  const cardsById = new Map<string, CardEntry>()
  const cardsByFriendlyId = new Map<string, CardEntry[]>()
  for (const [index, card] of cards.entries()) {
    cardsById.set(card.id, card)
    if (card.friendlyId !== null) append(cardsByFriendlyId, card.friendlyId, card)
    if (index % 2_000 === 0) await yieldToEventLoop()
  }
  const setsByShortcut = new Map<string, SetEntry[]>()
  for (const set of sets) if (set.shortcut !== null) append(setsByShortcut, set.shortcut, set)

  const describedSets = describeSets(sets, parts.series)

  return {
    version: parts.version,
    series: seriesEntries(parts.series, sets),
    sets,
    setsById: new Map(sets.map((set) => [set.id, set])),
    setsByShortcut,
    cards,
    cardsById,
    cardsByFriendlyId,
    products,
    productsBySlug: new Map(products.map((product) => [product.slug, product])),
    setNames: await namesOf(sets, yieldToEventLoop),
    cardNames: await namesOf(cards, yieldToEventLoop),
    productNames: await namesOf(products, yieldToEventLoop),
    cardAttributes: cardAttributes(sets, cards, describedSets),
    productAttributes: productAttributes(products, describedSets),
    looseProducts: parts.looseProducts,
    hidden: hiddenOf(parts),
  }
}

function hiddenOf({ sets, looseProducts }: CatalogParts): Hidden {
  const cards = sets.flatMap((set) =>
    set.visible ? set.hiddenCards : [...set.cards, ...set.hiddenCards],
  )
  const products = sets.flatMap((set) =>
    set.visible ? set.hiddenProducts : [...set.products, ...set.hiddenProducts],
  )
  const all = [...products, ...looseProducts.filter((product) => !product.visible)]
  return {
    sets: sets.filter((set) => !set.visible),
    cardsById: new Map(cards.map((card) => [card.id, card])),
    productsBySlug: new Map(all.map((product) => [product.slug, product])),
  }
}

/** The card of an existing listing, which may be hidden. Undefined while the snapshot lacks it. */
export const listedCard = ({ cardsById, hidden }: Catalog, id: string): CardEntry | undefined =>
  cardsById.get(id) ?? hidden.cardsById.get(id)

/** The sealed product of an existing listing, which may be hidden. Undefined while the snapshot lacks it. */
export const listedProduct = (
  { productsBySlug, hidden }: Catalog,
  slug: string,
): ProductEntry | undefined => productsBySlug.get(slug) ?? hidden.productsBySlug.get(slug)

function seriesEntries(series: CatalogParts['series'], sets: SetEntry[]): SeriesEntry[] {
  const counts = new Map<string, number>()
  for (const set of sets) counts.set(set.series, (counts.get(set.series) ?? 0) + 1)
  return series
    .map(({ name, shortcut }) => ({ name, shortcut, setsCount: counts.get(name) ?? 0 }))
    .sort((a, b) => b.setsCount - a.setsCount || compare(a.name, b.name))
}

async function namesOf<T extends { name: string }>(
  entries: T[],
  yieldToEventLoop: YieldToEventLoop,
): Promise<Names<T>> {
  const byName = new Map<string, T[]>()
  for (const [index, entry] of entries.entries()) {
    append(byName, entry.name, entry)
    if (index % 5_000 === 0) await yieldToEventLoop()
  }
  return {
    index: await buildNameIndex([...byName.keys()], yieldToEventLoop),
    entriesByName: [...byName.values()],
  }
}

const bySet = (a: SetEntry, b: SetEntry) =>
  byReleaseDate(a.releaseDate, b.releaseDate) || compare(a.name, b.name) || compare(a.id, b.id)

const byProduct = (a: ProductEntry, b: ProductEntry) =>
  byReleaseDate(a.set?.releaseDate ?? null, b.set?.releaseDate ?? null) ||
  compare(a.name, b.name) ||
  compare(a.slug, b.slug)

/** Groups consecutive items with the same key. */
function groupsOf<T>(items: T[], key: (item: T) => unknown): T[][] {
  const groups: T[][] = []
  let last: unknown
  for (const item of items) {
    if (groups.length === 0 || key(item) !== last) groups.push([])
    groups.at(-1)!.push(item)
    last = key(item)
  }
  return groups
}

import { createHash } from 'node:crypto'
import { remembering } from '../text/remembering.ts'
import { afterCard, type CardBytes, cardText, productJson, setJson } from './json.ts'
import type { CardRecord, ProductRecord, SetRecord } from './record.ts'

/**
 * The catalog's nouns in memory: the few fields that requests use, and the serialized bytes of responses. A set owns its
 * cards and products; a change of any of them creates a new set entry.
 */

export type SeriesEntry = { name: string; shortcut: string | null; setsCount: number }

export type SetEntry = {
  id: string
  shortcut: string | null
  name: string
  series: string
  language: string
  region: string
  releaseDate: string | null
  printedTotal: number | null
  visible: boolean
  /** Cards that are not hidden themselves, by natural number, then id. */
  cards: CardEntry[]
  hiddenCards: CardEntry[]
  /** Products that are not hidden themselves, by name, then slug. */
  products: ProductEntry[]
  hiddenProducts: ProductEntry[]
  /** The Set object and the cards' bytes: see json.ts. */
  json: Buffer
  cardBytes: Buffer
  afterCard: Buffer
  /** The hash of the set and its cards: computed at its first use, see `digestOf`. */
  digest: string | undefined
}

/** `listable` is the JSON of the entry in a seller's listings: written at its first use, by the listing's shape. */
export type CardEntry = CardBytes & {
  id: string
  friendlyId: string | null
  name: string
  number: string
  rarity: string | null
  set: SetEntry
  /** Sorts numbers as people do: 2 before 10, TG2 before TG10. */
  naturalNumber: string
  listable: string | undefined
}

export type ProductEntry = {
  slug: string
  name: string
  category: string
  set: SetEntry | null
  visible: boolean
  /** The Sealed product object (§2.5). */
  json: Buffer
  listable: string | undefined
}

/** Rows of the database, as written by an import. */
export type SetRow = Row<SetRecord>
export type ProductRow = Row<ProductRecord>
/** The fields of a card that requests use, and its JSON: see `cardText`. */
export type CardRow = Pick<Row<CardRecord>, 'id' | 'name' | 'number' | 'rarity' | 'visible'> & {
  friendly_id: string | null
  json: string
}
type Row<Record> = Omit<Record, 'type' | 'visible'> & { visible: boolean }

/** Most names, numbers and rarities occur many times: equal ones share a string, and numbers a sort key. */
export type SharedTexts = {
  /** Returns the first of equal texts. */
  shared(text: string): string
  /** See `naturalNumber`. */
  sortKey(number: string): string
}

export const sharedTexts = (): SharedTexts => ({
  shared: remembering((text: string) => text),
  sortKey: remembering(naturalNumber),
})

/**
 * Builds a set with its cards and products.
 *
 * @param marketplaceUrl the prefix of the public pages
 * @param texts shared by all sets of one load
 */
export function setEntry(
  row: SetRow,
  cards: CardRow[],
  products: ProductRow[],
  marketplaceUrl: string,
  texts: SharedTexts = sharedTexts(),
): SetEntry {
  const { id, shortcut, name, series, language, region, release_date: releaseDate } = row
  const isVisible = (record: { visible: boolean }) => record.visible
  const json = setJson(row, {
    cards: cards.filter(isVisible).length,
    products: products.filter(isVisible).length,
  })
  const set: SetEntry = {
    id,
    shortcut,
    name,
    series,
    language,
    region,
    releaseDate,
    printedTotal: row.printed_total,
    visible: row.visible,
    cards: [],
    hiddenCards: [],
    products: [],
    hiddenProducts: [],
    json,
    cardBytes: Buffer.alloc(0),
    afterCard: afterCard(json),
    digest: undefined,
  }
  addCards(set, cards, marketplaceUrl, texts)
  const entries = products.map((product) => productEntry(product, set, marketplaceUrl))
  set.products = entries
    .filter(isVisible)
    .sort((a, b) => compare(a.name, b.name) || compare(a.slug, b.slug))
  set.hiddenProducts = entries.filter((product) => !product.visible)
  return set
}

/** A hash of the set, its cards and which of them are visible. It is the same in every process. */
export function digestOf(set: SetEntry): string {
  if (set.digest === undefined) {
    const hash = createHash('sha256').update(set.json).update(set.cardBytes)
    for (const { start } of set.hiddenCards) hash.update(` ${start}`)
    set.digest = hash.digest('base64url')
  }
  return set.digest
}

function addCards(
  set: SetEntry,
  rows: CardRow[],
  marketplaceUrl: string,
  { shared, sortKey }: SharedTexts,
): void {
  const pieces: string[] = []
  let start = 0
  for (const row of rows) {
    const text = cardText(row, marketplaceUrl)
    const end = start + Buffer.byteLength(text)
    pieces.push(text)
    const cards = row.visible ? set.cards : set.hiddenCards
    cards.push({
      id: row.id,
      friendlyId: row.friendly_id,
      name: shared(row.name),
      number: shared(row.number),
      rarity: row.rarity === null ? null : shared(row.rarity),
      set,
      naturalNumber: sortKey(row.number),
      listable: undefined,
      start,
      end,
    })
    start = end
  }
  set.cardBytes = Buffer.from(pieces.join(''))
  set.cards.sort(byNumber)
}

/** Builds a product of a set, or of none. */
export function productEntry(
  row: ProductRow,
  set: SetEntry | null,
  marketplaceUrl: string,
): ProductEntry {
  const { slug, name, category, visible } = row
  const json = productJson(row, set, marketplaceUrl)
  return { slug, name, category, set, visible, json, listable: undefined }
}

/** A sort key for the natural order of collector numbers: each run of digits is prefixed with its length. */
function naturalNumber(number: string): string {
  return number.replace(/\d+/g, (run) => {
    const digits = run.replace(/^0+(?=\d)/, '')
    return String.fromCharCode(0x30 + digits.length) + digits
  })
}

/** Natural number, then id: the order of cards within one release date. */
export const byNumber = (a: CardEntry, b: CardEntry) =>
  compare(a.naturalNumber, b.naturalNumber) || compare(a.id, b.id)

/** Order by code units, independent of the machine's locale. */
export const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** Newest first, unknown dates last. */
export const byReleaseDate = (a: string | null, b: string | null) =>
  a === b ? 0 : a === null ? 1 : b === null ? -1 : compare(b, a)

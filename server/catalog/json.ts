import type { Bytes } from './bytes.ts'
import type { CardRecord, ProductRecord, SetRecord } from './record.ts'

/**
 * The JSON of sets, cards and sealed products (§2.3 to §2.5): serialised once when the catalog is loaded, and copied
 * into responses. No request parses or serialises it again.
 *
 * A set or a product is one buffer. A card leaves out its set, which would be repeated in each: the cards of a set share
 * the buffer `cardBytes`, each up to and including `"set":`, and the set's JSON and a brace complete the card.
 */

/** One card within its set's `cardBytes`. */
export type CardBytes = {
  start: number
  end: number
  set: { json: Buffer; cardBytes: Buffer; afterCard: Buffer }
}

/** The fields that responses show. */
type Shown<Record> = Omit<Record, 'type' | 'visible'>

/** Serialises a Set object. */
export const setJson = (
  row: Shown<SetRecord>,
  counts: { cards: number; products: number },
): Buffer =>
  Buffer.from(
    JSON.stringify({
      id: row.id,
      shortcut: row.shortcut,
      name: row.name,
      series: row.series,
      language: row.language,
      region: row.region,
      release_date: row.release_date,
      total_cards: row.total_cards,
      printed_total: row.printed_total,
      logo_url: row.logo_url,
      symbol_url: row.symbol_url,
      cards_count: counts.cards,
      products_count: counts.products,
    }),
  )

/** The bytes that complete a card in a list: its set's JSON, a brace and a comma. */
export const afterCard = (json: Buffer): Buffer => Buffer.concat([json, Buffer.from('},')])

/**
 * Completes the JSON of a card up to and including `"set":`. PostgreSQL has written it with all other fields of the Card
 * object in their order and `visible` as the last, and with the same bytes as `JSON.stringify`, which would take longer.
 */
export function cardText(
  { id, visible, json }: { id: string; visible: boolean; json: string },
  marketplaceUrl: string,
): string {
  const before = json.slice(0, -`"visible":${visible}}`.length)
  const url = JSON.stringify(`${marketplaceUrl}/cards/${encodeURIComponent(id)}`)
  return `${before}"url":${url},"set":`
}

/** Serialises a Sealed product object. */
export function productJson(
  { slug, name, category, image_url, release_date }: Shown<ProductRecord>,
  set: { json: Buffer } | null,
  marketplaceUrl: string,
): Buffer {
  const before = JSON.stringify({ slug, name, category }).slice(0, -1)
  const after = JSON.stringify({
    image_url,
    release_date,
    url: `${marketplaceUrl}/products/${encodeURIComponent(slug)}`,
  }).slice(1)
  return Buffer.from(`${before},"set":${set ? set.json.toString() : 'null'},${after}`)
}

/** The end of a paginated response. */
type PageEnd = { links: object; meta: object }

/** A range of bytes to copy. A response is a list of these until it is sent. */
type Piece = { bytes: Buffer; start: number; end: number }

const DATA = Buffer.from('{"data":')
const DATA_LIST = Buffer.from('{"data":[')
const COMMA = Buffer.from(',')
const BRACE = Buffer.from('}')
const TWO_BRACES = Buffer.from('}}')
const BRACKET = Buffer.from(']')

/** `{"data": Card}`. `listings` is the JSON of an array in parts; without it there is no such field. */
export function cardResponse(card: CardBytes, listings?: Buffer[]): Bytes {
  const pieces = [whole(DATA)]
  addCard(pieces, card)
  if (listings) addListings(pieces, listings)
  return joined(pieces, BRACE)
}

/** `{"data": Set}`, with its cards and products as `include` says. */
export function setResponse(
  set: { json: Buffer; cards: CardBytes[]; products: { json: Buffer }[] },
  include: Set<string>,
): Bytes {
  const pieces = [whole(DATA), { bytes: set.json, start: 0, end: set.json.length - 1 }]
  if (include.has('cards')) {
    pieces.push(text(',"cards":['))
    addCards(pieces, set.cards)
    pieces.push(whole(BRACKET))
  }
  if (include.has('products')) {
    pieces.push(text(',"products":['))
    addWhole(pieces, set.products)
    pieces.push(whole(BRACKET))
  }
  return joined(pieces, TWO_BRACES)
}

/** `{"data": Sealed product}`. `listings` is the JSON of an array in parts; without it there is no such field. */
export function productResponse({ json }: { json: Buffer }, listings?: Buffer[]): Bytes {
  const pieces = [whole(DATA), whole(json)]
  if (listings) addListings(pieces, listings)
  return joined(pieces, BRACE)
}

/** A page of cards that ends with `pageTail`. It copies two ranges for each card. */
export function cardPage(cards: CardBytes[], tail: string): Bytes {
  let length = DATA_LIST.length + tail.length - (cards.length > 0 ? COMMA.length : 0)
  for (const { start, end, set } of cards) length += end - start + set.afterCard.length
  return {
    length,
    copy(target, begin) {
      let at = begin + DATA_LIST.copy(target, begin)
      for (const { start, end, set } of cards) {
        at += set.cardBytes.copy(target, at, start, end)
        at += set.afterCard.copy(target, at)
      }
      // Overwrites the last comma.
      target.write(tail, begin + length - tail.length, 'latin1')
    },
  }
}

/** A page of sets or sealed products. */
export function entryPage(entries: { json: Buffer }[], end: PageEnd): Bytes {
  const pieces = [whole(DATA_LIST)]
  addWhole(pieces, entries)
  return joined(pieces, Buffer.from(pageTail(end)))
}

const whole = (bytes: Buffer): Piece => ({ bytes, start: 0, end: bytes.length })
const text = (json: string): Piece => whole(Buffer.from(json))

/** The end of a page, from the bracket that closes its records. All of it is ASCII, because it has only URLs and numbers. */
export const pageTail = ({ links, meta }: PageEnd): string =>
  `],${JSON.stringify({ links, meta }).slice(1)}`

function addWhole(pieces: Piece[], entries: { json: Buffer }[]): void {
  for (let i = 0; i < entries.length; i++) {
    if (i > 0) pieces.push(whole(COMMA))
    pieces.push(whole(entries[i]!.json))
  }
}

function addCards(pieces: Piece[], cards: CardBytes[]): void {
  for (let i = 0; i < cards.length; i++) {
    if (i > 0) pieces.push(whole(COMMA))
    addCard(pieces, cards[i]!)
  }
}

function addCard(pieces: Piece[], { start, end, set }: CardBytes): void {
  pieces.push({ bytes: set.cardBytes, start, end }, whole(set.json), whole(BRACE))
}

/** Adds the field to the last object: drops its closing brace and closes it again. */
function addListings(pieces: Piece[], listings: Buffer[]): void {
  pieces.at(-1)!.end -= BRACE.length
  pieces.push(text(',"listings":'), ...listings.map(whole), whole(BRACE))
}

function joined(pieces: Piece[], ending: Buffer): Bytes {
  let length = ending.length
  for (const { start, end } of pieces) length += end - start
  return {
    length,
    copy(target, begin) {
      let at = begin
      for (const { bytes, start, end } of pieces) at += bytes.copy(target, at, start, end)
      ending.copy(target, at)
    },
  }
}

/** A Set object (§2.3), as far as pages show it. */
export type SetObject = Pick<SetRecord, 'id' | 'name' | 'series' | 'release_date' | 'logo_url'> & {
  cards_count: number
}

/** A Card object (§2.4), as far as pages show it. */
export type CardObject = Omit<Shown<CardRecord>, 'set_id'> & { set: SetObject }

/** A Sealed product object (§2.5), as far as pages show it. */
export type ProductObject = Omit<Shown<ProductRecord>, 'set_id'> & { set: SetObject | null }

/** The end of a card's bytes, in place of which a brace completes it without its set. */
const BEFORE_SET = ',"set":'.length

/** Without its set, which many cards share, a card is parsed in half of the time. */
export function cardObject({ start, end, set }: CardBytes): CardObject {
  const card = JSON.parse(`${set.cardBytes.toString('utf8', start, end - BEFORE_SET)}}`)
  card.set = setObject(set)
  return card
}

/** Parsed sets by their bytes, which a new catalog replaces. There are hundreds, and tens of thousands of cards. */
const parsedSets = new WeakMap<Buffer, SetObject>()

/** Parses a set once for each catalog; the result is frozen, because pages share it. */
export const setObject = ({ json }: { json: Buffer }): SetObject =>
  parsedSets.getOrInsertComputed(json, () => Object.freeze(JSON.parse(json.toString())))

export const productObject = ({ json }: { json: Buffer }): ProductObject =>
  JSON.parse(json.toString())

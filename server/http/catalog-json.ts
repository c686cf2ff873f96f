import type { CardEntry, ProductEntry, SetEntry } from '../catalog/entries.ts'
import type { PageEnd } from './paginate.ts'

/**
 * Answers made of bytes that are ready: listed as pieces first, then copied together once. Nothing is parsed or
 * serialised again.
 */
type Piece = { bytes: Buffer; start: number; end: number }

const COMMA = Buffer.from(',')
const BRACE = Buffer.from('}')
const BRACKET = Buffer.from(']')

/** `{"data": Card}`, with its listings when asked for. */
export function cardAnswer(card: CardEntry, withListings: boolean): Buffer {
  const pieces = [text('{"data":')]
  addCard(pieces, card, withListings ? NO_LISTINGS : BRACE)
  return joined(pieces, BRACE)
}

/** `{"data": Set}`, with its cards and products when asked for. */
export function setAnswer(set: SetEntry, include: Set<string>): Buffer {
  const pieces = [text('{"data":'), { bytes: set.json, start: 0, end: set.json.length - 1 }]
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

/** `{"data": Sealed product}`, with its listings when asked for. */
export function productAnswer(product: ProductEntry, withListings: boolean): Buffer {
  const { json } = product
  const pieces = [text('{"data":'), { bytes: json, start: 0, end: json.length - 1 }]
  return joined([...pieces, whole(withListings ? NO_LISTINGS : BRACE)], BRACE)
}

/** A page of cards. */
export function cardPage(cards: CardEntry[], end: PageEnd): Buffer {
  const pieces = [text('{"data":[')]
  addCards(pieces, cards)
  return joined(pieces, pageTail(end))
}

/** A page of sets or sealed products. */
export function page(entries: { json: Buffer }[], end: PageEnd): Buffer {
  const pieces = [text('{"data":[')]
  addWhole(pieces, entries)
  return joined(pieces, pageTail(end))
}

const TWO_BRACES = Buffer.from('}}')
const NO_LISTINGS = Buffer.from(',"listings":[]}')

const whole = (bytes: Buffer): Piece => ({ bytes, start: 0, end: bytes.length })
const text = (json: string): Piece => whole(Buffer.from(json))

const pageTail = (end: PageEnd) =>
  Buffer.from(`],"links":${JSON.stringify(end.links)},"meta":${JSON.stringify(end.meta)}}`)

function addWhole(pieces: Piece[], entries: { json: Buffer }[]): void {
  for (let i = 0; i < entries.length; i++) {
    if (i > 0) pieces.push(whole(COMMA))
    pieces.push(whole(entries[i]!.json))
  }
}

function addCards(pieces: Piece[], cards: CardEntry[]): void {
  for (let i = 0; i < cards.length; i++) {
    if (i > 0) pieces.push(whole(COMMA))
    addCard(pieces, cards[i]!, BRACE)
  }
}

function addCard(pieces: Piece[], { start, end, set }: CardEntry, ending: Buffer): void {
  pieces.push({ bytes: set.cardBytes, start, end }, whole(set.json), whole(ending))
}

function joined(pieces: Piece[], ending: Buffer): Buffer {
  let length = ending.length
  for (const { start, end } of pieces) length += end - start
  const target = Buffer.allocUnsafeSlow(length)
  let at = 0
  for (const { bytes, start, end } of pieces) at += bytes.copy(target, at, start, end)
  ending.copy(target, at)
  return target
}

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

/** `{"data": Card}`, with its listings where they are given: the JSON of an array in parts. */
export function cardAnswer(card: CardEntry, listings?: Buffer[]): Buffer {
  const pieces = [text('{"data":')]
  addCard(pieces, card, BRACE)
  if (listings) addListings(pieces, listings)
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

/** `{"data": Sealed product}`, with its listings where they are given: the JSON of an array in parts. */
export function productAnswer({ json }: ProductEntry, listings?: Buffer[]): Buffer {
  const pieces = [text('{"data":'), whole(json)]
  if (listings) addListings(pieces, listings)
  return joined(pieces, BRACE)
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

/** Opens the object that was added last once more. */
function addListings(pieces: Piece[], listings: Buffer[]): void {
  pieces.at(-1)!.end -= BRACE.length
  pieces.push(text(',"listings":'), ...listings.map(whole), whole(BRACE))
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

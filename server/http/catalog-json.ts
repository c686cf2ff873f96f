import type { CardEntry, ProductEntry, SetEntry } from '../catalog/entries.ts'
import type { PageEnd } from './paginate.ts'

/** Answers made of bytes that are ready: copied together, never parsed or serialised again. */

const CARD_END = Buffer.from('}')
const NO_LISTINGS = Buffer.from(',"listings":[]}')
const COMMA = Buffer.from(',')
const DATA = Buffer.from('{"data":')
const DATA_LIST = Buffer.from('{"data":[')
const END = Buffer.from('}')

/** `{"data": Card}`, with its listings when asked for. */
export function cardAnswer(card: CardEntry, withListings: boolean): Buffer {
  const ending = withListings ? NO_LISTINGS : CARD_END
  const target = Buffer.allocUnsafe(DATA.length + cardLength(card) - 1 + ending.length + 1)
  let at = DATA.copy(target)
  at = writeCard(card, target, at) - 1
  at += ending.copy(target, at)
  END.copy(target, at)
  return target
}

/** `{"data": Set}`, with its cards and products when asked for. */
export function setAnswer(set: SetEntry, include: Set<string>): Buffer {
  const parts = [DATA, set.json.subarray(0, -1)]
  if (include.has('cards')) parts.push(Buffer.from(',"cards":['), cardList(set.cards), LIST_END)
  if (include.has('products')) {
    parts.push(Buffer.from(',"products":['), list(set.products), LIST_END)
  }
  parts.push(END, END)
  return Buffer.concat(parts)
}
const LIST_END = Buffer.from(']')

/** `{"data": Sealed product}`, with its listings when asked for. */
export function productAnswer(product: ProductEntry, withListings: boolean): Buffer {
  const ending = withListings ? NO_LISTINGS : CARD_END
  return Buffer.concat([DATA, product.json.subarray(0, -1), ending, END])
}

/** A page of cards. */
export const cardPage = (cards: CardEntry[], end: PageEnd): Buffer =>
  Buffer.concat([DATA_LIST, cardList(cards), pageTail(end)])

/** A page of sets or sealed products. */
export const page = (entries: { json: Buffer }[], end: PageEnd): Buffer =>
  Buffer.concat([DATA_LIST, list(entries), pageTail(end)])

const pageTail = (end: PageEnd) =>
  Buffer.from(`],"links":${JSON.stringify(end.links)},"meta":${JSON.stringify(end.meta)}}`)

function list(entries: { json: Buffer }[]): Buffer {
  return Buffer.concat(entries.flatMap(({ json }, i) => (i === 0 ? [json] : [COMMA, json])))
}

function cardList(cards: CardEntry[]): Buffer {
  let length = Math.max(0, cards.length - 1)
  for (const card of cards) length += cardLength(card)
  const target = Buffer.allocUnsafe(length)
  let at = 0
  for (const [i, card] of cards.entries()) {
    if (i > 0) at += COMMA.copy(target, at)
    at = writeCard(card, target, at)
  }
  return target
}

const cardLength = ({ start, end, set }: CardEntry) => end - start + set.json.length + 1

function writeCard({ start, end, set }: CardEntry, target: Buffer, at: number): number {
  set.cardBytes.copy(target, at, start, end)
  at += end - start
  at += set.json.copy(target, at)
  return at + CARD_END.copy(target, at)
}

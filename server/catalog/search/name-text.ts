import type { YieldToEventLoop } from '../../time/time-slices.ts'
import { fold } from './fold.ts'
import { type Lists, listsOf } from './lists.ts'

/**
 * A suffix array over the starts of words: all folded names without spaces in one string, and the sorted indexes of
 * their words. Without spaces, `pokeball` and `poke ball` are the same query.
 *
 * The names are in the order of equally good matches: shorter first, then by the code units of their folded text, then
 * in their given order. A name's index in this order is its rank.
 */
export type NameText = {
  text: string
  /** By rank: the name's position in the list that was given. */
  positions: Uint32Array
  /** By rank: the index of the name in the text; the last entry is the end of the text. */
  starts: Uint32Array
  /** By index in the text: the rank of the name there. */
  ranks: Uint32Array
  /** By index in the text: 1 at the start of a word and after the end of a name. */
  boundaries: Uint8Array
  /** The indexes of all word starts, sorted by the text that follows up to the name's end. */
  wordStarts: Uint32Array
  /** By East Asian letter: the number of the list in `ofLetter` of its indexes in the text. */
  letters: Map<number, number>
  ofLetter: Lists
}

// Less than every folded character, so that a name sorts before the names of which it is a prefix.
const NAME_END = '\n'
const NAME_END_CODE = NAME_END.charCodeAt(0)
/** Every letter that `EAST_ASIAN` matches comes later, and a few symbols. */
const FIRST_EAST_ASIAN = 0x1100
// Names or words per slice: 2 or 3 ms of work.
const SLICE = 1000

/** Folds the names, joins them and sorts their words. Yields to the event loop after each slice, if given a way. */
export async function joinNames(
  names: readonly string[],
  yieldToEventLoop?: YieldToEventLoop,
): Promise<NameText> {
  const folded: string[] = []
  for (const name of names) {
    folded.push(fold(name))
    if (folded.length % SLICE === 0) await yieldToEventLoop?.()
  }
  const positions = await rankNames(folded, yieldToEventLoop)

  const room = folded.reduce((sum, name) => sum + name.length + NAME_END.length, 0)
  const starts = new Uint32Array(names.length + 1)
  const ranks = new Uint32Array(room)
  const boundaries = new Uint8Array(room)
  const begun: number[] = []
  const pieces: string[] = []
  let at = 0
  for (const [rank, position] of positions.entries()) {
    starts[rank] = at
    const words = folded[position]!.split(' ')
    pieces.push(...words, NAME_END)
    for (const word of words) {
      if (word !== '') begun.push(at)
      boundaries[at] = 1
      at += word.length
    }
    boundaries[at++] = 1
    ranks.fill(rank, starts[rank], at)
    if (rank % SLICE === 0) await yieldToEventLoop?.()
  }
  starts[names.length] = at
  const text = pieces.join('')
  await yieldToEventLoop?.()

  const wordStarts = await sortWordStarts(text, begun, yieldToEventLoop)
  const lettersIn = await indexLetters(text, yieldToEventLoop)
  return { text, positions, starts, ranks, boundaries, wordStarts, ...lettersIn }
}

async function indexLetters(
  text: string,
  yieldToEventLoop?: YieldToEventLoop,
): Promise<Pick<NameText, 'letters' | 'ofLetter'>> {
  const letters = new Map<number, number>()
  const listOf: number[] = []
  const indexes: number[] = []
  for (let at = 0; at < text.length; at++) {
    if (at % (10 * SLICE) === 0) await yieldToEventLoop?.()
    const letter = text.charCodeAt(at)
    if (letter < FIRST_EAST_ASIAN) continue
    if (!letters.has(letter)) letters.set(letter, letters.size)
    listOf.push(letters.get(letter)!)
    indexes.push(at)
  }
  return { letters, ofLetter: listsOf(letters.size, listOf, indexes) }
}

function rankNames(folded: string[], yieldToEventLoop?: YieldToEventLoop): Promise<Uint32Array> {
  const byText = (a: number, b: number) =>
    folded[a]! < folded[b]! ? -1 : folded[a]! > folded[b]! ? 1 : a - b
  return sortInGroups(
    [...folded.keys()],
    (position) => folded[position]!.length,
    byText,
    yieldToEventLoop,
  )
}

function sortWordStarts(
  text: string,
  begun: number[],
  yieldToEventLoop?: YieldToEventLoop,
): Promise<Uint32Array> {
  const firstTwo = (at: number) => text.charCodeAt(at) * 0x10000 + text.charCodeAt(at + 1)
  const byFollowingText = (a: number, b: number) => {
    for (let i = 0; ; i++) {
      const code = text.charCodeAt(a + i)
      const difference = code - text.charCodeAt(b + i)
      if (difference !== 0) return difference
      if (code === NAME_END_CODE) return 0
    }
  }
  return sortInGroups(begun, firstTwo, byFollowingText, yieldToEventLoop)
}

/** Groups the items by a number first: each group is small enough to be sorted without yielding. */
async function sortInGroups(
  items: number[],
  groupOf: (item: number) => number,
  compare: (a: number, b: number) => number,
  yieldToEventLoop?: YieldToEventLoop,
): Promise<Uint32Array> {
  const groups = new Map<number, number[]>()
  for (const [i, item] of items.entries()) {
    const group = groups.get(groupOf(item))
    if (group) group.push(item)
    else groups.set(groupOf(item), [item])
    if (i % (10 * SLICE) === 0) await yieldToEventLoop?.()
  }

  const sorted = new Uint32Array(items.length)
  let length = 0
  let sinceYield = 0
  for (const key of [...groups.keys()].sort((a, b) => a - b)) {
    const group = groups.get(key)!.sort(compare)
    sorted.set(group, length)
    length += group.length
    sinceYield += group.length
    if (sinceYield < SLICE) continue
    sinceYield = 0
    await yieldToEventLoop?.()
  }
  return sorted
}

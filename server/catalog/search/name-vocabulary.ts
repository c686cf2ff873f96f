import { editDistance } from '../../text/edit-distance.ts'
import type { YieldToEventLoop } from '../../time/time-slices.ts'
import { type Lists, lengthOf, listsOf, visitBetween } from './lists.ts'
import { findWords } from './name-lookup.ts'
import type { NameText } from './name-text.ts'

/** The distinct words of all names, shortest first. Misspelled words are compared with them. A word is its index. */
export type Vocabulary = {
  words: string[]
  /** By length: the index of the first word that is at least as long. */
  ofLength: Uint32Array
  /** By word: the sets of its letters and of those that it has more than once, see `lettersOf`. */
  letters: Uint32Array
  repeated: Uint32Array
  /** By word: the number of names that contain it. */
  frequencies: Uint32Array
  /** By word: the ranks of the names that have it, with or without spaces in it. */
  ranks: Lists
  /** By rank: the words that the name has in this way. */
  wordsOf: Lists
  /** By two adjacent letters, see `pairAt`: the number of the list in `withPair` of the words that contain them. */
  pairs: Map<number, number>
  withPair: Lists
}

/** `penalty` is lower the likelier the query is a typo of the word. */
export type SimilarWord = { word: number; penalty: number }

const WORDS_PER_SLICE = 4000
/** Finding the names of a word takes longer than collecting it. */
const FOUND_PER_SLICE = 500

/** Collects the distinct words of all names. */
export async function collectWords(
  names: NameText,
  yieldToEventLoop?: YieldToEventLoop,
): Promise<Vocabulary> {
  const { text, boundaries, wordStarts } = names
  const distinct = new Map<string, number>()
  let seen = 0
  for (const start of wordStarts) {
    const word = text.slice(start, boundaries.indexOf(1, start + 1))
    distinct.set(word, (distinct.get(word) ?? 0) + 1)
    if (++seen % WORDS_PER_SLICE === 0) await yieldToEventLoop?.()
  }
  const words = [...distinct.keys()].sort((a, b) => a.length - b.length)
  const longest = words.at(-1)?.length ?? 0
  const having: { words: number[]; ranks: number[] } = { words: [], ranks: [] }
  const pairs = new Map<number, number>()
  const containing: { pairs: number[]; words: number[] } = { pairs: [], words: [] }
  for (const [index, word] of words.entries()) {
    findWords(names, [word], (at, _, wordEnds) => {
      if (!wordEnds) return
      having.words.push(index)
      having.ranks.push(names.ranks[at]!)
    })
    for (let at = 0; at + 1 < word.length; at++) {
      const pair = pairAt(word, at)
      if (!pairs.has(pair)) pairs.set(pair, pairs.size)
      containing.pairs.push(pairs.get(pair)!)
      containing.words.push(index)
    }
    if (index % FOUND_PER_SLICE === 0) await yieldToEventLoop?.()
  }
  return {
    words,
    ofLength: Uint32Array.from({ length: longest + 2 }, (_, length) =>
      firstOfLength(words, length),
    ),
    letters: Uint32Array.from(words, lettersOf),
    repeated: Uint32Array.from(words, repeatedIn),
    frequencies: Uint32Array.from(words, (word) => distinct.get(word)!),
    ranks: listsOf(words.length, having.words, having.ranks),
    wordsOf: listsOf(names.positions.length, having.ranks, having.words),
    pairs,
    withPair: listsOf(pairs.size, containing.pairs, containing.words),
  }
}

function firstOfLength(words: string[], length: number): number {
  const first = words.findIndex((word) => word.length >= length)
  return first === -1 ? words.length : first
}

/** Two letters as a 32-bit integer: V8 allocates an object for a larger number. */
const pairOf = (first: number, second: number) => (first << 16) | second

const pairAt = (word: string, at: number) => pairOf(word.charCodeAt(at), word.charCodeAt(at + 1))

/**
 * The words that are 1 to `limit` edits away from `word`, the likeliest first.
 *
 * @param among the only words to compare
 */
export function similarWords(
  vocabulary: Vocabulary,
  word: string,
  limit: number,
  among: number[] | undefined,
): SimilarWord[] {
  const found: SimilarWord[] = []
  if (limit === 0) return found
  const { words, ofLength, letters, repeated, frequencies } = vocabulary
  const asked = lettersOf(word)
  const askedTwice = repeatedIn(word)
  const compare = (index: number) => {
    const has = letters[index]!
    const hasTwice = repeated[index]!
    if (bitCount(has & ~asked) + bitCount(hasTwice & ~askedTwice) > limit) return
    if (bitCount(asked & ~has) + bitCount(askedTwice & ~hasTwice) > limit) return
    // Three edits leave little of a word: at least its first letter must be right.
    if (limit > 2 && word.charCodeAt(0) !== words[index]!.charCodeAt(0)) return
    const edits = editDistance(word, words[index]!, limit)
    if (edits === 0 || edits > limit) return
    // Several lists can have the word.
    if (found.some((similar) => similar.word === index)) return
    const penalty = penaltyOf(word, words[index]!, edits, frequencies[index]!)
    found.push({ word: index, penalty })
  }
  const first = ofLength[Math.max(word.length - limit, 0)] ?? words.length
  const end = ofLength[word.length + limit + 1] ?? words.length
  if (among) {
    for (const index of among) if (index >= first && index < end) compare(index)
  } else if (word.length < 2 * (limit + 1)) {
    // Too short for so many pairs.
    for (let index = first; index < end; index++) compare(index)
  } else {
    for (const list of listsNear(vocabulary, word, limit)) {
      visitBetween(vocabulary.withPair, list, first, end, compare)
    }
  }
  return found.sort((a, b) => a.penalty - b.penalty)
}

/**
 * Lists of `withPair` that together have every word at most `limit` edits away: the words that contain one of `limit + 1`
 * pairs of letters of this one. An edit breaks one of these pairs, so one remains. Two adjacent pairs are both broken if the
 * letters between them are swapped, which makes another pair.
 */
function listsNear({ pairs }: Vocabulary, word: string, limit: number): number[] {
  const lists: number[] = []
  const add = (pair: number) => {
    const list = pairs.get(pair)
    if (list !== undefined) lists.push(list)
  }
  let end = -1
  for (let pair = 0; pair <= limit; pair++) {
    const at = Math.floor((pair * (word.length - 2)) / limit)
    if (at === end) add(pairOf(word.charCodeAt(at), word.charCodeAt(at - 1)))
    add(pairAt(word, at))
    end = at + 2
  }
  return lists
}

const EDIT_PENALTY = 10
const FIRST_LETTER_PENALTY = 3
const MAX_FREQUENCY_BONUS = 4

/**
 * Fewer edits always come first. Among equal ones, people get the first letter right, leave letters out more often than
 * they add some, and mean the name that many cards have.
 */
function penaltyOf(asked: string, word: string, edits: number, frequency: number): number {
  const firstLetter = asked[0] === word[0] ? 0 : FIRST_LETTER_PENALTY
  const leftOut = word.length > asked.length ? 1 : 0
  const frequencyBonus = Math.min(MAX_FREQUENCY_BONUS, Math.floor(Math.log2(frequency) / 1.5))
  return edits * EDIT_PENALTY + firstLetter - leftOut - frequencyBonus
}

/**
 * The longer words that contain this one.
 *
 * @param word of at least two letters
 * @param among the only words to search
 */
export function wordsAround(
  { words, ofLength, letters, pairs, withPair }: Vocabulary,
  word: string,
  among: number[] | undefined,
): number[] {
  const asked = lettersOf(word)
  const firstLonger = ofLength[word.length + 1] ?? words.length
  const found: number[] = []
  const compare = (index: number) => {
    if ((asked & ~letters[index]!) === 0 && words[index]!.includes(word)) found.push(index)
  }
  if (among) {
    for (const index of among) if (index >= firstLonger) compare(index)
    return found
  }
  let rarest: number | undefined
  for (let at = 0; at + 1 < word.length; at++) {
    const pair = pairs.get(pairAt(word, at))
    if (pair === undefined) return []
    if (rarest === undefined || lengthOf(withPair, pair) < lengthOf(withPair, rarest)) rarest = pair
  }
  visitBetween(withPair, rarest!, firstLonger, words.length, compare)
  return found
}

/** A bit set of the word's letters. Letters share bits modulo 32. */
function lettersOf(word: string): number {
  let bits = 0
  for (let i = 0; i < word.length; i++) bits |= 1 << (word.charCodeAt(i) & 31)
  return bits
}

/** The letters that occur more than once. An edit adds a letter to this set or to `lettersOf`, and removes one likewise. */
function repeatedIn(word: string): number {
  let once = 0
  let repeated = 0
  for (let i = 0; i < word.length; i++) {
    const letter = 1 << (word.charCodeAt(i) & 31)
    repeated |= once & letter
    once |= letter
  }
  return repeated
}

function bitCount(bits: number): number {
  let pairs = bits - ((bits >>> 1) & 0x55555555)
  pairs = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((pairs + (pairs >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

import { editDistance } from '../../text/edit-distance.ts'
import type { YieldToEventLoop } from '../../time/time-slices.ts'
import type { NameText } from './name-text.ts'

/** The distinct words of all names, shortest first. Misspelled words are compared with them. */
export type Vocabulary = {
  words: string[]
  /** By length: the index of the first word of at least this length. */
  longerFrom: Uint32Array
  /** By word: the set of its letters, see `lettersOf`. */
  letters: Uint32Array
  /** By word: the number of names that contain it. */
  frequencies: Uint32Array
}

/** `penalty` is lower the likelier the query is a typo of the word. */
export type SimilarWord = { word: string; penalty: number }

const WORDS_PER_SLICE = 4000

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
  await yieldToEventLoop?.()

  const longest = words.at(-1)?.length ?? 0
  const longerFrom = new Uint32Array(longest + 2).fill(words.length)
  for (let i = words.length - 1; i >= 0; i--) longerFrom[words[i]!.length] = i
  for (let length = longest; length >= 0; length--) {
    longerFrom[length] = Math.min(longerFrom[length]!, longerFrom[length + 1]!)
  }
  return {
    words,
    longerFrom,
    letters: Uint32Array.from(words, lettersOf),
    frequencies: Uint32Array.from(words, (word) => distinct.get(word)!),
  }
}

/** The words that are 1 to `limit` edits away from `word`, the likeliest first. */
export function similarWords(vocabulary: Vocabulary, word: string, limit: number): SimilarWord[] {
  const { words, longerFrom, letters, frequencies } = vocabulary
  const shortest = Math.min(Math.max(word.length - limit, 0), longerFrom.length - 1)
  const tooLong = Math.min(word.length + limit + 1, longerFrom.length - 1)
  const end = longerFrom[tooLong]!
  const asked = lettersOf(word)
  const found: SimilarWord[] = []
  for (let i = longerFrom[shortest]!; i < end; i++) {
    // One edit adds at most one new letter and removes at most one.
    const has = letters[i]!
    if (bitCount(asked & ~has) > limit || bitCount(has & ~asked) > limit) continue
    // Three edits leave little of a word: at least its first letter must be right.
    if (limit > 2 && word[0] !== words[i]![0]) continue
    const edits = editDistance(word, words[i]!, limit)
    if (edits === 0 || edits > limit) continue
    found.push({
      word: words[i]!,
      penalty: penaltyOf(word, words[i]!, edits, frequencies[i]!),
    })
  }
  return found.sort((a, b) => a.penalty - b.penalty)
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

/** The longer words that contain this one. */
export function wordsAround({ words, longerFrom, letters }: Vocabulary, word: string): string[] {
  const asked = lettersOf(word)
  const found: string[] = []
  const first = longerFrom[Math.min(word.length + 1, longerFrom.length - 1)]!
  for (let i = first; i < words.length; i++) {
    if ((asked & ~letters[i]!) === 0 && words[i]!.includes(word)) found.push(words[i]!)
  }
  return found
}

/** A bit set of the word's letters. Letters share bits modulo 32. */
function lettersOf(word: string): number {
  let bits = 0
  for (let i = 0; i < word.length; i++) bits |= 1 << (word.charCodeAt(i) & 31)
  return bits
}

function bitCount(bits: number): number {
  let pairs = bits - ((bits >>> 1) & 0x55555555)
  pairs = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((pairs + (pairs >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

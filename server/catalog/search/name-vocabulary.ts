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
}

export type SimilarWord = { word: string; edits: number }

const WORDS_PER_SLICE = 4000

export async function collectWords(
  names: NameText,
  yieldToEventLoop?: YieldToEventLoop,
): Promise<Vocabulary> {
  const { text, boundaries, wordStarts } = names
  const distinct = new Set<string>()
  let seen = 0
  for (const start of wordStarts) {
    distinct.add(text.slice(start, boundaries.indexOf(1, start + 1)))
    if (++seen % WORDS_PER_SLICE === 0) await yieldToEventLoop?.()
  }
  const words = [...distinct].sort((a, b) => a.length - b.length)
  await yieldToEventLoop?.()

  const longest = words.at(-1)?.length ?? 0
  const longerFrom = new Uint32Array(longest + 2).fill(words.length)
  for (let i = words.length - 1; i >= 0; i--) longerFrom[words[i]!.length] = i
  for (let length = longest; length >= 0; length--) {
    longerFrom[length] = Math.min(longerFrom[length]!, longerFrom[length + 1]!)
  }
  return { words, longerFrom, letters: Uint32Array.from(words, lettersOf) }
}

/** The words that are 1 to `limit` edits away from `word`, fewest edits first. */
export function similarWords(vocabulary: Vocabulary, word: string, limit: number): SimilarWord[] {
  const { words, longerFrom, letters } = vocabulary
  const shortest = Math.min(Math.max(word.length - limit, 0), longerFrom.length - 1)
  const tooLong = Math.min(word.length + limit + 1, longerFrom.length - 1)
  const end = longerFrom[tooLong]!
  const asked = lettersOf(word)
  const found: SimilarWord[] = []
  for (let i = longerFrom[shortest]!; i < end; i++) {
    // One edit adds at most one new letter and removes at most one.
    const has = letters[i]!
    if (bitCount(asked & ~has) > limit || bitCount(has & ~asked) > limit) continue
    const edits = editDistance(word, words[i]!, limit)
    if (edits > 0 && edits <= limit) found.push({ word: words[i]!, edits })
  }
  return found.sort((a, b) => a.edits - b.edits)
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

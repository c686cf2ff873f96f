import { EAST_ASIAN } from './fold.ts'
import type { NameText } from './name-text.ts'

/** Called with the match's index, whether its spaces equal the query's, and whether a word ends with it. */
type Visit = (at: number, sameSpaces: boolean, wordEnds: boolean) => void

/**
 * Visits every word start that these words follow; the last one may be a prefix.
 *
 * Different spaces are allowed if a word ends where the match ends: `nestball` finds Nest Ball, but `arcanine` does not
 * find Arcanin Ex. In scripts without spaces between words, spaces are ignored.
 */
export function findWords(names: NameText, words: string[], visit: Visit): void {
  const { text, wordStarts, boundaries } = names
  const letters = words.join('')
  const eastAsian = EAST_ASIAN.test(letters)
  const spaces = new Uint8Array(letters.length)
  let length = 0
  for (const word of words) {
    spaces[length] = 1
    length += word.length
  }
  const hasSameSpaces = (at: number) => {
    for (let i = 1; i < length; i++) if (boundaries[at + i] !== spaces[i]) return false
    return true
  }

  const isAtOrAfter = (i: number) => compareAt(text, wordStarts[i]!, letters) >= 0
  const isAfter = (i: number) => compareAt(text, wordStarts[i]!, letters) > 0
  const end = firstWhere(isAfter, 0, wordStarts.length)
  for (let i = firstWhere(isAtOrAfter, 0, end); i < end; i++) {
    const at = wordStarts[i]!
    const sameSpaces = hasSameSpaces(at)
    const wordEnds = boundaries[at + length] === 1
    if (sameSpaces || wordEnds || eastAsian) visit(at, sameSpaces, wordEnds)
  }
}

/** Visits the rank of each name that contains the letters anywhere, ignoring spaces. */
export function findLetters(names: NameText, letters: string, visit: (rank: number) => void): void {
  const { text, starts, ranks } = names
  let at = text.indexOf(letters)
  while (at !== -1) {
    const rank = ranks[at]!
    visit(rank)
    at = text.indexOf(letters, starts[rank + 1])
  }
}

/** Compares the text at the index with `asked`: 0 if it starts with it, negative if it sorts before. */
function compareAt(text: string, at: number, asked: string): number {
  for (let i = 0; i < asked.length; i++) {
    const difference = text.charCodeAt(at + i) - asked.charCodeAt(i)
    if (difference !== 0) return difference
  }
  return 0
}

/** Binary search: the first number from which on the condition holds. */
function firstWhere(holds: (i: number) => boolean, from: number, end: number): number {
  let low = from
  let high = end
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

import { EAST_ASIAN } from './fold.ts'
import type { NameText } from './name-text.ts'

/** Called with the place, and whether the spaces agree and whether a word ends with the match. */
type Visit = (at: number, sameSpaces: boolean, wordEnds: boolean) => void

/**
 * Visits every place where a word begins and these words follow, the last perhaps only in part.
 *
 * Other spaces than those asked for will do if a word ends where the match ends: `nestball` finds
 * Nest Ball, but `arcanine` does not find Arcanin Ex. The scripts that put no spaces between words
 * take no notice of them.
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

/** Calls with the rank of each name that has the letters anywhere in it, spaces or not. */
export function findLetters(names: NameText, letters: string, visit: (rank: number) => void): void {
  const { text, starts, ranks } = names
  let at = text.indexOf(letters)
  while (at !== -1) {
    const rank = ranks[at]!
    visit(rank)
    at = text.indexOf(letters, starts[rank + 1])
  }
}

/** Below 0 when the text from there sorts before `asked`, 0 when it goes on with it. */
function compareAt(text: string, at: number, asked: string): number {
  for (let i = 0; i < asked.length; i++) {
    const difference = text.charCodeAt(at + i) - asked.charCodeAt(i)
    if (difference !== 0) return difference
  }
  return 0
}

/** Halving: the first number from which on it holds. */
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

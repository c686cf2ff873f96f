import { EAST_ASIAN } from './fold.ts'
import { lengthOf, visitList } from './lists.ts'
import type { NameText } from './name-text.ts'

/** Called with the match's index, whether its spaces equal the query's, and whether a word ends with it. */
export type Visit = (at: number, sameSpaces: boolean, wordEnds: boolean) => void

/**
 * Visits every word start that these words follow; the last one may be a prefix.
 *
 * Different spaces are allowed if a word ends where the match ends: `nestball` finds Nest Ball, but `arcanine` does not
 * find Arcanin Ex. In scripts without spaces between words, spaces are ignored.
 *
 * @param among the ranks of the only names to search
 */
export function findWords(
  names: NameText,
  words: string[],
  visit: Visit,
  among?: readonly number[],
): void {
  const { text, starts, wordStarts, boundaries } = names
  const letters = words.join('')
  const eastAsian = EAST_ASIAN.test(letters)
  const { length } = letters
  const hasSameSpaces = (at: number) => {
    let wordEnd = at
    for (const word of words) {
      const wordStart = wordEnd
      wordEnd += word.length
      for (let i = wordStart + 1; i < wordEnd; i++) if (boundaries[i] === 1) return false
      if (boundaries[wordStart] === 0) return false
    }
    return true
  }

  const visitAt = (at: number) => {
    const sameSpaces = hasSameSpaces(at)
    const wordEnds = boundaries[at + length] === 1
    if (sameSpaces || wordEnds || eastAsian) visit(at, sameSpaces, wordEnds)
  }
  if (among) {
    for (const rank of among) {
      const nameEnd = starts[rank + 1]! - 1
      for (let at = starts[rank]!; at < nameEnd; at++) {
        if (boundaries[at] === 1 && compareAt(text, at, letters) === 0) visitAt(at)
      }
    }
    return
  }
  for (let i = firstStart(names, letters); i < wordStarts.length; i++) {
    const at = wordStarts[i]!
    if (compareAt(text, at, letters) !== 0) return
    visitAt(at)
  }
}

/** Visits the rank of each name that contains these East Asian letters anywhere, ignoring spaces. */
export function findLetters(names: NameText, asked: string, visit: (rank: number) => void): void {
  const { text, ranks, letters, ofLetter } = names
  let rarest: number | undefined
  let offset = 0
  for (let i = 0; i < asked.length; i++) {
    const letter = letters.get(asked.charCodeAt(i))
    if (letter === undefined) return
    if (rarest !== undefined && lengthOf(ofLetter, rarest) <= lengthOf(ofLetter, letter)) continue
    rarest = letter
    offset = i
  }
  if (rarest === undefined) return
  visitList(ofLetter, rarest, (index) => {
    if (compareAt(text, index - offset, asked) === 0) visit(ranks[index]!)
  })
}

/** Compares the text at the index with `asked`: 0 if it starts with it, negative if it sorts before. */
function compareAt(text: string, at: number, asked: string): number {
  for (let i = 0; i < asked.length; i++) {
    const difference = text.charCodeAt(at + i) - asked.charCodeAt(i)
    if (difference !== 0) return difference
  }
  return 0
}

/** Binary search: the first of the sorted word starts that these letters follow, or that sorts after them. */
function firstStart({ text, wordStarts }: NameText, letters: string): number {
  let low = 0
  let high = wordStarts.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (compareAt(text, wordStarts[middle]!, letters) >= 0) high = middle
    else low = middle + 1
  }
  return low
}

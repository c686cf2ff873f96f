import type { YieldToEventLoop } from '../../time/time-slices.ts'
import { EAST_ASIAN, fold } from './fold.ts'
import { Grade, inOrder, type Matches, Tier } from './name-grades.ts'
import { findLetters, findWords } from './name-lookup.ts'
import { joinNames, type NameText } from './name-text.ts'
import { collectWords, similarWords, type Vocabulary, wordsAround } from './name-vocabulary.ts'

export type SearchOptions = {
  /** The last tier that is searched: searching for typos costs the most. */
  upTo?: typeof Tier.word | typeof Tier.inside | typeof Tier.typo
}

export type NameIndex = {
  size: number
  search(query: string, options?: SearchOptions): Matches
}

/** Builds an index over distinct display names. A search finds the matches that `Tier` describes, best first. */
export async function buildNameIndex(
  names: readonly string[],
  yieldToEventLoop?: YieldToEventLoop,
): Promise<NameIndex> {
  const text = await joinNames(names, yieldToEventLoop)
  const vocabulary = await collectWords(text, yieldToEventLoop)
  const state: SearchState = {
    names,
    text,
    vocabulary,
    matched: [],
    grades: new Uint8Array(names.length),
    wordsFound: new Uint8Array(names.length),
    penalties: new Uint16Array(names.length),
    isInside: new Uint8Array(names.length),
  }
  return { size: names.length, search: (query, options) => search(state, query, options) }
}

/** The index, and arrays by rank that all searches reuse. */
type SearchState = {
  names: readonly string[]
  text: NameText
  vocabulary: Vocabulary
  /** The ranks of the names that match, and by rank the best grade so far. */
  matched: number[]
  grades: Uint8Array
  /** State of `matchWords`, by rank: words of the query that the name has, penalties of its typos, a word found inside. */
  wordsFound: Uint8Array
  penalties: Uint16Array
  isInside: Uint8Array
}

// Longer queries are truncated.
const MAX_QUERY_LENGTH = 200
const MIN_INFIX_LENGTH = 3
// A name that has the other words in full comes before one with the same typo that only has their beginnings.
const UNFINISHED_PENALTY = 2
const INSIDE_PENALTY = 4

function search(
  state: SearchState,
  query: string,
  { upTo = Tier.typo }: SearchOptions = {},
): Matches {
  state.matched = []
  state.grades.fill(Grade.none)
  const asked = query.slice(0, MAX_QUERY_LENGTH).trim()
  const words = fold(asked).split(' ')
  if (words[0] === '') {
    matchLiterally(state, asked)
  } else {
    const readings = [words, ...symbolReadings(words)]
    for (const reading of readings) {
      matchTogether(state, reading, asked)
      matchWords(state, reading, upTo, editsAllowed)
    }
    if (upTo === Tier.typo && state.matched.length === 0) {
      for (const reading of readings) matchWords(state, reading, upTo, editsAllowedAtLast)
    }
  }
  return inOrder(state.matched, state.grades, state.text.positions)
}

/** The words for symbols that no keyboard has. Longer phrases come first. */
const SYMBOL_NAMES: [string, string][] = [
  ['gold star', '★'],
  ['star', '★'],
  ['prism star', '◇'],
  ['prism', '◇'],
  ['delta species', 'δ'],
  ['delta', 'δ'],
  ['female', '♀'],
  ['male', '♂'],
]

/** The same query with the name of a symbol replaced by the symbol: `umbreon star` is Umbreon ★. */
function symbolReadings(words: string[]): string[][] {
  const text = ` ${words.join(' ')} `
  return SYMBOL_NAMES.filter(([name]) => text.includes(` ${name} `)).map(([name, symbol]) =>
    text.replace(` ${name} `, ` ${symbol} `).trim().split(' '),
  )
}

function match({ matched, grades }: SearchState, rank: number, grade: number): void {
  if (grades[rank] === Grade.none) matched.push(rank)
  if (grade < grades[rank]!) grades[rank] = grade
}

/** Matches the names that contain exactly this text. Used for a query without letters, such as `?`. */
function matchLiterally(state: SearchState, asked: string): void {
  if (asked === '') return
  for (let rank = 0; rank < state.names.length; rank++) {
    const name = state.names[state.text.positions[rank]!]!
    if (name === asked) match(state, rank, Grade.sameSpelling)
    else if (name.includes(asked)) match(state, rank, Grade.inside)
  }
}

/** Matches names that contain the whole query in order, from the start of a word. */
function matchTogether(state: SearchState, words: string[], asked: string): void {
  const { names, text } = state
  const { length } = words.join('')
  findWords(text, words, (at, sameSpaces, wordEnds) => {
    const rank = text.ranks[at]!
    const nameBegins = at === text.starts[rank]
    const nameEnds = at + length + 1 === text.starts[rank + 1]
    if (nameBegins && nameEnds) {
      match(state, rank, gradeExact(names[text.positions[rank]!]!, asked, sameSpaces))
    } else if (nameBegins) {
      match(state, rank, wordEnds ? Grade.firstWords : Grade.firstLetters)
    } else {
      match(state, rank, wordEnds ? Grade.wordsTogether : Grade.lettersTogether)
    }
  })
}

function gradeExact(name: string, asked: string, sameSpaces: boolean): number {
  if (name === asked) return Grade.sameSpelling
  if (name.toLowerCase() === asked.toLowerCase()) return Grade.otherCase
  return sameSpaces ? Grade.foldedAlike : Grade.otherSpaces
}

/** Matches names that contain every word of the query: as a word or its prefix, inside a word, or misspelled. */
function matchWords(
  state: SearchState,
  asked: string[],
  upTo: number,
  allowed: (word: string) => number,
): void {
  const { text, vocabulary, wordsFound, penalties, isInside } = state
  wordsFound.fill(0)
  penalties.fill(0)
  isInside.fill(0)
  // Longest first: long words match the fewest names.
  const words = [...new Set(asked)].sort((a, b) => b.length - a.length)
  const unfinished = new Map<number, number>()
  let left: number[] = []
  for (const [before, word] of words.entries()) {
    left = []
    // The kinds of matches are tried best first, so a name's first match of a word is its best.
    const reach = (rank: number) => {
      if (wordsFound[rank] !== before) return false
      wordsFound[rank] = before + 1
      left.push(rank)
      return true
    }
    const begun: number[] = []
    findWords(text, [word], (at, _, wordEnds) => {
      if (wordEnds) reach(text.ranks[at]!)
      else begun.push(text.ranks[at]!)
    })
    for (const rank of begun) {
      if (reach(rank)) unfinished.set(rank, (unfinished.get(rank) ?? 0) + 1)
    }
    const reachInside = (rank: number) => {
      if (reach(rank)) isInside[rank] = 1
    }
    const reachAll = (whole: string, visit: (rank: number) => void) => {
      findWords(text, [whole], (at, _, wordEnds) => {
        if (wordEnds) visit(text.ranks[at]!)
      })
    }
    if (upTo < Tier.inside) {
      if (left.length === 0) return
      continue
    }
    if (EAST_ASIAN.test(word)) {
      findLetters(text, word, reachInside)
    } else if (word.length >= MIN_INFIX_LENGTH) {
      for (const longer of wordsAround(vocabulary, word)) reachAll(longer, reachInside)
    }
    const limit = upTo === Tier.typo ? allowed(word) : 0
    for (const { word: similar, penalty } of similarWords(vocabulary, word, limit)) {
      reachAll(similar, (rank) => {
        if (reach(rank)) penalties[rank]! += penalty
      })
    }
    if (left.length === 0) return
  }
  for (const rank of left) {
    if (penalties[rank] === 0) match(state, rank, isInside[rank] ? Grade.inside : Grade.wordsApart)
    else {
      const loose = UNFINISHED_PENALTY * (unfinished.get(rank) ?? 0)
      const penalty = penalties[rank]! + loose + INSIDE_PENALTY * isInside[rank]!
      match(state, rank, Math.min(Grade.none - 1, Grade.inside + penalty))
    }
  }
}

function editsAllowed(word: string): number {
  if (word.length <= 3) return 0
  return word.length <= 7 ? 1 : 2
}

/** Used for a second attempt when nothing was found: `mewtooo`, `umbreon vmx`, `alolan vulpicks`. */
function editsAllowedAtLast(word: string): number {
  if (word.length <= 2) return 0
  if (word.length <= 5) return 1
  return word.length <= 7 ? 2 : 3
}

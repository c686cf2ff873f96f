import type { YieldToEventLoop } from '../../time/time-slices.ts'
import { EAST_ASIAN, fold } from './fold.ts'
import { visitList } from './lists.ts'
import { Grade, inOrder, type Matches, Tier } from './name-grades.ts'
import { findLetters, findWords, type Visit } from './name-lookup.ts'
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
    grades: new Uint8Array(names.length).fill(Grade.none),
    wordsFound: new Uint8Array(names.length),
    unfinished: new Uint8Array(names.length),
    penalties: new Uint16Array(names.length),
    isInside: new Uint8Array(names.length),
    isListed: new Uint8Array(vocabulary.words.length),
  }
  return { size: names.length, search: (query, options) => search(state, query, options) }
}

/** The index, and arrays by rank that all searches reuse. A search resets the entries that it has changed. */
type SearchState = {
  names: readonly string[]
  text: NameText
  vocabulary: Vocabulary
  /** The ranks of the names that match, and by rank the best grade so far. */
  matched: number[]
  grades: Uint8Array
  /**
   * State of `matchWords`, by rank: words of the query that the name has, those that it only begins with, penalties of
   * its typos, a word found inside.
   */
  wordsFound: Uint8Array
  unfinished: Uint8Array
  penalties: Uint16Array
  isInside: Uint8Array
  /** State of `wordsOfNames`, by word: whether it is in the list. */
  isListed: Uint8Array
}

// Longer queries are truncated.
const MAX_QUERY_LENGTH = 200
const MIN_INFIX_LENGTH = 3
/** Reading more names than these one by one takes longer than a look-up. */
const MAX_READ_NAMES = 64
// A name that has the other words in full comes before one with the same typo that only has their beginnings.
const UNFINISHED_PENALTY = 2
const INSIDE_PENALTY = 4

function search(
  state: SearchState,
  query: string,
  { upTo = Tier.typo }: SearchOptions = {},
): Matches {
  state.matched = []
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
    for (const reading of printedReadings(words)) {
      matchTogether(state, reading, asked, Grade.wordsApart)
    }
    if (upTo === Tier.typo && state.matched.length === 0) {
      for (const reading of readings) matchWords(state, reading, upTo, editsAllowedAtLast)
    }
  }
  const matches = inOrder(state.matched, state.grades, state.text.positions)
  for (const rank of state.matched) state.grades[rank] = Grade.none
  return { ...matches, words: words.filter(Boolean) }
}

/** The words for symbols that no keyboard has. Longer phrases come first. */
const SYMBOL_NAMES: [string, string][] = [
  ['gold star', '★'],
  ['star', '★'],
  ['prism star', '◇'],
  ['prism', '◇'],
  ['delta species', 'δ'],
  ['delta', 'δ'],
  ['alpha', 'α'],
  ['beta', 'β'],
  ['gamma', 'γ'],
  ['female', '♀'],
  ['male', '♂'],
]

/**
 * Words that names have in another form. Most of these forms begin a word of many names, so they only count next to the
 * other words of the query.
 */
const PRINTED = new Map([
  ['mega', 'm'],
  ['level', 'lv'],
  ['lvl', 'lv'],
  ['lvlx', 'lvx'],
  ['f', '♀'],
  ['m', '♂'],
])

const SYMBOL_NAME = new RegExp(SYMBOL_NAMES.map(([name]) => name).join('|'))

/** The same query with the name of a symbol replaced by the symbol: `umbreon star` is Umbreon ★. */
export function symbolReadings(words: string[]): string[][] {
  const text = ` ${words.join(' ')} `
  if (!SYMBOL_NAME.test(text)) return []
  const withSymbol = (text: string, [name, symbol]: [string, string]) =>
    text.replace(` ${name} `, ` ${symbol} `)
  const named = SYMBOL_NAMES.filter(([name]) => text.includes(` ${name} `))
  const readings = new Set(named.map((one) => withSymbol(text, one)))
  if (named.length > 1) readings.add(named.reduce(withSymbol, text))
  return [...readings].map((reading) => reading.trim().split(' '))
}

/** The same query as a name may be printed: `mega gengar ex` is M Gengar-EX, `nidoran f` is Nidoran ♀. */
function printedReadings(words: string[]): string[][] {
  if (words.length === 1) return []
  return words.flatMap((word, i) => {
    const printed = PRINTED.get(word)
    return printed === undefined ? [] : [words.with(i, printed)]
  })
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

/** Matches names that contain the whole query in order, from the start of a word. No grade is better than `best`. */
function matchTogether(
  state: SearchState,
  words: string[],
  asked: string,
  best: number = Grade.sameSpelling,
): void {
  const { names, text } = state
  const { length } = words.join('')
  findWords(text, words, (at, sameSpaces, wordEnds) => {
    const rank = text.ranks[at]!
    const nameBegins = at === text.starts[rank]
    const nameEnds = at + length + 1 === text.starts[rank + 1]
    let grade: number
    if (nameBegins && nameEnds) {
      grade = gradeExact(names[text.positions[rank]!]!, asked, sameSpaces)
    } else if (nameBegins) {
      grade = wordEnds ? Grade.firstWords : Grade.firstLetters
    } else {
      grade = wordEnds ? Grade.wordsTogether : Grade.lettersTogether
    }
    match(state, rank, Math.max(best, grade))
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
  const { text, vocabulary, wordsFound, unfinished, penalties, isInside } = state
  const isOneWord = asked.length === 1
  // Longest first: long words match the fewest names.
  const words = isOneWord ? asked : [...new Set(asked)].sort((a, b) => b.length - a.length)
  /** The names that have the first word, and those that have all words so far: the next word is searched in these. */
  let first: number[] = []
  let left: number[] | undefined
  for (const [before, word] of words.entries()) {
    const among = left
    const found: number[] = []
    left = found
    if (before === 0) first = found
    // The kinds of matches are tried best first, so a name's first match of a word is its best.
    const reach = (rank: number) => {
      if (wordsFound[rank] !== before) return false
      wordsFound[rank] = before + 1
      found.push(rank)
      return true
    }
    // `matchTogether` has found the same, with a better grade.
    if (!isOneWord) {
      const begun: number[] = []
      const visit: Visit = (at, _, wordEnds) => {
        if (wordEnds) reach(text.ranks[at]!)
        else begun.push(text.ranks[at]!)
      }
      findWords(text, [word], visit, among && among.length <= MAX_READ_NAMES ? among : undefined)
      // In `mew mewtwo gx`, Mewtwo-GX has the word `mewtwo` only, and `mew` as a part of it.
      const beginsAnother = words.some((other) => other !== word && other.startsWith(word))
      for (const rank of begun) {
        if (!reach(rank)) continue
        unfinished[rank]!++
        if (beginsAnother) isInside[rank] = 1
      }
    }
    if (upTo >= Tier.inside) {
      const reachInside = (rank: number) => {
        if (reach(rank)) isInside[rank] = 1
      }
      const wordsAmong = among && wordsOfNames(state, among)
      if (EAST_ASIAN.test(word)) {
        findLetters(text, word, reachInside)
      } else if (word.length >= MIN_INFIX_LENGTH) {
        for (const longer of wordsAround(vocabulary, word, wordsAmong)) {
          visitList(vocabulary.ranks, longer, reachInside)
        }
      }
      const limit = upTo === Tier.typo ? allowed(word) : 0
      for (const similar of similarWords(vocabulary, word, limit, wordsAmong)) {
        visitList(vocabulary.ranks, similar.word, (rank) => {
          if (reach(rank)) penalties[rank]! += similar.penalty
        })
      }
    }
    if (found.length === 0) break
  }
  for (const rank of left ?? []) {
    if (penalties[rank] === 0) match(state, rank, isInside[rank] ? Grade.inside : Grade.wordsApart)
    else {
      const loose = UNFINISHED_PENALTY * unfinished[rank]!
      const penalty = penalties[rank]! + loose + INSIDE_PENALTY * isInside[rank]!
      match(state, rank, Math.min(Grade.none - 1, Grade.inside + penalty))
    }
  }
  for (const rank of first) {
    wordsFound[rank] = 0
    unfinished[rank] = 0
    penalties[rank] = 0
    isInside[rank] = 0
  }
}

/** The words of these names, each once. */
function wordsOfNames({ vocabulary, isListed }: SearchState, ranks: number[]): number[] {
  const words: number[] = []
  const { starts, numbers } = vocabulary.wordsOf
  for (const rank of ranks) {
    for (let i = starts[rank]!; i < starts[rank + 1]!; i++) {
      const word = numbers[i]!
      if (isListed[word] === 1) continue
      isListed[word] = 1
      words.push(word)
    }
  }
  for (const word of words) isListed[word] = 0
  return words
}

/** Wrong letters that a word of a query may have. */
export function editsAllowed(word: string): number {
  if (word.length <= 3) return 0
  return word.length <= 7 ? 1 : 2
}

/** Used for a second attempt when nothing was found: `mewtooo`, `umbreon vmx`, `alolan vulpicks`. */
function editsAllowedAtLast(word: string): number {
  if (word.length <= 2) return 0
  if (word.length <= 5) return 1
  return word.length <= 7 ? 2 : 3
}

import type { YieldToEventLoop } from '../../time/time-slices.ts'
import { EAST_ASIAN, fold } from './fold.ts'
import { Grade, inOrder, type Matches } from './name-grades.ts'
import { findLetters, findWords } from './name-lookup.ts'
import { joinNames, type NameText } from './name-text.ts'
import { collectWords, similarWords, type Vocabulary, wordsAround } from './name-vocabulary.ts'

export type NameIndex = {
  size: number
  search(query: string): Matches
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
    flaws: new Uint8Array(names.length),
  }
  return { size: names.length, search: (query) => search(state, query) }
}

/** The index, and arrays by rank that all searches reuse. */
type SearchState = {
  names: readonly string[]
  text: NameText
  vocabulary: Vocabulary
  /** The ranks of the names that match, and by rank the best grade so far. */
  matched: number[]
  grades: Uint8Array
  /** For `matchWords`: the number of the query's words in the name, and the sum of their flaws. */
  wordsFound: Uint8Array
  flaws: Uint8Array
}

// Longer queries are truncated.
const MAX_QUERY_LENGTH = 200
const MIN_INFIX_LENGTH = 3
// A name's flaws are one number, so that they add up: 1 for a word found inside, 2 for an edit.
const INSIDE = 1
const EDIT = 2

function search(state: SearchState, query: string): Matches {
  state.matched = []
  state.grades.fill(Grade.none)
  const asked = query.slice(0, MAX_QUERY_LENGTH).trim()
  const words = fold(asked).split(' ')
  if (words[0] === '') {
    matchLiterally(state, asked)
  } else {
    matchTogether(state, words, asked)
    matchWords(state, words, editsAllowed)
    if (state.matched.length === 0) matchWords(state, words, editsAllowedAtLast)
  }
  return inOrder(state.matched, state.grades, state.text.positions)
}

function match({ matched, grades }: SearchState, rank: number, grade: number): void {
  if (grades[rank] === Grade.none) matched.push(rank)
  if (grade < grades[rank]!) grades[rank] = grade
}

/** For a query without letters, such as `?`: matches the names that contain exactly this text. */
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
function matchWords(state: SearchState, asked: string[], allowed: (word: string) => number): void {
  const { text, vocabulary, wordsFound, flaws } = state
  wordsFound.fill(0)
  flaws.fill(0)
  // Longest first: long words match the fewest names.
  const words = [...new Set(asked)].sort((a, b) => b.length - a.length)
  let left: number[] = []
  for (const [before, word] of words.entries()) {
    left = []
    // The kinds of matches are tried best first, so a name's first match of a word is its best.
    const reach = (rank: number, flaw: number) => {
      if (wordsFound[rank] !== before) return
      wordsFound[rank] = before + 1
      flaws[rank]! += flaw
      left.push(rank)
    }
    const reachAll = (whole: string, flaw: number) => {
      findWords(text, [whole], (at, _, wordEnds) => {
        if (wordEnds) reach(text.ranks[at]!, flaw)
      })
    }
    findWords(text, [word], (at) => reach(text.ranks[at]!, 0))
    if (EAST_ASIAN.test(word)) {
      findLetters(text, word, (rank) => reach(rank, INSIDE))
    } else if (word.length >= MIN_INFIX_LENGTH) {
      for (const longer of wordsAround(vocabulary, word)) reachAll(longer, INSIDE)
    }
    for (const similar of similarWords(vocabulary, word, allowed(word))) {
      reachAll(similar.word, EDIT * similar.edits)
    }
    if (left.length === 0) return
  }
  for (const rank of left) {
    const edits = Math.floor(flaws[rank]! / EDIT)
    const apart = flaws[rank] === 0 ? Grade.wordsApart : Grade.inside
    match(state, rank, edits === 0 ? apart : Grade.inside + edits)
  }
}

function editsAllowed(word: string): number {
  if (word.length <= 3) return 0
  return word.length <= 7 ? 1 : 2
}

/** For a second attempt when nothing was found: `mewtooo`. */
function editsAllowedAtLast(word: string): number {
  return word.length >= 6 ? 2 : editsAllowed(word)
}

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

/**
 * An index over distinct display names. A search finds the names that are, begin with, have or
 * resemble what is asked, in the order that `Tier` tells.
 */
export async function buildNameIndex(
  names: readonly string[],
  yieldToEventLoop?: YieldToEventLoop,
): Promise<NameIndex> {
  const text = await joinNames(names, yieldToEventLoop)
  const vocabulary = await collectWords(text, yieldToEventLoop)
  const bench: Bench = {
    names,
    text,
    vocabulary,
    matched: [],
    grades: new Uint8Array(names.length),
    wordsFound: new Uint8Array(names.length),
    flaws: new Uint8Array(names.length),
  }
  return { size: names.length, search: (query) => search(bench, query) }
}

/** What a search works with. It uses the arrays by rank again and again. */
type Bench = {
  names: readonly string[]
  text: NameText
  vocabulary: Vocabulary
  /** The ranks of the names that match, and by rank the best grade so far. */
  matched: number[]
  grades: Uint8Array
  /** For `matchWords`: how many words of the query the name has, and how badly. */
  wordsFound: Uint8Array
  flaws: Uint8Array
}

// More than anyone types; what comes after is not read.
const MAX_QUERY_LENGTH = 200
const MIN_INFIX_LENGTH = 3
// A name's flaws are one number, so that they add up: 1 for a word found inside, 2 for an edit.
const INSIDE = 1
const EDIT = 2

function search(bench: Bench, query: string): Matches {
  bench.matched = []
  bench.grades.fill(Grade.none)
  const asked = query.slice(0, MAX_QUERY_LENGTH).trim()
  const words = fold(asked).split(' ')
  if (words[0] === '') {
    matchLiterally(bench, asked)
  } else {
    matchTogether(bench, words, asked)
    matchWords(bench, words, editsAllowed)
    if (bench.matched.length === 0) matchWords(bench, words, editsAllowedAtLast)
  }
  return inOrder(bench.matched, bench.grades, bench.text.positions)
}

function match({ matched, grades }: Bench, rank: number, grade: number): void {
  if (grades[rank] === Grade.none) matched.push(rank)
  if (grade < grades[rank]!) grades[rank] = grade
}

/** For a query without any letter, such as `?`: the names that have just that in them. */
function matchLiterally(bench: Bench, asked: string): void {
  if (asked === '') return
  for (let rank = 0; rank < bench.names.length; rank++) {
    const name = bench.names[bench.text.positions[rank]!]!
    if (name === asked) match(bench, rank, Grade.sameSpelling)
    else if (name.includes(asked)) match(bench, rank, Grade.inside)
  }
}

/** Names in which all that is asked stands together and in order, from the start of a word. */
function matchTogether(bench: Bench, words: string[], asked: string): void {
  const { names, text } = bench
  const { length } = words.join('')
  findWords(text, words, (at, sameSpaces, wordEnds) => {
    const rank = text.ranks[at]!
    const nameBegins = at === text.starts[rank]
    const nameEnds = at + length + 1 === text.starts[rank + 1]
    if (nameBegins && nameEnds) {
      match(bench, rank, gradeExact(names[text.positions[rank]!]!, asked, sameSpaces))
    } else if (nameBegins) {
      match(bench, rank, wordEnds ? Grade.firstWords : Grade.firstLetters)
    } else {
      match(bench, rank, wordEnds ? Grade.wordsTogether : Grade.lettersTogether)
    }
  })
}

function gradeExact(name: string, asked: string, sameSpaces: boolean): number {
  if (name === asked) return Grade.sameSpelling
  if (name.toLowerCase() === asked.toLowerCase()) return Grade.otherCase
  return sameSpaces ? Grade.foldedAlike : Grade.otherSpaces
}

/** Names that have every word somewhere: as a word or the start of one, inside one, or mistyped. */
function matchWords(bench: Bench, asked: string[], allowed: (word: string) => number): void {
  const { text, vocabulary, wordsFound, flaws } = bench
  wordsFound.fill(0)
  flaws.fill(0)
  // Long words leave the fewest names for the others.
  const words = [...new Set(asked)].sort((a, b) => b.length - a.length)
  let left: number[] = []
  for (const [before, word] of words.entries()) {
    left = []
    // The ways to have a word are tried best first, so a name's first way is its best.
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
    match(bench, rank, edits === 0 ? apart : Grade.inside + edits)
  }
}

function editsAllowed(word: string): number {
  if (word.length <= 3) return 0
  return word.length <= 7 ? 1 : 2
}

/** When nothing else is found: `mewtooo`. */
function editsAllowedAtLast(word: string): number {
  return word.length >= 6 ? 2 : editsAllowed(word)
}

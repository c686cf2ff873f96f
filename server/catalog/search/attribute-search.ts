import { remembering } from '../../text/remembering.ts'
import type { Attributes, Ignored, Matcher } from './attributes.ts'
import { fold } from './fold.ts'
import { type Matches, Tier } from './name-grades.ts'
import { type NameIndex, symbolReadings } from './name-index.ts'

/**
 * Searches that contain more than a name: `charizard 4`, `brs 18`, `base set charizard`, `charizard rare holo`. The words
 * that do not belong to a name must describe the entry: its number, its set, its rarity, its category.
 */

export type Names<T> = { index: NameIndex; entriesByName: T[][] }

/** A longer query is searched by name alone. */
const MAX_WORDS = 16
/** Words that may belong to the name or not: each doubles the number of divisions that are tried. */
const MAX_AMBIGUOUS = 3

type Options = { search: (name: string) => Matches; ignored?: Ignored }

/**
 * The entries that a query of name and attributes finds, best first: those whose name is exactly the name in the query
 * before those that have its words, then those with the most words in the name, then those that the attributes describe
 * best. Undefined if no entry matches, whether or not it passes the filters: these narrow a result, and must not lead to
 * another meaning of the query.
 */
export function searchWithAttributes<T>(
  names: Names<T>,
  attributes: Attributes<T>,
  words: string[],
  passes: (entry: T) => boolean,
  options: Options = { search: searchOnce(names.index) },
): T[] | undefined {
  if (words.length > MAX_WORDS) return undefined
  // `star` alone may be a rarity, and then `gold` is not a name: in `rayquaza gold star deoxys`, both are the symbol.
  const [symbol] = symbolReadings(words)
  return (
    searchReading(names, attributes, words, passes, options) ??
    (symbol && searchReading(names, attributes, symbol, passes, options))
  )
}

/** Searches for names without typos, for each name once: the divisions of a query share most names. */
function searchOnce(index: NameIndex): (name: string) => Matches {
  const searched = new Map<string, Matches>()
  return (name) => searched.getOrInsertComputed(name, () => index.search(name, { upTo: Tier.word }))
}

function searchReading<T>(
  { entriesByName }: Names<T>,
  attributes: Attributes<T>,
  words: string[],
  passes: (entry: T) => boolean,
  { search, ignored }: Options,
): T[] | undefined {
  // A repeated word makes equal divisions.
  const divided = new Map(
    divisions(words, attributes, search).map((isAttribute) => {
      const { name, described } = split(words, isAttribute)
      return [`${name}/${described.join(' ')}`, { name, described }]
    }),
  )
  const prepared = [...divided.values()].map(({ name, described }) => ({
    name,
    ...attributes.matcher(described, ignored),
  }))
  for (const lastTier of [Tier.exact, Tier.word]) {
    for (const { name, score, candidates } of prepared) {
      const found = collect(score, passes)
      if (name === '') {
        // Without a name, another tier finds the same.
        if (lastTier === Tier.exact) for (const entry of candidates()) found.add(entry)
      } else {
        const { positions, tiers } = search(name)
        for (const [i, position] of positions.entries()) {
          if (tiers[i]! > lastTier) break
          for (const entry of entriesByName[position]!) found.add(entry)
        }
      }
      const best = found.bestFirst()
      if (best) return best
    }
  }
  return undefined
}

/** Searches like `searchWithAttributes`, for a name with typos. Tries two divisions only, because that is expensive. */
export function searchTyposWithAttributes<T extends { name: string }>(
  { index, entriesByName }: Names<T>,
  attributes: Attributes<T>,
  words: string[],
  passes: (entry: T) => boolean,
): T[] | undefined {
  if (words.length > MAX_WORDS) return undefined
  for (const isAttribute of likelyDivisions(words, attributes)) {
    const { name, described } = split(words, isAttribute)
    const { score } = attributes.matcher(described)
    const found = collect(score, passes)
    for (const [match, position] of index.search(name).positions.entries()) {
      const entries = entriesByName[position]!
      const folded = ` ${fold(entries[0]!.name)} `
      for (const entry of entries) found.add(entry, match, folded)
    }
    const best = found.bestFirst()
    if (best) return best
  }
  return undefined
}

/** Searches for a card of another rarity: sources call one rarity `Rare Rainbow`, `Rare Secret` or `Hyper Rare`. */
export function searchAnyRarity<T>(
  names: Names<T>,
  attributes: Attributes<T>,
  words: string[],
  passes: (entry: T) => boolean,
): T[] | undefined {
  const options: Options = { search: searchOnce(names.index), ignored: 'rarities' }
  return searchWithAttributes(names, attributes, words, passes, options)
}

/** The first letter of a name, from its first character. */
const initialOf = remembering((letter: string) => fold(letter).slice(0, 1))

/**
 * Searches for the entries that the title of an offer names in full, a card with its number. Words that describe nothing in
 * the catalog are ignored: `pack fresh`, `see pics`.
 */
export function searchTitle<T extends { name: string }>(
  attributes: Attributes<T>,
  title: string[],
  passes: (entry: T) => boolean,
): T[] | undefined {
  const { words, candidates, score } = attributes.matcher(title, 'unknown')
  const found = collect(score, passes)
  // Most cards of a number have other names, and folding all of these would take longer than the search.
  const initials = new Set(['', ...words.map((word) => word[0]!)])
  for (const entry of candidates()) {
    if (!initials.has(initialOf(entry.name[0]!))) continue
    const name = fold(entry.name).split(' ')
    if (name.every((word) => words.includes(word))) {
      found.add(entry, -name.length, ` ${name.join(' ')} `)
    }
  }
  return found.bestFirst()
}

/** Searches for a set or rarity that is misspelled or not typed to its end. Used when nothing else was found. */
export function searchCorrected<T extends { name: string }>(
  names: Names<T>,
  attributes: Attributes<T>,
  words: string[],
  passes: (entry: T) => boolean,
): T[] | undefined {
  if (words.length > MAX_WORDS) return undefined
  const corrections = attributes.corrections(words)
  const options = { search: searchOnce(names.index) }
  for (const corrected of corrections) {
    const found = searchWithAttributes(names, attributes, corrected, passes, options)
    if (found) return found
  }
  const [likeliest] = corrections
  return likeliest && searchTyposWithAttributes(names, attributes, likeliest, passes)
}

/** Collects the entries that attributes describe. One that the filters exclude shows only that the search has a result. */
function collect<T>(scoreOf: Matcher<T>['score'], passes: (entry: T) => boolean) {
  const found: { entry: T; match: number; score: number }[] = []
  let isEmpty = true
  return {
    /** @param match lower the better the name matches */
    add(entry: T, match = 0, name?: string): void {
      const isWanted = passes(entry)
      if (!isWanted && !isEmpty) return
      const score = scoreOf(entry, name)
      if (score === 0) return
      isEmpty = false
      if (isWanted) found.push({ entry, match, score })
    },
    /** Equals keep the order of the whole list. Undefined without an entry, even one that the filters exclude. */
    bestFirst: (): T[] | undefined =>
      isEmpty
        ? undefined
        : found.sort((a, b) => a.match - b.match || b.score - a.score).map(({ entry }) => entry),
  }
}

const split = (words: string[], isAttribute: boolean[]) => ({
  name: words.filter((_, i) => !isAttribute[i]).join(' '),
  described: words.filter((_, i) => isAttribute[i]),
})

/**
 * The ways to divide a query, those with the most words in the name first: for each word, whether it is an attribute. In
 * `mew ex 151`, the number belongs to the name, or is the card's number or set.
 */
function divisions<T>(
  words: string[],
  attributes: Attributes<T>,
  search: (name: string) => Matches,
): boolean[][] {
  const describes = words.map((word) => attributes.describes(word))
  const certain = words.filter((_, i) => !describes[i])
  const isName = (name: string[]) => search(name.join(' ')).positions.length > 0
  if (certain.length > 0 && !isName(certain)) return []

  // Most attributes belong to no name that has the other words: these aren't tried as part of one.
  const ambiguous: number[] = []
  for (const i of words.keys()) {
    if (!describes[i] || ambiguous.length === MAX_AMBIGUOUS) continue
    if (isName(words.filter((_, j) => j === i || !describes[j]))) ambiguous.push(i)
  }
  const made: boolean[][] = []
  for (let chosen = 0; chosen < 2 ** ambiguous.length; chosen++) {
    const division = [...describes]
    for (const [bit, i] of ambiguous.entries()) if (chosen & (1 << bit)) division[i] = false
    if (division.includes(true)) made.push(division)
  }
  const attributesIn = (division: boolean[]) => division.filter(Boolean).length
  return made.sort((a, b) => attributesIn(a) - attributesIn(b))
}

/** Two divisions, because a search for typos is expensive: numbers alone, or every word that can be, is an attribute. */
function likelyDivisions<T>(words: string[], attributes: Attributes<T>): boolean[][] {
  const every = words.map((word) => attributes.describes(word))
  const numbers = every.map((describes, i) => describes && /\d/.test(words[i]!))
  return [numbers, every].filter((division) => division.includes(true) && division.includes(false))
}

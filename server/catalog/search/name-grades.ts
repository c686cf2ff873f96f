/**
 * How a name can match, best first:
 *
 * - exact: the name equals the query. The same spelling ranks first, then another case, then the same folded text
 *   (`Mewtwo ex` for `Mewtwo-EX`), then other spaces (`Ho-Oh` for `hooh`).
 * - prefix: the name begins with the query. `mew` finds `Mew ex` before `Mewtwo`.
 * - word: the query's words are prefixes of words of the name; adjacent and in order ranks first.
 * - inside: a word of the query only occurs inside a word of the name. It needs 3 letters, or one character in scripts
 *   without spaces between words.
 * - typo: a word of the query is a few edits from a word of the name; fewer edits rank first.
 */
export const Tier = { exact: 0, prefix: 1, word: 2, inside: 3, typo: 4 } as const

/** The order of all matches, finer than the tiers. A typo is graded `inside` plus its edits. */
export const Grade = {
  sameSpelling: 0,
  otherCase: 1,
  foldedAlike: 2,
  otherSpaces: 3,
  firstWords: 4,
  firstLetters: 5,
  wordsTogether: 6,
  lettersTogether: 7,
  wordsApart: 8,
  inside: 9,
  none: 255,
} as const

function tierOf(grade: number): number {
  if (grade <= Grade.otherSpaces) return Tier.exact
  if (grade <= Grade.firstLetters) return Tier.prefix
  if (grade <= Grade.wordsApart) return Tier.word
  if (grade === Grade.inside) return Tier.inside
  return Tier.typo
}

/** The matching names, best first, as parallel arrays. */
export type Matches = {
  /** Positions in the list of names that the index was built from, each at most once. */
  positions: Uint32Array
  /** The `Tier` of each match; never decreasing. */
  tiers: Uint8Array
  /** The number of leading matches that are not typo matches. */
  sure: number
  /** The folded words of the query. */
  words: string[]
}

/** Sorts matching ranks by grade, then by rank. */
export function inOrder(
  ranks: number[],
  grades: Uint8Array,
  positions: Uint32Array,
): Omit<Matches, 'words'> {
  const size = positions.length
  const { length } = ranks
  // A grade and a rank in one number. The sorted array is then overwritten with the positions.
  const order = new Uint32Array(length)
  for (let i = 0; i < length; i++) order[i] = grades[ranks[i]!]! * size + ranks[i]!
  order.sort()
  const tiers = new Uint8Array(length)
  let sure = 0
  for (let i = 0; i < length; i++) {
    const tier = tierOf(Math.floor(order[i]! / size))
    tiers[i] = tier
    if (tier !== Tier.typo) sure = i + 1
    order[i] = positions[order[i]! % size]!
  }
  return { positions: order, tiers, sure }
}

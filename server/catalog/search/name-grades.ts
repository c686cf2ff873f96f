/**
 * How a name can match, best first:
 *
 * - exact: the name is what was asked. The same spelling comes first, then the same but for upper
 *   and lower case, then folded alike (`Mewtwo ex` for `Mewtwo-EX`), then with other spaces
 *   (`Ho-Oh` for `hooh`).
 * - prefix: the name begins with it. `mew` finds `Mew ex` before `Mewtwo`.
 * - word: its words begin words of the name; together and in order before anywhere.
 * - inside: one of its words is only found within a word of the name. From 3 letters; from one
 *   character in the scripts that put no spaces between words.
 * - typo: one of its words is a few edits from a word of the name; fewer edits first.
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

/** The matching names, best first. The arrays run side by side. */
export type Matches = {
  /** Positions in the list of names that the index was built from, each at most once. */
  positions: Uint32Array
  /** For each match its `Tier`; never decreasing. */
  tiers: Uint8Array
  /** How many of the matches, from the first, are more than a guess at a typo. */
  sure: number
}

/** Puts matching ranks in order, by grade and then by rank. */
export function inOrder(ranks: number[], grades: Uint8Array, positions: Uint32Array): Matches {
  const size = positions.length
  const order = Uint32Array.from(ranks, (rank) => grades[rank]! * size + rank).sort()
  const tiers = Uint8Array.from(order, (key) => tierOf(Math.floor(key / size)))
  const firstTypo = tiers.indexOf(Tier.typo)
  return {
    positions: order.map((key) => positions[key % size]!),
    tiers,
    sure: firstTypo === -1 ? tiers.length : firstTypo,
  }
}

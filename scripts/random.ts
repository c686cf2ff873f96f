/** Choices that a seed decides: the same again with the same seed. When something happens it doesn't decide. */
export type Chance = {
  /** True this often, from 0 to 1. */
  is(share: number): boolean
  between(from: number, to: number): number
  /** A whole number, both ends among them. */
  whole(from: number, to: number): number
  oneOf<T>(choices: readonly T[]): T
  /** One of its own for somebody else, so that nobody's choices depend on who comes first. */
  another(): Chance
}

export function chanceFrom(seed: number): Chance {
  const next = mulberry32(seed)
  const chance: Chance = {
    is: (share) => next() < share,
    between: (from, to) => from + next() * (to - from),
    whole: (from, to) => Math.floor(chance.between(from, to + 1)),
    oneOf: (choices) => choices[chance.whole(0, choices.length - 1)]!,
    another: () => chanceFrom(next() * 2 ** 32),
  }
  return chance
}

/** Numbers from 0 up to 1. Small, and random enough for this. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

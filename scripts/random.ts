/** Random choices from a seed: the same seed makes the same choices, whatever their timing. */
export type Random = {
  /** Returns true with this probability, from 0 to 1. */
  chance(probability: number): boolean
  between(from: number, to: number): number
  /** An integer from `from` to `to`, both included. */
  integer(from: number, to: number): number
  pick<T>(choices: readonly T[]): T
  /** An independent generator. With one for each concurrent task, choices do not depend on the tasks' interleaving. */
  fork(): Random
}

/** Random choices that depend only on the seed. */
export function seededRandom(seed: number): Random {
  const next = randomNumbers(seed)
  const random: Random = {
    chance: (probability) => next() < probability,
    between: (from, to) => from + next() * (to - from),
    integer: (from, to) => Math.floor(random.between(from, to + 1)),
    pick: (choices) => choices[random.integer(0, choices.length - 1)]!,
    fork: () => seededRandom(next() * 2 ** 32),
  }
  return random
}

/** Numbers from 0 up to, but not including, 1, in an order that depends only on the seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

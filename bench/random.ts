import { randomNumbers } from '../scripts/random.ts'

/** The items in random order; the same seed gives the same order. */
export function shuffled<T>(items: T[], seed = 1): T[] {
  const random = randomNumbers(seed)
  const mixed = [...items]
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[mixed[i], mixed[j]] = [mixed[j]!, mixed[i]!]
  }
  return mixed
}

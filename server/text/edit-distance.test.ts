import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { editDistance } from './edit-distance.ts'

describe('editDistance', () => {
  it.each([
    ['the same word', 'mewtwo', 'mewtwo', 0],
    ['another letter', 'venasaur', 'venusaur', 1],
    ['another first letter', 'kikachu', 'pikachu', 1],
    ['a letter missing', 'charzard', 'charizard', 1],
    ['a letter missing at the end', 'charizar', 'charizard', 1],
    ['a letter too many', 'snorllax', 'snorlax', 1],
    ['neighbours swapped', 'pikahcu', 'pikachu', 1],
    ['the last two swapped', 'pikacuh', 'pikachu', 1],
    ['two slips', 'pikachoo', 'pikachu', 2],
    ['a swap and a slip', 'ipkachoo', 'pikacho', 2],
  ])('the edit distance for %s, as in %s and %s, is %i', (_, a, b, edits) => {
    expect(editDistance(a, b, 2)).toBe(edits)
    expect(editDistance(b, a, 2)).toBe(edits)
  })

  it('a distance beyond the limit is the limit plus one', () => {
    expect(editDistance('abcdef', 'uvwxyz', 2)).toBe(3)
    expect(editDistance('pikachoo', 'pikachu', 1)).toBe(2)
    expect(editDistance('mew', 'mewtwo', 1)).toBe(2)
  })

  it('the edit distance equals the one of the textbook algorithm', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 7 })
    fc.assert(
      fc.property(word, word, fc.integer({ min: 0, max: 3 }), (a, b, limit) => {
        expect(editDistance(a, b, limit)).toBe(Math.min(byTable(a, b), limit + 1))
      }),
      { numRuns: 5000 },
    )
  })
})

function byTable(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) => [i])
  for (let j = 1; j <= b.length; j++) table[0]![j] = j
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const changed = table[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      let best = Math.min(changed, table[i - 1]![j]! + 1, table[i]![j - 1]! + 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) best = Math.min(best, table[i - 2]![j - 2]! + 1)
      table[i]![j] = best
    }
  }
  return table[a.length]![b.length]!
}

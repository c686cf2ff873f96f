import fc from 'fast-check'
import { expect, it } from 'vitest'
import { editDistance } from '../../text/edit-distance.ts'
import { joinNames } from './name-text.ts'
import { collectWords, similarWords } from './name-vocabulary.ts'

const word = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd', '超'), minLength, maxLength })

/** The word with letters left out, added, changed and swapped. */
const mistyped = (text: string) =>
  fc
    .array(fc.tuple(fc.nat(), fc.constantFrom('omit', 'add', 'change', 'swap')), { maxLength: 3 })
    .map((edits) =>
      edits
        .reduce(
          (letters, [seed, edit]) => {
            const at = seed % Math.max(letters.length, 1)
            const [first = '', second = ''] = letters.slice(at)
            if (edit === 'omit') return letters.toSpliced(at, 1)
            if (edit === 'add') return letters.toSpliced(at, 0, 'e')
            if (edit === 'change') return letters.toSpliced(at, 1, 'e')
            return letters.toSpliced(at, 2, ...[second, first].filter(Boolean))
          },
          [...text],
        )
        .join(''),
    )

it('every word within the limit of edits is similar, once, and no other', async () => {
  const cases = word(3, 12).chain((asked) =>
    fc.record({
      asked: fc.constant(asked),
      names: fc.array(fc.oneof(word(1, 12), mistyped(asked)), { maxLength: 20 }),
      limit: fc.constantFrom(1, 2, 3),
    }),
  )
  await fc.assert(
    fc.asyncProperty(cases, async ({ asked, names, limit }) => {
      const vocabulary = await collectWords(await joinNames(names))
      const isSimilar = (known: string) =>
        known !== asked &&
        editDistance(asked, known, limit) <= limit &&
        (limit < 3 || known[0] === asked[0])
      const found = similarWords(vocabulary, asked, limit, undefined)
      expect(found.map((similar) => vocabulary.words[similar.word]).sort()).toEqual(
        vocabulary.words.filter(isSimilar).sort(),
      )
    }),
    { numRuns: 2_000 },
  )
})

/** The word with up to this many disjoint pairs of adjacent letters swapped. */
function withSwaps(text: string, limit: number, from = 0): string[] {
  const made = [text]
  if (limit === 0) return made
  for (let at = from; at + 1 < text.length; at++) {
    const swapped = text.slice(0, at) + text[at + 1] + text[at] + text.slice(at + 2)
    made.push(...withSwaps(swapped, limit - 1, at + 2))
  }
  return made
}

it('a word is similar wherever its letters are swapped', async () => {
  for (let length = 3; length <= 12; length++) {
    const asked = 'abcdefghijkl'.slice(0, length)
    for (const limit of [1, 2, 3]) {
      const swapped = withSwaps(asked, limit).filter((known) => known !== asked)
      // With three wrong letters, the first must be right.
      const expected = swapped.filter((known) => limit < 3 || known[0] === asked[0])
      const vocabulary = await collectWords(await joinNames(swapped))
      const found = similarWords(vocabulary, asked, limit, undefined)
      expect(found.map(({ word }) => vocabulary.words[word]).sort()).toEqual(expected.sort())
    }
  }
})

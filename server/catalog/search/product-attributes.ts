import { remembering } from '../../text/remembering.ts'
import { type Attributes, FILLER } from './attributes.ts'
import { correctionsOf } from './corrections.ts'
import { fold } from './fold.ts'
import { EXACT, type NamedSet, PART, type SetDescriptions, singular } from './sets.ts'

const CATEGORY_SHORTHANDS = new Map([
  ['etb', ['elite', 'trainer', 'box']],
  ['bb', ['booster', 'box']],
  ['display', ['booster', 'box']],
  ['upc', ['premium', 'collection']],
  ['spc', ['super', 'premium', 'collection']],
  ['pc', ['pokemon', 'center']],
])

/** Describes sealed products by their set, category and name. */
export function productAttributes<
  S extends NamedSet,
  P extends { name: string; category: string; set: S | null },
>(products: P[], described: SetDescriptions<S>): Attributes<P> {
  const folded = remembering(fold)
  const inText = new Set(
    products.flatMap(({ name, category }) => [...folded(name).split(' '), ...category.split('_')]),
  )
  const describes = (word: string) =>
    described.meantBy(word) !== undefined ||
    inText.has(word) ||
    CATEGORY_SHORTHANDS.has(word) ||
    FILLER.has(word)
  return {
    describes,
    printed: (words) => words,
    respelled: (words) =>
      words.map((word) => {
        const singular = word.replace(/(?:(?<=x)es|s)$/, '')
        return !describes(word) && describes(singular) ? singular : word
      }),
    corrections: (words) => correctionsOf(words, describes, described.similar),
    matcher(asked, ignored) {
      const words = asked.flatMap((word) => CATEGORY_SHORTHANDS.get(word) ?? [word])
      const meantSets = words.map(described.meantBy)
      return {
        words,
        candidates: () => products,
        score({ name, category, set }) {
          const ofSet: string[] = []
          const ofCategory: string[] = []
          const categoryHas = category.split('_')
          const nameHas = folded(name).split(' ')
          for (const [i, word] of words.entries()) {
            const isOfSet = set !== null && meantSets[i]?.has(set)
            const isOfCategory = categoryHas.includes(word)
            if (isOfSet) ofSet.push(singular(word))
            if (isOfCategory) ofCategory.push(word)
            const isIgnored = FILLER.has(word) || (ignored === 'unknown' && !describes(word))
            if (!isOfSet && !isOfCategory && !nameHas.includes(word) && !isIgnored) return 0
          }
          const setScore = set === null ? 0 : described.score(set, ofSet)
          const isWhole =
            ofCategory.length > 0 && categoryHas.every((word) => ofCategory.includes(word))
          // The product with the fewest other words in its name is meant.
          return setScore + (isWhole ? EXACT : PART) + 1 / (1 + nameHas.length)
        },
      }
    },
  }
}

import { remembering } from '../../text/remembering.ts'
import { append } from '../append.ts'
import { type Attributes, FILLER, type Ignored } from './attributes.ts'
import { correctionsOf } from './corrections.ts'
import { fold } from './fold.ts'
import { describeRarities } from './rarities.ts'
import {
  EXACT,
  type NamedSet,
  PART,
  plainNumber,
  type SetDescriptions,
  singular,
  TOTAL,
} from './sets.ts'

/**
 * A number that is typed as two words: `SWSH 127`. Not with `\p{L}` for the letters: the first search in Japanese would
 * wait a quarter of a second until the pattern of a promo is compiled.
 */
const SPLIT_NUMBER = /(?<=^| )([^ \d]{1,4}) (\d{1,3})(?= |$)/g
/** `SWSH promo 127`, `SWSH black star promos 127`. */
const PROMO_NUMBER = /(?<=^| )([^ \d]{1,4}) (?:black star )?promos? (\d{1,3})(?= |$)/g
/** A title has a number and a total. More numbers cost time, and describe nothing. */
const MAX_TITLE_NUMBERS = 3

/** The printed total that a word can mean: cards print `064` for 64, and `TG30` for 30. */
const totalOf = (word: string) => plainNumber(word).replace(/^\D+/, '')

/** Whether `RC32` can be the total of a set within the set, as in `RC29/RC32`. */
function isOfSubset(total: string, number: string): boolean {
  const [letters] = /^\D*/.exec(number)!
  return letters !== '' && total.startsWith(letters) && /^\d+$/.test(total.slice(letters.length))
}

type DescribedSet = NamedSet & { printedTotal: number | null }

/** Describes cards by their number, set and rarity. */
export function cardAttributes<
  S extends DescribedSet & { cards: C[] },
  C extends { number: string; rarity: string | null; set: S },
>(sets: S[], cards: C[], described: SetDescriptions<S>): Attributes<C> {
  const byNumber = new Map<string, C[]>()
  const plain = remembering((number: string) => plainNumber(fold(number)))
  for (const card of cards) {
    const number = plain(card.number)
    if (number !== '') append(byNumber, number, card)
  }
  const byTotal = Map.groupBy(sets, ({ printedTotal }) => String(printedTotal))
  const rarities = describeRarities(cards)

  const isNumber = (word: string) => byNumber.has(plainNumber(word))
  /** `evs215` is the code `evs` and the number 215, unless it is the number of a card. */
  const codeAndNumber = (word: string): string[] | undefined => {
    const [, code, number] = /^(\D+)(\d+)$/.exec(word) ?? []
    if (code === undefined || number === undefined || !described.meantBy(code)) return undefined
    if (isNumber(word) || described.meantBy(word)) return undefined
    return isNumber(number) ? [code, number] : undefined
  }
  /** Joins the letters and digits that a pattern finds, if they are the number of a card. */
  const joinNumbers = (words: string[], pattern: RegExp): string[] =>
    words
      .join(' ')
      .replace(pattern, (both, letters, digits) =>
        isNumber(letters + digits) ? letters + digits : both,
      )
      .split(' ')
  const describes = (word: string) =>
    isNumber(word) ||
    described.meantBy(word) !== undefined ||
    rarities.words.has(word) ||
    rarities.inFull(word) !== undefined ||
    byTotal.has(totalOf(word)) ||
    codeAndNumber(word) !== undefined ||
    FILLER.has(word)

  const cardsOf = (word: string): C[][] => [
    byNumber.get(plainNumber(word)) ?? [],
    ...(byTotal.get(totalOf(word)) ?? []).map((set) => set.cards),
    ...[...(described.meantBy(word) ?? [])].map((set) => set.cards),
    ...rarities.cardsMeantBy(word),
  ]
  /** The cards of the word that describes the fewest. */
  const candidatesOf = (words: string[]): Set<C> => {
    const telling = words.filter((word) => !FILLER.has(word))
    // `promo` alone is a rarity.
    const lists = (telling.length > 0 ? telling : words).map(cardsOf)
    const sizeOf = (cards: C[][]) => cards.reduce((sum, list) => sum + list.length, 0)
    const [least = []] = lists
      .filter((cards) => sizeOf(cards) > 0)
      .sort((a, b) => sizeOf(a) - sizeOf(b))
    return new Set(least.flat())
  }

  /** The cards of the first numbers of a title. */
  const candidatesOfTitle = (words: string[]): C[] =>
    [...new Set(words.map(plainNumber))]
      .filter((number) => byNumber.has(number))
      .slice(0, MAX_TITLE_NUMBERS)
      .flatMap((number) => byNumber.get(number)!)

  const scoreOf = (words: string[], ignored: Ignored | undefined) => {
    const numbers = words.map(plainNumber)
    const totals = words.map(totalOf)
    const hasNumber = words.some(isNumber)
    // Promos print `SWSH251`, of which people type the digits.
    const asksPromo = words.includes('promo')
    const describesAll = words.map(
      (word) =>
        FILLER.has(word) ||
        (ignored === 'unknown' && !describes(word)) ||
        (ignored === 'rarities' && rarities.words.has(word)),
    )
    /** Words that only a set can have, or a name. */
    const isOfSetOnly = words.map(
      (word, i) =>
        !describesAll[i] && !rarities.words.has(word) && !isNumber(word) && !/\d/.test(word),
    )
    const meantSets = words.map(described.meantBy)
    const inSingular = words.map(singular)
    // A word such as `english` describes thousands of cards, which share a few sets and rarities.
    const meaningOfSet = remembering((set: S) => {
      const isMeant = meantSets.map((sets) => sets?.has(set) ?? false)
      return { isMeant, isPossible: isMeant.every((meant, i) => meant || !isOfSetOnly[i]) }
    })
    const scoreOfSet = remembering((set: S) =>
      described.score(
        set,
        inSingular.filter((_, i) => meantSets[i]?.has(set)),
      ),
    )
    const meaningOfRarity = remembering((rarity: string | null) => rarities.meaning(rarity, words))
    return (card: C, name = ''): number => {
      const { set } = card
      const ofSet = meaningOfSet(set)
      if (!ofSet.isPossible && name === '') return 0
      const ofRarity = meaningOfRarity(card.rarity)
      const number = hasNumber ? plain(card.number) : ''
      const total = String(set.printedTotal)
      let score = PART + ofRarity.score
      let isNumbered = false
      let isOfTotal = false
      let contradictions = 0
      for (const [i, word] of words.entries()) {
        const isItsNumber =
          numbers[i] === number || (asksPromo && ofRarity.isPromo && numbers[i] === totalOf(number))
        if (isItsNumber && !isNumbered) {
          isNumbered = true
          score += EXACT
        } else if (isNumbered && (totals[i] === total || isOfSubset(numbers[i]!, number))) {
          isOfTotal = true
          if (totals[i] === total) score += TOTAL
        } else {
          const isDescribed =
            describesAll[i] || ofSet.isMeant[i] || ofRarity.isMeant[i] || name.includes(` ${word} `)
          if (isDescribed) continue
          if (ignored !== 'unknown') return 0
          contradictions++
        }
      }
      // A number and its total identify a card, whatever else a title says.
      if (contradictions > 0 && !isOfTotal) return 0
      return score + scoreOfSet(set) - contradictions
    }
  }

  return {
    describes,
    printed(words) {
      // `xy 121` can also be the card 121 of the set XY.
      const isNumberAlone = words.length === 2 && !described.isCode(words[0]!)
      return joinNumbers(words, isNumberAlone ? SPLIT_NUMBER : PROMO_NUMBER)
    },
    respelled: (words) => joinNumbers(words, SPLIT_NUMBER),
    corrections: (words) =>
      correctionsOf(words, describes, (word) => described.similar(word, rarities.words)),
    matcher(asked, ignored) {
      const words = asked.flatMap((word) => rarities.inFull(word) ?? codeAndNumber(word) ?? [word])
      const candidates = ignored === 'unknown' ? candidatesOfTitle : candidatesOf
      return { words, candidates: () => candidates(words), score: scoreOf(words, ignored) }
    },
  }
}

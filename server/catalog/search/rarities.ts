import { append } from '../append.ts'
import { fold } from './fold.ts'
import { EXACT, PART } from './sets.ts'
import { FULL_ART } from './titles.ts'

/** Others, such as `rr`, are codes of sets. */
const SHORTHANDS: [string, string[]][] = [
  ['sir', ['special', 'illustration', 'rare']],
  ['sar', ['special', 'illustration', 'rare']],
  ['ir', ['illustration', 'rare']],
  ['ur', ['ultra', 'rare']],
  ['hr', ['hyper', 'rare']],
  ['rh', ['rare', 'holo']],
  ['promos', ['promo']],
]
/** By word: the words of rarities that collectors also call so. No source has the rarity `gold`. */
const ALSO_CALLED = new Map([
  ['gold', ['hyper', 'secret']],
  ['secret', ['rainbow', 'hyper']],
  ['hyper', ['rainbow']],
])
/** Taken off the score of a rarity that is only also called so. Less than the preference for English cards. */
const ALIAS = 0.05
/** Words of the rarities of cards whose picture fills the card. */
const ART = new Set([
  ...['ultra', 'illustration', 'secret', 'hyper', 'rainbow', 'gallery', 'character', 'art'],
])

/** The words of a rarity. Some sources write `IllustrationRare`. */
const wordsOf = (rarity: string) => fold(rarity.replace(/([a-z])([A-Z])/g, '$1 $2')).split(' ')

/** The word of a rarity that a word of a query means. */
const wordMeant = (rarityHas: string[], asked: string): string | undefined =>
  rarityHas.includes(asked)
    ? asked
    : rarityHas.find((word) => ALSO_CALLED.get(asked)?.includes(word))

/** The rarities that words of a query can mean, and the cards of these rarities. */
export function describeRarities<C extends { rarity: string | null }>(cards: C[]) {
  const cardsOf = new Map<string, C[]>()
  for (const card of cards) if (card.rarity !== null) append(cardsOf, card.rarity, card)
  const rarities = new Map([...cardsOf.keys()].map((rarity) => [rarity, wordsOf(rarity)]))
  const inFull = new Map(SHORTHANDS)
  for (const has of rarities.values()) if (has.length > 1) inFull.set(has.join(''), has)
  return {
    /** All words that can mean a rarity. */
    words: new Set([...ALSO_CALLED.keys(), ...[...rarities.values()].flat()]),
    /** The words of a rarity that is typed as one, or abbreviated. */
    inFull: (word: string): string[] | undefined => inFull.get(word),
    /** The cards of each rarity that a word can mean. */
    cardsMeantBy: (word: string): C[][] =>
      [...cardsOf].flatMap(([rarity, cards]) =>
        wordMeant(rarities.get(rarity)!, word) === undefined ? [] : [cards],
      ),
    /** The words of a query that mean the rarity, and how well they describe it. */
    meaning(rarity: string | null, words: string[]) {
      const has = rarity === null ? [] : rarities.get(rarity)!
      const meant = words.map((word) => wordMeant(has, word))
      const aliases = meant.filter((word, i) => word !== undefined && word !== words[i]).length
      const isFullArt = words.includes(FULL_ART) && has.some((word) => ART.has(word))
      const isMeant = meant.map((word) => word !== undefined)
      let score = isFullArt ? EXACT : 0
      if (isMeant.includes(true)) score += has.every((word) => meant.includes(word)) ? EXACT : PART
      return { isMeant, isPromo: has.includes('promo'), score: score - aliases * ALIAS }
    },
  }
}

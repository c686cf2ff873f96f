import { CONDITION_NAMES, GRADING_COMPANIES } from '../../enums.ts'
import { fold } from './fold.ts'

/**
 * Queries that are titles of offers or sentences: `2022 Pokemon Brilliant Stars Starly #117 PSA 10`, `73 out of 101`.
 * Their words about a copy, its sale and the game describe no entry of the catalog.
 */

/** Ranks the rarities of full art first. Nobody can type it: folding makes words of it. */
export const FULL_ART = 'full_art'

const COPY = [
  ...Object.values(CONDITION_NAMES).map(fold),
  ...['near', 'nm m', 'm nm', 'nm', 'lp', 'mp', 'hp', 'dmg', 'excellent', 'played', 'gem'],
  ...['1st edition', '1st ed', 'first edition', 'edition 1', 'shadowless', 'unlimited'],
  ...['reverse holofoil', 'reverse holo', 'reverse foil', 'reverse', 'rev holo', 'holofoil'],
  ...['holographic', 'foil'],
]
const SALE = [
  ...['factory sealed', 'new and', 'sealed', 'brand', 'new', 'authentic', 'genuine', 'original'],
  ...['free', 'fast shipping', 'shipping', 'neu', 'ovp', 'neuf', 'wotc', 'vintage'],
  ...['lot', 'playset'],
]
const GAME = [
  ...['trading card game', 'trading card', 'card game', 'ccg', 'e reader', 'era', 'series'],
  ...['karte', 'karten', 'sammelkarte', 'carte', 'cartes'],
]
/** Not `de`, `en` and `la`, which are languages and a set, nor `and`, which belongs to many sets. */
const SENTENCE = [
  ...['a', 'an', 'the', 'of', 'out', 'from', 'in', 'with', 'for', 'by', 'number'],
  ...['der', 'die', 'das', 'und', 'aus', 'von', 'vom', 'mit', 'le', 'les', 'du', 'des'],
]

const anyOf = (phrases: readonly string[]) => ` (?:${phrases.join('|')})`

/** Replacements in a text with a space around each word, in this order. */
const PLAIN: [RegExp, string][] = [
  // The grade can be attached to the company, and folding makes two words of 9.5.
  [
    new RegExp(`${anyOf(GRADING_COMPANIES).toLowerCase()}(?: ?(?:10|\\d)(?: [05])?)?(?= )`, 'g'),
    '',
  ],
  // A card's hit points, which the catalog doesn't know. A number like 4 before `hp` is the card's.
  [/ \d{1,2}0 hp(?= )/g, ''],
  [/ (?:(?:full|alt|alternate|alternative|special) art|fa|aa)(?= )/g, ` ${FULL_ART}`],
  [/ (?:3|triple) pack(?= )/g, ' three pack'],
  [/ (?:1x?|x1|one|single)(?= (?:pack|booster) )/g, ''],
  [/ (?:[2-9]|\d\d) (?:booster )?(?:pack|booster|card)s?(?= )/g, ''],
  [/ top trainer(?= )/g, ' elite trainer'],
  [/ b and b(?= )/g, ' build battle'],
  [/ coffret dresseur d ?elite(?= )/g, ' elite trainer box'],
  // A number of copies.
  [/ (?:[1-9]\d?x|x[1-9]\d?)(?= )/g, ''],
  [/ baby(?= shiny )/g, ''],
  // Between a name and a number, or between a number and its total: `no. 4`, `4 sur 102`.
  [/ (?:no|nr|n|num|numero|sur)(?= \p{L}{0,4}\d)/gu, ''],
  [new RegExp(`${anyOf([...COPY, ...SALE, ...GAME, ...SENTENCE])}(?= )`, 'g'), ''],
]

/** The folded words of a query without those of titles and sentences. */
export function plainWords(words: string[]): string[] {
  let text = ` ${words.join(' ')} `
  for (const [pattern, plain] of PLAIN) text = text.replace(pattern, plain)
  return text.split(' ').filter(Boolean)
}

import { remembering } from '../../text/remembering.ts'
import { append } from '../append.ts'
import { fold } from './fold.ts'
import { type Matches, Tier } from './name-grades.ts'
import { type NameIndex, symbolReadings } from './name-index.ts'
import {
  EXACT,
  type NamedSet,
  PART,
  plainNumber,
  type SetDescriptions,
  singular,
  TOTAL,
} from './sets.ts'
import { FULL_ART } from './titles.ts'

/**
 * Searches that contain more than a name: `charizard 4`, `brs 18`, `base set charizard`, `charizard rare holo`. The words
 * that do not belong to a name must describe the entry: its number, its set, its rarity, its category.
 */

/** The descriptions of entries besides their names, by which words of a query can find them. */
export type Attributes<T> = {
  /** Whether the word describes any entry at all. */
  describes(word: string): boolean
  /** The words as the catalog spells them: a number without a space in it, a category in the singular. */
  respelled(words: string[]): string[]
  /** @param anyRarity words of a rarity describe every entry, those that have it best */
  matcher(words: string[], anyRarity?: boolean): Matcher<T>
  /** The same query with words of sets joined, or misspelled and unfinished words replaced by the likeliest ones. */
  corrections(words: string[]): string[][]
}

export type Matcher<T> = {
  /** Contains every entry that the words describe. Used for a query without a name. */
  candidates(): Iterable<T>
  /**
   * How well the words describe the entry; 0 when one of them doesn't.
   *
   * @param name words of the entry's name may be among them: the folded name with a space around each word
   */
  score(entry: T, name?: string): number
}

export type Names<T> = { index: NameIndex; entriesByName: T[][] }

/** A longer query is searched by name alone. */
const MAX_WORDS = 16
/** Words that may belong to the name or not: each doubles the number of divisions that are tried. */
const MAX_AMBIGUOUS = 3
/** Misspelled queries that are tried: each is another search. */
const MAX_CORRECTIONS = 4

/** `anyRarity`: see `Attributes.matcher`. */
type Options = { search: (name: string) => Matches; anyRarity?: boolean }

/**
 * The entries that a query of name and attributes finds, best first: those whose name is exactly the name in the query
 * before those that have its words, then those with the most words in the name, then those that the attributes describe
 * best. Undefined if no entry matches, whether or not it passes the filters: these narrow a result, and must not lead to
 * another meaning of the query.
 */
export function searchWithAttributes<T>(
  names: Names<T>,
  attributes: Attributes<T>,
  words: string[],
  passes: (entry: T) => boolean,
  options: Options = { search: searchOnce(names.index) },
): T[] | undefined {
  if (words.length > MAX_WORDS) return undefined
  // `star` alone may be a rarity, and then `gold` is no name: in `rayquaza gold star deoxys`, both are the symbol.
  const [symbol] = symbolReadings(words)
  return (
    searchReading(names, attributes, words, passes, options) ??
    (symbol && searchReading(names, attributes, symbol, passes, options))
  )
}

/** Searches for names without typos, for each name once: the divisions of a query share most names. */
function searchOnce(index: NameIndex): (name: string) => Matches {
  const searched = new Map<string, Matches>()
  return (name) => {
    const matches = searched.get(name) ?? index.search(name, { upTo: Tier.word })
    searched.set(name, matches)
    return matches
  }
}

function searchReading<T>(
  { entriesByName }: Names<T>,
  attributes: Attributes<T>,
  words: string[],
  passes: (entry: T) => boolean,
  { search, anyRarity }: Options,
): T[] | undefined {
  // A repeated word makes equal divisions.
  const divided = new Map(
    divisions(words, attributes, search).map((isAttribute) => {
      const { name, described } = split(words, isAttribute)
      return [`${name}/${described.join(' ')}`, { name, described }]
    }),
  )
  const prepared = [...divided.values()].map(({ name, described }) => ({
    name,
    ...attributes.matcher(described, anyRarity),
  }))
  for (const lastTier of [Tier.exact, Tier.word]) {
    for (const { name, score, candidates } of prepared) {
      const found = collect(score, passes)
      if (name === '') {
        // Without a name, another tier finds the same.
        if (lastTier === Tier.exact) for (const entry of candidates()) found.add(entry)
      } else {
        const { positions, tiers } = search(name)
        for (const [i, position] of positions.entries()) {
          if (tiers[i]! > lastTier) break
          for (const entry of entriesByName[position]!) found.add(entry)
        }
      }
      const best = found.bestFirst()
      if (best) return best
    }
  }
  return undefined
}

/** Searches like `searchWithAttributes`, for a name with typos. Tries two divisions only, because that is expensive. */
export function searchTyposWithAttributes<T extends { name: string }>(
  { index, entriesByName }: Names<T>,
  attributes: Attributes<T>,
  words: string[],
  passes: (entry: T) => boolean,
): T[] | undefined {
  if (words.length > MAX_WORDS) return undefined
  for (const isAttribute of likelyDivisions(words, attributes)) {
    const { name, described } = split(words, isAttribute)
    const { score } = attributes.matcher(described)
    const found = collect(score, passes)
    for (const [match, position] of index.search(name).positions.entries()) {
      const entries = entriesByName[position]!
      const folded = ` ${fold(entries[0]!.name)} `
      for (const entry of entries) found.add(entry, match, folded)
    }
    const best = found.bestFirst()
    if (best) return best
  }
  return undefined
}

/** Searches for a card of another rarity: sources call one rarity `Rare Rainbow`, `Rare Secret` or `Hyper Rare`. */
export function searchAnyRarity<T>(
  names: Names<T>,
  attributes: Attributes<T>,
  words: string[],
  passes: (entry: T) => boolean,
): T[] | undefined {
  const options = { search: searchOnce(names.index), anyRarity: true }
  return searchWithAttributes(names, attributes, words, passes, options)
}

/** Searches for a set or rarity that is misspelled or not typed to its end. Used when nothing else was found. */
export function searchCorrected<T extends { name: string }>(
  names: Names<T>,
  attributes: Attributes<T>,
  words: string[],
  passes: (entry: T) => boolean,
): T[] | undefined {
  if (words.length > MAX_WORDS) return undefined
  const corrections = attributes.corrections(words)
  const options = { search: searchOnce(names.index) }
  for (const corrected of corrections) {
    const found = searchWithAttributes(names, attributes, corrected, passes, options)
    if (found) return found
  }
  const [likeliest] = corrections
  return likeliest && searchTyposWithAttributes(names, attributes, likeliest, passes)
}

/** Collects the entries that attributes describe. One that the filters exclude shows only that the search has a result. */
function collect<T>(scoreOf: Matcher<T>['score'], passes: (entry: T) => boolean) {
  const found: { entry: T; match: number; score: number }[] = []
  let isEmpty = true
  return {
    /** @param match lower the better the name matches */
    add(entry: T, match = 0, name?: string): void {
      const isWanted = passes(entry)
      if (!isWanted && !isEmpty) return
      const score = scoreOf(entry, name)
      if (score === 0) return
      isEmpty = false
      if (isWanted) found.push({ entry, match, score })
    },
    /** Equals keep the order of the whole list. Undefined without an entry, even one that the filters exclude. */
    bestFirst: (): T[] | undefined =>
      isEmpty
        ? undefined
        : found.sort((a, b) => a.match - b.match || b.score - a.score).map(({ entry }) => entry),
  }
}

const split = (words: string[], isAttribute: boolean[]) => ({
  name: words.filter((_, i) => !isAttribute[i]).join(' '),
  described: words.filter((_, i) => isAttribute[i]),
})

/**
 * The ways to divide a query, those with the most words in the name first: for each word, whether it is an attribute.
 */
function divisions<T>(
  words: string[],
  attributes: Attributes<T>,
  search: (name: string) => Matches,
): boolean[][] {
  const describes = words.map((word) => attributes.describes(word))
  const certain = words.filter((_, i) => !describes[i])
  const isName = (name: string[]) => search(name.join(' ')).positions.length > 0
  if (certain.length > 0 && !isName(certain)) return []

  // Most attributes belong to no name that has the other words: these aren't tried as part of one.
  const ambiguous: number[] = []
  for (const i of words.keys()) {
    if (!describes[i] || ambiguous.length === MAX_AMBIGUOUS) continue
    if (isName(words.filter((_, j) => j === i || !describes[j]))) ambiguous.push(i)
  }
  const made: boolean[][] = []
  for (let chosen = 0; chosen < 2 ** ambiguous.length; chosen++) {
    const division = [...describes]
    for (const [bit, i] of ambiguous.entries()) if (chosen & (1 << bit)) division[i] = false
    if (division.includes(true)) made.push(division)
  }
  const attributesIn = (division: boolean[]) => division.filter(Boolean).length
  return made.sort((a, b) => attributesIn(a) - attributesIn(b))
}

/** Two divisions, because a search for typos is expensive: numbers alone, or every word that can be, is an attribute. */
function likelyDivisions<T>(words: string[], attributes: Attributes<T>): boolean[][] {
  const every = words.map((word) => attributes.describes(word))
  const numbers = every.map((describes, i) => describes && /\d/.test(words[i]!))
  return [numbers, every].filter((division) => division.includes(true) && division.includes(false))
}

/** Words that people add to a set's name, and that mean nothing by themselves. */
const FILLER = new Set([
  ...['set', 'card', 'cards', 'promo', 'promos', 'pokemon', 'tcg', 'sealed', FULL_ART],
])
/** Rarities of cards whose picture fills the card. */
const ART = new Set([
  ...['ultra', 'illustration', 'secret', 'hyper', 'rainbow', 'gallery', 'character', 'art'],
])
/** Taken off the score of a rarity that is only also called so. Less than the preference for English cards. */
const ALIAS = 0.05
/** By word: the words of rarities that collectors also call so. No source has the rarity `gold`. */
const ALSO_CALLED = new Map([
  ['gold', ['hyper', 'secret']],
  ['secret', ['rainbow', 'hyper']],
  ['hyper', ['rainbow']],
])
const CATEGORY_SHORTHANDS = new Map([
  ['etb', ['elite', 'trainer', 'box']],
  ['bb', ['booster', 'box']],
  ['display', ['booster', 'box']],
  ['upc', ['premium', 'collection']],
  ['spc', ['super', 'premium', 'collection']],
  ['pc', ['pokemon', 'center']],
])
/** Others, such as `rr`, are codes of sets. */
const RARITY_SHORTHANDS: [string, string[]][] = [
  ['sir', ['special', 'illustration', 'rare']],
  ['sar', ['special', 'illustration', 'rare']],
  ['ir', ['illustration', 'rare']],
  ['ur', ['ultra', 'rare']],
  ['hr', ['hyper', 'rare']],
  ['rh', ['rare', 'holo']],
]

/**
 * Joins words that are one word of a set's name, or replaces a word that describes nothing. The last words come first: they
 * are the likeliest to be unfinished.
 */
function correctionsOf(
  words: string[],
  describes: (word: string) => boolean,
  similar: (word: string) => string[],
): string[][] {
  const joined = joinedWords(words, describes)
  const made = joined.length < words.length ? [joined] : []
  for (const [i, word] of [...words.entries()].toReversed()) {
    if (describes(word)) continue
    for (const meant of similar(word)) made.push(words.with(i, meant))
  }
  return made.slice(0, MAX_CORRECTIONS)
}

/** `sand storm` is one word of a set's name. Digits are no part of one. */
function joinedWords(words: string[], describes: (word: string) => boolean): string[] {
  const joined: string[] = []
  for (const word of words) {
    const both = (joined.at(-1) ?? '') + word
    if (both !== word && !/\d/.test(both) && describes(both)) joined.splice(-1, 1, both)
    else joined.push(word)
  }
  return joined
}

/** A number that is typed as two words: `SWSH 127`, `SWSH black star promo 127`. */
const LETTERS_AND_DIGITS = /(?<=^| )(\p{L}{1,4}) (?:(?:black star )?promos? )?(\d{1,3})(?= |$)/gu

/** The printed total that a word can mean: cards print `064` for 64, and `TG30` for 30. */
const totalOf = (word: string) => plainNumber(word).replace(/^\D+/, '')

/** Whether `RC32` can be the total of a set within the set, as in `RC29/RC32`. */
function isOfSubset(total: string, number: string): boolean {
  const [letters] = /^\D*/.exec(number)!
  return letters !== '' && total.startsWith(letters) && /^\d+$/.test(total.slice(letters.length))
}

/** The words of a rarity. Some sources write `IllustrationRare`. */
const wordsOfRarity = (rarity: string) =>
  fold(rarity.replace(/([a-z])([A-Z])/g, '$1 $2')).split(' ')

/** The word of a rarity that a word of a query means. */
const rarityWord = (words: string[], asked: string): string | undefined =>
  words.includes(asked) ? asked : words.find((word) => ALSO_CALLED.get(asked)?.includes(word))

/** The words of a query that a set has, whether its cards can have the others, and the score of the set once needed. */
type Meaning = { isMeant: boolean[]; isPossible: boolean; score?: number }

type DescribedSet = NamedSet & { printedTotal: number | null }

/** Describes cards by their number, set and rarity. */
export function cardAttributes<
  S extends DescribedSet & { cards: C[] },
  C extends { number: string; rarity: string | null; set: S },
>(sets: S[], cards: C[], described: SetDescriptions<S>): Attributes<C> {
  const byNumber = new Map<string, C[]>()
  const rarities = new Map<string, { words: string[]; cards: C[] }>()
  const rarityWords = new Set(ALSO_CALLED.keys())
  /** The words of a rarity that is typed as one, or abbreviated. */
  const inWords = new Map(RARITY_SHORTHANDS)
  const plain = remembering((number) => plainNumber(fold(number)))
  for (const card of cards) {
    const number = plain(card.number)
    if (number !== '') append(byNumber, number, card)
    if (card.rarity === null) continue
    const rarity = rarities.get(card.rarity) ?? { words: wordsOfRarity(card.rarity), cards: [] }
    rarities.set(card.rarity, rarity)
    rarity.cards.push(card)
  }
  for (const { words } of rarities.values()) {
    for (const word of words) rarityWords.add(word)
    if (words.length > 1) inWords.set(words.join(''), words)
  }
  const byTotal = Map.groupBy(sets, ({ printedTotal }) => String(printedTotal))

  const isNumber = (word: string) => byNumber.has(plainNumber(word))
  const entriesOf = (word: string): C[][] => [
    byNumber.get(plainNumber(word)) ?? [],
    ...(byTotal.get(totalOf(word)) ?? []).map((set) => set.cards),
    ...[...(described.meantBy(word) ?? [])].map((set) => set.cards),
    ...[...rarities.values()]
      .filter(({ words }) => rarityWord(words, word) !== undefined)
      .map(({ cards }) => cards),
  ]
  const scoreOf = (words: string[], anyRarity: boolean) => {
    const numbers = words.map(plainNumber)
    const totals = words.map(totalOf)
    // Promos print `SWSH251`, of which people type the digits.
    const isPromo = words.includes('promo') || words.includes('promos')
    const hasNumber = numbers.some((number) => byNumber.has(number))
    const inSingular = words.map(singular)
    const meantSets = words.map(described.meantBy)
    const isAlways = words.map((word) => FILLER.has(word) || (anyRarity && rarityWords.has(word)))
    /** Words that only a set can have, or a name. */
    const isOfSetOnly = words.map(
      (word) => !FILLER.has(word) && !rarityWords.has(word) && !isNumber(word) && !/\d/.test(word),
    )
    // A word such as `english` describes thousands of cards, which share a few sets.
    const meanings = new Map<S, Meaning>()
    const meaningFor = (set: S): Meaning => {
      const isMeant = meantSets.map((sets) => sets?.has(set) ?? false)
      const isPossible = isMeant.every((meant, i) => meant || !isOfSetOnly[i])
      const meaning: Meaning = { isMeant, isPossible }
      meanings.set(set, meaning)
      return meaning
    }
    return (card: C, name = ''): number => {
      const { rarity, set } = card
      const meaning = meanings.get(set) ?? meaningFor(set)
      const { isMeant, isPossible } = meaning
      if (!isPossible && name === '') return 0
      meaning.score ??= described.score(
        set,
        inSingular.filter((_, i) => isMeant[i]),
      )
      const number = hasNumber ? plain(card.number) : ''
      const total = String(set.printedTotal)
      let score = meaning.score
      let isNumbered = false
      const ofRarity: string[] = []
      const rarityHas = rarity === null ? [] : rarities.get(rarity)!.words
      for (const [i, word] of words.entries()) {
        let isDescribed = isMeant[i]! || isAlways[i]! || name.includes(` ${word} `)
        const isItsNumber =
          numbers[i] === number ||
          (isPromo && rarityHas.includes('promo') && numbers[i] === totalOf(number))
        if (!isNumbered && isItsNumber) {
          isNumbered = true
          isDescribed = true
          score += EXACT
        } else if (isNumbered && totals[i] === total) {
          isDescribed = true
          score += TOTAL
        } else if (isNumbered && isOfSubset(numbers[i]!, number)) {
          isDescribed = true
        }
        const meant = rarityWord(rarityHas, word)
        if (meant !== undefined) {
          isDescribed = true
          if (meant !== word) score -= ALIAS
          ofRarity.push(meant)
        } else if (word === FULL_ART && rarityHas.some((has) => ART.has(has))) {
          score += EXACT
        }
        if (!isDescribed) return 0
      }
      if (ofRarity.length > 0) {
        score += rarityHas.every((word) => ofRarity.includes(word)) ? EXACT : PART
      }
      return PART + score
    }
  }
  /** `evs215` is the code `evs` and the number 215, unless it is the number of a card. */
  const codeAndNumber = (word: string): string[] | undefined => {
    const [, code, number] = /^(\D+)(\d+)$/.exec(word) ?? []
    if (code === undefined || number === undefined || !described.meantBy(code)) return undefined
    if (byNumber.has(plainNumber(word)) || described.meantBy(word)) return undefined
    return byNumber.has(plainNumber(number)) ? [code, number] : undefined
  }
  const describes = (word: string) =>
    isNumber(word) ||
    described.meantBy(word) !== undefined ||
    rarityWords.has(word) ||
    inWords.has(word) ||
    byTotal.has(totalOf(word)) ||
    codeAndNumber(word) !== undefined ||
    FILLER.has(word)
  return {
    describes,
    // `SWSH 127`
    respelled: (words) =>
      words
        .join(' ')
        .replace(LETTERS_AND_DIGITS, (both, letters, digits) =>
          isNumber(letters + digits) ? letters + digits : both,
        )
        .split(' '),
    corrections: (words) =>
      correctionsOf(words, describes, (word) => described.similar(word, rarityWords)),
    matcher(asked, anyRarity = false) {
      const words = asked.flatMap((word) => inWords.get(word) ?? codeAndNumber(word) ?? [word])
      return {
        candidates() {
          const meant = words.filter((word) => !FILLER.has(word))
          // `promo` alone is a rarity.
          const telling = (meant.length > 0 ? meant : words).map(entriesOf)
          const sizeOf = (lists: C[][]) => lists.reduce((sum, list) => sum + list.length, 0)
          const [least = []] = telling
            .filter((lists) => sizeOf(lists) > 0)
            .sort((a, b) => sizeOf(a) - sizeOf(b))
          return new Set(least.flat())
        },
        score: scoreOf(words, anyRarity),
      }
    },
  }
}

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
    respelled: (words) =>
      words.map((word) => {
        const singular = word.replace(/(?:(?<=x)es|s)$/, '')
        return !describes(word) && describes(singular) ? singular : word
      }),
    corrections: (words) => correctionsOf(words, describes, described.similar),
    matcher(words) {
      const inFull = words.flatMap((word) => CATEGORY_SHORTHANDS.get(word) ?? [word])
      const meantSets = inFull.map(described.meantBy)
      return {
        candidates: () => products,
        score({ name, category, set }) {
          const ofSet: string[] = []
          const ofCategory: string[] = []
          const categoryHas = category.split('_')
          const nameHas = folded(name).split(' ')
          for (const [i, word] of inFull.entries()) {
            const isOfSet = set !== null && meantSets[i]?.has(set)
            const isOfCategory = categoryHas.includes(word)
            if (isOfSet) ofSet.push(singular(word))
            if (isOfCategory) ofCategory.push(word)
            if (!isOfSet && !isOfCategory && !nameHas.includes(word) && !FILLER.has(word)) return 0
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

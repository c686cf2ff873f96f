import type { Language } from '../../enums.ts'
import { editDistance } from '../../text/edit-distance.ts'
import { fold } from './fold.ts'
import { editsAllowed } from './name-index.ts'

/** How well words describe an entry, from the whole of a description to a part of it. */
export const EXACT = 4
/** Less than `EXACT`, because the id of one set can be the shortcut of another. */
const ID = 3
export const TOTAL = 2
export const PART = 1
/** Less than `PART`: the set that has the words in its own language comes first. */
const TRANSLATED = 0.5
/** Less than `TRANSLATED`: a card has the same code and number in each language. */
const ENGLISH = 0.1

/** Offers elsewhere have the language in their titles. */
const LANGUAGE_NAMES: Record<string, string[]> = {
  EN: ['english', 'eng'],
  NL: [],
  DE: ['german', 'deutsch'],
  FR: ['french', 'francais'],
  JP: ['japanese', 'jpn'],
  ES: [],
  IT: [],
  PT: [],
  CN: ['chinese'],
  KR: ['korean'],
} satisfies Record<Language, string[]>

export type NamedSet = {
  id: string
  shortcut: string | null
  name: string
  series: string
  language: string
  releaseDate: string | null
}
type Series = { name: string; shortcut: string | null }[]

/** `TG02`, `tg2` and `Tg002` are one number. Takes folded text. */
export const plainNumber = (number: string) =>
  number.replace(/ /g, '').replace(/^(\D*)0+(?=\d)/, '$1')

/** A word in the singular: people mix `evolution` and `evolutions`. Short words can be codes. */
export function singular(word: string): string {
  if (word.length < 5 || !word.endsWith('s') || word.endsWith('ss')) return word
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.slice(0, -1)
}

/**
 * The sets that words of a query can mean: by a word of their name, in the singular or plural, by their code, which is the
 * shortcut or the id, by their series, language or year.
 */
export function describeSets<S extends NamedSet>(sets: S[], series: Series) {
  const wordsOfSeries = new Map(
    series.map(({ name, shortcut }) => [name, fold(`${name} ${shortcut ?? ''}`).split(' ')]),
  )
  /** The ways to write a set in full, except for its id: words in the singular. */
  const spellings = new Map<S, string[][]>()
  const idWords = new Map<S, string[]>()
  const words = new Set<string>()
  const codes = new Set<string>()
  const bySingular = new Map<string, Set<S>>()
  const add = (word: string, set: S) => {
    words.add(word)
    const described = bySingular.get(singular(word))
    if (described) described.add(set)
    else bySingular.set(singular(word), new Set([set]))
  }
  /** The sets that a word can mean. */
  const meantBy = (word: string): ReadonlySet<S> | undefined =>
    bySingular.get(singular(word)) ?? bySingular.get(plainNumber(word))
  for (const set of sets) {
    const name = fold(set.name)
    const inFull = [name, name.replaceAll(' ', ''), fold(set.shortcut ?? '')]
    // Collectors say `Sun & Moon Base Set`.
    if (set.name === set.series) inFull.push(`${name} base`)
    const spelled = inFull.filter(Boolean).map((text) => text.split(' '))
    const inSingular = spelled.map((words) => words.map(singular))
    spellings.set(set, inSingular)
    codes.add(fold(set.id)).add(fold(set.shortcut ?? ''))
    const id = fold(set.id).split(' ')
    idWords.set(set, id.map(singular))
    const shared = [
      ...(wordsOfSeries.get(set.series) ?? []),
      ...[fold(set.language), ...(LANGUAGE_NAMES[set.language] ?? [])],
      ...(set.releaseDate === null ? [] : [set.releaseDate.slice(0, 4)]),
    ]
    for (const word of [...spelled.flat(), ...id, ...shared]) add(word, set)
  }
  /** Words of the set's name in other languages only. Collectors mix them: `scarhino rebel clash`. */
  const translated = new Map<S, Set<string>>()
  for (const editions of Map.groupBy(sets, ({ id }) => id.replace(/-[a-z]{2}$/, '')).values()) {
    const all = new Set(editions.flatMap((set) => spellings.get(set)!.flat()))
    for (const set of editions) {
      const others = [...all].filter((word) => !meantBy(word)!.has(set))
      translated.set(set, new Set(others))
    }
  }
  for (const [set, others] of translated) for (const word of others) add(word, set)
  const scoreOfWords = (set: S, meant: string[]): number => {
    if (meant.length === 0) return 0
    const isIn = (spelling: string[]) => spelling.every((word) => meant.includes(word))
    // The words of `base set 2` are rather a set than the card 2 of the series Base.
    const whole = spellings.get(set)!.filter(isIn)
    if (whole.length > 0) return EXACT + Math.max(...whole.map(({ length }) => length)) - 1
    if (isIn(idWords.get(set)!)) return ID
    const others = translated.get(set)!
    return meant.some((word) => others.has(word)) ? TRANSLATED : PART
  }
  // Few people mistype the first letter, and comparing all words would take longer than the search.
  const byLetter = Map.groupBy(words, (word) => word[0]!)
  return {
    meantBy,
    /** Whether a word is the whole id or shortcut of a set. */
    isCode: (word: string) => codes.has(word),
    /** As `similarTo`, among the words of sets and others. */
    similar: (word: string, others: Iterable<string> = []) =>
      similarTo(new Set([...(byLetter.get(word[0]!) ?? []), ...others]), word),
    /**
     * The better, the more of the set's name or code the words are.
     *
     * @param meant words that can mean the set, in the singular
     */
    score(set: S, meant: string[]): number {
      return (set.language === 'EN' ? ENGLISH : 0) + scoreOfWords(set, meant)
    },
  }
}

export type SetDescriptions<S extends NamedSet> = ReturnType<typeof describeSets<S>>

/** The words that a word begins, or is a few wrong letters from: fewest wrong letters first. */
function similarTo(known: Iterable<string>, word: string): string[] {
  if (word.length < 3 || /\d/.test(word)) return []
  const limit = editsAllowed(word)
  const found: { similar: string; edits: number }[] = []
  for (const similar of known) {
    const edits = similar.startsWith(word) ? 0 : editDistance(word, similar, limit)
    if (edits <= limit) found.push({ similar, edits })
  }
  return found.sort((a, b) => a.edits - b.edits).map(({ similar }) => similar)
}

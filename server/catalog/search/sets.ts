import { editDistance } from '../../text/edit-distance.ts'
import { fold } from './fold.ts'

/** How well words describe an entry, from the whole of a description to a part of it. */
export const EXACT = 4
/** Less than `EXACT`, because the id of one set can be the shortcut of another. */
const ID = 3
export const TOTAL = 2
export const PART = 1
/** Less than `PART`: the set that has the words in its own language comes first. */
const TRANSLATED = 0.5

/** Offers elsewhere have the language in their titles. */
const LANGUAGE_NAMES = new Map([
  ['EN', ['english', 'eng']],
  ['DE', ['german', 'deutsch']],
  ['FR', ['french', 'francais']],
  ['JP', ['japanese', 'jpn']],
  ['CN', ['chinese']],
  ['KR', ['korean']],
])

export type NamedSet = {
  id: string
  shortcut: string | null
  name: string
  series: string
  language: string
  releaseDate: string | null
}
type Series = { name: string; shortcut: string | null }[]

/**
 * The sets that words of a query can mean: by a word of their name, by their code, which is the shortcut or the id, by
 * their series, language or year.
 */
export function describeSets<S extends NamedSet>(sets: S[], series: Series) {
  const wordsOfSeries = new Map(
    series.map(({ name, shortcut }) => [name, fold(`${name} ${shortcut ?? ''}`).split(' ')]),
  )
  /** The ways to write a set in full, except for its id. */
  const spellings = new Map<S, string[][]>()
  const idWords = new Map<S, string[]>()
  const byWord = new Map<string, Set<S>>()
  const add = (word: string, set: S) => {
    const described = byWord.get(word)
    if (described) described.add(set)
    else byWord.set(word, new Set([set]))
  }
  for (const set of sets) {
    const name = fold(set.name)
    const inFull = [name, name.replaceAll(' ', ''), fold(set.shortcut ?? '')]
    const spelled = inFull.filter(Boolean).map((text) => text.split(' '))
    spellings.set(set, spelled)
    const id = fold(set.id).split(' ')
    idWords.set(set, id)
    const shared = [
      ...(wordsOfSeries.get(set.series) ?? []),
      ...[fold(set.language), ...(LANGUAGE_NAMES.get(set.language) ?? [])],
      ...(set.releaseDate === null ? [] : [set.releaseDate.slice(0, 4)]),
    ]
    for (const word of [...spelled.flat(), ...id, ...shared]) add(word, set)
  }
  /** Words of the set's name in other languages only. Collectors mix them: `scarhino rebel clash`. */
  const translated = new Map<S, Set<string>>()
  for (const editions of Map.groupBy(sets, ({ id }) => id.replace(/-[a-z]{2}$/, '')).values()) {
    const words = new Set(editions.flatMap((set) => spellings.get(set)!.flat()))
    for (const set of editions) {
      const others = [...words].filter((word) => !byWord.get(word)!.has(set))
      translated.set(set, new Set(others))
    }
  }
  for (const [set, words] of translated) for (const word of words) add(word, set)
  // Few people mistype the first letter, and comparing all words would take longer than the search.
  const byLetter = Map.groupBy(byWord.keys(), (word) => word[0]!)
  return {
    byWord,
    isMeant: (set: S, word: string) => byWord.get(word)?.has(set) ?? false,
    similar: (word: string) => similarTo(byLetter.get(word[0]!) ?? [], word),
    /** The better, the more of the set's name or code the words are. */
    score(set: S, meant: string[]): number {
      if (meant.length === 0) return 0
      const isIn = (spelling: string[]) => spelling.every((word) => meant.includes(word))
      if (spellings.get(set)!.some(isIn)) return EXACT
      if (isIn(idWords.get(set)!)) return ID
      const others = translated.get(set)!
      return meant.some((word) => others.has(word)) ? TRANSLATED : PART
    },
  }
}

export type SetDescriptions<S extends NamedSet> = ReturnType<typeof describeSets<S>>

/** The words that a word begins, or is a few wrong letters from: fewest wrong letters first. */
function similarTo(known: string[], word: string): string[] {
  if (word.length < 3 || /\d/.test(word)) return []
  const limit = word.length <= 3 ? 0 : word.length <= 7 ? 1 : 2
  const found: { similar: string; edits: number }[] = []
  for (const similar of known) {
    const edits = similar.startsWith(word) ? 0 : editDistance(word, similar, limit)
    if (edits <= limit) found.push({ similar, edits })
  }
  return found.sort((a, b) => a.edits - b.edits).map(({ similar }) => similar)
}

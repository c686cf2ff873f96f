import { FULL_ART } from './titles.ts'

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

/** Words that people add to a set's name, and that mean nothing by themselves. */
export const FILLER = new Set([
  ...['set', 'card', 'cards', 'promo', 'promos', 'pokemon', 'tcg', 'sealed', FULL_ART],
])

import { FULL_ART } from './titles.ts'

/** The descriptions of entries besides their names, by which words of a query can find them. */
export type Attributes<T> = {
  /** Whether the word describes any entry at all. */
  describes(word: string): boolean
  /** The words with a promo's number as it is printed, where they can mean nothing else: `swsh promo 127`. */
  printed(words: string[]): string[]
  /** The words as the catalog spells them: a number without a space in it, a category in the singular. */
  respelled(words: string[]): string[]
  matcher(words: string[], ignored?: Ignored): Matcher<T>
  /** The same query with words of sets joined, or misspelled and unfinished words replaced by the likeliest ones. */
  corrections(words: string[]): string[][]
}

/**
 * Words that need not describe the entry: those of rarities, or those that are unknown, because they describe no entry at
 * all. If unknown words are ignored, a card must have one of the numbers in the query.
 */
export type Ignored = 'rarities' | 'unknown'

export type Matcher<T> = {
  /** The words without abbreviations. */
  words: string[]
  /** Contains every entry that the words describe. Used for a title, and for a query without a name. */
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
  ...['set', 'card', 'cards', 'promo', 'pokemon', 'tcg', 'sealed', FULL_ART],
])

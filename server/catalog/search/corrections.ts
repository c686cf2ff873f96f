/** Misspelled queries that are tried: each is another search. */
const MAX_CORRECTIONS = 4

/**
 * Joins words that are one word of a set's name, or replaces a word that describes nothing. The last words come first: they
 * are the likeliest to be unfinished.
 *
 * @param describes whether a word describes any entry
 * @param similar the words that a misspelled or unfinished word can mean, likeliest first
 */
export function correctionsOf(
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

/** `sand storm` is one word of a set's name. Digits are not part of one. */
function joinedWords(words: string[], describes: (word: string) => boolean): string[] {
  const joined: string[] = []
  for (const word of words) {
    const both = (joined.at(-1) ?? '') + word
    if (both !== word && !/\d/.test(both) && describes(both)) joined.splice(-1, 1, both)
    else joined.push(word)
  }
  return joined
}

/**
 * Normalizes names and queries to a common spelling, without the differences that people omit or cannot type, so that a
 * plain comparison works.
 *
 * - Compatibility forms become ordinary ones: Ａ and ﾋﾟ, the ideographic space, Ⅱ, ①.
 * - Upper and lower case are one; ß is ss, œ is oe, æ is ae.
 * - Accents go: é is e. Only the marks U+0300 to U+036F are accents. The Japanese voicing marks
 *   make another letter, so が is never か, and Korean syllables stay whole.
 * - Apostrophes of every kind go, and so do invisible characters: Farfetch'd is farfetchd.
 * - ♀ ♂ ★ ◇ are words of their own, however they are attached. Greek letters are letters.
 * - & is the word `and`.
 * - Hiragana becomes katakana: people type ぴかちゅう for ピカチュウ.
 * - Every other sign is a space, and runs of spaces are one: Ho-Oh and [Ho Oh] are ho oh.
 * - A word ends where East Asian script meets another: ピカチュウex is ピカチュウ ex.
 *
 * Folding twice changes nothing. Text without a letter, digit or kept symbol folds to ''.
 */
export function fold(text: string): string {
  // The most frequent cases: only upper case is left to change.
  if (PLAIN_WORDS.test(text)) return text.toLowerCase()
  return text
    .replace(SPACING_ACUTE, '')
    .normalize('NFKD')
    .replace(LEFT_OUT, '')
    .toLowerCase()
    .replace(RESPELLED, (letter) => RESPELLING[letter]!)
    .normalize('NFC')
    .replace(HIRAGANA, (kana) => String.fromCharCode(kana.charCodeAt(0) + HIRAGANA_TO_KATAKANA))
    .replace(SYMBOL_WORD, ' $& ')
    .replace(BETWEEN_WORDS, ' ')
    .replace(SCRIPT_CHANGE, ' ')
    .trim()
}

/** Scripts that are written without spaces, or with few: here a part of a word is worth finding. */
export const EAST_ASIAN = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}]/u

const PLAIN_WORD = '(?:[A-Za-z0-9]+|[\u30a1-\u30fa\u30fc\u4e00-\u9fff\uac00-\ud7a3]+)'
/** Words of Latin letters and digits, and of Katakana, Han and Hangul. */
const PLAIN_WORDS = new RegExp(`^${PLAIN_WORD}(?: ${PLAIN_WORD})*$`)
// NFKD would make this apostrophe a space and an accent, so it goes first.
const SPACING_ACUTE = /\u00b4/g
// Accents, apostrophes (' ` ʹ ʻ ʼ ʽ ‘ ’ ‛ ′) and what is never seen: joiners, soft hyphens, and
// the variation selector that phones put after ♀.
const LEFT_OUT = /[\u0300-\u036f'`\u02b9\u02bb-\u02bd\u2018\u2019\u201b\u2032\p{DI}]/gu
const RESPELLING: Record<string, string> = {
  ß: 'ss',
  œ: 'oe',
  æ: 'ae',
  ø: 'o',
  ł: 'l',
  ı: 'i',
  ς: 'σ',
  '&': ' and ',
  '☆': '★',
  '♢': '◇',
}
const RESPELLED = /[ßœæøłıς&☆♢]/g
const HIRAGANA = /[\u3041-\u3096\u309d\u309e]/g
const HIRAGANA_TO_KATAKANA = 0x60
const SYMBOL_WORD = /[♀♂★◇]/g
const BETWEEN_WORDS = /[^\p{L}\p{M}\p{N}♀♂★◇]+/gu
const SCRIPT_CHANGE = new RegExp(
  `(?<=${EAST_ASIAN.source})(?! |${EAST_ASIAN.source}|$)|(?<! |${EAST_ASIAN.source}|^)(?=${EAST_ASIAN.source})`,
  'gu',
)

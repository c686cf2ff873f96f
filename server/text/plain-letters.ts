/** Letters that Unicode does not decompose into a base letter and an accent. */
const BASE_LETTERS: Record<string, string> = {
  ...{ ß: 'ss', ẞ: 'SS', Æ: 'AE', æ: 'ae', Ø: 'O', ø: 'o', Œ: 'OE', œ: 'oe', Ł: 'L', ł: 'l' },
  ...{ Đ: 'D', đ: 'd', Þ: 'Th', þ: 'th', Ð: 'D', ð: 'd', ı: 'i', Ħ: 'H', ħ: 'h', Ŋ: 'N', ŋ: 'n' },
  ...{ Ŧ: 'T', ŧ: 't' },
}
const UNDECOMPOSED = new RegExp(`[${Object.keys(BASE_LETTERS).join('')}]`, 'g')

/** A text without accents, and with the base letters of those that have one. */
export const plainLetters = (text: string): string =>
  text
    .replace(UNDECOMPOSED, (letter) => BASE_LETTERS[letter]!)
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')

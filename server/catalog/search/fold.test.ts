import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { codePoint } from '../../test/code-point.ts'
import { fold } from './fold.ts'

describe('fold', () => {
  it.each([
    ['upper case', 'CHARIZARD', 'charizard'],
    ['accents', 'Pokémon Évoli', 'pokemon evoli'],
    ['accents written as two characters', 'Poke\u0301mon', 'pokemon'],
    ['ligatures and the sharp s', 'Œuf Großes Æther', 'oeuf grosses aether'],
    ['the final sigma', 'ΣΑΣ', 'σασ'],
    ['a plain apostrophe', "Farfetch'd", 'farfetchd'],
    ['a curly apostrophe', 'Farfetch’d', 'farfetchd'],
    ['an opening quote', 'Farfetch‘d', 'farfetchd'],
    ['a backtick', 'Farfetch`d', 'farfetchd'],
    ['an acute accent on its own', 'Farfetch´d', 'farfetchd'],
    ['the letter apostrophe', 'Farfetchʼd', 'farfetchd'],
    ['a full-width apostrophe', 'Farfetch＇d', 'farfetchd'],
    ['a symbol after a space', 'Nidoran ♀', 'nidoran ♀'],
    ['a symbol attached to a word', 'Nidoran♀', 'nidoran ♀'],
    ['a symbol as phones send it', 'NIDORAN♀\ufe0f', 'nidoran ♀'],
    [
      'stars and diamonds, filled or not',
      'Amphinobi ☆ Giratina◇ Ditto ♢',
      'amphinobi ★ giratina ◇ ditto ◇',
    ],
    ['Greek letters', 'Pikachu Δ', 'pikachu δ'],
    ['full-width letters and spaces', 'ＭＥＷ\u3000ｅｘ', 'mew ex'],
    ['hiragana', 'ぴかちゅう ゞ', 'ピカチュウ ヾ'],
    ['half-width kana', 'ﾋﾟｶﾁｭｳ', 'ピカチュウ'],
    ['an ampersand', 'Pikachu&Zekrom', 'pikachu and zekrom'],
    ['a full-width ampersand', 'ナツメ＆ハチク', 'ナツメ and ハチク'],
    ['a hyphen', 'Ho-Oh', 'ho oh'],
    ['dots and colons', 'Mr. Mime: Type: Null', 'mr mime type null'],
    ['brackets', '<火箭隊的>索偵蟲 Unown [A] (HR)', '火箭隊的 索偵蟲 unown a hr'],
    ['a run of spaces', '  mew \t  ex ', 'mew ex'],
    ['an invisible joiner', '招式\u200c學習器', '招式學習器'],
    ['Latin after Japanese', 'ピカチュウex', 'ピカチュウ ex'],
    ['Latin before Korean', 'V리자몽', 'v 리자몽'],
    ['digits after Japanese', 'ポケギア3.0', 'ポケギア 3 0'],
    ['digits after Latin, which stay attached', 'Porygon2', 'porygon2'],
  ])('fold normalizes %s', (_, text, folded) => {
    expect(fold(text)).toBe(folded)
  })

  it('fold keeps Japanese voicing marks, which make another letter', () => {
    expect(fold('ガ')).toBe('ガ')
    expect(fold('カ\u3099')).toBe('ガ')
    expect(fold('パ')).not.toBe(fold('ハ'))
  })

  it('fold keeps each letter of Katakana, Han and Hangul, whether or not a sign follows it', () => {
    const ranges = [
      ['ァ', 'ヺ'],
      ['ー', 'ー'],
      ['一', '\u9fff'],
      ['가', '힣'],
    ]
    for (const [first, last] of ranges) {
      for (let code = first!.charCodeAt(0); code <= last!.charCodeAt(0); code++) {
        const letter = String.fromCharCode(code)
        if (fold(letter) !== letter || fold(`${letter}!`) !== letter) expect.fail(letter)
      }
    }
  })

  it('fold keeps Korean syllables whole', () => {
    expect(fold('리자몽'.normalize('NFD'))).toBe('리자몽')
  })

  it.each(['', ' ', '!', "'", '___', '[?]', '😀', '\u0301\u0301', '\ud83d'])(
    'fold returns an empty string for %j',
    (text) => {
      expect(fold(text)).toBe('')
    },
  )

  it('fold is idempotent', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), (text) => {
        expect(fold(fold(text))).toBe(fold(text))
      }),
      { numRuns: 500 },
    )
  })

  it('fold treats plain words like other text', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9 ]*$/), (text) => {
        // An apostrophe goes, but the text with it is not of plain words.
        expect(fold(text)).toBe(fold(`${text}'`))
      }),
    )
  })

  it('fold leaves no surrounding and no repeated spaces', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(fold(text)).not.toMatch(/^\s|\s$|\s\s|[^\S ]/)
      }),
    )
  })
})

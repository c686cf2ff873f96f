import { describe, expect, it } from 'vitest'
import { parseDotEnv } from './dot-env.ts'

const parse = (text: string) => parseDotEnv(Buffer.from(text))

describe('parseDotEnv', () => {
  it.each([
    ['A=1\nB=2', { A: '1', B: '2' }],
    ['A=1\r\nB=2\r\n', { A: '1', B: '2' }],
    ['\ufeffA=1\nB=2\n', { A: '1', B: '2' }],
    ['  export A = 1\n\n \t\n# none\n  # B=2\n', { A: '1' }],
    ['A=\nB= \nC=3', { A: '', B: '', C: '3' }],
    ['A=one two # note #\nB=x#y #', { A: 'one two', B: 'x#y' }],
    [`A='x#y'\nB="x #y" # note\nC="x"#note`, { A: 'x#y', B: 'x #y', C: 'x' }],
    [`A="one\\ntwo"\nB='one\\ntwo'`, { A: 'one\ntwo', B: 'one\\ntwo' }],
    ['A="one\ntwo"\nB=2', { A: 'one\ntwo', B: '2' }],
    ["A=it's\nB=2", { A: "it's", B: '2' }],
    ['A=postgres://me:a=b@db/cards?x=1&y="2"', { A: 'postgres://me:a=b@db/cards?x=1&y="2"' }],
  ])('%j in .env has the values that Docker Compose reads', (text, values) => {
    expect(parse(text)).toEqual(values)
  })

  it.each([
    ['LOG_LEVEL: hush', 'Line 1 of .env is not NAME=value.'],
    ['A=1\n\nhush', 'Line 3 of .env is not NAME=value.'],
    ['A="1\n2"\n=hush', 'Line 3 of .env is not NAME=value.'],
    ['A=#hush', /^Line 1 of \.env must have its whole value in quotes/],
    ['A=1\nB= # hush', /^Line 2 of \.env must have its whole value in quotes/],
    ['A="hush', /^Line 1 of \.env must have its whole value in quotes/],
    ['A="hush" hush', /^Line 1 of \.env must have its whole value in quotes/],
    ['A="hush\\"hush"', /^Line 1 of \.env must have its whole value in quotes/],
  ])('the line of %j that would be lost or cut is refused by its number', (text, message) => {
    expect(() => parse(text)).toThrow(message)
    expect(() => parse(text)).not.toThrow('hush')
  })

  it('a .env in another encoding than UTF-8 is refused', () => {
    for (const encoding of ['utf16le', 'latin1'] as const) {
      const bytes = Buffer.from('\ufeffA=é', encoding)
      expect(() => parseDotEnv(bytes)).toThrow('The file .env must be encoded in UTF-8.')
    }
    expect(() => parseDotEnv(Buffer.from('A=1', 'utf16le'))).toThrow(/^Line 1 of \.env is not/)
  })
})

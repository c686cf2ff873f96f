import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { centsFromEuros, eurosFromCents, parseDecimal } from './cents.ts'

describe('decimal euros', () => {
  it.each([
    [0, 0],
    [0.01, 1],
    [0.1, 10],
    [4.5, 450],
    [1.005, 101],
    [1.0049, 100],
    [2.675, 268],
    [8.345, 835],
    [0.005, 1],
    [0.0049, 0],
    [1e-7, 0],
    [99999.99, 99_999_99],
    [99999.995, 100_000_00],
    [1e5, 100_000_00],
    [1.5e21, 1.5e23],
  ])('€%d is %d cents: half cents in the decimal digits round up', (euros, cents) => {
    expect(centsFromEuros(euros)).toBe(cents)
  })

  it.each([
    ['1.00499999999999999', 100],
    ['1.00500000000000000', 101],
    ['1.005000000000000001', 101],
    ['100499999999999999e-17', 100],
    ['0.0100499999999999999E2', 100],
    ['0.0049999999999999999999', 0],
    ['0.30000000000000004', 30],
    ['99999999999.994999999999', 99_999_999_999_99],
    ['99999999999.995', 100_000_000_000_00],
  ])('€%s is %d cents: further digits are not rounded first', (written, cents) => {
    expect(centsFromEuros(parseDecimal(written))).toBe(cents)
  })

  it('a number of any length is on the same side of each half cent as its decimal digits', () => {
    const halfCents = fc.integer({ min: 0, max: 2 * 9_999_999_99 })
    // Digits next to half a cent, where rounding would matter.
    const further = fc.stringMatching(/^(0{0,25}[1-9]{0,3}|9{0,25}[0-8]{0,3})$/)
    fc.assert(
      fc.property(
        halfCents,
        further,
        fc.constantFrom('', 'e0', 'E+0'),
        (count, digits, exponent) => {
          const half = `${Math.floor(count / 200)}.${String((count % 200) * 5).padStart(3, '0')}`
          const read = parseDecimal(half + digits + exponent)
          const isMore = /[1-9]/.test(digits)
          expect(Math.sign(read - Number(half))).toBe(isMore ? 1 : 0)
          expect(Math.sign(read - (count + 1) / 200)).toBe(-1)
          expect(centsFromEuros(read)).toBe(Math.floor((count + 1) / 2))
        },
      ),
    )
  })

  it('whole numbers and numbers beyond all amounts are those of JSON.parse', () => {
    const numbers = [
      '9007199254740993',
      '-9007199254740993',
      '9007199254740993.5',
      '1e400',
      '123456789012345678901e2',
    ]
    for (const written of [...numbers, '0', '-0', '1e-400', '123456789012.123456789']) {
      expect(parseDecimal(written)).toBe(Number(written))
    }
  })

  it('euros with two decimals survive conversion to cents and back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10_000_000_000 }), (cents) => {
        const written = `${Math.trunc(cents / 100)}.${String(cents % 100).padStart(2, '0')}`
        expect(centsFromEuros(JSON.parse(written))).toBe(cents)
        expect(eurosFromCents(cents)).toBe(JSON.parse(written))
        expect(centsFromEuros(JSON.parse(JSON.stringify(eurosFromCents(cents))))).toBe(cents)
      }),
    )
  })

  it('euros with three decimals round half up to cents', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100_000_000 }), (mills) => {
        const written = `${Math.trunc(mills / 1000)}.${String(mills % 1000).padStart(3, '0')}`
        expect(centsFromEuros(JSON.parse(written))).toBe(Math.floor((mills + 5) / 10))
      }),
    )
  })
})

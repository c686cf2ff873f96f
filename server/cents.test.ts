import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { centsFromEuros, eurosFromCents } from './cents.ts'

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

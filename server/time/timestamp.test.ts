import fc from 'fast-check'
import { expect, it } from 'vitest'
import { timestamp } from './timestamp.ts'

it('a timestamp is the ISO 8601 text of its date without the fraction of the second', () => {
  fc.assert(
    fc.property(fc.date({ noInvalidDate: true }), (date) => {
      expect(timestamp(date)).toBe(date.toISOString().replace(/\.\d{3}Z$/, 'Z'))
    }),
  )
  expect(() => timestamp(new Date(Number.NaN))).toThrow(RangeError)
})

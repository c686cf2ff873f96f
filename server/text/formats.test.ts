import fc from 'fast-check'
import { expect, it } from 'vitest'
import { groupDigits } from './formats.ts'

it('digits are grouped as Intl groups them', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (value) => {
      expect(groupDigits(value)).toBe(value.toLocaleString('en'))
    }),
  )
})

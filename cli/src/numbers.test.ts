import { InvalidArgumentError } from 'commander'
import { expect, it } from 'vitest'
import { amount, price, quantity } from './numbers.ts'

it.each(['', ' ', '0x10', '1e2', '+5', '1.5', '-1'])(
  'a quantity consists of digits: "%s" is refused',
  (text) => {
    const message = 'It must be a whole number from 0.'
    expect(() => quantity(text)).toThrow(new InvalidArgumentError(message))
  },
)

it.each(['', ' ', '0x10', '1e2', '+5', '-1', '0', '12 50', '12€50'])(
  'a price is written in digits: "%s" is refused',
  (text) => {
    expect(() => price(text)).toThrow(/^It must be an amount in euros/)
  },
)

it.each(['1234.567', '0.125', '0,999 EUR', '1.234,505'])(
  'a price has at most two decimals, because none is rounded silently: "%s" is refused',
  (text) => {
    for (const parse of [price, amount]) {
      const message = 'It must be an amount in euros with at most two decimals.'
      expect(() => parse(text)).toThrow(new InvalidArgumentError(message))
    }
  },
)

it.each([
  ['1.10', 1.1],
  ['0.29', 0.29],
  ['99999.99', 99999.99],
  ['1.234,50', 1234.5],
  ["1'234.50", 1234.5],
  ['€ 12', 12],
])('a price has a point or comma before the cents: "%s" is %s', (text, euros) => {
  expect(price(text)).toBe(euros)
})

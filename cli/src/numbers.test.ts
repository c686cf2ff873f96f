import { InvalidArgumentError } from 'commander'
import { expect, it } from 'vitest'
import { price, quantity } from './numbers.ts'

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

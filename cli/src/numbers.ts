import { InvalidArgumentError } from 'commander'
import { readNumber } from '../../sdk/src/csv.ts'

/** Parses the value of an option that counts. */
export function count(text: string): number {
  const number = digits(text)
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError('It must be a whole number from 1.')
  return number
}

/** Reads a number that consists of digits. `Number` also reads an empty text, 0x10 and 1e2. */
export const digits = (text: string) => (/^\d+$/.test(text) ? Number(text) : Number.NaN)

/** Parses several ids, one after the other. */
export const counts = (text: string, ids: number[] = []): number[] => [...ids, count(text)]

/** Parses a quantity, which can be 0. */
export function quantity(text: string): number {
  const number = digits(text)
  if (!Number.isSafeInteger(number)) {
    throw new InvalidArgumentError('It must be a whole number from 0.')
  }
  return number
}

/** Parses a price in euros. */
export function price(text: string): number {
  const number = anyAmount(text)
  if (number <= 0) throw new InvalidArgumentError('It must be an amount in euros above 0.')
  return number
}

/** Parses an amount of euros from 0. */
export function amount(text: string): number {
  const value = anyAmount(text)
  if (value < 0) throw new InvalidArgumentError('It must be an amount in euros from 0.')
  return value
}

/** Parses an amount of euros, which can be negative. */
function anyAmount(text: string): number {
  const { value, meanings } = readNumber(text)
  if (meanings) {
    throw new InvalidArgumentError(`It can mean two amounts: write ${meanings.join(' or ')}.`)
  }
  if (value === undefined || !Number.isFinite(value))
    throw new InvalidArgumentError('It must be an amount in euros.')
  // An import warns before it rounds. An option can't, and the service would round without a word.
  if (Number(value.toFixed(2)) !== value)
    throw new InvalidArgumentError('It must be an amount in euros with at most two decimals.')
  return value
}

import { parseDecimal } from '../cents.ts'

/**
 * Finds every number of more than 15 significant digits, and some other texts. The engine searches a repeated class ten
 * times as fast as a counted one.
 */
const LONG_NUMBER = new RegExp('[\\d.]'.repeat(16))

/**
 * Parses JSON like `JSON.parse`, but never rounds an amount up or down to a cent, half a cent or the end of a range
 * (`parseDecimal`). An `id` is as sent, because JSON-RPC returns it.
 *
 * @throws SyntaxError
 */
export const parseJson = (text: string): unknown =>
  LONG_NUMBER.test(text) ? JSON.parse(text, exactNumber as Reviver) : JSON.parse(text)

type Reviver = (key: string, value: unknown) => unknown

/** The types of TypeScript don't know the third parameter yet. */
const exactNumber = (key: string, value: unknown, { source = '' }: { source?: string }) =>
  typeof value === 'number' && source.length > 15 && key !== 'id' ? parseDecimal(source) : value

import { ApiError } from '../client.ts'

/** Numbers as people write them. A text that is none is refused under the field's name, where the form shows it. */

/**
 * Thousands may be separated, all in the same way. One or two digits after the last comma or point are decimals; `12,-` has
 * none.
 */
const NUMBER =
  /^([-−]?)(\d+|[1-9]\d{0,2}(?:([., ’'])\d{3})(?:\3\d{3})*)(?:([.,])(\d{1,2}|[-–—]{1,2}))?$/

/**
 * Reads a number with up to two decimals: `12,50`, `12.50`, `1.234,50`, `€ 1 234`. A comma or point before three digits can
 * be that of thousands or of decimals.
 *
 * @throws ApiError
 */
export function readNumber(name: string, text: string): number {
  const bare = text
    .trim()
    .replaceAll(/^(?:€|EUR)\s*|\s*(?:€|EUR)$/gi, '')
    .replaceAll(/\s+/g, ' ')
  if (!bare) throw required(name)
  const [, sign, whole = '', separator, point, decimals = ''] = NUMBER.exec(bare) ?? []
  if (!whole || (separator && separator === point)) {
    throw refused(name, 'Write a number such as 12.50.')
  }
  const [first, ...thousands] = whole.split(/\D/)
  const digits = `${first}${thousands.join('')}`
  if ((separator === ',' || separator === '.') && thousands.length === 1 && !point) {
    const cents = Math.round(Number(digits) / 10)
    const other = (cents / 100).toFixed(2)
    throw refused(name, `“${bare}” can mean two numbers. Write ${digits}.00 or ${other}.`)
  }
  const value = Number.parseFloat(`${digits}.${decimals}`)
  return sign ? -value : value
}

/** Reads a number of things. @throws ApiError */
export function readCount(name: string, text: string): number {
  const bare = text.trim()
  if (!bare) throw required(name)
  // The service says which numbers it accepts.
  if (/^[-−]?\d+$/.test(bare)) return Number(bare.replace('−', '-'))
  throw refused(name, 'Write a whole number without separators, such as 12.')
}

const required = (name: string) => refused(name, `The ${name} field must not be empty.`)

/** An error of a field that the page finds by itself. */
export const refused = (name: string, message: string) =>
  new ApiError(422, 'validation_error', message, { [name]: [message] })

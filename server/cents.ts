/**
 * Money is whole cents internally and decimal euros in the APIs (§1.2). The conversion uses the decimal digits of a JSON
 * number, so 1.005 is 1.01 without binary rounding errors.
 */

/** Converts decimal euros (not negative) to whole cents, and rounds half a cent up: 1.005 → 101. */
export function centsFromEuros(euros: number): number {
  const [mantissa = '0', exponent = '0'] = String(euros).split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  const digits = whole + fraction
  // The index in `digits` after the last whole cent.
  const point = whole.length + Number(exponent) + 2
  const cents = Number(digits.slice(0, Math.max(point, 0)).padEnd(point, '0') || '0')
  const next = point < 0 ? '0' : (digits[point] ?? '0')
  return cents + (next >= '5' ? 1 : 0)
}

/** From here on, 14 digits are fewer than the three decimals of half a cent. No amount is as large. */
const MAX_AMOUNT = 1e11

/** The sign, zeros and 14 significant digits of a decimal number, and its further digits. */
const DIGITS = /^(-?[0.]*(?:\d\.?){14})(\d[\d.]+)/

/**
 * Converts the text of a number. A binary number represents 15 decimal digits exactly; more digits are rounded, which can
 * reach half a cent or the end of a range: 1.00499999999999999 becomes 1.005. Therefore a longer number with a fraction
 * keeps 14 digits, and a final 1 replaces the others: 1.00499999999991 is on the same side of every half cent.
 */
export function parseDecimal(text: string): number {
  const value = Number(text)
  if (/^-?\d*$/.test(text) || Math.abs(value) >= MAX_AMOUNT) return value
  const [, kept, others = ''] = DIGITS.exec(text) ?? []
  if (!/[1-9]/.test(others)) return value
  const zeros = others.slice(1).replaceAll(/\d+/g, ({ length }) => '0'.repeat(length))
  return Number(`${kept}1${zeros}${text.slice(kept!.length + others.length)}`)
}

/** Converts whole cents to the decimal euros of a response: 450 → 4.5. */
export const eurosFromCents = (cents: number): number => cents / 100

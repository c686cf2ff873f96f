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

/** Converts whole cents to the decimal euros of a response: 450 → 4.5. */
export const eurosFromCents = (cents: number): number => cents / 100

/**
 * Money: exact cents inside, decimal euros outside (§1.2). A JSON number is taken by the digits it was written
 * with, so 1.005 is 1.01 and no binary rounding ever shows.
 */

/** Decimal euros as a number of whole cents, half a cent going up: 1.005 → 101. Zero or positive amounts. */
export function centsFromEuros(euros: number): number {
  const [mantissa = '0', exponent = '0'] = String(euros).split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  const digits = whole + fraction
  // Where the decimal point of the cents stands within the digits.
  const point = whole.length + Number(exponent) + 2
  const cents = Number(digits.slice(0, Math.max(point, 0)).padEnd(point, '0') || '0')
  const next = point < 0 ? '0' : (digits[point] ?? '0')
  return cents + (next >= '5' ? 1 : 0)
}

/** Whole cents as the decimal euros of an answer: 450 → 4.5. */
export const eurosFromCents = (cents: number): number => cents / 100

/**
 * A date-time as in responses: ISO 8601, UTC, whole seconds, `Z`. A page has sixty of them: `toISOString` would take three
 * times as long.
 */
export function timestamp(date: Date): string {
  const year = date.getUTCFullYear()
  // Years with more or fewer digits, and dates that are not valid.
  if (!(year >= 1000 && year <= 9999)) return `${date.toISOString().slice(0, -5)}Z`
  const day = `${year}-${twoDigits(date.getUTCMonth() + 1)}-${twoDigits(date.getUTCDate())}`
  const hours = twoDigits(date.getUTCHours())
  return `${day}T${hours}:${twoDigits(date.getUTCMinutes())}:${twoDigits(date.getUTCSeconds())}Z`
}

const twoDigits = (number: number) => (number < 10 ? `0${number}` : number)

/** Formats a date-time like `timestamp`; null stays null. */
export const timestampOrNull = (date: Date | null) => (date ? timestamp(date) : null)

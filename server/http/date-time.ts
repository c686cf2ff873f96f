import { type FieldMessages, validationError } from '../errors.ts'

const ISO_8601 =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)?)?$/

/**
 * Parses an ISO 8601 date or date-time. A date means its first second; without an offset the time is UTC. A `+` that the
 * query string turned into a space is read as a `+`.
 *
 * @throws validation_error on the field
 */
export const parseDateTime = (field: string, text: string): Date =>
  parseDateTimes({ [field]: text })[field]!

/** Parses a field that may be absent, like `parseDateTime`. */
export const optionalDateTime = (field: string, text: string | undefined): Date | undefined =>
  text === undefined ? undefined : parseDateTime(field, text)

/** Parses fields that may be absent, like `parseDateTimes`. */
export function optionalDateTimes<Field extends string>(
  texts: Record<Field, string | undefined>,
): Partial<Record<Field, Date>> {
  const given = Object.entries(texts).filter(([, text]) => text !== undefined)
  return parseDateTimes(Object.fromEntries(given) as Record<Field, string>)
}

/**
 * Parses several fields.
 *
 * @throws validation_error on all invalid fields
 */
export function parseDateTimes<Field extends string>(
  texts: Record<Field, string>,
): Record<Field, Date> {
  const moments: Partial<Record<string, Date>> = {}
  const problems: FieldMessages = {}
  for (const [field, text] of Object.entries<string>(texts)) {
    const moment = read(text)
    if (moment) moments[field] = moment
    else {
      problems[field] = [
        `The ${field} field must be an ISO 8601 date or date-time, such as 2026-03-01T09:30:00Z.`,
      ]
    }
  }
  if (Object.keys(problems).length > 0) throw validationError(problems)
  return moments as Record<Field, Date>
}

function read(text: string): Date | undefined {
  const parts = ISO_8601.exec(
    text.replace(/ (?=\d\d(?::?\d\d)?$)/, (space, at) => (at > 10 ? '+' : space)),
  )
  return parts ? dateOf(parts) : undefined
}

function dateOf(parts: RegExpExecArray): Date | undefined {
  const number = (at: number) => Number(parts[at] ?? 0)
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map(number)
  const milliseconds = Number((parts[7] ?? '').padEnd(3, '0').slice(0, 3))
  const [offsetHours, offsetMinutes] = [number(10), number(11)]
  if (hour! > 23 || minute! > 59 || second! > 59 || offsetHours > 23 || offsetMinutes > 59) {
    return undefined
  }
  // Not Date.UTC, which maps the years 0 to 99 to 1900 to 1999.
  const moment = new Date(0)
  moment.setUTCFullYear(year!, month! - 1, day)
  // February 30 would become a day in March.
  if (moment.getUTCMonth() !== month! - 1 || moment.getUTCDate() !== day) return undefined
  moment.setUTCHours(hour!, minute, second, milliseconds)
  const offset = (offsetHours * 60 + offsetMinutes) * (parts[9] === '-' ? -1 : 1)
  const utc = new Date(moment.getTime() - offset * 60_000)
  // PostgreSQL needs another notation for other years.
  return utc.getUTCFullYear() >= 1 && utc.getUTCFullYear() <= 9999 ? utc : undefined
}

import { storableTime } from './storable-time.ts'

/**
 * The first moment of a date in a time zone, or of a later date. Where the clocks go back to midnight, that is the first of
 * two midnights: PostgreSQL would take the second.
 *
 * @param date as 2026-03-01
 * @param days added to it
 */
export const startOfDay = (date: string, timeZone: string, days = 0): Date =>
  storableTime(
    Temporal.PlainDate.from(date).add({ days }).toZonedDateTime(timeZone).epochMilliseconds,
  )

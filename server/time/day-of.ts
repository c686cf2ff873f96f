/** The date of a moment in UTC, as 2026-03-01. */
export const dayOf = (moment: Date): string => moment.toISOString().slice(0, 10)

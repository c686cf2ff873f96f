/** A date-time as in responses: ISO 8601, UTC, whole seconds, `Z`. */
export const timestamp = (date: Date) => `${date.toISOString().slice(0, 19)}Z`

/** The same; null stays null. */
export const timestampOrNull = (date: Date | null) => (date ? timestamp(date) : null)

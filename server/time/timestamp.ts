/** A moment as answers show it: ISO 8601, UTC, whole seconds, `Z`. */
export const timestamp = (moment: Date) => `${moment.toISOString().slice(0, 19)}Z`

/** The same, null staying null. */
export const timestampOrNull = (moment: Date | null) => (moment ? timestamp(moment) : null)

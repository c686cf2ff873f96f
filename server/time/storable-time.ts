/** PostgreSQL needs another notation for later times. */
const MAX_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** The first moment after the second of a time: stored times have fractions, and responses show whole seconds. */
export const endOfSecond = (time: Date): Date =>
  new Date(Math.min((Math.floor(time.getTime() / 1_000) + 1) * 1_000, MAX_TIME))

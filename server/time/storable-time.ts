/** PostgreSQL needs another notation for later times. */
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** A time that was computed from one in a request, within 1970 and 9999. In milliseconds, UTC. */
export const storableTime = (milliseconds: number): Date =>
  new Date(Math.min(Math.max(milliseconds, 0), LATEST))

/** The first moment after the second of a time: stored times have fractions, and responses show whole seconds. */
export const endOfSecond = (time: Date): Date =>
  storableTime((Math.floor(time.getTime() / 1_000) + 1) * 1_000)

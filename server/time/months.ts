/** The first moment, in UTC, of the month that contains this one. */
export const monthOf = (moment: Date): Date => startOf(moment, 0)

/** The first moment, in UTC, of the next month. */
export const monthAfter = (moment: Date): Date => startOf(moment, 1)

const startOf = (moment: Date, later: number) =>
  new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth() + later, 1))

/**
 * A period from a first to a last day, as times of a request. They are days of the browser's time zone, in which the
 * console shows all times.
 */
export const timesOf = ({ from, to }: { from: string; to: string }) => ({
  from: from && timeOf(from),
  to: to && timeOf(to, { days: 1, seconds: -1 }),
})

/** The start of a day, or a time later. An impossible date of an edited address is left to the service, which explains the mistake. */
function timeOf(day: string, { days = 0, seconds = 0 } = {}): string {
  const text = `${day}T00:00:00`
  const time = new Date(text)
  // Where the clocks go back at midnight, a day has two hours from 23:00, and 23:59:59 would be in the first one.
  time.setDate(time.getDate() + days)
  return Number.isNaN(time.getTime())
    ? text
    : new Date(time.getTime() + seconds * 1_000).toISOString()
}

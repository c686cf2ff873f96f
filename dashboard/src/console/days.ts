/**
 * A period from a first to a last day, as times of a request. They are days of the browser's time zone, in which the
 * console shows all times.
 */
export const timesOf = ({ from, to }: { from: string; to: string }) => ({
  from: from && timeOf(`${from}T00:00:00`),
  to: to && timeOf(`${to}T23:59:59`),
})

/** An impossible time of an edited address is left to the service, which explains the mistake. */
function timeOf(text: string): string {
  const time = new Date(text)
  return Number.isNaN(time.getTime()) ? text : time.toISOString()
}

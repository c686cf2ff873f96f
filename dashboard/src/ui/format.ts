/** Formats of money, numbers and dates. Nothing else in the dashboard formats them. */

/** English words, with the European order of dates. */
const LOCALE = 'en-GB'

const euros = new Intl.NumberFormat(LOCALE, { style: 'currency', currency: 'EUR' })
const numbers = new Intl.NumberFormat(LOCALE)

/** Decimal euros of a response: 4.5 → €4.50. */
export const formatMoney = (amount: number) => euros.format(amount)

export const formatNumber = (value: number) => numbers.format(value)

/** `plural(1, 'order')` → 1 order, `plural(2000, 'order')` → 2,000 orders. */
export const plural = (count: number, one: string, many = `${one}s`) =>
  `${formatNumber(count)} ${count === 1 ? one : many}`

let timeZone: string | undefined

/** Sets the account's time zone, for all dates. Without one the browser's is used. */
export function setTimeZone(zone: string | undefined): void {
  if (zone === timeZone) return
  timeZone = zone
  formats = undefined
}

type Format = 'date' | 'dateTime' | 'full'
let formats: Record<Format, Intl.DateTimeFormat> | undefined

function format(name: Format): Intl.DateTimeFormat {
  formats ??= {
    date: new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeZone }),
    dateTime: new Intl.DateTimeFormat(LOCALE, {
      dateStyle: 'medium',
      timeStyle: 'short',
      timeZone,
    }),
    full: new Intl.DateTimeFormat(LOCALE, { dateStyle: 'full', timeStyle: 'long', timeZone }),
  }
  return formats[name]
}

/** A moment of a response in the account's time zone. */
export const formatDateTime = (iso: string, name: Format = 'dateTime') =>
  format(name).format(new Date(iso))

/** The calendar date of a moment in the account's time zone, as forms and requests have it: `2026-03-01`. */
export function calendarDate(iso: string): string {
  const parts = new Intl.DateTimeFormat(LOCALE, {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    timeZone,
  }).formatToParts(new Date(iso))
  const part = (wanted: string) => parts.find(({ type }) => type === wanted)?.value
  return `${part('year')}-${part('month')}-${part('day')}`
}

/** A calendar date (`2026-03-01`), which belongs to no time zone, or the date of a time in UTC. */
export const formatDate = (date: string) =>
  new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(date))

// Numbers alone: "yesterday" would be wrong for most moments that are 24 to 48 hours ago.
const relative = new Intl.RelativeTimeFormat(LOCALE)
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

let aheadMs = 0

/** Sets the service's clock, which a sandbox can move ahead of the browser's. `readAt` is the browser's time then. */
export function setClock(now: string, readAt: number): void {
  aheadMs = new Date(now).getTime() - readAt
}

/** The service's time. */
export const serviceNow = () => new Date(Date.now() + aheadMs)

export const isPast = (iso: string) => new Date(iso) < serviceNow()

/** The distance of a moment from now: 2 hours ago, in 3 days, now. */
export function formatRelative(iso: string): string {
  const seconds = (new Date(iso).getTime() - serviceNow().getTime()) / 1000
  const [unit, length] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1]
  const distance = Math.trunc(seconds / length)
  return distance === 0 ? 'now' : relative.format(distance, unit)
}

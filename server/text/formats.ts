/**
 * English formats of numbers, dates and names. Each loads its data at its first use: they take 9 MB of memory, which a
 * service that shows no pages does not need. Nothing else in `server/` creates a format when it is loaded.
 */
const onFirstUse = <T>(make: () => T) => {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

const euros = onFirstUse(
  () => new Intl.NumberFormat('en-IE', { style: 'currency', currency: 'EUR' }),
)
const longDates = (timeZone: string) =>
  new Intl.DateTimeFormat('en-IE', { dateStyle: 'long', timeZone })
const longUtcDates = onFirstUse(() => longDates('UTC'))
const languages = onFirstUse(() => new Intl.DisplayNames('en', { type: 'language' }))
const collator = onFirstUse(() => new Intl.Collator('en', { numeric: true }))

/** 12345 is 12,345. Takes whole numbers, and needs no data. */
export const groupDigits = (value: number) => String(value).replace(/\B(?=(\d{3})+$)/g, ',')

/** 1250 cents are €12.50. */
export const formatEuros = (cents: number) => euros().format(cents / 100)

/** The date of a moment in UTC: 1 March 2026. */
export const formatLongDate = (moment: Date) => longUtcDates().format(moment)

/** Returns a function like `formatLongDate` for another time zone. */
export const formatLongDateIn = (timeZone: string) => longDates(timeZone).format

/** The name of a language, or its code. */
export const languageName = (code: string) => languages().of(code) ?? code

/** Orders texts so that the numbers in them sort by value. */
export const compareNumbered = (a: string, b: string) => collator().compare(a, b)

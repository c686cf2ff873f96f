import type { Page } from '../../database/paging.ts'

/**
 * Maximum size of a result, which contains its object twice: as structure and as JSON text, for clients of earlier
 * revisions. The rest of 64 KiB is for the protocol's own fields.
 */
export const MAX_RESULT_BYTES = 63 * 1024

/** A unit of JSON text takes up to three bytes as UTF-8, and as many again in the copy; an escape takes fewer. */
const MAX_BYTES_PER_UNIT = 6

/** Whether an object fits into a result, by its JSON. Measures only what could be too long: most results are short. */
export const fits = (json: string, room = MAX_RESULT_BYTES): boolean =>
  json.length * MAX_BYTES_PER_UNIT <= room || bytesOf(json) <= room

/** The bytes that a value takes in a result. */
export const resultBytes = (value: unknown) => bytesOf(JSON.stringify(value))

const bytesOf = (json: string) => Buffer.byteLength(json) + Buffer.byteLength(JSON.stringify(json))

/** Bytes that remain for a list next to the other fields of its object. */
const LIST_BYTES = MAX_RESULT_BYTES - 2 * 1024

/** The first entries of a list, as many as fit into a result. */
function fitting<Entry>(list: Entry[], room = LIST_BYTES): Entry[] {
  if (fits(JSON.stringify(list), room)) return list
  let bytes = 0
  for (const [index, entry] of list.entries()) {
    bytes += resultBytes(entry) + 2
    if (bytes > room) return list.slice(0, index)
  }
  return list
}

/**
 * Returns an object with a list: whole if it fits, otherwise with the first entries that fit, and a note.
 *
 * @param advice the other way to the rest of the list
 * @param total the length of the list if `list` has only its beginning, of which not all fits
 */
export function cutToFit<Entry, Result extends object>(
  list: Entry[],
  resultOf: (entries: Entry[]) => Result,
  advice: string,
  total = list.length,
): Result & { note?: string } {
  const whole = resultOf(list)
  if (list.length === total && fits(JSON.stringify(whole))) return whole
  const shown = fitting(list, LIST_BYTES - resultBytes(resultOf([])))
  const note = `Only the first ${shown.length} of ${total} fit here. ${advice}`
  return { ...resultOf(shown), note }
}

/** The number of entries and characters of which the first attempt leaves out the rest. */
const MAX_KEPT = 2_000

/**
 * Shortens a result until it fits, and adds a note. This is for single records, which can be too large alone: a payout of
 * a thousand order rows, a dispute with long messages and links.
 */
export function shortened(result: object): object {
  const note = 'Long texts and lists end early here. The dashboard shows all.'
  let shown = result
  for (
    let most = MAX_KEPT;
    most >= 1 && !fits(JSON.stringify(shown));
    most = Math.floor(most / 2)
  ) {
    shown = { ...(beginningOf(result, most) as object), note }
  }
  return shown
}

function beginningOf(value: unknown, most: number): unknown {
  if (typeof value === 'string' && value.length > most) {
    return `${value.slice(0, most).toWellFormed()}…`
  }
  if (Array.isArray(value)) return value.slice(0, most).map((inner) => beginningOf(inner, most))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, beginningOf(inner, most)]),
  )
}

export type ToolPage<Entry> = {
  data: Entry[]
  meta: { total: number; page: number; pages: number; per_page?: number }
}

/**
 * A page of a list. If its entries don't fit, the page shrinks to a divisor of its size, and `meta` says how to go on:
 * with `per_page` as given there, no entry is skipped.
 */
export function pageResult<Entry>(
  entries: Entry[],
  total: number,
  { perPage, offset }: Page,
): ToolPage<Entry> {
  const room = fitting(entries).length
  const isWhole = room === entries.length
  const size = isWhole ? perPage : largestDivisor(perPage, room)
  return {
    data: entries.slice(0, size),
    meta: {
      total,
      page: offset / size + 1,
      pages: Math.max(1, Math.ceil(total / size)),
      ...(isWhole ? {} : { per_page: size }),
    },
  }
}

function largestDivisor(number: number, atMost: number): number {
  for (let divisor = Math.max(atMost, 1); divisor > 1; divisor--) {
    if (number % divisor === 0) return divisor
  }
  return 1
}

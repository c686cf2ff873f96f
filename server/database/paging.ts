/** A requested page of a list (§8). `page` counts from 1. */
export type Page = { page: number; perPage: number; offset: number }

/** The rows of a page: `size` rows after `skipped` ones, counted from the start or the end of the list. */
export type Window = { size: number; skipped: number; fromEnd: boolean }

/**
 * The window of a page, reached from the nearer end, because OFFSET reads every skipped row: so the last page costs as
 * much as the first. Undefined for a page past the end. `total` must come from the same snapshot as the rows; otherwise
 * the page skips rows that were added in between.
 */
export function windowOf({ perPage, offset }: Page, total: number): Window | undefined {
  const size = Math.min(perPage, total - offset)
  if (size <= 0) return undefined
  const after = total - offset - size
  const fromEnd = after < offset
  return { size, fromEnd, skipped: fromEnd ? after : offset }
}

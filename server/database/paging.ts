/** Which part of a list is wanted (§8). `page` counts from 1. */
export type Page = { page: number; perPage: number; offset: number }

/** Where a page's rows stand in a list: so many, after those skipped from its beginning, or from its end. */
export type Window = { size: number; skipped: number; fromEnd: boolean }

/**
 * Rows before a page have to be skipped one by one: this reaches it from the nearer end, so that the last page costs
 * what the first does. Nothing for a page past the end. The total has to come from the same snapshot as the rows, or
 * the page steps over what was added in between.
 */
export function windowOf({ perPage, offset }: Page, total: number): Window | undefined {
  const size = Math.min(perPage, total - offset)
  if (size <= 0) return undefined
  const after = total - offset - size
  const fromEnd = after < offset
  return { size, fromEnd, skipped: fromEnd ? after : offset }
}

import type { LoadRequest } from './load.ts'
import { shuffled } from './random.ts'

/** The default number of records on a page. */
export const PER_PAGE = 30
/** More than a row can send before it ends. */
export const MAX_REQUESTS = 60_000

/**
 * Different pages of sellers' lists, in random order; the sellers are equally frequent.
 *
 * @param totals the records of each seller
 */
export function pagesOf(
  sellers: { id: number; key: string }[],
  totals: { id: number; total: number }[],
  requestOf: (page: number, total: number) => Pick<LoadRequest, 'path' | 'expected'>,
): LoadRequest[] {
  const totalOf = new Map(totals.map(({ id, total }) => [id, total]))
  const pages = sellers.flatMap(({ id, key }) => {
    const total = totalOf.get(id) ?? 0
    const numbers = Array.from({ length: Math.ceil(total / PER_PAGE) }, (_, i) => i + 1)
    return shuffled(numbers, id)
      .slice(0, Math.ceil(MAX_REQUESTS / sellers.length))
      .map((page) => ({ ...requestOf(page, total), key }))
  })
  return shuffled(pages)
}

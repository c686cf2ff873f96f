import type { LoadRequest } from './load.ts'
import { shuffled } from './random.ts'

/** More than a row can send before it ends. */
export const MAX_REQUESTS = 60_000
/** Enough requests for all rounds: in a round of a few milliseconds, most of the work would be opening connections. */
const PAGE_SIZES = [30, 25, 26, 27, 28, 29, 31, 32, 33, 34, 35]
const DEFAULT_SIZE = 30

/** A page of a list, with about 30 records. */
type BenchPage = { page: number; perPage: number; query: string }

/** The pages of a list with this many records, in every size. */
export const pagesOfList = (total: number): BenchPage[] =>
  PAGE_SIZES.flatMap((perPage) =>
    Array.from({ length: Math.ceil(total / perPage) }, (_, i) => ({
      page: i + 1,
      perPage,
      query: `page=${i + 1}${perPage === DEFAULT_SIZE ? '' : `&per_page=${perPage}`}`,
    })),
  )

/**
 * Different pages of sellers' lists, in random order; the sellers are equally frequent.
 *
 * @param totals the records of each seller
 */
export function pagesOf(
  sellers: { id: number; key: string }[],
  totals: { id: number; total: number }[],
  requestOf: (page: BenchPage, total: number) => Pick<LoadRequest, 'path' | 'expected'>,
): LoadRequest[] {
  const totalOf = new Map(totals.map(({ id, total }) => [id, total]))
  const pages = sellers.flatMap(({ id, key }) => {
    const total = totalOf.get(id) ?? 0
    return shuffled(pagesOfList(total), id)
      .slice(0, Math.ceil(MAX_REQUESTS / sellers.length))
      .map((page) => ({ ...requestOf(page, total), key }))
  })
  return shuffled(pages)
}

import type { FastifyRequest } from 'fastify'
import { CONDITIONS, type Condition, LANGUAGES, type Language } from '../../../enums.ts'
import type { MarketFilters } from '../../../listings/market.ts'
import type { Query } from '../../query.ts'

export const PER_PAGE = 48
/** Bounds the cost of a page: later ones would skip hundreds of thousands of rows. */
const MAX_PAGE = 1_000
const MAX_QUERY = 200

/** Results of a search that have pages of their own. */
const KINDS = ['sets', 'products'] as const

/** The parameters of a page. Unknown values count as absent, because people follow old links. */
export function marketQuery({ query }: Pick<FastifyRequest, 'query'>) {
  const read = (name: string) => (query as Query)[name]?.toWellFormed().trim() || undefined
  const page = Number(read('page'))
  const filters: MarketFilters = {
    condition: CONDITIONS.find((value): value is Condition => value === read('condition')),
    language: LANGUAGES.find((value): value is Language => value === read('language')),
  }
  return {
    q: read('q')?.slice(0, MAX_QUERY),
    kind: KINDS.find((value) => value === read('kind')),
    /** Narrows an ambiguous identifier, as the language does. */
    region: read('region'),
    page: Number.isInteger(page) && page >= 1 ? Math.min(page, MAX_PAGE) : 1,
    filters,
  }
}

/** The page in an address: the first one has none. */
export const pageParameter = (page: number) => (page === 1 ? undefined : String(page))

/** The number of pages, and the page to show: at most the last one. */
export function pageOf(total: number, wanted: number) {
  const pages = Math.max(1, Math.min(Math.ceil(total / PER_PAGE), MAX_PAGE))
  const page = Math.min(wanted, pages)
  return { pages, page, offset: (page - 1) * PER_PAGE }
}

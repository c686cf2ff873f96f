import Type from 'typebox'
import type { Page } from '../database/paging.ts'
import type { Query } from './query.ts'

const DEFAULT_PER_PAGE = 30
const MAX_PER_PAGE = 100
const LAST_PAGE = 1_000_000_000

/** The two parameters of every paginated list (§8). */
export const pageParameters = {
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LAST_PAGE,
      default: 1,
      description: 'Which page, counted from 1. A page past the end is empty.',
    }),
  ),
  per_page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PER_PAGE,
      default: DEFAULT_PER_PAGE,
      clamped: true,
      description:
        'How many records a page holds. Never refused: below 1 counts as 1, above 100 as 100, what is no number as 30.',
    }),
  ),
}

/** The part of a list that a validated query asks for. */
export function pageOf(query: Query): Page {
  const page = Number(query.page ?? 1)
  const perPage = perPageOf(query.per_page)
  return { page, perPage, offset: (page - 1) * perPage }
}

/** `Number` alone would also take 0x10 for a number. */
const DECIMAL = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|Infinity)$/i

function perPageOf(text = ''): number {
  const number = DECIMAL.test(text.trim()) ? Number(text) : Number.NaN
  if (Number.isNaN(number)) return DEFAULT_PER_PAGE
  return Math.min(Math.max(Math.trunc(number), 1), MAX_PER_PAGE)
}

export type PageEnd = {
  links: { first: string; last: string; prev: string | null; next: string | null }
  meta: {
    current_page: number
    from: number | null
    last_page: number
    path: string
    per_page: number
    to: number | null
    total: number
  }
}

/**
 * What follows the data of a list (§8): links that carry every parameter that was sent, `page` last, and figures.
 *
 * @param address the list's absolute address without query
 * @param count how many records this page holds
 */
export function pageEnd(
  address: string,
  query: Query,
  { page, perPage, offset }: Page,
  count: number,
  total: number,
): PageEnd {
  const lastPage = Math.max(1, Math.ceil(total / perPage))
  const filters = Object.keys(query)
    .filter((name) => name !== 'page')
    .map((name) => `${encode(name)}=${encode(query[name] as string)}&`)
    .join('')
  const link = (number: number) => `${address}?${filters}page=${number}`
  return {
    links: {
      first: link(1),
      last: link(lastPage),
      prev: page > 1 ? link(page - 1) : null,
      next: page < lastPage ? link(page + 1) : null,
    },
    meta: {
      current_page: page,
      from: count > 0 ? offset + 1 : null,
      last_page: lastPage,
      path: address,
      per_page: perPage,
      to: count > 0 ? offset + count : null,
      total,
    },
  }
}

/** A list that consists of these records, as an example for the published description. */
export const pageExample = (path: string, data: object[]) => ({
  data,
  ...pageEnd(`https://cards.example${path}`, {}, pageOf({}), data.length, data.length),
})

/** As encodeURIComponent, but never throwing: an unknown parameter may hold a lone surrogate. */
const encode = (text: string) => encodeURIComponent(text.toWellFormed())

import Type from 'typebox'
import type { Page } from '../database/paging.ts'
import type { Service } from '../service.ts'
import { bytesAsText } from './latin1.ts'
import type { Query } from './query.ts'

const DEFAULT_PER_PAGE = 30
const MAX_PER_PAGE = 100
/** Maximum number of a page. */
export const MAX_PAGE = 1_000_000_000

/** The two parameters of every paginated list (§8). */
export const pageParameters = {
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE,
      default: 1,
      description:
        'Page number, from 1. If records leave the list while you read it, such as pending orders that you ship, read from the last page to the first, and then once more: a record that is new at the beginning of the list moves one to a page that you have read. A page after the last one is empty.',
    }),
  ),
  per_page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PER_PAGE,
      default: DEFAULT_PER_PAGE,
      clamped: true,
      description:
        'Number of records per page. Invalid values are adjusted: below 1 to 1, above 100 to 100, text that is not a number to 30.',
    }),
  ),
}

/** The page that a validated query requests. */
export function pageOf(query: Query): Page {
  const page = Number(query.page ?? 1)
  const perPage = perPageOf(query.per_page)
  return { perPage, offset: (page - 1) * perPage }
}

/** Only numbers such as 0x10, 0o20 and 0b10000 have these letters. */
const OTHER_BASE = /[xob]/i

function perPageOf(text = ''): number {
  // `Number` takes a time proportional to the length, which a regular expression of all decimal numbers easily exceeds.
  const isDecimal = text.trim() !== '' && !OTHER_BASE.test(text)
  const number = isDecimal ? Number(text) : Number.NaN
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
 * The `links` and `meta` of a list (§8). Links repeat all parameters of the request, with `page` last.
 *
 * @param address the list's absolute URL without query
 * @param count number of records on this page
 * @param reach number of records that pages reach, if not all: no link leads further
 */
export function pageEnd(
  address: string,
  query: Query,
  { perPage, offset }: Page,
  count: number,
  total: number,
  reach = total,
): PageEnd {
  const page = offset / perPage + 1
  const lastPage = Math.max(1, Math.ceil(Math.min(total, reach) / perPage))
  const filters = Object.keys(query)
    .filter((name) => name !== 'page')
    .map((name) => `${encode(name)}=${encode(String(query[name]))}&`)
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

/** Reads the page of a list that a request asks for, and adds `links` and `meta`. */
export const paginated = <Row, Json>(
  { config }: Pick<Service, 'config'>,
  { query, routeOptions }: { query: unknown; routeOptions: { url?: string | undefined } },
  read: ReadPage<Row>,
  toJson: (row: Row) => Json,
): Promise<{ data: Json[] } & PageEnd> =>
  paginatedAt(config.publicUrl + routeOptions.url, query as Query, read, toJson)

type ReadPage<Row> = (page: Page) => Promise<{ rows: Row[]; total: number; reach?: number }>

async function paginatedAt<Row, Json>(
  address: string,
  query: Query,
  read: ReadPage<Row>,
  toJson: (row: Row) => Json,
): Promise<{ data: Json[] } & PageEnd> {
  const page = pageOf(query)
  const { rows, total, reach } = await read(page)
  return { data: rows.map(toJson), ...pageEnd(address, query, page, rows.length, total, reach) }
}

/**
 * The JSON of `paginated` as the text of `bytesAsText`, like the JSON of each record.
 *
 * @param address the list's absolute URL without query
 */
export async function paginatedText<Row>(
  address: string,
  query: Query,
  read: ReadPage<Row>,
  toText: (row: Row) => string,
): Promise<string> {
  const { data, ...end } = await paginatedAt(address, query, read, toText)
  return `{"data":[${data.join(',')}],${bytesAsText(JSON.stringify(end)).slice(1)}`
}

/** An example response for the published description: a list of just these records. */
export const pageExample = (path: string, data: object[]) => ({
  data,
  ...pageEnd(`https://cards.example${path}`, {}, pageOf({}), data.length, data.length),
})

/** `encodeURIComponent` that never throws: an unknown parameter can contain a lone surrogate. */
const encode = (text: string) => encodeURIComponent(text.toWellFormed())

import type { Options, Transport } from './transport.ts'
import type { PageLinks, PageMeta } from './types.ts'

export type Page<T> = { data: T[]; links: PageLinks; meta: PageMeta }

/** A paginated list: `await` it for one page, or iterate over the records of all pages. */
export type List<T> = PromiseLike<Page<T>> &
  AsyncIterable<T> & {
    pages(): AsyncIterable<Page<T>>
    /** The first records, at most `limit`. */
    all(limit: number): Promise<T[]>
  }

const PER_PAGE = 100

/**
 * Follows page numbers, not `links`, which may name a host that the client cannot reach. Each record is yielded once, and
 * none is skipped that is in the list all the time, provided that new ones come first.
 */
export function listOf<T extends object>(
  send: Transport,
  path: string,
  query: { page?: number | undefined; per_page?: number | undefined } = {},
  options?: Options,
): List<T> {
  const read = async (more: object = {}): Promise<Page<T>> => {
    const request = { ...options, query: { ...query, ...more } }
    return (await send<Page<T>>('GET', path, request)).body
  }
  async function* pages() {
    const seen = new Set<unknown>()
    let total = 0
    for (let page = Number(query.page ?? 1); ; ) {
      const current = await read({ per_page: query.per_page ?? PER_PAGE, page })
      const { data, links, meta } = current
      const left = total - meta.total
      total = meta.total
      if (left > 0 && page > 1) {
        // Unread records may have moved forward by as many places.
        page = Math.max(1, page - Math.ceil(left / meta.per_page))
        continue
      }
      yield { ...current, data: data.filter((record) => seen.size < seen.add(keyOf(record)).size) }
      if (links.next === null) return
      page++
    }
  }
  async function* records() {
    for await (const { data } of pages()) yield* data
  }
  return {
    pages,
    [Symbol.asyncIterator]: records,
    // biome-ignore lint/suspicious/noThenProperty: a list can be awaited for its first page
    then: (resolve, reject) => read().then(resolve, reject),
    async all(limit) {
      const all: T[] = []
      if (limit < 1) return all
      for await (const record of records()) if (all.push(record) >= limit) break
      return all
    },
  }
}

/** Makes methods of an API that list the records at a path. */
export const listsOf =
  (send: Transport) =>
  <T extends object, Query extends object>(path: string) =>
  (query?: Query, options?: Options): List<T> =>
    listOf<T>(send, path, query, options)

const keyOf = (record: { id?: unknown; slug?: unknown }) => record.id ?? record.slug

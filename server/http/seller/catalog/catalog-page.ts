import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Catalog } from '../../../catalog/catalog.ts'
import type { Service } from '../../../service.ts'
import { type PageEnd, pageEnd, pageOf } from '../../paginate.ts'
import type { Query } from '../../query.ts'
import type { ResponseCache } from '../../response-cache.ts'
import type { CatalogResponse } from './reads.ts'

/**
 * A list of the catalog: filters, takes the page and assembles its bytes. `handle` is the route's handler, `respond` the
 * function for the fast lane.
 *
 * @param path the list's path below the server's address
 * @param browse all matching entries, in order
 * @param toResponse the response's bytes, and their tag, from the page's entries and all matching ones
 */
export function catalogPage<Entry>(
  ctx: Service,
  cache: ResponseCache,
  {
    path,
    browse,
    toResponse,
  }: {
    path: string
    browse: (catalog: Catalog, query: Query) => Entry[]
    toResponse: (entries: Entry[], end: PageEnd, all: Entry[]) => CatalogResponse
  },
) {
  const address = ctx.config.publicUrl + path
  const responseOf = (catalog: Catalog, query: Query) => {
    const page = pageOf(query)
    const found = browse(catalog, query)
    const entries = found.slice(page.offset, page.offset + page.perPage)
    return toResponse(entries, pageEnd(address, query, page, entries.length, found.length), found)
  }
  return {
    respond: (catalog: Catalog, _: string, query: Query) => responseOf(catalog, query),

    handle(request: FastifyRequest, reply: FastifyReply): never {
      const catalog = ctx.catalog.current
      const { body, tag } = responseOf(catalog, request.query as Query)
      return cache.send(request, reply, catalog, body, tag)
    },
  }
}

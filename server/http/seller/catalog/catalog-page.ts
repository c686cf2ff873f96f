import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Catalog } from '../../../catalog/catalog.ts'
import type { Service } from '../../../service.ts'
import { type PageEnd, pageEnd, pageOf } from '../../paginate.ts'
import type { Query } from '../../query.ts'
import type { ResponseCache } from '../../response-cache.ts'
import { tagged } from './reads.ts'

/**
 * A list of the catalog: filters, takes the page and assembles its bytes. `handle` is the route's handler, `respond` the
 * function for the fast lane.
 *
 * @param path the list's path below the server's address
 * @param browse all matching entries, in order
 * @param toJson the response's bytes
 */
export function catalogPage<Entry>(
  ctx: Service,
  cache: ResponseCache,
  {
    path,
    browse,
    toJson,
  }: {
    path: string
    browse: (catalog: Catalog, query: Query) => Entry[]
    toJson: (entries: Entry[], end: PageEnd) => Buffer
  },
) {
  const address = ctx.config.publicUrl + path
  const bodyOf = (catalog: Catalog, query: Query): Buffer => {
    const page = pageOf(query)
    const found = browse(catalog, query)
    const entries = found.slice(page.offset, page.offset + page.perPage)
    return toJson(entries, pageEnd(address, query, page, entries.length, found.length))
  }
  return {
    respond: (catalog: Catalog, _: string, query: Query) => tagged(bodyOf(catalog, query)),

    handle(request: FastifyRequest, reply: FastifyReply): never {
      const catalog = ctx.catalog.current
      return cache.send(request, reply, catalog, bodyOf(catalog, request.query as Query))
    },
  }
}

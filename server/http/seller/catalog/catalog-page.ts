import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Catalog } from '../../../catalog/catalog.ts'
import type { Service } from '../../../service.ts'
import { type PageEnd, pageEnd, pageOf } from '../../paginate.ts'
import type { Query } from '../../query.ts'
import type { ResponseCache } from '../../response-cache.ts'

/**
 * Handles a list of the catalog: filters, takes the page and sends its bytes.
 *
 * @param path the list's path below the server's address
 * @param browse all matching entries, in order
 * @param toJson the response's bytes
 */
export const catalogPage =
  <Entry>(
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
  ) =>
  (request: FastifyRequest, reply: FastifyReply): never => {
    const catalog = ctx.catalog.current
    const query = request.query as Query
    const page = pageOf(query)
    const found = browse(catalog, query)
    const entries = found.slice(page.offset, page.offset + page.perPage)
    const address = ctx.config.publicUrl + path
    const end = pageEnd(address, query, page, entries.length, found.length)
    return cache.send(request, reply, catalog, toJson(entries, end))
  }

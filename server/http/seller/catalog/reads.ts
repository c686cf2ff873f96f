import type { TSchema } from 'typebox'
import { type Bytes, bufferOf } from '../../../catalog/bytes.ts'
import type { Catalog } from '../../../catalog/catalog.ts'
import type { Service } from '../../../service.ts'
import { entityTag } from '../../entity-tag.ts'
import type { Prepared, PreparedSource } from '../../fast-lane.ts'
import { isNulInPath } from '../../nul-in-path.ts'
import { plainQuery } from '../../plain-query.ts'
import type { Query } from '../../query.ts'
import type { ResponseCache } from '../../response-cache.ts'

/** A read whose response depends only on the catalog, the last segment of its path and its query. */
export type CatalogRead = {
  /** The route's pattern. It ends with a parameter, or has none. */
  route: string
  querystring?: TSchema
  /**
   * The response. `isKept` says whether it is worth a place in the cache. Undefined if it depends on more than the
   * catalog, or an error: then the ordinary path responds.
   */
  respond(
    catalog: Catalog,
    parameter: string,
    query: Query,
  ): CatalogResponse | undefined | Promise<CatalogResponse | undefined>
}

export type CatalogResponse = Pick<Prepared, 'body' | 'tag'> & { isKept: boolean }

/** A response that is worth keeping, with the hash of its bytes. */
export function tagged(bytes: Bytes): CatalogResponse {
  const body = bufferOf(bytes)
  return { body, tag: entityTag(body), isKept: true }
}

export type CatalogReads = PreparedSource & { add(read: CatalogRead): void }

type KnownRead = CatalogRead & {
  /** The path, or the path before the parameter, with its slash. */
  base: string
  hasParameter: boolean
  readQuery: ReturnType<typeof plainQuery>
}

/** Longer segments, and those with other characters, are left to the router. */
const PLAIN_SEGMENT = /^[\w.~!%-]{1,400}$/

/** The fast lane's source for reads of the catalog: it finds their routes and calls the functions of their handlers. */
export function catalogReads(ctx: Pick<Service, 'catalog'>, cache: ResponseCache): CatalogReads {
  const known: KnownRead[] = []

  const prepare = (url: string, read: KnownRead, parameter: string, query: Query) => {
    const catalog = ctx.catalog.current
    const prepared = (response: CatalogResponse | undefined): Prepared | undefined => {
      if (!response) return undefined
      const prepared = { body: response.body, tag: response.tag, route: read.route }
      if (response.isKept) cache.keep(url, catalog, prepared)
      return prepared
    }
    try {
      const response = read.respond(catalog, parameter, query)
      return response instanceof Promise ? response.then(prepared) : prepared(response)
    } catch {
      // The ordinary path reports the error.
      return undefined
    }
  }

  return {
    scope: 'catalog:read',

    add(read) {
      const base = read.route.replace(/:\w+$/, '')
      const readQuery = plainQuery(read.querystring)
      known.push({ ...read, base, hasParameter: base !== read.route, readQuery })
    },

    find(url) {
      const cached = cache.find(url)
      if (cached) return cached
      const end = url.indexOf('?')
      const path = end < 0 ? url : url.slice(0, end)
      // Comparisons, because a Map would intern each new text.
      for (const read of known) {
        if (read.hasParameter ? !path.startsWith(read.base) : path !== read.base) continue
        const parameter = read.hasParameter ? decoded(path.slice(read.base.length)) : ''
        // The ordinary path refuses a malformed query before it counts the request.
        const query = parameter === undefined ? undefined : read.readQuery(url)
        return query ? () => prepare(url, read, parameter!, query) : undefined
      }
      return undefined
    },
  }
}

/** The parameter in a segment of a path; undefined if the router has to judge it. */
function decoded(segment: string): string | undefined {
  if (!PLAIN_SEGMENT.test(segment)) return undefined
  if (!segment.includes('%')) return segment
  if (isNulInPath(segment)) return undefined
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

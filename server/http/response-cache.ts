import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { type Bytes, bufferOf } from '../catalog/bytes.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Service } from '../service.ts'
import { byteBounded } from '../text/byte-bounded.ts'
import { entityTag, sendRevalidated } from './entity-tag.ts'
import type { Prepared } from './fast-lane.ts'

/** Maximum total size of a cache. */
const MAX_BYTES = 32 * 1024 * 1024
/** Estimated memory of an entry, in addition to its body and URL. */
const ENTRY_OVERHEAD_BYTES = 200
const bytesOf = (url: string, { body }: Prepared) => url.length + body.length + ENTRY_OVERHEAD_BYTES

/** Hashes of URLs that are remembered. */
const MAX_SEEN = 32 * 1024

/**
 * Caches responses that depend only on their URL and the catalog, such as the first pages and the newest set. They are
 * sent after the key, rate limit and scope have been checked. A new catalog empties the cache.
 *
 * A response is kept at its second request. Most are never requested again: a program that walks through all pages would
 * fill the cache and empty it again, which takes more time than making the pages.
 */
export type ResponseCache = {
  /** An onRoute hook: routes registered later send a cached response, after their guard. */
  sendCachedFirst: (route: RouteOptions) => void
  /** The cached response of a URL, for the fast lane. */
  find: (url: string) => Prepared | undefined
  /** Caches a response that was made from `catalog`, if it was requested before. */
  keep: (url: string, catalog: Catalog, response: Prepared) => void
  /** Caches a response that was made from `catalog`, if it was requested before, and sends it. */
  send: (
    request: FastifyRequest,
    reply: FastifyReply,
    catalog: Catalog,
    body: Bytes,
    tag?: string,
  ) => never
}

/** Creates an empty cache. Above `maxBytes` it evicts the oldest responses. */
export function responseCache(ctx: Pick<Service, 'catalog'>, maxBytes = MAX_BYTES): ResponseCache {
  const noEntries = () => byteBounded(maxBytes, bytesOf)
  let entries = noEntries()
  let source: Catalog | undefined
  const seen = new Int32Array(MAX_SEEN)

  /** Whether the URL was requested before: it compares a hash, because remembering URLs costs more than a wrong result. */
  const isRepeated = (url: string): boolean => {
    let hash = 1
    for (let i = 0; i < url.length; i++) hash = (Math.imul(hash, 31) + url.charCodeAt(i)) | 0
    const slot = (hash ^ (hash >>> 15)) & (MAX_SEEN - 1)
    if (seen[slot] === hash) return true
    seen[slot] = hash
    return false
  }

  const find = (url: string) => (source === ctx.catalog.current ? entries.get(url) : undefined)

  const keep: ResponseCache['keep'] = (url, catalog, entry) => {
    if (!isRepeated(url)) return
    if (source !== catalog) {
      entries = noEntries()
      source = catalog
    }
    // A popular entry that is evicted returns with its next request.
    entries.set(url, { ...entry, body: bufferOf(entry.body) })
  }

  const sendCached = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    const entry = find(request.url)
    if (!entry) return done()
    if (entry.ignoredFields !== undefined) reply.header('x-ignored-fields', entry.ignoredFields)
    sendRevalidated(request, reply, bufferOf(entry.body), entry.tag)
  }

  return {
    find,

    sendCachedFirst(route) {
      route.onRequest = [route.onRequest ?? [], sendCached].flat()
    },

    keep,

    send(request, reply, catalog, bytes, knownTag) {
      const body = bufferOf(bytes)
      const tag = knownTag ?? entityTag(body)
      const ignoredFields = reply.getHeader('x-ignored-fields') as string | undefined
      const route = request.routeOptions.url ?? ''
      keep(request.url, catalog, { body, tag, ignoredFields, route })
      return sendRevalidated(request, reply, body, tag)
    },
  }
}

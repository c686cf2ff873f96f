import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Catalog } from '../catalog/catalog.ts'
import type { Service } from '../service.ts'
import { entityTag, sendRevalidated } from './entity-tag.ts'

/** What the answers kept may weigh together, in bytes of their bodies. */
const MAX_BYTES = 32 * 1024 * 1024
/** Beside its body and address, what a kept answer costs. */
const OVERHEAD_BYTES = 200

/**
 * Keeps answers that depend on their address and the catalog alone. What is asked for again and again (the first
 * pages, the newest set) is then sent as it lies, once the key, limit and scope have been checked. A new state of
 * the catalog forgets all of it.
 */
export type ResponseCache = {
  /** Has each route that is registered after this hook send its answer when it's kept, behind the route's guard. */
  sendCachedFirst: (route: RouteOptions) => void
  /** Keeps the answer to this request, which came from `catalog`, and sends it. */
  send: (request: FastifyRequest, reply: FastifyReply, catalog: Catalog, body: Buffer) => never
}

/** A response as it was sent: everything about it that follows from its address. */
type Kept = { body: Buffer; tag: string; ignoredFields: string | undefined }

export function responseCache(ctx: Pick<Service, 'catalog'>): ResponseCache {
  const kept = new Map<string, Kept>()
  let keptFrom: Catalog | undefined
  let bytes = 0

  const weight = (address: string, { body }: Kept) => address.length + body.length + OVERHEAD_BYTES

  const sendKept = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    const answer = keptFrom === ctx.catalog.current ? kept.get(request.url) : undefined
    if (!answer) return done()
    if (answer.ignoredFields !== undefined) reply.header('x-ignored-fields', answer.ignoredFields)
    sendRevalidated(request, reply, answer.body, answer.tag)
  }

  return {
    sendCachedFirst(route) {
      route.onRequest = [route.onRequest ?? [], sendKept].flat()
    },

    send(request, reply, catalog, body) {
      if (keptFrom !== catalog) {
        kept.clear()
        bytes = 0
        keptFrom = catalog
      }
      const before = kept.get(request.url)
      if (before) bytes -= weight(request.url, before)
      const ignoredFields = reply.getHeader('x-ignored-fields') as string | undefined
      const answer = { body, tag: entityTag(body), ignoredFields }
      kept.set(request.url, answer)
      bytes += weight(request.url, answer)
      // The oldest go first; one that is still wanted comes back with the next request for it.
      for (const [address, oldest] of kept) {
        if (bytes <= MAX_BYTES) break
        kept.delete(address)
        bytes -= weight(address, oldest)
      }
      return sendRevalidated(request, reply, body, answer.tag)
    },
  }
}

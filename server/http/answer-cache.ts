import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Catalog } from '../catalog/catalog.ts'
import type { Context } from '../context.ts'
import { sendJson } from './answer.ts'

/** What the answers kept may weigh together, in bytes of their bodies. */
const MOST_BYTES = 32 * 1024 * 1024
/** Beside its body and address, what a kept answer costs. */
const OVERHEAD_BYTES = 200

/**
 * Keeps answers that depend on their address and the catalog alone. What is asked for again and again (the first
 * pages, the newest set) is then sent as it lies, once the key, limit and scope have been checked. A new state of
 * the catalog forgets all of it.
 */
export type AnswerCache = {
  /** Has each route that is registered after this hook send its answer when it's kept, behind the route's guard. */
  sendKeptFirst: (route: RouteOptions) => void
  /** Keeps the answer to this request, which came from `catalog`, and sends it. */
  send: (request: FastifyRequest, reply: FastifyReply, catalog: Catalog, body: Buffer) => never
}

export function answerCache(ctx: Pick<Context, 'catalog'>): AnswerCache {
  const kept = new Map<string, Buffer>()
  let keptFrom: Catalog | undefined
  let bytes = 0

  const weight = (address: string, body: Buffer) => address.length + body.length + OVERHEAD_BYTES

  const sendKept = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    const body = keptFrom === ctx.catalog.current ? kept.get(request.url) : undefined
    if (body) sendJson(reply, body)
    else done()
  }

  return {
    sendKeptFirst(route) {
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
      kept.set(request.url, body)
      bytes += weight(request.url, body)
      // The oldest go first; one that is still wanted comes back with the next request for it.
      for (const [address, oldest] of kept) {
        if (bytes <= MOST_BYTES) break
        kept.delete(address)
        bytes -= weight(address, oldest)
      }
      return sendJson(reply, body)
    },
  }
}

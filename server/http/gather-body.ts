import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, RequestPayload, RouteOptions } from 'fastify'
import { withBudget } from '../database/budget.ts'
import { payloadTooLarge, requestTimeout } from '../errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route reads its body as a stream. */
    streamsBody?: boolean
  }
  interface FastifyRequest {
    /** The body did not come with the head. */
    isBodyLate: boolean
  }
}

/** Maximum memory of all incomplete bodies in one process. */
export const MAX_UNFINISHED_BYTES = 32 * 1024 * 1024
const FIRST_CAPACITY_BYTES = 4 * 1024

type Done = (error: Error | null, payload?: RequestPayload) => void

/** An incomplete body. */
type Unfinished = { capacity: number; giveUp(): void }

/**
 * An onRoute hook: collects each body in one buffer. Stored as chunks, a body that arrives byte by byte would take
 * hundreds of times its length. The memory of all incomplete bodies is bounded: beyond the limit, the oldest requests get
 * 408, because an honest client needs little time to send its body.
 */
export function gatherBodies(): (route: RouteOptions) => void {
  /** Oldest first. */
  const unfinished = new Set<Unfinished>()
  let held = 0

  const grow = (body: Unfinished, capacity: number) => {
    held += capacity - body.capacity
    body.capacity = capacity
    for (const oldest of unfinished) {
      if (held <= MAX_UNFINISHED_BYTES) return
      oldest.giveUp()
    }
  }

  const gather = (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: RequestPayload,
    done: Done,
  ): void => {
    const { 'content-length': declared, 'transfer-encoding': encoding } = request.headers
    const limit = request.routeOptions.bodyLimit ?? 0
    // Fastify refuses a body whose declared length is above the limit.
    if ((declared === undefined && encoding === undefined) || Number(declared) > limit) {
      done(null)
      return
    }
    const maxCapacity = Number(declared) || limit
    let bytes = Buffer.alloc(0)
    let length = 0

    const finish = (error: Error | null, whole?: Readable) => {
      payload.off('data', add).off('end', end).off('error', finish)
      clearImmediate(nextTurn)
      unfinished.delete(body)
      held -= body.capacity
      body.capacity = 0
      bytes = Buffer.alloc(0)
      done(error, whole)
    }
    const add = (chunk: Buffer) => {
      const needed = length + chunk.length
      if (needed > limit) {
        reply.header('connection', 'close')
        finish(payloadTooLarge(limit))
        return
      }
      if (needed > bytes.length) {
        const wanted = Math.max(2 * bytes.length, FIRST_CAPACITY_BYTES)
        const capacity = Math.max(needed, Math.min(wanted, maxCapacity))
        grow(body, capacity)
        // `grow` may have given up this body.
        if (body.capacity === 0) return
        const larger = Buffer.allocUnsafe(capacity)
        bytes.copy(larger, 0, 0, length)
        bytes = larger
      }
      chunk.copy(bytes, length)
      length = needed
    }
    const end = () => finish(null, Readable.from(bytes.subarray(0, length)))
    const body: Unfinished = { capacity: 0, giveUp: () => finish(requestTimeout()) }

    // A body that came with the head is parsed in the same turn of the event loop. An injected request has no `complete`.
    const nextTurn = setImmediate(() => {
      request.isBodyLate = request.raw.complete === false
    })
    unfinished.add(body)
    payload.on('data', add).on('end', end).on('error', finish)
  }

  return (route) => {
    if (isGathered(route)) route.preParsing = [route.preParsing ?? [], gather].flat()
  }
}

/**
 * An onRoute hook: checks the credential again after a late body, without counting the request again. The credential may
 * have been revoked meanwhile, and the request could leave another one.
 *
 * @param check throws if the credential has ended
 */
export function recheckAfterBody(
  check: (request: FastifyRequest, reply: FastifyReply) => Promise<void>,
) {
  const recheck = (request: FastifyRequest, reply: FastifyReply, _payload: unknown, done: Done) => {
    if (!request.isBodyLate) return done(null)
    withBudget(request.databaseTime, () => check(request, reply)).then(() => done(null), done)
  }
  return (route: RouteOptions): void => {
    if (isGathered(route)) route.preParsing = [route.preParsing ?? [], recheck].flat()
  }
}

const isGathered = ({ method, config }: RouteOptions) =>
  !config?.streamsBody && [method].flat().some((name) => !/^(GET|HEAD)$/.test(name))

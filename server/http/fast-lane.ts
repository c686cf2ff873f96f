import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Bytes } from '../catalog/bytes.ts'
import type { Caller } from '../keys/key-cache.ts'
import type { Scope } from '../keys/scopes.ts'
import type { Service } from '../service.ts'
import { type Admission, admitKnown, admitLater, showLimit } from './authenticate.ts'
import { type Head, sendChecked, sendKnown } from './connections.ts'
import { isCurrent, REVALIDATED } from './entity-tag.ts'
import { JSON_TYPE } from './json.ts'
import { ALWAYS, NOT_STORED } from './response-headers.ts'
import { recordResponse } from './response-log.ts'

/** A 200 response that the ordinary path would send now, whoever requests it. */
export type Prepared = {
  body: Bytes
  tag: string
  ignoredFields?: string | undefined
  /** The pattern of its URL, for metrics. */
  route: string
  /** The headers of a page, in place of those of JSON. */
  page?: { cacheControl: string; type: string; headers: readonly [name: string, value: string][] }
}

/** A 200 response that the ordinary path would send now to one caller. It has no tag, because no client may store it. */
export type OwnPrepared = Omit<Prepared, 'tag'> & { tag?: undefined }

type AnyPrepared = Prepared | OwnPrepared

/** Finds prepared responses by the URL as sent. */
export type PreparedSource = {
  /** The scope that the key needs; null if everybody may have the responses, without a key. */
  scope: Scope | null
  /**
   * A response for everybody with the scope, or a function that prepares it, which the lane calls with the caller after it
   * has admitted the request; undefined if the ordinary path has to respond. `find` is synchronous; the function may
   * return a promise.
   */
  find(url: string): Prepared | Prepare | undefined
}

type Prepare = (
  caller: Caller | undefined,
) => AnyPrepared | undefined | Promise<AnyPrepared | undefined>

export type FastLane = {
  /** Adds a source. The first source that finds a response wins. */
  add(source: PreparedSource): void
  /** Puts the lane before the ordinary listener. */
  before(ordinary: RequestListener): RequestListener
}

/** After this time the ordinary path responds, which limits a request's time for the database. */
export const MAX_LANE_WAIT_MS = 1_000

/**
 * The fast lane sends prepared responses without the framework: GET and HEAD of resources whose bytes are known, if
 * their key is in memory and valid, or if they need none. It decides nothing by itself: keys, limits, tags and the log
 * are those of the ordinary path, which gets every other request untouched, or with its admission if the request is
 * counted already. See docs/reads.md.
 */
export function fastLane(ctx: Service, nextRequestId: () => string): FastLane {
  const sources: PreparedSource[] = []

  const respond = (request: IncomingMessage, response: ServerResponse, ordinary: () => void) => {
    const { url = '', method, headers } = request
    if (method !== 'GET' && method !== 'HEAD') return ordinary()
    // The ordinary path refuses expectations, and reads bodies to their end.
    if (headers.expect !== undefined || declaresBody(headers)) return ordinary()
    for (const { scope, find } of sources) {
      const found = find(url)
      if (!found) continue
      const startedAt = performance.now()
      const prepare = (caller: Caller | undefined) =>
        typeof found === 'function' ? found(caller) : found
      const sendPrepared = (prepared: AnyPrepared, admission: Admission | undefined) => {
        const reqId = nextRequestId()
        const status = send(request, response, reqId, admission, prepared)
        const { route } = prepared
        const account = admission?.caller.account.id
        whenSent(response, () => {
          const ms = performance.now() - startedAt
          recordResponse(ctx, { reqId, account, method, url, route, status, ms })
        })
      }
      const sendOrLeave = (prepared: AnyPrepared | undefined, admission: Admission | undefined) => {
        if (prepared) return sendPrepared(prepared, admission)
        if (admission) admitLater(request, admission, startedAt)
        ordinary()
      }
      const proceed = (admission: Admission | undefined) => {
        const prepared = admission?.problem ? undefined : prepare(admission?.caller)
        if (!(prepared instanceof Promise)) return sendOrLeave(prepared, admission)
        void prepared.catch(() => undefined).then((prepared) => sendOrLeave(prepared, admission))
      }
      if (scope === null) return proceed(undefined)
      const admission = admitKnown(ctx, request, scope)
      if (!admission) return ordinary()
      if (!(admission instanceof Promise)) return proceed(admission)
      const fail = () => {
        admitLater(request, admission, startedAt)
        ordinary()
      }
      void admission
        .catch(() => undefined)
        .then((admitted) => (admitted ? proceed(admitted) : fail()))
      return
    }
    ordinary()
  }

  return {
    add(source) {
      sources.push(source)
    },
    before: (ordinary) => (request, response) =>
      respond(request, response, () => ordinary(request, response)),
  }
}

/** Whether the request has a body, even one of no bytes: the ordinary path reads it. */
const declaresBody = (headers: IncomingMessage['headers']) =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

/** Sends the headers in the order of the ordinary path, and the body. Returns the status. */
function send(
  request: IncomingMessage,
  response: ServerResponse,
  reqId: string,
  admission: Admission | undefined,
  { body, tag, ignoredFields, page }: AnyPrepared,
): number {
  const isNotModified = tag !== undefined && isCurrent(request.headers, tag)
  const status = isNotModified ? 304 : 200
  const isDescribed = status === 200 || request.method === 'HEAD'
  const writeFields = (head: Head) => {
    head.header('x-request-id', reqId)
    for (const [name, value] of ALWAYS_LIST) head.header(name, value)
    head.header(
      'cache-control',
      page?.cacheControl ?? (tag === undefined ? NOT_STORED : REVALIDATED),
    )
    if (admission) showLimit(head, admission.limit)
    if (ignoredFields !== undefined) head.header('x-ignored-fields', ignoredFields)
    if (tag !== undefined) head.header('etag', tag)
    for (const [name, value] of page?.headers ?? []) head.header(name, value)
    if (isDescribed) head.header('content-type', page?.type ?? JSON_TYPE)
    // The ordinary path compresses pages.
    if (page) head.header('vary', 'accept-encoding')
    if (isDescribed) head.header('content-length', body.length)
  }
  const sendsBody = status === 200 && request.method === 'GET'
  // Node has to check names that the client has chosen.
  if (sendsBody && ignoredFields === undefined) sendKnown(response, writeFields, body)
  else sendChecked(response, status, writeFields, sendsBody ? body : undefined)
  return status
}

const ALWAYS_LIST = Object.entries(ALWAYS)

/** Calls `done` when the operating system has the whole response, or the client has disconnected. */
function whenSent(response: ServerResponse, done: () => void): void {
  if (response.destroyed || response.socket?.writableLength === 0) done()
  else response.once('close', done)
}

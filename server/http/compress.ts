import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isCurrent, weakEntityTag } from './entity-tag.ts'
import { acceptsGzip } from './page.ts'

/** A shorter response takes one packet or two in any case. */
const MIN_LENGTH = 2_000

const compress = promisify(gzip)
const FAST = { level: constants.Z_BEST_SPEED }

/**
 * An onSend hook that compresses what scripts of our own pages read. A list of 30 listings has 22 KB: more than a server
 * sends before it waits for the browser's first acknowledgement. No other response for one account is compressed, because
 * the size of a response that another site has caused would tell that site's author about its content (BREACH).
 */
export async function compressForOwnPages(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== 'string' || payload.length < MIN_LENGTH) return payload
  if (request.headers['sec-fetch-site'] !== 'same-origin') return payload
  if (!acceptsGzip(request, reply)) return payload
  const compressed = await compress(payload, FAST)
  reply.header('content-encoding', 'gzip')
  return compressed
}

const TEXT = /^(text\/|application\/json)/

/** Compressed bytes of documents that are kept, such as the OpenAPI files. */
const compressedDocuments = new WeakMap<Buffer, Promise<Buffer>>()

/**
 * An onSend hook of public pages and documents. Compresses them: they are the same for everybody, so that their size reveals
 * nothing. Gives those without an `ETag` one, and sends 304 in place of one that the client has; the 304 keeps their other
 * headers, with which a cache updates its copy.
 */
export async function finishPublic(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload
  const isCompressible =
    TEXT.test(String(reply.getHeader('content-type'))) && !reply.hasHeader('content-encoding')
  const isCompressed = isCompressible && addsGzip(request, reply) && payload.length >= MIN_LENGTH
  if (reply.statusCode === 200 && isUnchanged(request, reply, payload)) {
    reply.code(304)
    // As in sendRevalidated: Fastify drops the body of a HEAD response.
    if (request.method !== 'HEAD') {
      reply.removeHeader('content-type')
      reply.removeHeader('content-encoding')
      return null
    }
  }
  if (!isCompressed) return payload
  reply.header('content-encoding', 'gzip')
  return compressDocument(payload)
}

/** Whether the client accepts gzip. Adds this to the request's headers on which the response depends. */
function addsGzip(request: FastifyRequest, reply: FastifyReply): boolean {
  const vary = reply.getHeader('vary')
  const isAccepted = acceptsGzip(request, reply)
  if (vary !== undefined && vary !== 'accept-encoding') {
    reply.header('vary', `${vary}, accept-encoding`)
  }
  return isAccepted
}

/** Tags of documents that are kept, such as the script of the API reference, which has megabytes. */
const documentTags = new WeakMap<Buffer, string>()

/** Whether the client has the body, by the tag of the response or else of the body. */
function isUnchanged(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  body: string | Buffer,
): boolean {
  let tag = reply.getHeader('etag') as string | undefined
  if (tag === undefined) {
    tag = (Buffer.isBuffer(body) && documentTags.get(body)) || weakEntityTag(body)
    if (Buffer.isBuffer(body)) documentTags.set(body, tag)
    reply.header('etag', tag)
  }
  return isCurrent(headers, tag)
}

function compressDocument(payload: string | Buffer): Promise<Buffer> {
  if (typeof payload === 'string') return compress(payload, FAST)
  return compressedDocuments.getOrInsertComputed(payload, () => compress(payload, FAST))
}

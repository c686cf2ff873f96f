import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
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
 * An onSend hook that compresses public pages and documents. They are the same for everybody, so that their size tells
 * nothing.
 */
export async function compressPublic(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  const isCompressible =
    (typeof payload === 'string' || Buffer.isBuffer(payload)) &&
    TEXT.test(String(reply.getHeader('content-type'))) &&
    !reply.hasHeader('content-encoding')
  // A 304 has the headers by which caches choose a copy, as the page would have (RFC 9110, 15.4.5).
  if (!isCompressible && reply.statusCode !== 304) return payload
  const vary = reply.getHeader('vary')
  const isAccepted = acceptsGzip(request, reply)
  if (vary !== undefined && vary !== 'accept-encoding') {
    reply.header('vary', `${vary}, accept-encoding`)
  }
  if (!isCompressible || !isAccepted || payload.length < MIN_LENGTH) return payload
  reply.header('content-encoding', 'gzip')
  return compressDocument(payload)
}

function compressDocument(payload: string | Buffer): Promise<Buffer> {
  if (typeof payload === 'string') return compress(payload, FAST)
  const compressed = compressedDocuments.get(payload) ?? compress(payload, FAST)
  compressedDocuments.set(payload, compressed)
  return compressed
}

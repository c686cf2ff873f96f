import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendJson } from './json.ts'

/** The `ETag` of a body: a hash of its bytes, which is the same in every process. */
export const entityTag = (body: string | Buffer): string =>
  quoted(hash('sha256', body, 'base64url'))

/** The `ETag` of a body that is also sent compressed. It is weak, because the bytes of both differ (RFC 9110, 8.8.1). */
export const weakEntityTag = (body: string | Buffer): string => `W/${entityTag(body)}`

/**
 * Makes an `ETag` from a SHA-256 in base64url. Half of the hash suffices to distinguish two bodies.
 *
 * @param part distinguishes bodies that have the hash in common
 */
export const quoted = (sha256: string, part = ''): string => `"${sha256.slice(0, 22)}${part}"`

/** `Cache-Control` of catalog data, which clients may cache and must revalidate each time. */
export const REVALIDATED = 'private, max-age=0'

/** Whether the client's copy has this tag. Weak comparison, as If-None-Match requires (RFC 9110, 13.1.2). */
export function isCurrent(headers: IncomingHttpHeaders, tag: string): boolean {
  const known = headers['if-none-match']
  if (known === undefined) return false
  const current = opaque(tag)
  return (
    known.trim() === '*' ||
    known.split(',').some((candidate) => opaque(candidate.trim()) === current)
  )
}

const opaque = (tag: string) => tag.replace(/^W\//, '')

/** Sends catalog data, or 304 if the client's copy is current. */
export function sendRevalidated(
  request: FastifyRequest,
  reply: FastifyReply,
  body: Buffer,
  tag: string,
): never {
  reply.header('etag', tag).header('cache-control', REVALIDATED)
  if (!isCurrent(request.headers, tag)) return sendJson(reply, body)
  reply.code(304)
  // Fastify drops the body of a HEAD response. Without a body it would send `Content-Length: 0` (RFC 9110, 8.6).
  return request.method === 'HEAD' ? sendJson(reply, body) : (reply.send() as never)
}

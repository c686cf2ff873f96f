import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendJson } from './json.ts'

/** The `ETag` of a body: a hash of its bytes, so that it is the same in every process and changes with each byte. */
export const entityTag = (body: Buffer): string => quoted(hash('sha256', body, 'base64url'))

/** A SHA-256 in base64url as an `ETag`. Half of it is more than enough to tell two bodies apart. */
export const quoted = (sha256: string): string => `"${sha256.slice(0, 22)}"`

/**
 * Sends catalog data: clients may keep it, and have to ask each time whether it is still the same. Answers 304
 * without a body when it is.
 */
export function sendRevalidated(
  request: FastifyRequest,
  reply: FastifyReply,
  body: Buffer,
  tag: string,
): never {
  reply.header('etag', tag).header('cache-control', 'private, max-age=0')
  const known = request.headers['if-none-match']
  if (known === undefined || !matches(known, tag)) return sendJson(reply, body)
  reply.code(304)
  // Fastify sends no body with HEAD; given none, it would say that the length is 0 (RFC 9110, 8.6).
  return request.method === 'HEAD' ? sendJson(reply, body) : (reply.send() as never)
}

/** Compares weakly, as If-None-Match wants it (RFC 9110, 13.1.2). */
const matches = (known: string, tag: string) =>
  known.trim() === '*' || known.split(',').some((one) => one.trim().replace(/^W\//, '') === tag)

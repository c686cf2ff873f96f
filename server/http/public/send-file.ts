import type { FastifyReply } from 'fastify'
import { notFound } from '../../errors.ts'
import type { StoredFile } from '../../files/file-store.ts'

/**
 * Streams a stored file with these headers.
 *
 * @throws not_found with `missing` as its message
 */
export function sendFile(
  reply: FastifyReply,
  file: StoredFile | undefined,
  { missing, headers }: { missing: string; headers: Record<string, string> },
): FastifyReply {
  if (!file) throw notFound(missing)
  const { stream, length } = file
  const lengthHeader = length === undefined ? {} : { 'content-length': length }
  return reply.headers({ ...headers, ...lengthHeader }).send(stream)
}

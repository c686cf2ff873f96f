import type { FastifyReply } from 'fastify'
import { notFound } from '../../errors.ts'
import type { FileStore } from '../../files/file-store.ts'

/**
 * Streams a stored file with these headers.
 *
 * @param name undefined for a request that can't mean a file
 * @throws not_found with `missing` as its message
 */
export async function sendFile(
  reply: FastifyReply,
  files: FileStore,
  name: string | undefined,
  { missing, headers }: { missing: string; headers: Record<string, string> },
): Promise<FastifyReply> {
  const file = name === undefined ? undefined : await files.get(name)
  if (!file) throw notFound(missing)
  const { stream, length } = file
  const lengthHeader = length === undefined ? {} : { 'content-length': length }
  return reply.headers({ ...headers, ...lengthHeader }).send(stream)
}

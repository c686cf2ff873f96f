import { requestTimeout } from '../errors.ts'
import { unlessLate } from '../time/unless-late.ts'

/**
 * Yields the chunks of a body as long as its client keeps sending. The time to process a chunk does not count.
 *
 * @param idleMs maximum real time without a byte
 * @throws request_timeout
 */
export async function* withIdleTimeout<T>(
  body: AsyncIterable<T>,
  idleMs: number,
): AsyncGenerator<T, void, undefined> {
  const chunks = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      // One for all chunks would keep each of them until the end of the body.
      const timeout = Promise.withResolvers<never>()
      const cancelTimeout = unlessLate(idleMs, 1, () => timeout.reject(requestTimeout()))
      const next = await Promise.race([chunks.next(), timeout.promise]).finally(cancelTimeout)
      if (next.done) return
      yield next.value
    }
  } finally {
    // Not awaited: it settles only when the connection closes if a read is pending.
    chunks.return?.().catch(() => {})
  }
}

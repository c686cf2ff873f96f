import { requestTimeout } from '../errors.ts'

/**
 * The chunks of a request's body, while its client keeps sending. The time that it takes to handle a chunk doesn't count.
 *
 * @param idleMs real time without a byte after which the body is given up
 * @throws request_timeout then
 */
export async function* withIdleTimeout<T>(
  body: AsyncIterable<T>,
  idleMs: number,
): AsyncGenerator<T, void, undefined> {
  const chunks = body[Symbol.asyncIterator]()
  const timeout = Promise.withResolvers<never>()
  timeout.promise.catch(() => {})
  try {
    for (;;) {
      const timer = setTimeout(() => timeout.reject(requestTimeout()), idleMs)
      const next = await Promise.race([chunks.next(), timeout.promise]).finally(() =>
        clearTimeout(timer),
      )
      if (next.done) return
      yield next.value
    }
  } finally {
    // Not awaited: while a chunk is awaited this settles only when the connection closes.
    chunks.return?.().catch(() => {})
  }
}

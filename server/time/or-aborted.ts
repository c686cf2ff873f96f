/** Abandons work that cannot be cancelled, such as a lookup. @throws the signal's reason */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', abort))
}

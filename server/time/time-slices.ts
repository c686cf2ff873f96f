import { setImmediate } from 'node:timers/promises'

/** Yields to the event loop at the end of a time slice; returns undefined before that. */
export type YieldToEventLoop = () => Promise<void> | undefined

/** Short enough for a request that needs a few turns of the event loop to stay well below 50 ms. */
export const SLICE_MS = 5

/**
 * Divides long work into slices of `SLICE_MS` milliseconds of real time. The work must call the returned function after
 * each small step, and await its result if it returns a promise.
 *
 * @param now a monotonic clock in milliseconds; tests count steps with it
 */
export function timeSlices(now: () => number = () => performance.now()): YieldToEventLoop {
  let startedAt = now()
  return () => {
    if (now() - startedAt < SLICE_MS) return undefined
    return setImmediate().then(() => {
      startedAt = now()
    })
  }
}

import { setImmediate } from 'node:timers/promises'

/** Lets the event loop serve other work once a slice of work is over; returns nothing while it lasts. */
export type YieldToEventLoop = () => Promise<void> | undefined

/** A request that needs a few turns of the event loop must stay well below 50 ms next to long work. */
export const SLICE_MS = 5

/**
 * Cuts long work into slices of `SLICE_MS` milliseconds of real time. The work calls the returned function after each
 * small step and awaits its result if there is one.
 *
 * @param now milliseconds that never run backwards; tests count steps with it
 */
export function timeSlices(now: () => number = () => performance.now()): YieldToEventLoop {
  let began = now()
  return () => {
    if (now() - began < SLICE_MS) return undefined
    return setImmediate().then(() => {
      began = now()
    })
  }
}

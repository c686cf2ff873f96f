/** Attempts of a delivery in all, resends aside (§6.6.2). */
export const MAX_TRIES = 5

const MINUTES = 60 * 1000
const HOURS = 60 * MINUTES

/** How long after the first attempt the others follow. */
const OFFSETS_MS = [1 * MINUTES, 10 * MINUTES, 1 * HOURS, 6 * HOURS]
/** So that after an outage of ours they don't all come at once. */
const MIN_GAP_MS = 1 * MINUTES

/**
 * When a delivery is tried again after `tries` attempts, or undefined when that was the last one.
 *
 * @param first when the first of them began
 * @param previous when the last of them did
 */
export function nextTryAt(tries: number, first: Date, previous: Date): Date | undefined {
  const offset = OFFSETS_MS[tries - 1]
  if (offset === undefined) return undefined
  return new Date(Math.max(first.getTime() + offset, previous.getTime() + MIN_GAP_MS))
}

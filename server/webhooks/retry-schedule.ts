import { HOURS, MINUTES } from '../time/units.ts'

/** The delays of the retries, from the first attempt (§6.6.2). */
const OFFSETS_MS = [1 * MINUTES, 10 * MINUTES, 1 * HOURS, 6 * HOURS]
/** After an outage of the service, overdue retries must not follow each other at once. */
const MIN_GAP_MS = 1 * MINUTES

/**
 * The time of the next attempt after `tries` attempts; undefined after the last one.
 *
 * @param first start of the first attempt
 * @param previous start of the latest attempt
 */
export function nextTryAt(tries: number, first: Date, previous: Date): Date | undefined {
  const offset = OFFSETS_MS[tries - 1]
  if (offset === undefined) return undefined
  return new Date(Math.max(first.getTime() + offset, previous.getTime() + MIN_GAP_MS))
}

import { HOURS, MINUTES } from '../time/units.ts'

/** When the carrier is polled for pending labels and tracking codes. */

/** Backoff: the delay before the first poll, the second, … */
const FIRST_DELAYS_MS = [1 * MINUTES, 5 * MINUTES, 15 * MINUTES, 60 * MINUTES]
export const LATER_DELAY_MS = 1 * HOURS
/** Hourly for a week. After that only the seller's calls ask the carrier, and polls of a purchase that is still in doubt. */
const MAX_POLLS = FIRST_DELAYS_MS.length + 7 * 24

export const FIRST_POLL_MS = FIRST_DELAYS_MS[0]!

/** Milliseconds to the next poll after `polls` polls; undefined after the last. */
export const delayAfter = (polls: number): number | undefined =>
  polls < MAX_POLLS ? (FIRST_DELAYS_MS[polls] ?? LATER_DELAY_MS) : undefined

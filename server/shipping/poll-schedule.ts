/** When the carrier is asked by itself after labels and codes that are to come. */

const MINUTES = 60 * 1000
const HOURS = 60 * MINUTES

/** How long after one the next follows. */
const FIRST_DELAYS_MS = [1 * MINUTES, 5 * MINUTES, 15 * MINUTES, 60 * MINUTES]
const LATER_DELAY_MS = 1 * HOURS
/** A week, then it's given up: a call of the seller still asks. */
const MAX_POLLS = FIRST_DELAYS_MS.length + 7 * 24

export const FIRST_POLL_MS = FIRST_DELAYS_MS[0]!

/** Milliseconds from one poll to the next, or undefined when there is none. `polls` counts those so far. */
export const delayAfter = (polls: number): number | undefined =>
  polls < MAX_POLLS ? (FIRST_DELAYS_MS[polls] ?? LATER_DELAY_MS) : undefined

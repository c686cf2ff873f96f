import { realTime } from './real-time.ts'
import { MINUTES } from './units.ts'

/** The largest correction that is no jump. */
const MAX_STEP_MS = 1 * MINUTES

/** How long a jump is doubted: a wrong clock is usually set right within this time. */
const DOUBT_MS = 15 * MINUTES

/**
 * Watches the machine's clock. The returned function compares the clock with the monotonic one, and returns by how many
 * milliseconds the clock jumped ahead within the last `DOUBT_MS`: 0 if it did not, or is back. It must be called more often
 * than every few minutes. The machine's sleep is a jump as well.
 */
export function watchClock(): () => number {
  const difference = () => realTime() - performance.now()
  let trusted = difference()
  let last = trusted
  let jumpedAt = -DOUBT_MS
  return () => {
    const current = difference()
    if (current - last > MAX_STEP_MS) jumpedAt = performance.now()
    last = current
    const isTrusted = current - trusted <= MAX_STEP_MS || performance.now() - jumpedAt >= DOUBT_MS
    if (isTrusted) trusted = current
    return current - trusted
  }
}

import { setTimeout as sleep } from 'node:timers/promises'

const DEADLINE_MS = 60_000
/** The first pause between two checks. Pauses grow, because checks take CPU time from what the test waits for. */
const INTERVAL_MS = 10
const MAX_INTERVAL_MS = 100

type Falsy = false | undefined | null | 0 | ''

/** Polls `condition` until it returns a truthy value, and returns that value. Throws after the timeout. */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  timeoutMs = DEADLINE_MS,
): Promise<Exclude<T, Falsy>> {
  const deadline = performance.now() + timeoutMs
  for (let interval = INTERVAL_MS; ; interval = Math.min(interval * 1.2, MAX_INTERVAL_MS)) {
    const result = await condition()
    if (result) return result as Exclude<T, Falsy>
    if (performance.now() > deadline) {
      throw new Error(`Timed out after ${timeoutMs / 1000} s: ${what}`)
    }
    await sleep(interval)
  }
}

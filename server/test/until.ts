import { setTimeout as sleep } from 'node:timers/promises'

const DEADLINE_MS = 30_000
const INTERVAL_MS = 10

type Falsy = false | undefined | null | 0 | ''

/** Polls `condition` until it returns a truthy value, and returns that value. Throws after the timeout. */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  timeoutMs = DEADLINE_MS,
): Promise<Exclude<T, Falsy>> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const result = await condition()
    if (result) return result as Exclude<T, Falsy>
    if (performance.now() > deadline) {
      throw new Error(`Timed out after ${timeoutMs / 1000} s: ${what}`)
    }
    await sleep(INTERVAL_MS)
  }
}

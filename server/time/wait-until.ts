import { setTimeout as sleep } from 'node:timers/promises'

const INTERVAL_MS = 15

/** Asks again and again until there is an answer; undefined when patience has run out. */
export async function poll<T>(
  timeoutMs: number,
  ask: () => T | undefined | Promise<T | undefined>,
  intervalMs = INTERVAL_MS,
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (performance.now() > deadline) return undefined
    await sleep(intervalMs)
  }
}

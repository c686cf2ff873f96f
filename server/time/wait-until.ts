import { setTimeout as sleep } from 'node:timers/promises'

const INTERVAL_MS = 15

/** Calls `check` repeatedly until it returns a value. Undefined after the timeout. */
export async function waitUntil<T>(
  timeoutMs: number,
  check: () => T | undefined | Promise<T | undefined>,
  intervalMs = INTERVAL_MS,
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const result = await check()
    if (result !== undefined) return result
    if (performance.now() > deadline) return undefined
    await sleep(intervalMs)
  }
}

import { setTimeout as sleep } from 'node:timers/promises'

/** The result of `work`, or of `onTimeout` after `ms` milliseconds of real time. `work` is not cancelled then. */
export async function withTimeout<T>(ms: number, work: Promise<T>, onTimeout: () => T): Promise<T> {
  const timer = new AbortController()
  try {
    return await Promise.race([work, sleep(ms, undefined, timer).then(onTimeout)])
  } finally {
    timer.abort()
  }
}

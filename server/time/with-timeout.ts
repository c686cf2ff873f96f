import { unlessLate } from './unless-late.ts'

/**
 * The result of `work`, or of `onTimeout` after `ms` milliseconds of real time. `work` is not cancelled then. It does
 * not use `node:timers/promises`, which makes an error for each aborted timer.
 */
export function withTimeout<T>(ms: number, work: Promise<T>, onTimeout: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancelTimeout = unlessLate(ms, 1, () => {
      try {
        resolve(onTimeout())
      } catch (error) {
        reject(error)
      }
    })
    void work.then(resolve, reject).then(cancelTimeout)
  })
}

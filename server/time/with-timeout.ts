import { unlessLate } from './unless-late.ts'

/**
 * The result of `work`, or of `onTimeout` after `ms` milliseconds of real time. `work` is not cancelled then. Without
 * `node:timers/promises`, because aborting one of its timers makes an error each time.
 */
export function withTimeout<T>(ms: number, work: Promise<T>, onTimeout: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const settled = unlessLate(ms, 1, () => {
      try {
        resolve(onTimeout())
      } catch (error) {
        reject(error)
      }
    })
    void work.then(resolve, reject).then(settled)
  })
}
